import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { exchangeTask, MESSAGES_PER_ORDER, maxSockets, restOrders, SubscriberProcess, SYMBOL } from "./fan-out.ts";
import { type Running, type RunningExchange, startBare, startExchange, startGateway } from "./support/processes.ts";
import { threadTimesUs } from "./support/processor-time.ts";
import { interleave, median, type Row, ratioRow } from "./support/report.ts";
import { NATS_SERVER, type RunningNats, startNats } from "./support/servers/nats.ts";

const SUBSCRIBERS = 10_000;
const MANY = 100_000;
const SECONDS = 4;
/** Fewer than the leader can take: the question is what one order costs. */
const ORDERS_PER_SECOND = 100;
const PRICES = { [SYMBOL]: "65000" };
const KIB = 1024;

/**
 * A gateway with 10,000 subscribers of a replicated exchange that trades. Its leader is measured beside a leader without
 * subscribers, and its deliveries beside a bare server that publishes as many messages of the same size for each POST.
 */
export async function benchGatewayFanOut(rounds: number): Promise<Row[]> {
  if (NATS_SERVER === null || process.platform !== "linux") {
    console.error("the stage needs nats-server and Linux: it is left out");
    return [];
  }
  const count = Math.min(SUBSCRIBERS, maxSockets());
  const nats = await startNats();
  const running: { stop(): Promise<void> }[] = [nats];
  try {
    const start = async (stream: string): Promise<RunningExchange> => {
      const exchange = await startExchange(PRICES, { environment: environmentOf(nats, stream) });
      running.unshift(exchange);
      await restOrders(exchange);
      return exchange;
    };
    const quiet = await start("quiet");
    const leader = await start("watched");
    const gateway = await startGateway(leader.url, environmentOf(nats, "watched"));
    running.unshift(gateway);
    await sleep(500);
    const before = memoryKiB(gateway.pid);
    const crowd = await SubscriberProcess.start(gateway, {
      ...exchangeTask(behind(gateway, leader), count),
      isInStep: true,
    });
    running.unshift(crowd);
    const perSubscriberKiB = (memoryKiB(gateway.pid) - before) / count;
    const cost = await costOfOrders(rounds, leader, quiet, count);
    const delivery = await compareDeliveries(rounds, crowd, leader, count);
    return [...cost, ...delivery.rows, ...extrapolate(count, perSubscriberKiB, delivery.usEach)];
  } finally {
    for (const each of running) await each.stop();
  }
}

const environmentOf = (nats: RunningNats, stream: string): Record<string, string> => ({
  PERPD_REPLICATE: nats.url,
  PERPD_REPLICATE_MONITORS: nats.monitor,
  PERPD_REPLICATE_STREAM: stream,
  PERPD_TRUSTED_PROXIES: "127.0.0.1",
});

/** Subscribers at the gateway, and orders at the leader. */
const behind = (gateway: Running, { url, token }: RunningExchange) => ({ url, token, socketUrl: gateway.socketUrl });

/**
 * The leader's processor time for one order, and the time to its answer, beside a leader without subscribers. Both take their
 * orders at the same time, in turn: while a gateway serves its subscribers, this machine slows down every program.
 */
async function costOfOrders(
  rounds: number,
  watched: RunningExchange,
  quiet: RunningExchange,
  count: number,
): Promise<Row[]> {
  await paceOrders([watched, quiet], 1); // warm-up
  const measured: Paced[][] = [];
  for (let round = 0; round < rounds; round++) measured.push(await paceOrders([watched, quiet], SECONDS));
  const what = `${count} subscribers at a gateway, an order at the leader`;
  const beside = "at a leader without subscribers, at the same time";
  const row = (name: string, read: (paced: Paced) => number): Row =>
    ratioRow(
      `${what}, ${name}`,
      "us",
      beside,
      ...([measured.map(([ours]) => read(ours)), measured.map(([, theirs]) => read(theirs))] as const),
    );
  return [
    row("the leader's processor time", ({ processorUs }) => processorUs),
    row("its main thread's processor time", ({ mainThreadUs }) => mainThreadUs),
    row("p50 of the answer on this shared machine", ({ p50Us }) => p50Us),
  ];
}

interface Paced {
  /** Of one order. */
  processorUs: number;
  mainThreadUs: number;
  p50Us: number;
}

/** Sends orders at a steady pace to each in turn. Each order trades. */
async function paceOrders(exchanges: readonly RunningExchange[], seconds: number): Promise<Paced[]> {
  const tasks = exchanges.map((exchange) => exchangeTask(exchange, 0));
  const before = exchanges.map(({ pid }) => threadTimesUs(pid));
  const latencies = exchanges.map((): Promise<number>[] => []);
  const perSecond = ORDERS_PER_SECOND * exchanges.length;
  const from = performance.now();
  for (let sent = 0; sent < seconds * perSecond; sent++) {
    await sleep(Math.max(0, from + (1e3 * sent) / perSecond - performance.now()));
    const turn = sent % exchanges.length;
    const { ordersUrl, headers, orders } = tasks[turn];
    const body = orders[latencies[turn].length % orders.length] as string;
    latencies[turn].push(sendOrder(ordersUrl, headers, body));
  }
  const us = await Promise.all(latencies.map((each) => Promise.all(each)));
  const after = exchanges.map(({ pid }) => threadTimesUs(pid));
  return exchanges.map(({ pid }, i) => {
    const timeOf = (thread: number) => (after[i].get(thread) ?? 0) - (before[i].get(thread) ?? 0);
    const all = [...after[i].keys()].reduce((sum, thread) => sum + timeOf(thread), 0);
    const count = us[i].length;
    return { processorUs: all / count, mainThreadUs: timeOf(pid) / count, p50Us: median(us[i]) };
  });
}

async function sendOrder(url: string, headers: Record<string, string>, body: string): Promise<number> {
  const from = performance.now();
  const reply = await fetch(url, { method: "POST", headers, body });
  if (reply.status !== 201) throw new Error(`an order: ${await reply.text()}`);
  await reply.arrayBuffer();
  return (performance.now() - from) * 1e3;
}

/** Each order is sent when all subscribers have the messages of the one before. */
async function compareDeliveries(
  rounds: number,
  crowd: SubscriberProcess,
  leader: RunningExchange,
  count: number,
): Promise<{ rows: Row[]; usEach: number }> {
  const { messages, bytes } = await crowd.measure(1);
  const bare = await startBare({ post: 500, get: 0, published: Math.round((bytes / messages) * MESSAGES_PER_ORDER) });
  const bareCrowd = await SubscriberProcess.start(bare, {
    ...exchangeTask({ ...leader, socketUrl: bare.socketUrl }, count),
    ...{ ordersUrl: bare.url, subscription: "", initialMessages: 1, isInStep: true },
  });
  try {
    await bareCrowd.measure(1); // warm-up
    const [ours, theirs] = await interleave(
      rounds,
      () => crowd.measure(SECONDS),
      () => bareCrowd.measure(SECONDS),
    );
    const what = `WebSocket, ${count} subscribers of book and trades at a gateway`;
    const besideBare = "bare publish";
    const row = (name: string, unit: string, read: (measured: (typeof ours)[number]) => number): Row =>
      ratioRow(`${what}, ${name}`, unit, besideBare, ours.map(read), theirs.map(read));
    const rows = [
      row("one order after the other: deliveries", "deliveries/s", ({ messages, seconds }) => messages / seconds),
      row("processor time of the server for one delivery", "us", ({ serverUs, messages }) => serverUs / messages),
      row("from an order to the last subscriber", "us", ({ seconds, orders }) => (seconds * 1e6) / orders),
    ];
    return { rows, usEach: rows[1].perpd };
  } finally {
    await bareCrowd.stop();
    await bare.stop();
  }
}

/** Each gateway takes its part, and the leader's part does not grow. */
function extrapolate(count: number, perSubscriberKiB: number, usEach: number): Row[] {
  const alone = { beside: "", other: null, ratio: null, spread: null };
  const gateways = Math.ceil(MANY / count);
  const perSecond = 1e6 / usEach;
  return [
    { what: "memory of a gateway for one subscriber", unit: "KiB", perpd: perSubscriberKiB, ...alone },
    {
      what: `${MANY} subscribers = ${gateways} gateways of ${count}: memory (${MANY} × ${perSubscriberKiB.toFixed(1)} KiB)`,
      unit: "MiB",
      perpd: (MANY * perSubscriberKiB) / KIB,
      ...alone,
    },
    {
      what: `${MANY} subscribers: messages that each can get with one core a gateway (${gateways} × 1 s ÷ ${usEach.toFixed(2)} us ÷ ${MANY})`,
      unit: "messages/s",
      perpd: (gateways * perSecond) / MANY,
      ...alone,
    },
  ];
}

function memoryKiB(pid: number): number {
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]);
}
