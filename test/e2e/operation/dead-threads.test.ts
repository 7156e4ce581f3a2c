import assert from "node:assert/strict";
import { existsSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { openLog } from "../../../src/store/log/log.ts";
import { listSegments, segmentName } from "../../../src/store/log/log-segment.ts";
import { append } from "../../store/support/log-fixture.ts";
import { startServer, TestServer } from "../support/server.ts";
import { Operator, openTrader, Trader } from "../support/trader.ts";
import { until } from "../support/wait.ts";

/** Orders by then fill several segments of the log. */
const MOST_ORDERS = 20_000;

test("moving the data folder, the database or the segment in use ends the process, and once back it has everything acknowledged", async (t) => {
  const server = await startServer();
  t.after(() => server.dispose());
  await new Operator(server).setIndex("BTC-PERP", "65000");
  const alice = await openTrader(server);
  const { orderId } = await alice.buy("0.001", "60000");
  const log = join(server.dataFolder, "log");
  const segmentInUse = () => join(log, segmentName(listSegments(log).at(-1) ?? 0));
  for (const path of [server.dataFolder, join(server.dataFolder, "database", "data.mdb"), segmentInUse()]) {
    const aside = `${server.dataFolder}-aside`;
    const before = server.stderr.length;
    renameSync(path, aside);
    await until("the end of the process", () => !server.isRunning);
    const { code } = await server.stop();
    assert.equal(code, 1);
    assert.match(server.stderr.slice(before), /"level":60.*start again to recover/, path);

    renameSync(aside, path);
    await server.start();
    const again = new Trader(server.url, alice.token ?? "", alice.accountId, alice.address, alice.privateKey);
    assert.ok((await again.openOrders()).data.some((order) => order.orderId === orderId));
  }
});

test("a journal failure ends the process with a fatal line, and a restart has everything acknowledged", async (t) => {
  // Without snapshots: the store, which trims the log behind them, would miss it first.
  const environment = { PERPD_SEGMENT_BYTES: "65536", PERPD_SNAPSHOT_INTERVAL_MS: "600000" };
  const server = await startServer({ environment });
  t.after(() => server.dispose());
  await new Operator(server).setIndex("BTC-PERP", "65000");
  const alice = await openTrader(server);
  const log = join(server.dataFolder, "log");
  assert.ok(existsSync(log));
  const acknowledged: string[] = [];
  const place = async (i: number): Promise<void> => {
    const { orderId } = await alice.buy("0.001", "60000", { clientOrderId: `kept-${i}` });
    acknowledged.push(orderId);
    if (i > 0) await alice.cancel(orderId);
  };
  await place(0);
  // The store has begun to read the log.
  await until(
    "the deposit in the index",
    async () => (await alice.get<{ data: unknown[] }>("/account/deposits")).data.length > 0,
  );
  // The segment in use stays as it is, and the next one cannot be made.
  for (let i = 1; server.isRunning && i < MOST_ORDERS; i++) {
    rmSync(join(log, "log-next.tmp"), { force: true });
    await place(i).catch(() => {});
  }
  const { code } = await server.stop();
  assert.equal(code, 1);
  assert.match(server.stderr, /"level":60.*the journal thread died: .*; start again to recover/);

  await server.start();
  const again = new Trader(server.url, alice.token ?? "", alice.accountId, alice.address, alice.privateKey);
  for (const orderId of acknowledged.slice(-50)) await again.get(`/orders/${orderId}`);
  const { data } = await again.openOrders();
  assert.ok(data.some((order) => order.orderId === acknowledged[0]));
  await new Operator(server).soundAudit();
});

test("a store thread that dies during recovery ends the start with the reason", async (t) => {
  const made = await startServer();
  t.after(() => made.dispose());
  await made.stop();
  // Sound by its checksum, and nothing that the store knows.
  const log = openLog(join(made.dataFolder, "log"), { segmentBytes: 65_536, protectedThrough: 0 });
  append(log, 1, 64);
  log.sync();
  log.close();
  const again = new TestServer({
    program: "faulty-main",
    environment: { RECOVER_AFTER_MS: "120000" },
    dataFolder: made.dataFolder,
  });
  t.after(() => again.dispose());
  await assert.rejects(again.start(), /the server ended \(1\) before it was ready:.*message code/s);
});
