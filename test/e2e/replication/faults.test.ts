import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { jetstreamManager } from "@nats-io/jetstream";
import { Kvm } from "@nats-io/kv";
import { connect, type NatsConnection } from "@nats-io/transport-node";
import type { Replication } from "../../../src/client/types.ts";
import { removeFolder, startAndFail, TestServer } from "../support/server.ts";
import { Operator, Trader } from "../support/trader.ts";
import { pause, until } from "../support/wait.ts";
import { runPerpd, seed } from "./commands.ts";
import { NATS_SERVER, Nats } from "./nats-server.ts";
import { openPatient, patient } from "./patient.ts";

/** What somebody with rights in NATS can do to an exchange, or a mistake there. The tests build on each other. */

const options = {
  skip: NATS_SERVER === null && "no nats-server 2.10 or later is installed: faults of the stream were not tested",
};

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

/** The trader at a process that leads. */
const at = (server: TestServer): Trader =>
  patient(new Trader(server.url, trader.token as string, trader.accountId, trader.address, trader.privateKey));

const idsAt = async (server: TestServer): Promise<(string | null)[]> =>
  (await at(server).openOrders("?limit=1000")).data.map(({ clientOrderId }) => clientOrderId);

/** An order that counts. With the same id it is done once, however often it is sent. */
async function place(server: TestServer, clientOrderId: string): Promise<void> {
  await until("an order", async () => {
    const { status } = await at(server).request("POST", "/orders", {
      ...{ symbol: "BTC-PERP", side: "BUY", type: "LIMIT", price: "50000", quantity: "0.001", clientOrderId },
    });
    return status < 300;
  });
}

/**
 * Sends an order until the leader ends, and expects that it is never taken. Once is not enough: a leader that has just lost its
 * lease on a busy machine refuses it without a look at the stream.
 */
async function endByOrders(clientOrderId: string): Promise<{ code: number | null }> {
  const { token, accountId, address, privateKey } = trader;
  const there = new Trader(leader.url, token as string, accountId, address, privateKey);
  const order = { symbol: "BTC-PERP", side: "BUY", type: "LIMIT", price: "50000", quantity: "0.001", clientOrderId };
  const ended = leader.exit();
  let isOver = false;
  void ended.then(() => {
    isOver = true;
  });
  while (!isOver) {
    const refused = await there.request("POST", "/orders", order).catch(() => null);
    assert.ok(refused === null || refused.status === 503, String(refused?.status));
    await pause(50);
  }
  return ended;
}

before(async () => {
  if (NATS_SERVER === null) return;
  nats = new Nats();
  await nats.start();
  connection = await connect({ servers: nats.url, maxReconnectAttempts: -1 });
  leader = node("leader", "start");
  await leader.start();
  await patient(new Operator(leader)).setIndex("BTC-PERP", "65000");
  trader = await openPatient(leader, "1000");
  await seed(leader.dataFolder, data("backup"), data("standby"), data("late"));
  standby = node("standby", "standby");
});
after(async () => {
  await leader?.dispose();
  await standby?.dispose();
  await connection?.close();
  await nats?.dispose();
  await removeFolder(folder);
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

test("of two standbys one takes over, and the other one follows it", options, async () => {
  await seed(leader.dataFolder, data("seed"), data("one"), data("two"));
  const both = ["one", "two"].map((name) => node(name, "standby")) as [TestServer, TestServer];
  try {
    const ready = both.map((server) => server.start());
    for (const waiting of ready) waiting.catch(() => {});
    await until("both standbys", async () => {
      const { standbys } = await new Operator(leader).get<Replication>("/replication");
      return standbys.length === 2;
    });
    await place(leader, "by-the-first");
    const { sequence } = await new Operator(leader).get<Replication>("/replication");
    await leader.kill();
    const first = await Promise.race(ready.map((waiting, i) => waiting.then(() => i)));
    const [next, other] = [both[first], both[1 - first]] as [TestServer, TestServer];
    await place(next, "by-the-next");
    const state = await new Operator(next).get<Replication>("/replication");
    assert.deepEqual([state.role, state.epoch], ["LEADER", 2]);
    assert.ok(state.sequence > sequence);
    await until("the other one to follow", async () => {
      const { standbys } = await new Operator(next).get<Replication>("/replication");
      return standbys[0] !== undefined && standbys[0].sequence >= state.sequence;
    });
    assert.equal(other.url, "", "it does not lead");
    const again = await idsAt(next);
    assert.ok(again.includes("by-the-first") && again.includes("by-the-next"), again.join());
    await next.stop();
    await ready[1 - first];
    await place(other, "by-the-other");
    await other.stop();
  } finally {
    for (const server of both) await server.dispose();
  }
  await leader.start();
  await place(leader, "back");
});

test("a message of somebody else stops leader and start with what to do, and nothing is lost", options, async () => {
  await runPerpd(["restore", data("seed"), data("third")]);
  standby = node("third", "standby");
  const follows = standby.start();
  follows.catch(() => {});
  await standby.logs(/this process follows a leader/);
  connection.publish("perpd.log", "hello");
  const message = /message \d+ of the stream was not written by perpd: .*Tasks.* in docs\/operating\/replication\.md/;
  assert.equal((await standby.exit()).code, 1);
  assert.match(standby.stderr, message);
  assert.equal((await endByOrders("refused")).code, 1);
  assert.match(leader.stderr, message);
  const failed = await startAndFail({ dataFolder: leader.dataFolder, environment: environment() });
  assert.equal(failed.code, 1);
  assert.match(failed.output, message);
  // What the document says: the folder with the highest sequence goes on with a new stream.
  rmSync(join(leader.dataFolder, "replication.json"));
  leader.environment = { ...environment(), PERPD_REPLICATE_STREAM: "again" };
  await leader.start();
  await place(leader, "with-a-new-stream");
  const ids = await idsAt(leader);
  for (const id of ["by-the-first", "by-the-next", "by-the-other", "back", "with-a-new-stream"])
    assert.ok(ids.includes(id), id);
});

test("a stream that was deleted and made again stops its leader, which says what is lost", options, async () => {
  const { streams } = await jetstreamManager(connection);
  const { config } = await streams.info("again");
  await streams.delete("again");
  await streams.add(config);
  assert.equal((await endByOrders("emptied")).code, 1);
  assert.match(leader.stderr, /the stream ends with message 0, but it had confirmed message \d+/);
  const failed = await startAndFail({ dataFolder: leader.dataFolder, environment: leader.environment });
  assert.match(failed.output, /the stream has lost acknowledged transactions. Restore the stream; or,/);
  assert.match(failed.output, /set replicateStream to a new name, remove replication\.json from the folder, and start/);
  rmSync(join(leader.dataFolder, "replication.json"));
  leader.environment = { ...environment(), PERPD_REPLICATE_STREAM: "third" };
  await leader.start();
  await place(leader, "with-a-third-stream");
});
