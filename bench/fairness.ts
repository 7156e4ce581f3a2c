import { setTimeout as pause } from "node:timers/promises";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { PerpdClient } from "../src/client/client.ts";
import { temporaryFolder } from "./support/folder.ts";
import { ATTACKS, type AttackName, type AttackTask } from "./support/load/attacks.ts";
import { TraderProcess } from "./support/load/trader-process.ts";
import { endProcess, forkScript, type RunningExchange, request, startExchange } from "./support/processes.ts";
import { type Row, ratioRow } from "./support/report.ts";

/** Fewer than the other stages have: each attack needs some seconds. */
const MAX_ROUNDS = 3;
/** With ORDERS_PER_SECOND enough for a p99 that is not the slowest order alone. */
const SECONDS = 4;
/** The attack has used up its burst of tokens, and what it left behind has gone. */
const SETTLE_MS = 500;
/** Within the budget of an account, 100 a second. */
const ORDERS_PER_SECOND = 80;
const SYMBOL = "BTC-PERP";
/** On each side of the book. */
const LEVELS = 1000;
/** Rows of the history: two for each trade. */
const TRADES = 1500;
const AT_ONCE = 50;
const BOOK_CHANGES_EVERY_MS = 25;
/** An order that goes the whole way but leaves nothing behind: IOC, far below the market. */
const ORDER = { symbol: SYMBOL, side: "BUY", type: "LIMIT", timeInForce: "IOC", price: "63000", quantity: "0.001" };
const RESTING = { symbol: SYMBOL, type: "LIMIT", timeInForce: "GTC" } as const;

/**
 * The p99 of a polite client's orders while another client, at another address, attacks, divided by that just before. One
 * of the attacks sends nothing and only keeps a core busy: on a machine with few cores that costs the exchange time, too.
 */
export async function benchFairness(rounds: number): Promise<Row[]> {
  const data = temporaryFolder();
  try {
    const unlimited = await startExchange({ [SYMBOL]: "65000" }, { data });
    const attacker = await fillExchange(unlimited).finally(() => unlimited.stop());
    const exchange = await startExchange({ [SYMBOL]: "65000" }, { data, rateLimit: "on" });
    try {
      return await attackAll(exchange, attacker, Math.min(rounds, MAX_ROUNDS));
    } finally {
      await exchange.stop();
    }
  } finally {
    data.remove();
  }
}

async function attackAll(exchange: RunningExchange, attacker: PerpdClient, rounds: number): Promise<Row[]> {
  const openingMessage = JSON.stringify({ op: "auth", token: exchange.token });
  const order = JSON.stringify({ op: "order.place", id: 1, params: ORDER });
  const polite = await TraderProcess.start({
    ...{ url: exchange.socketUrl, openingMessage, request: order, connections: 4, inFlight: 32 },
  });
  const maker = await openAccount(exchange);
  const stopMaking = keepBookMoving(maker);
  const rows: Row[] = [];
  let addresses = 1;
  try {
    await polite.measure(SECONDS, ORDERS_PER_SECOND); // warm-up
    for (const attack of attacksToRun()) {
      const [before, during]: [number[], number[]] = [[], []];
      for (let round = 0; round < rounds; round++) {
        // An address of its own, with full budgets.
        const address = `127.0.1.${addresses++}`;
        const { url, socketUrl } = exchange;
        before.push(await politeP99(polite));
        const stop = await beginAttack({ attack, url, socketUrl, address, token: attacker.token ?? "" });
        await pause(SETTLE_MS);
        during.push(await politeP99(polite));
        await stop();
        await pause(SETTLE_MS);
      }
      rows.push(ratioRow(`a polite client's order, p99, under attack: ${attack}`, "us", "before", during, before));
    }
    return rows;
  } finally {
    await stopMaking();
    await polite.stop();
  }
}

/** `make bench STAGES=fairness ATTACKS="deep books,connections"`; default: all. */
function attacksToRun(): AttackName[] {
  const all = Object.keys(ATTACKS) as AttackName[];
  const wanted = process.env.ATTACKS?.split(",").map((name) => name.trim());
  return wanted === undefined ? all : all.filter((name) => wanted.includes(name));
}

/** Microseconds. */
async function politeP99(polite: TraderProcess): Promise<number> {
  const { latency } = await polite.measure(SECONDS, ORDERS_PER_SECOND);
  if (latency === null) throw new Error("a measurement at a rate must report latencies");
  return latency.p99;
}

async function beginAttack(task: AttackTask): Promise<() => Promise<void>> {
  const attacker = forkScript("bench/support/load/attacker.js", []);
  await request(attacker, task);
  return () => endProcess(attacker, "SIGKILL");
}

/** Fills the book and the history. Resolves with the attacker's account. */
async function fillExchange(exchange: RunningExchange): Promise<PerpdClient> {
  const maker = new PerpdClient({ baseUrl: exchange.url, token: exchange.token });
  const [taker, other] = [await openAccount(exchange), await openAccount(exchange)];
  await inParallel(LEVELS, async (i) => {
    // An account has at most 1000 open orders.
    const away = 2 * (i + 1);
    await maker.placeOrder({
      ...RESTING,
      side: "BUY",
      price: String(65_000 - away),
      quantity: i === 0 ? "2" : "0.001",
    });
    if (i > 0) await other.placeOrder({ ...RESTING, side: "SELL", price: String(65_000 + away), quantity: "0.001" });
  });
  await inParallel(TRADES, () => taker.placeOrder({ symbol: SYMBOL, side: "SELL", type: "MARKET", quantity: "0.001" }));
  return taker;
}

/** Places and cancels an order all the time, so that no book can be served from a cache for long. */
function keepBookMoving(maker: PerpdClient): () => Promise<void> {
  let isOver = false;
  const making = (async () => {
    while (!isOver) {
      const { orderId } = await maker.placeOrder({ ...RESTING, side: "BUY", price: "64999", quantity: "0.001" });
      await pause(BOOK_CHANGES_EVERY_MS);
      await maker.cancelOrder(orderId);
      await pause(BOOK_CHANGES_EVERY_MS);
    }
  })();
  return () => {
    isOver = true;
    return making;
  };
}

async function openAccount({ url }: RunningExchange): Promise<PerpdClient> {
  const wallet = privateKeyToAccount(generatePrivateKey());
  const client = new PerpdClient({ baseUrl: url });
  await client.login(wallet.address, (message) => wallet.signMessage({ message }));
  await client.deposit({ asset: "USDC", amount: "100000", reference: wallet.address.slice(0, 20) });
  return client;
}

async function inParallel(count: number, act: (i: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < count) await act(next++);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}
