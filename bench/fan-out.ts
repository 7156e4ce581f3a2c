import type { ChildProcess } from "node:child_process";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { PerpdClient } from "../src/client/client.ts";
import type { Delivered, SubscribersTask } from "./support/load/subscribers.ts";
import {
  endProcess,
  forkScript,
  type Running,
  type RunningExchange,
  request,
  startBare,
  startExchange,
} from "./support/processes.ts";
import { processorUs } from "./support/processor-time.ts";
import { compact, interleave, type Row, ratioRow } from "./support/report.ts";

const SUBSCRIBERS = 1000;
/** Numbers of subscribers for the cost of one order. */
const SUBSCRIBER_COUNTS = [1, 100, 10_000];
const SECONDS = 2;
export const SYMBOL = "BTC-PERP";
const DEPTH = 20;
/** One on the book, one on the trades. */
export const MESSAGES_PER_ORDER = 2;
/** The reply to the subscription, and a snapshot of each channel. */
const INITIAL_MESSAGES = 3;
const BARE = "bare publish";
const HEADERS = { "Content-Type": "application/json" };

/**
 * Trades of one symbol, each delivered to 1000 WebSockets as a book change and as a trade. Baseline: a bare server that
 * publishes as many messages of the same size for each POST.
 * All subscribers live in one process, which shares the machine with the server and is often the limit. So the server's
 * own processor time per delivery is shown too.
 */
export async function benchFanOut(rounds: number): Promise<Row[]> {
  const exchange = await startExchange({ [SYMBOL]: "65000" });
  try {
    await restOrders(exchange);
    const task = exchangeTask(exchange, SUBSCRIBERS);
    const crowd = await SubscriberProcess.start(exchange, task);
    const { messages, bytes, orders } = await crowd.measure(1);
    if (messages < orders * SUBSCRIBERS * MESSAGES_PER_ORDER) throw new Error("some messages did not arrive");
    const bare = await startBare({ post: 500, get: 0, published: Math.round((bytes / messages) * MESSAGES_PER_ORDER) });
    const socketUrl = bare.socketUrl;
    const bareCrowd = await SubscriberProcess.start(bare, {
      ...task,
      socketUrl,
      ordersUrl: bare.url,
      subscription: "",
      initialMessages: 1,
    });
    await bareCrowd.measure(1); // warm-up
    const [ours, theirs] = await interleave(
      rounds,
      () => crowd.measure(SECONDS),
      () => bareCrowd.measure(SECONDS),
    );
    await Promise.all([crowd.stop(), bareCrowd.stop(), bare.stop()]);
    const what = `WebSocket, ${SUBSCRIBERS} subscribers to book and trades`;
    const rate = ({ messages, seconds }: Measured): number => messages / seconds;
    const cost = ({ messages, serverUs }: Measured): number => serverUs / messages;
    const rows = [ratioRow(what, "deliveries/s", BARE, ours.map(rate), theirs.map(rate))];
    if (ours.every(({ serverUs }) => serverUs > 0))
      rows.push(ratioRow(`${what}, the server's processor time for one`, "us", BARE, ours.map(cost), theirs.map(cost)));
    return [...rows, ...(await compareSubscriberCounts(exchange, rounds))];
  } finally {
    await exchange.stop();
  }
}

/** The server's processor time for one order, including all of its deliveries. */
async function compareSubscriberCounts(exchange: RunningExchange, rounds: number): Promise<Row[]> {
  if (process.platform !== "linux") return [];
  const sizes = SUBSCRIBER_COUNTS.filter((size) => size < maxSockets());
  const each: number[][] = [];
  for (const size of sizes) {
    const crowd = await SubscriberProcess.start(exchange, exchangeTask(exchange, size));
    await crowd.measure(SECONDS / 2); // warm-up
    const costs: number[] = [];
    for (let round = 0; round < rounds; round++) {
      const { serverUs, orders } = await crowd.measure(SECONDS / 2);
      costs.push(serverUs / orders);
    }
    each.push(costs);
    await crowd.stop();
  }
  const row = (size: number, costs: readonly number[]): Row => {
    const what = `WebSocket, ${compact(size)} subscribers to book and trades, the server's processor time for one order`;
    return ratioRow(what, "us", `with ${sizes[0]}`, costs, each[0] as number[]);
  };
  return sizes.map((size, i) => row(size, each[i] as number[])).slice(1);
}

/** Sockets that a process may open, less 200 for its files. */
export function maxSockets(): number {
  const report = process.report.getReport() as unknown as { userLimits: { open_files: { hard: number | string } } };
  const { hard } = report.userLimits.open_files;
  return hard === "unlimited" ? Number.POSITIVE_INFINITY : Number(hard) - 200;
}

interface Measured extends Delivered {
  /** Processor time of all threads of the server; 0 where /proc does not exist. */
  serverUs: number;
}

/** The process of all subscribers, and the server that they use. */
export class SubscriberProcess {
  private readonly child: ChildProcess;
  private readonly server: Running;

  private constructor(child: ChildProcess, server: Running) {
    this.child = child;
    this.server = server;
  }

  static async start(server: Running, task: SubscribersTask): Promise<SubscriberProcess> {
    const crowd = new SubscriberProcess(forkScript("bench/support/load/subscribers.js", []), server);
    await request(crowd.child, task);
    return crowd;
  }

  async measure(seconds: number): Promise<Measured> {
    const before = processorUs(this.server.pid);
    const delivered = await request<Delivered>(this.child, seconds);
    return { ...delivered, serverUs: processorUs(this.server.pid) - before };
  }

  stop(): Promise<void> {
    return endProcess(this.child, "SIGKILL");
  }
}

export function exchangeTask(
  { url, socketUrl, token }: Pick<RunningExchange, "url" | "socketUrl" | "token">,
  count: number,
): SubscribersTask {
  const channels = [
    { channel: "orderbook", symbol: SYMBOL, depth: DEPTH },
    { channel: "trades", symbol: SYMBOL },
  ];
  const order = { symbol: SYMBOL, type: "LIMIT", timeInForce: "IOC", quantity: "0.001" };
  return {
    socketUrl,
    count,
    subscription: JSON.stringify({ op: "subscribe", channels }),
    initialMessages: INITIAL_MESSAGES,
    ordersUrl: `${url}/orders`,
    headers: { Authorization: `Bearer ${token}`, ...HEADERS },
    orders: [
      { ...order, side: "BUY", price: "65010" },
      { ...order, side: "SELL", price: "64990" },
    ].map((body) => JSON.stringify(body)),
    messagesPerOrder: MESSAGES_PER_ORDER,
  };
}

/** Places a book of another account, with enough at its best prices for every trade. */
export async function restOrders({ url }: RunningExchange): Promise<void> {
  const client = new PerpdClient({ baseUrl: url });
  const wallet = privateKeyToAccount(generatePrivateKey());
  await client.login(wallet.address, (message) => wallet.signMessage({ message }));
  await client.deposit({ asset: "USDC", amount: "1000000" });
  const order = { symbol: SYMBOL, type: "LIMIT", timeInForce: "GTC" } as const;
  for (let i = 1; i <= DEPTH; i++) {
    const quantity = i === 1 ? "25" : "0.01";
    await client.placeOrder({ ...order, side: "BUY", quantity, price: String(65_000 - i) });
    await client.placeOrder({ ...order, side: "SELL", quantity, price: String(65_000 + i) });
  }
}
