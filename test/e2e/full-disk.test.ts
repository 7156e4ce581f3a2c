import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import * as fs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import type { Order } from "../../src/client/types.ts";
import { TestServer } from "./support/server.ts";
import { Operator, openTrader, Trader } from "./support/trader.ts";

/** A disk of its own, which may be filled and closed to writers. Only root can have one. */
const disk = fs.mkdtempSync(join(tmpdir(), "perpd-disk-"));
const mount = (...args: string[]): boolean => spawnSync("mount", args).status === 0;
const isMounted = process.getuid?.() === 0 && mount("-t", "tmpfs", "-o", "size=6m", "tmpfs", disk);
after(() => {
  if (isMounted) spawnSync("umount", ["-l", disk]);
  fs.rmSync(disk, { recursive: true, force: true });
});
const skip = isMounted ? false : "needs to be root and to mount a small file system";

const MOST_THAT_STILL_FIT = 20_000;

const newServer = (name: string): TestServer =>
  new TestServer({
    dataFolder: join(disk, name),
    environment: { PERPD_SEGMENT_BYTES: "65536", PERPD_SNAPSHOT_INTERVAL_MS: "200" },
  });

/** Takes all the room that is left. */
function fill(path: string): void {
  const fd = fs.openSync(path, "w");
  try {
    for (const bytes of [Buffer.alloc(65_536, 1), Buffer.alloc(4096, 1)])
      for (;;) if (fs.writeSync(fd, bytes) < bytes.length) break;
  } catch (error) {
    assert.equal((error as NodeJS.ErrnoException).code, "ENOSPC");
  } finally {
    fs.closeSync(fd);
  }
}

test("a full disk: no answer that is not on disk, a reason, and all of it back when there is room", {
  skip,
}, async (t) => {
  const server = newServer("full");
  t.after(() => server.dispose());
  await server.start();
  await new Operator(server).setIndex("BTC-PERP", "65000");
  const alice = await openTrader(server);
  const acknowledged = new Map<string, Order>();
  const place = async (to: Trader, clientOrderId: string): Promise<number> => {
    const body = {
      symbol: "BTC-PERP",
      side: "BUY",
      type: "LIMIT",
      price: "64000",
      quantity: "0.001",
      timeInForce: "IOC",
    };
    const answer = await to.request<Order>("POST", "/orders", { ...body, clientOrderId });
    if (answer.status === 201) acknowledged.set(clientOrderId, answer.body);
    return answer.status;
  };
  for (let i = 0; i < 20; i++) assert.equal(await place(alice, `before-${i}`), 201);

  fill(join(disk, "filler"));
  let sent = 0;
  // What was made ready before takes some more.
  while (server.isRunning && sent < MOST_THAT_STILL_FIT)
    await Promise.all(Array.from({ length: 50 }, () => place(alice, `full-${sent++}`).catch(() => 0)));
  const { code } = await server.stop();
  assert.equal(code, 1);
  assert.match(server.stderr, /(journal|store) thread died: .*(no space left|No space left)/);
  assert.ok(acknowledged.size < 20 + sent);

  fs.rmSync(join(disk, "filler"));
  await server.start();
  const later = new Trader(server.url, alice.token ?? "", alice.accountId, alice.address, alice.privateKey);
  for (const [clientOrderId, order] of acknowledged) {
    const { orderId, status } = await later.get<Order>(`/orders/client:${clientOrderId}`);
    assert.deepEqual([orderId, status], [order.orderId, order.status], clientOrderId);
  }
  assert.equal(await place(later, "after"), 201);
  await new Operator(server).soundAudit();
});

test("a data folder that cannot be written to: the start says so, and works once it can", { skip }, async (t) => {
  const server = newServer("closed");
  t.after(() => server.dispose());
  await server.start();
  const alice = await openTrader(server, "500");
  assert.equal((await server.stop()).code, 0);

  assert.ok(mount("-o", "remount,ro", disk));
  try {
    await assert.rejects(server.start(), /perpd cannot start: .*(read-only|Read-only)/);
  } finally {
    assert.ok(mount("-o", "remount,rw", disk));
  }
  await server.start();
  const later = new Trader(server.url, alice.token ?? "", alice.accountId, alice.address, alice.privateKey);
  assert.equal((await later.balance()).equity, "500");
});
