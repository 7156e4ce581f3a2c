import type { ChildProcess } from "node:child_process";
import { Agent, request as httpRequest } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { type JetStreamManager, jetstream, jetstreamManager } from "@nats-io/jetstream";
import { connect, type NatsConnection } from "@nats-io/transport-node";
import { WebSocket } from "ws";
import type { BarePublisherTask, Publishing } from "./support/load/bare-publisher.ts";
import { AUTOCANNON, type HttpLoad } from "./support/load/http-load.ts";
import { endProcess, forkScript, type RunningExchange, request, startExchange } from "./support/processes.ts";
import { processorUs } from "./support/processor-time.ts";
import { compact, goalRow, interleave, median, type Row, ratioRow } from "./support/report.ts";
import { NATS_SERVER, type RunningNats, startNats } from "./support/servers/nats.ts";
import { ReplicatedPair } from "./support/servers/replicated-pair.ts";

const SECONDS = 3;
/** The rate of one round varies by a fifth, so the rates have so many times more rounds. */
const MORE_RATE_ROUNDS = 3;
/** V8 optimizes late what runs a few hundred times a second. */
const WARM_UP_SECONDS = 10;
const SYMBOL = "BTC-PERP";
const PRICES = { [SYMBOL]: "65000" };
/** An order that goes the whole way but leaves nothing behind: IOC, far below the market. */
const ORDER = { symbol: SYMBOL, side: "BUY", type: "LIMIT", timeInForce: "IOC", price: "30000", quantity: "0.001" };
/** Orders of one connection, one after the other, and publishes. */
const COUNT = 500;
const BOOK_CHANGES = 150;
/** What the stream may add to the p50 of an order, and how long a take-over may take, in us and ms. */
const MAX_ADDED_US = 1200;
const MAX_TAKEOVER_MS = 2000;
const MAX_STEP_DOWN_MS = 1000;

/**
 * Durable orders of an exchange whose log is in a stream, too, beside one whose log is on this machine only. Then a leader
 * with a standby: how far it is behind, what it costs, and how long a take-over takes.
 */
export async function benchReplication(rounds: number): Promise<Row[]> {
  if (NATS_SERVER === null) {
    console.error("nats-server is not installed: the stage is left out");
    return [];
  }
  const nats = await startNats();
  try {
    return [...(await compareOrders(nats, rounds)), ...(await measurePair(nats, rounds))];
  } finally {
    await nats.stop();
  }
}

async function compareOrders(nats: RunningNats, rounds: number): Promise<Row[]> {
  const alone = await startExchange(PRICES);
  const environment = { PERPD_REPLICATE: nats.url, PERPD_REPLICATE_MONITORS: nats.monitor };
  const replicated = await startExchange(PRICES, { environment });
  const publisher = forkScript("bench/support/load/bare-publisher.js", []);
  try {
    await request(publisher, { url: nats.url, stream: "load" } satisfies BarePublisherTask);
    return [
      ...(await compareRates(nats, replicated, alone, publisher, rounds)),
      ...(await compareLatencies(nats, replicated, alone, rounds)),
    ];
  } finally {
    await endProcess(publisher, "SIGKILL");
    await replicated.stop();
    await alone.stop();
  }
}

/**
 * The bound is an exchange on this machine only, while a bare client publishes messages of the same size as often as the
 * replicated exchange does: what a stream takes from two shared cores, if the exchange does nothing for it.
 */
async function compareRates(
  nats: RunningNats,
  replicated: RunningExchange,
  alone: RunningExchange,
  publisher: ChildProcess,
  rounds: number,
): Promise<Row[]> {
  const rateOf = (exchange: RunningExchange, seconds = SECONDS) =>
    AUTOCANNON.run(orderLoad(exchange), seconds).then(({ rate }) => rate);
  const connection = await connect({ servers: nats.url });
  try {
    const manager = await jetstreamManager(connection);
    for (const exchange of [replicated, alone]) await rateOf(exchange, WARM_UP_SECONDS);
    const before = await logState(manager);
    await rateOf(replicated);
    const after = await logState(manager);
    const messages = after.messages - before.messages;
    const publishing: Publishing = {
      bytes: Math.round((after.bytes - before.bytes) / messages),
      perSecond: messages / SECONDS,
      seconds: SECONDS,
    };
    const [ours = [], theirs = [], bound = []] = await interleave(
      MORE_RATE_ROUNDS * rounds,
      () => rateOf(replicated),
      () => rateOf(alone),
      async () => {
        const sent = request<number>(publisher, publishing);
        const rate = await rateOf(alone);
        await sent;
        return rate;
      },
    );
    const what = "POST /orders in mode sync, 64 connections";
    const { bytes, perSecond } = publishing;
    const beside = `on this machine only, beside a client that publishes ${compact(Math.round(perSecond))} messages/s of ${compact(bytes)} bytes`;
    return [
      ratioRow(what, "requests/s", "on this machine only", ours, theirs),
      ratioRow(what, "requests/s", beside, ours, bound),
      ratioRow(beside, "requests/s", "on this machine only", bound, theirs),
    ];
  } finally {
    await connection.close();
  }
}

/** Of the exchange's stream. */
const logState = async (manager: JetStreamManager) => (await manager.streams.info("perpd")).state;

function orderLoad({ url, token }: Pick<RunningExchange, "url" | "token">): HttpLoad {
  const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json" };
  return { url: `${url}/orders`, method: "POST", connections: 64, headers, body: JSON.stringify(ORDER) };
}

/** One order after the other, and bare publishes of as many bytes as such an order has in the stream. */
async function compareLatencies(
  nats: RunningNats,
  replicated: RunningExchange,
  alone: RunningExchange,
  rounds: number,
): Promise<Row[]> {
  const connection = await connect({ servers: nats.url });
  try {
    const manager = await jetstreamManager(connection);
    await manager.streams.add({ name: "bare", subjects: ["bare"], storage: "file" });
    const before = await logState(manager);
    await timeOrders(replicated);
    const after = await logState(manager);
    const bytes = Math.round((after.bytes - before.bytes) / (after.messages - before.messages));
    const [ours = [], theirs = [], publishes = []] = await interleave(
      rounds,
      () => timeOrders(replicated),
      () => timeOrders(alone),
      () => timePublishes(connection, bytes),
    );
    const added = ours.map((us, i) => us - theirs[i]);
    return [
      ratioRow("POST /orders in mode sync, 1 connection, p50", "us", "on this machine only", ours, theirs),
      goalRow("p50 that the stream adds to an order, 1 connection", "us", MAX_ADDED_US, added),
      ratioRow("the same", "us", `a bare JetStream publish of ${bytes} bytes`, added, publishes),
    ];
  } finally {
    await connection.close();
  }
}

/** The p50 of orders on one connection, in us. */
async function timeOrders({ url, token }: { url: string; token: string }): Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const times: number[] = [];
  for (let i = 0; i < COUNT; i++) {
    const from = performance.now();
    await post(agent, `${url}/orders`, token, ORDER);
    times.push((performance.now() - from) * 1e3);
  }
  agent.destroy();
  return median(times);
}

function post(agent: Agent, url: string, token: string, order: object): Promise<void> {
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  return new Promise((resolve, reject) => {
    const outgoing = httpRequest(url, { method: "POST", agent, headers }, (incoming) => {
      incoming.resume();
      incoming.on("end", () =>
        incoming.statusCode === 201 ? resolve() : reject(new Error(`an order: status ${incoming.statusCode}`)),
      );
    });
    outgoing.on("error", reject);
    outgoing.end(JSON.stringify(order));
  });
}

async function timePublishes(connection: NatsConnection, bytes: number): Promise<number> {
  const client = jetstream(connection);
  const message = new Uint8Array(bytes);
  const times: number[] = [];
  for (let i = 0; i < COUNT; i++) {
    const from = performance.now();
    await client.publish("bare", message);
    times.push((performance.now() - from) * 1e3);
  }
  return median(times);
}

async function measurePair(nats: RunningNats, rounds: number): Promise<Row[]> {
  const pair = await ReplicatedPair.open(nats);
  try {
    const behind: number[] = [];
    const costs: Costs[] = [];
    for (let round = 0; round < rounds; round++) {
      behind.push(await timeBehind(pair));
      costs.push(await costsOfOrders(pair));
    }
    const takeovers: number[] = [];
    const stepDowns: number[] = [];
    for (let round = 0; round < rounds; round++) {
      takeovers.push(await pair.killLeader());
      stepDowns.push(await pair.stepDown());
    }
    return [
      {
        ...alone,
        what: "a change of the book on the standby's stream, after the leader's, p50",
        unit: "us",
        perpd: median(behind),
      },
      ratioRow(
        "processor time of the standby for one order, 64 connections",
        "us",
        "of the leader",
        ...([costs.map(({ standbyUs }) => standbyUs), costs.map(({ leaderUs }) => leaderUs)] as const),
      ),
      goalRow("from SIGKILL of the leader to the next leader's first order", "ms", MAX_TAKEOVER_MS, takeovers),
      goalRow("from a step-down to the next leader's first order", "ms", MAX_STEP_DOWN_MS, stepDowns),
    ];
  } finally {
    await pair.stop();
  }
}

const alone = { beside: "", other: null, ratio: null, spread: null };

/** How much later a message comes from the standby's stream of the book than from the leader's: the p50, in us. */
async function timeBehind({ leaderUrl, standbyUrl, token }: ReplicatedPair): Promise<number> {
  const leader = await BookArrivals.open(leaderUrl);
  const standby = await BookArrivals.open(standbyUrl);
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  for (let i = 0; i < BOOK_CHANGES; i++) {
    await post(agent, `${leaderUrl}/orders`, token, { ...ORDER, timeInForce: "GTC", price: "60000" });
    await sleep(2);
  }
  agent.destroy();
  await fetch(`${leaderUrl}/orders`, { method: "DELETE", headers: { authorization: `Bearer ${token}` } });
  await sleep(100);
  leader.close();
  standby.close();
  const times: number[] = [];
  for (const [sequence, atMs] of standby.atMs) {
    const leadersMs = leader.atMs.get(sequence);
    if (leadersMs !== undefined) times.push((atMs - leadersMs) * 1e3);
  }
  if (times.length < BOOK_CHANGES / 2) throw new Error(`only ${times.length} messages came from both`);
  return median(times);
}

/** When the messages of an order book came, by sequence. */
class BookArrivals {
  readonly atMs = new Map<number, number>();
  private readonly socket: WebSocket;

  private constructor(socket: WebSocket) {
    this.socket = socket;
  }

  static async open(url: string): Promise<BookArrivals> {
    const socket = new WebSocket(`${url.replace(/^http/, "ws")}/ws`);
    const arrivals = new BookArrivals(socket);
    await new Promise<void>((resolve, reject) => {
      socket.on("error", reject);
      socket.on("message", (data) => {
        const { type, sequence } = JSON.parse(String(data)) as { type?: string; sequence?: number };
        if (type === "SNAPSHOT") resolve();
        else if (sequence !== undefined) arrivals.atMs.set(sequence, performance.now());
      });
      const channels = [{ channel: "orderbook", symbol: SYMBOL, depth: 20 }];
      socket.on("open", () => socket.send(JSON.stringify({ op: "subscribe", id: 1, channels })));
    });
    return arrivals;
  }

  close(): void {
    this.socket.close();
  }
}

interface Costs {
  leaderUs: number;
  standbyUs: number;
}

/** Processor time of both processes for each order. */
async function costsOfOrders({ leaderUrl, leaderPid, standbyPid, token }: ReplicatedPair): Promise<Costs> {
  const before = [processorUs(leaderPid), processorUs(standbyPid)] as const;
  const load = orderLoad({ url: leaderUrl, token });
  const { rate } = await AUTOCANNON.run(load, SECONDS);
  const orders = rate * SECONDS;
  // The standby may be behind.
  await sleep(500);
  return {
    leaderUs: (processorUs(leaderPid) - before[0]) / orders,
    standbyUs: (processorUs(standbyPid) - before[1]) / orders,
  };
}
