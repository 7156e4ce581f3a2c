import assert from "node:assert/strict";
import { existsSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { perpd } from "../../../src/ccxt/index.ts";
import { PerpdClient } from "../../../src/client/client.ts";
import type { CreatedApiKey, Health, PlacedOrder, Replication } from "../../../src/client/types.ts";
import { Api } from "../support/api.ts";
import { Follower } from "../support/follower.ts";
import { freePort } from "../support/free-port.ts";
import { signed } from "../support/keys.ts";
import { OPERATOR_TOKEN, removeFolder, startAndFail, TestServer } from "../support/server.ts";
import { SocketClient } from "../support/socket.ts";
import { Operator, Trader } from "../support/trader.ts";
import { until } from "../support/wait.ts";
import { purgeStream, runPerpd, seed } from "./commands.ts";
import { NATS_SERVER, Nats } from "./nats-server.ts";
import { openPatient, patient } from "./patient.ts";
import { TcpProxy } from "./tcp-proxy.ts";

/** Two processes and a real NATS server: one leads, the other one takes over. The tests build on each other. */

const options = {
  skip: NATS_SERVER === null && "no nats-server 2.10 or later is installed: replication was not tested",
};

const folder = mkdtempSync(join(tmpdir(), "perpd-replication-"));
const data = (name: string): string => join(folder, name);

let nats: Nats;
let first: TestServer;
let firstUrl: string;
let second: TestServer;
let trader: Trader;
let secondPort: number;
/** Of the second process: they were opened while it followed the first one. */
let follower: Follower;
let socket: SocketClient;
let secondLeads: Promise<void>;
/** Between the second process and the stream, from some test on. */
let proxy: TcpProxy;

const environment = (): Record<string, string> => ({
  PERPD_REPLICATE: nats.url,
  PERPD_REPLICATE_MONITORS: nats.monitor,
});

function node(name: string, command: "start" | "standby", port: number, flags: string[] = []): TestServer {
  return new TestServer({ command, port, flags, dataFolder: data(name), environment: environment() });
}

/** The trader at another process: with the same session. */
const plainAt = (server: Pick<TestServer, "url">): Trader =>
  new Trader(server.url, trader.token as string, trader.accountId, trader.address, trader.privateKey);

/** The same at a process that leads. */
const at = (server: TestServer): Trader => patient(plainAt(server));

const operatorAt = (server: Pick<TestServer, "url">): Operator => patient(new Operator(server));

const metricsOf = async (server: TestServer): Promise<string> =>
  (await fetch(`${server.url}/metrics`, { headers: { authorization: `Bearer ${OPERATOR_TOKEN}` } })).text();

/** All state but sessions, since each start opens one for the demo account. */
async function digestsOf(server: Pick<TestServer, "url">): Promise<string> {
  const { symbols, money } = await operatorAt(server).soundAudit();
  return JSON.stringify({ symbols, money });
}

before(async () => {
  if (NATS_SERVER === null) return;
  nats = new Nats();
  await nats.start();
  const port = await freePort();
  firstUrl = `http://127.0.0.1:${port}/v1`;
  first = node("first", "start", port);
  await first.start();
  await operatorAt(first).setIndex("BTC-PERP", "65000");
  trader = await openPatient(first, "100000");
});
after(async () => {
  await first?.dispose();
  await second?.dispose();
  proxy?.close();
  await nats?.dispose();
  await removeFolder(folder);
});

/** Orders, trades and cancels at the leader, until stop(). */
class Load {
  rounds = 0;
  private isStopping = false;
  private readonly running: Promise<void>;

  constructor(maker: Trader) {
    this.running = this.run(maker);
  }

  private async run(maker: Trader): Promise<void> {
    for (; !this.isStopping; this.rounds++) {
      const price = String(64_000 + (this.rounds % 50));
      const { orderId } = await maker.sell("0.002", price);
      await trader.buy("0.001", price);
      if (this.rounds % 3 === 0) await maker.cancel(orderId);
      await trader.buy("0.001", String(51_000 + (this.rounds % 70)));
    }
  }

  stop(): Promise<void> {
    this.isStopping = true;
    return this.running;
  }
}

test("a standby is opened under load, streams what the leader does, and refuses to decide", options, async () => {
  await trader.buy("0.1", "60000", { clientOrderId: "before-backup" });
  const maker = await openPatient(first, "100000");
  await seed(first.dataFolder, data("backup"), data("second"));
  const load = new Load(maker);
  secondPort = await freePort();
  const standby = `http://127.0.0.1:${secondPort}/v1`;
  second = node("second", "standby", secondPort, ["--serve-reads"]);
  secondLeads = second.start();
  secondLeads.catch(() => {});
  await second.logs(/this process follows a leader/);
  const reader = plainAt({ url: standby });
  follower = new Follower(standby, reader);
  await follower.stream.ready;
  socket = await SocketClient.openAs(`ws://127.0.0.1:${secondPort}/v1/ws`, trader.token);
  await socket.subscribe({ channel: "orderbook", symbol: "BTC-PERP", depth: 10 }, { channel: "orders" });
  const { rounds } = load;
  await until("more load", () => load.rounds > rounds + 20);
  await load.stop();
  const own = await trader.request<PlacedOrder>("POST", "/orders", {
    ...{ symbol: "BTC-PERP", side: "BUY", type: "LIMIT", price: "47500", quantity: "0.01", clientOrderId: "own" },
  });
  const sequence = Number(own.headers["perpd-sequence"]);
  assert.ok(sequence >= own.body.sequence);
  const read = await until("the standby to have the order", async () => {
    const answer = await reader.request<{ code?: string }>("GET", `/orders/client:own?minSequence=${sequence}`);
    // It waits a second at most.
    return answer.body.code !== "SEQUENCE_NOT_REACHED" && answer;
  });
  assert.equal(read.status, 200, read.text);
  assert.ok(Number(read.headers["perpd-sequence"]) >= sequence);
  const early = await reader.refused("SEQUENCE_NOT_REACHED", "GET", `/orders?minSequence=${sequence + 1000}`);
  assert.deepEqual([early.field, early.details?.sequence], ["minSequence", sequence]);
  await until("equal states", async () => (await follower.difference()) === null);
  assert.equal(await digestsOf({ url: standby }), await digestsOf(first));
  for (const [method, path] of [
    ["POST", "/orders"],
    ["DELETE", "/orders"],
    ["POST", "/auth/challenge"],
    ["PUT", "/operator/index/BTC-PERP"],
  ]) {
    const { details } = await reader.refused("NOT_LEADER", method as string, path as string);
    assert.equal(`${details?.leader}/v1`, firstUrl);
  }
  const order = { symbol: "BTC-PERP", side: "BUY", type: "MARKET", quantity: "0.01" };
  assert.equal((await socket.request("order.place", { params: order })).code, "NOT_LEADER");
  const auth = await socket.request("auth", { token: trader.token, cancelOnDisconnect: true });
  assert.equal(auth.code, "NOT_LEADER");
  await reader.refused("NOT_READY", "GET", "/health/ready");
  const { role, status, lagMs } = await reader.get<Health>("/health");
  assert.deepEqual([role, status, typeof lagMs], ["STANDBY", "NOT_LEADER", "number"]);
});

test(
  "a standby takes over from a killed leader with everything acknowledged, and its sockets stay open",
  options,
  async () => {
    for (let i = 0; i < 20; i++) await trader.buy("0.01", String(50_000 + i), { clientOrderId: `order-${i}` });
    const key = await trader.call<CreatedApiKey>(201, "POST", "/auth/keys", { label: "key", permissions: ["TRADE"] });
    const order = JSON.stringify({ symbol: "BTC-PERP", side: "BUY", type: "LIMIT", price: "49000", quantity: "0.01" });
    // Anybody may change the window, which is not signed.
    const headers = { ...signed(key, "POST", "/orders", order), "x-recv-window": "60000" };
    assert.equal((await new Api(first.url).request("POST", "/orders", order, headers)).status, 201);
    const open = (await trader.openOrders("?limit=1000")).data.length;
    const digests = await digestsOf(first);
    await first.kill();
    await secondLeads;
    const there = at(second);
    assert.equal((await there.openOrders("?limit=1000")).data.length, open);
    assert.equal(await digestsOf(second), digests);
    await patient(new Api(second.url)).refused("TIMESTAMP_OUT_OF_WINDOW", "POST", "/orders", order, headers);
    // The same id is taken, by an order that the dead leader acknowledged.
    const again = await there.request<{ code: string }>("POST", "/orders", {
      ...{ symbol: "BTC-PERP", side: "BUY", type: "LIMIT", price: "50001", quantity: "0.02", clientOrderId: "order-7" },
    });
    assert.deepEqual([again.status, again.body.code], [409, "CLIENT_ORDER_ID_REUSED"]);
    const { sequence } = await there.buy("0.01", "62500", { clientOrderId: "after" });
    const { role, epoch } = await there.get<{ role: string; epoch: number }>("/replication");
    assert.deepEqual([role, epoch], ["LEADER", 2]);
    await until("the streams", async () => (await follower.difference()) === null);
    follower.stream.close();
    await socket.find(
      "the new leader's book",
      (message) => message.channel === "orderbook" && message.sequence === sequence,
    );
    const books = socket.ofChannel("orderbook");
    for (let i = 1; i < books.length; i++) assert.equal(books[i]?.prevSequence, books[i - 1]?.sequence);
    await socket.close();
  },
);

test("the dead leader comes back as a standby, and leads when the other one stops on purpose", options, async () => {
  const leads = first.start();
  leads.catch(() => {});
  await first.logs(/this process follows a leader/);
  // Without serveReads.
  await plainAt(first).refused("NOT_LEADER", "GET", "/orders");
  await assert.rejects(SocketClient.open(first.wsUrl), /503/);
  assert.equal((await at(first).get<Health>("/health")).role, "STANDBY");
  await at(second).buy("0.01", "48000", { clientOrderId: "while-standby" });
  const digests = await digestsOf(second);
  assert.deepEqual(await second.stop(), { code: 0, signal: null });
  await leads;
  assert.equal(await digestsOf(first), digests);
  const ids = (await at(first).openOrders()).data.map(({ clientOrderId }) => clientOrderId);
  assert.ok(ids.includes("while-standby"));
});

test("a leader that was stopped for seconds is fenced: it answers no read and ends", options, async () => {
  const oldLog = second.stderr.length;
  secondLeads = second.start();
  secondLeads.catch(() => {});
  await until("the standby", () => /this process follows a leader/.test(second.stderr.slice(oldLog)));
  const old = plainAt(first);
  first.signal("SIGSTOP");
  await secondLeads;
  await at(second).buy("0.01", "47000", { clientOrderId: "by-the-new-leader" });
  const read = old.request<{ code: string }>("GET", "/orders").catch(() => null);
  const write = old
    .request<{ code: string }>("POST", "/orders", {
      ...{ symbol: "BTC-PERP", side: "BUY", type: "LIMIT", price: "46000", quantity: "0.01", clientOrderId: "lost" },
    })
    .catch(() => null);
  first.signal("SIGCONT");
  assert.equal((await first.exit()).code, 1);
  assert.match(
    first.stderr,
    /another process leads.*This process was deposed and ends; nothing.*is lost\. Start it again/,
  );
  assert.doesNotMatch(first.stderr, /thread died|"stack"/);
  for (const answer of [await read, await write]) if (answer !== null) assert.equal(answer.body.code, "NOT_LEADER");
  const ids = (await at(second).openOrders()).data.map(({ clientOrderId }) => clientOrderId);
  assert.ok(ids.includes("by-the-new-leader"));
  assert.ok(!ids.includes("lost"));
});

test("while the stream is gone nothing is acknowledged, and nothing is lost when it is back", options, async () => {
  const there = at(second);
  const leaver = await openPatient(second, "1000");
  const { orderId } = await leaver.buy("0.001", "41000");
  const leaving = await SocketClient.open(second.wsUrl);
  await leaving.request("auth", { token: leaver.token, cancelOnDisconnect: true });
  await nats.kill();
  const answer = plainAt(second).request<{ code: string }>("POST", "/orders", {
    ...{
      symbol: "BTC-PERP",
      side: "BUY",
      type: "LIMIT",
      price: "45000",
      quantity: "0.01",
      clientOrderId: "in-between",
    },
  });
  await second.logs(/NATS JetStream does not answer/);
  await until("reads to be refused", async () => (await plainAt(second).request("GET", "/orders")).status === 503);
  await leaving.close();
  await nats.start();
  const { status } = await answer;
  assert.ok(status === 201 || status === 503, String(status));
  await until("the leader to answer again", async () => (await there.request("GET", "/orders")).status === 200);
  // It disconnected while the leader could not tell whether it leads.
  await until("the cancel", async () => (await leaver.order(orderId)).status === "CANCELED");
  const { data: orders } = await there.openOrders("?limit=100");
  assert.ok(orders.some(({ clientOrderId }) => clientOrderId === "by-the-new-leader"));
  if (status === 201) assert.ok(orders.some(({ clientOrderId }) => clientOrderId === "in-between"));
  await operatorAt(second).soundAudit();
});

test("a client that knows both addresses trades and reads through a take-over", options, async () => {
  const oldLog = first.stderr.length;
  const leads = first.start();
  leads.catch(() => {});
  await until("the standby", () => /this process follows a leader/.test(first.stderr.slice(oldLog)));
  const client = new PerpdClient({ baseUrl: [second.url, firstUrl], token: trader.token as string });
  const prices: string[] = [];
  const stream = client.stream([{ channel: "ticker", symbol: "BTC-PERP" }], {
    onMessage: (message) => prices.push(message.channel),
  });
  await stream.ready;
  const acknowledged: string[] = [];
  const place = async (clientOrderId: string): Promise<void> => {
    const order = { symbol: "BTC-PERP", side: "BUY", type: "LIMIT", price: "30000", quantity: "0.001" } as const;
    await client.placeOrder({ ...order, clientOrderId });
    acknowledged.push(clientOrderId);
  };
  const hostnames = [firstUrl, second.url].map((url) => new URL(url).host);
  // The first one follows.
  const program = new perpd({ token: trader.token as string, hostname: hostnames[0], options: { hostnames } });
  const placeByCcxt = async (name: string, count: number): Promise<void> => {
    for (let i = 0; i < count; i++) {
      const params = { clientOrderId: `${name}-ccxt-${i}` };
      // A program that gets no answer must ask for the order, which is not the point here.
      await program.createOrder("BTC/USDC:USDC", "limit", "buy", 0.001, 30000, params);
      acknowledged.push(params.clientOrderId);
    }
  };
  for (let i = 0; i < 20; i++) await place(`before-${i}`);
  await placeByCcxt("before", 3);
  const book = await program.watchOrderBook("BTC/USDC:USDC");
  assert.equal(program.hostname, hostnames[1]);
  const dying = second.kill();
  for (let i = 0; i < 20; i++) await place(`after-${i}`);
  assert.ok(Number((await program.fetchBalance()).USDC?.total) > 0);
  await placeByCcxt("after", 3);
  assert.equal(program.hostname, hostnames[0]);
  // The call that loses its connection rejects, as in ccxt's other classes; a loop calls again.
  const again = await program.watchOrderBook("BTC/USDC:USDC").catch(() => program.watchOrderBook("BTC/USDC:USDC"));
  assert.ok((again.nonce as number) > (book.nonce as number));
  await program.close();
  await Promise.all([dying, leads]);
  const open = (await at(first).openOrders("?limit=200")).data.map(({ clientOrderId }) => clientOrderId);
  assert.deepEqual(
    open.filter((id) => /^(before|after)-(ccxt-)?\d+$/.test(id ?? "")).toSorted(),
    acknowledged.toSorted(),
  );
  prices.length = 0;
  let index = 65_000;
  // A quiet market's ticker has nothing to say.
  await until("the stream to go on", async () => {
    await operatorAt(first).setIndex("BTC-PERP", String(index++));
    return prices.length > 0;
  });
  stream.close();
});

test("a leader without a standby does not step down", options, async () => {
  const alone = await operatorAt(first).refused("NO_STANDBY", "POST", "/operator/step-down");
  assert.deepEqual(alone.details, { standbys: 0 });
});

test("a standby that is cut off from the stream says what that means, and that it is over", options, async () => {
  const oldLog = second.stderr.length;
  proxy = new TcpProxy(Number(new URL(nats.url).port));
  await proxy.open();
  second.environment = { ...environment(), PERPD_REPLICATE: `nats://127.0.0.1:${proxy.port}` };
  secondLeads = second.start();
  secondLeads.catch(() => {});
  const logs = (line: RegExp) => until(`${line}`, () => line.test(second.stderr.slice(oldLog)));
  await logs(/this process follows a leader/);
  proxy.cut();
  await logs(/NATS JetStream does not answer: this process hears no leader and cannot take over until it does/);
  proxy.heal();
  await logs(/NATS JetStream answers again/);
  assert.doesNotMatch(second.stderr.slice(oldLog), /acknowledged/);
});

test("an operator has the leader step down: a standby leads, and no request is lost", options, async (t) => {
  const operator = operatorAt(first);
  const { standbys, epoch, sequence } = await until("the leader to hear the standby", async () => {
    const state = await operator.get<Replication>("/replication");
    return state.standbys[0]?.healthy && state;
  });
  assert.ok((standbys[0]?.sequence ?? 0) > sequence - 100, JSON.stringify(standbys));
  assert.match(await metricsOf(first), /perpd_replication_standbys 1\n/);
  const client = new PerpdClient({ baseUrl: [firstUrl, `${standbys[0]?.url}/v1`], token: trader.token as string });
  const acknowledged: string[] = [];
  let [answeredAt, longestMs, isOver] = [performance.now(), 0, false];
  const orders = (async () => {
    while (!isOver) {
      const order = { symbol: "BTC-PERP", side: "BUY", type: "LIMIT", price: "20000", quantity: "0.001" } as const;
      // Without a name: each must be done once.
      acknowledged.push((await client.placeOrder(order)).orderId);
      await client.cancelOrder(acknowledged.at(-1) as string);
      longestMs = Math.max(longestMs, performance.now() - answeredAt);
      answeredAt = performance.now();
    }
  })();
  await until("orders", () => acknowledged.length > 20);
  const env = { ...process.env, PERPD_OPERATOR_TOKEN: OPERATOR_TOKEN, PERPD_URL: firstUrl };
  const { stdout } = await runPerpd(["step-down"], env);
  assert.match(stdout, /^http:\/\/127\.0\.0\.1:\d+ leads after \d+ ms\n$/);
  assert.deepEqual(await first.exit(), { code: 0, signal: null });
  assert.match(first.stderr, /"operator":"operator","method":"POST","path":"\/operator\/step-down".*"force":false/);
  await secondLeads;
  const before = acknowledged.length;
  await until("orders at the new leader", () => acknowledged.length > before + 20);
  isOver = true;
  await orders;
  t.diagnostic(`${stdout.trim()}; longest time without an answer: ${Math.round(longestMs)} ms`);
  assert.equal(new Set(acknowledged).size, acknowledged.length);
  assert.equal((await at(second).get<Replication>("/replication")).epoch, epoch + 1);
  await operatorAt(second).soundAudit();
});

/** An order that the process may answer or not. The same id finds out. */
const tryOrder = (server: TestServer, clientOrderId: string) =>
  plainAt(server)
    .request<{ code: string }>("POST", "/orders", {
      ...{ symbol: "BTC-PERP", side: "BUY", type: "LIMIT", price: "44000", quantity: "0.01", clientOrderId },
    })
    .catch(() => null);
const idsAt = async (server: TestServer): Promise<(string | null)[]> =>
  (await at(server).openOrders("?limit=1000")).data.map(({ clientOrderId }) => clientOrderId);

test("a leader that is cut off from the stream answers nothing more, and ends when it is back", options, async () => {
  const oldLog = first.stderr.length;
  const leads = first.start();
  leads.catch(() => {});
  await until("the standby", () => /this process follows a leader/.test(first.stderr.slice(oldLog)));
  await at(second).buy("0.01", "44000", { clientOrderId: "before-the-cut" });
  const socket = await SocketClient.open(second.wsUrl);
  await socket.subscribe({ channel: "trades", symbol: "BTC-PERP" });
  proxy.cut();
  const lost = tryOrder(second, "beyond-the-cut");
  await leads;
  assert.equal((await plainAt(second).request("GET", "/orders")).status, 503);
  for (const path of ["/replication", "/health"]) {
    const states = await Promise.all([second, first].map((server) => plainAt(server).get<Replication | Health>(path)));
    assert.deepEqual(
      states.map(({ role }) => role),
      ["LEADER_WITHOUT_LEASE", "LEADER"],
      path,
    );
  }
  await at(first).buy("0.01", "43000", { clientOrderId: "by-the-other-side" });
  // Its streams would seem to be those of a quiet market.
  assert.deepEqual(await socket.closed, { code: 1001, reason: "GOING_AWAY" });
  proxy.heal();
  assert.equal((await second.exit()).code, 1);
  assert.match(second.stderr, /another process leads/);
  assert.ok([503, undefined].includes((await lost)?.status));
  const ids = await idsAt(first);
  assert.deepEqual(
    ["before-the-cut", "beyond-the-cut", "by-the-other-side"].map((id) => ids.includes(id)),
    [true, false, true],
  );
});

test("a leader stops in order without the stream, and a start waits until it is there", options, async () => {
  const ids = await idsAt(first);
  await nats.kill();
  const lost = tryOrder(first, "unanswered");
  const oldLog = first.stderr.length;
  await until("the silence", () => /NATS JetStream does not answer/.test(first.stderr.slice(oldLog)));
  assert.deepEqual(await first.stop(), { code: 0, signal: null });
  assert.ok([503, undefined].includes((await lost)?.status));
  const stopped = first.stderr.length;
  const leads = first.start();
  leads.catch(() => {});
  await until("the start to wait", () => /NATS JetStream does not answer/.test(first.stderr.slice(stopped)));
  await nats.start();
  await leads;
  // The server may have got it at last. Nobody was told, so either is right.
  assert.deepEqual(
    (await idsAt(first)).filter((id) => id !== "unanswered"),
    ids,
  );
  await operatorAt(first).soundAudit();
});

test("a folder that was replicated does not start alone, and names what to do", options, async () => {
  const failed = await startAndFail({ dataFolder: data("second") });
  assert.equal(failed.code, 1);
  assert.match(failed.output, /is replicated in the stream perpd.*start it with --replicate/);
});

test(
  "a mistyped stream is named beside the one of the folder, and nothing says that anything is lost",
  options,
  async () => {
    const typo = { ...environment(), PERPD_REPLICATE_STREAM: "typo" };
    for (const command of ["start", "standby"] as const) {
      const failed = await startAndFail({ command, dataFolder: data("second"), environment: typo });
      assert.equal(failed.code, 1);
      assert.match(failed.output, /is replicated in the stream perpd, but the setting replicateStream is typo/);
      assert.doesNotMatch(failed.output, /lost|replication\.json/);
    }
  },
);

test("the stream of another exchange is refused, and nothing is written", options, async () => {
  const failed = await startAndFail({ dataFolder: data("new"), environment: environment() });
  assert.equal(failed.code, 1);
  assert.match(
    failed.output,
    /the stream perpd holds the log of the exchange .*this folder holds no exchange; set replicateStream to another name/,
  );
  assert.equal(existsSync(data("new")), false);
});

test(
  "a server that answers before its disk has the data is refused, unless told otherwise, and nothing is written",
  options,
  async () => {
    const lax = new Nats({ isSync: false, password: "right" });
    await lax.start();
    try {
      const url = lax.url.replace("//", "//perpd:right@");
      const dataFolder = data("new");
      const refused = await startAndFail({
        dataFolder,
        environment: { PERPD_REPLICATE: url, PERPD_REPLICATE_MONITORS: lax.monitor },
      });
      assert.equal(refused.code, 1);
      assert.match(refused.output, /sync_interval: always/);
      const unproven = await startAndFail({ dataFolder, environment: { PERPD_REPLICATE: url } });
      assert.match(unproven.output, /set replicateMonitors/);
      const wrong = await startAndFail({
        dataFolder,
        environment: {
          PERPD_REPLICATE: lax.url.replace("//", "//perpd:wrong@"),
          PERPD_REPLICATE_MONITORS: lax.monitor,
        },
        flags: ["--replicate-unsafe", "on"],
      });
      assert.match(wrong.output, /cannot connect to NATS at nats:\/\/127\.0\.0\.1:\d+: .*credentials/i);
      assert.ok(!wrong.output.includes("wrong@"));
      assert.equal(existsSync(dataFolder), false);
    } finally {
      await lax.dispose();
    }
  },
);

test("a server that cannot keep three copies is refused, and nothing is written", options, async () => {
  const failed = await startAndFail({
    dataFolder: data("new"),
    environment: { ...environment(), PERPD_REPLICATE_STREAM: "three", PERPD_REPLICATE_REPLICAS: "3" },
  });
  assert.equal(failed.code, 1);
  assert.match(failed.output, /replicateReplicas is 3, and this server is in no cluster: set it to 1, or set up three/);
  assert.equal(existsSync(data("new")), false);
});

test("a stream that lost acknowledged transactions stops a start, and is named", options, async () => {
  await first.stop();
  await purgeStream(nats.url, 0);
  const failed = await startAndFail({ dataFolder: data("first"), environment: environment() });
  assert.equal(failed.code, 1);
  assert.match(failed.output, /the stream has lost acknowledged transactions/);
});
