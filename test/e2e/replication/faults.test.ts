import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { jetstreamManager } from "@nats-io/jetstream";
import { Kvm } from "@nats-io/kv";
import { connect, type NatsConnection } from "@nats-io/transport-node";
import type { Replication } from "../../../src/client/types.ts";
import { startAndFail, TestServer } from "../support/server.ts";
import { Operator, openTrader, Trader } from "../support/trader.ts";
import { until } from "../support/wait.ts";
import { NATS_SERVER, Nats } from "./nats-server.ts";

/** What somebody with rights in NATS can do to an exchange, or a mistake there. The tests build on each other. */

const options = {
  skip: NATS_SERVER === null && "no nats-server 2.10 or later is installed: faults of the stream were not tested",
};

const MAIN = fileURLToPath(new URL("../../../src/main.js", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "perpd-faults-"));
const data = (name: string): string => join(folder, name);

let nats: Nats;
let connection: NatsConnection;
let leader: TestServer;
let standby: TestServer;
let trader: Trader;

const environment = (): Record<string, string> => ({
  PERPD_REPLICATE: nats.url,
  PERPD_REPLICATE_MONITORS: nats.monitor,
});

const node = (name: string, command: "start" | "standby"): TestServer =>
  new TestServer({ command, dataFolder: data(name), environment: environment() });

/** An order that counts. A leader that cannot renew its lease for a moment refuses it, and nothing was done. */
async function place(server: TestServer, clientOrderId: string): Promise<void> {
  const { token, accountId, address, privateKey } = trader;
  const there = new Trader(server.url, token as string, accountId, address, privateKey);
  await until("an order", async () => {
    const { status } = await there.request("POST", "/orders", {
      ...{ symbol: "BTC-PERP", side: "BUY", type: "LIMIT", price: "50000", quantity: "0.001", clientOrderId },
    });
    return status < 300;
  });
}

before(async () => {
  if (NATS_SERVER === null) return;
  nats = new Nats();
  await nats.start();
  connection = await connect({ servers: nats.url, maxReconnectAttempts: -1 });
  leader = node("leader", "start");
  await leader.start();
  await new Operator(leader).setIndex("BTC-PERP", "65000");
  trader = await until<Trader>("an account", () => openTrader(leader, "1000").catch(() => undefined));
  execFileSync(process.execPath, [MAIN, "backup", leader.dataFolder, data("backup")]);
  execFileSync(process.execPath, [MAIN, "restore", data("backup"), data("standby")]);
  execFileSync(process.execPath, [MAIN, "restore", data("backup"), data("late")]);
  standby = node("standby", "standby");
});
after(async () => {
  await leader?.dispose();
  await standby?.dispose();
  await connection?.close();
  await nats?.dispose();
  rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
});

test("a lease that is damaged or deleted, with all of its bucket too, does not end the exchange", options, async () => {
  const bucket = await new Kvm(connection).open("perpd-lease");
  for (const text of ["", "hello", "null", '{"node":"x"}']) {
    await bucket.put("leader", text);
    await place(leader, `after-${text.length}`);
  }
  await bucket.delete("leader");
  await place(leader, "after-the-key");
  await bucket.destroy();
  await place(leader, "after-the-bucket");
  assert.equal((await new Operator(leader).get<Replication>("/replication")).epoch, 1);
});

test(
  "a standby whose folder is older than what the stream holds is refused, and told what to do",
  options,
  async () => {
    for (let i = 0; i < 5; i++) await place(leader, `purged-${i}`);
    await (await jetstreamManager(connection)).streams.purge("perpd", { keep: 2 });
    const failed = await startAndFail({ command: "standby", dataFolder: data("late"), environment: environment() });
    assert.equal(failed.code, 1);
    assert.match(
      failed.output,
      /the stream begins with transaction \d+, but the log in this folder ends with \d+; restore/,
    );
  },
);
