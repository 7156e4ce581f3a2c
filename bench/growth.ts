import { FIRST_CUSTOMER_ACCOUNT, IOC, LIMIT } from "../src/core/base/enums.ts";
import { PlaceOrder } from "../src/core/protocol/commands.ts";
import { blank, type Message } from "../src/core/protocol/message-schema.ts";
import { SnapshotPartWriter } from "../src/wire/snapshot.ts";
import { CoreRunner, perpdEngine, perpdSymbols } from "./support/engines/core-engine.ts";
import { operationsPerSecond } from "./support/engines/engine-speed.ts";
import { collectGarbage } from "./support/garbage.ts";
import { RESTING_ACCOUNTS } from "./support/orders/commands.ts";
import { MID_TICKS, type OrderStream, orderStream } from "./support/orders/order-stream.ts";
import { compareSizes, type Row } from "./support/report.ts";

const ACCOUNTS = [100, 1000, 10_000, 100_000];
const RESTING_ORDERS = [1000, 10_000, 100_000, 1_000_000];
/** Symbols on one worker; the total of orders and operations stays the same. */
const SYMBOLS = [1, 4, 16, 64];
const CLIENT_ORDER_IDS = [10_000, 100_000, 1_000_000];
/** Orders between two steps of a snapshot. */
const ORDERS_PER_PUSH = 64;
const OPERATIONS = 200_000;
const RANGE_TICKS = 10_000;
const IDS = "growth, one order with a client order id";
const IDS_LONGEST = "growth, 64 orders with client order ids, the longest";
const LIVE_ORDERS = 10_000;

/** How the core's costs grow with its contents: each size against the smallest. */
export function benchGrowth(rounds: number): Row[] {
  const ofAccounts = orderStream("accounts", LIVE_ORDERS, OPERATIONS, RANGE_TICKS, 7);
  const byLive = new Map(RESTING_ORDERS.map((live) => [live, orderStream("live", live, OPERATIONS, RANGE_TICKS, 8)]));
  const bySymbols = new Map(SYMBOLS.map((symbols) => [symbols, streamsOf(symbols)]));
  operationNs(ofAccounts, RESTING_ACCOUNTS); // warm-up
  return [
    ...compareSizes("growth, one operation", "accounts", "ns", ACCOUNTS, rounds, (accounts) =>
      operationNs(ofAccounts, accounts),
    ),
    ...compareSizes("growth, one operation", "resting orders", "ns", RESTING_ORDERS, rounds, (live) =>
      operationNs(byLive.get(live) as OrderStream, RESTING_ACCOUNTS),
    ),
    ...compareSizes("growth, one operation", "symbols", "ns", SYMBOLS, rounds, (symbols) =>
      interleavedNs(bySymbols.get(symbols) as OrderStream[]),
    ),
    ...compareSizes(IDS, "of them", "ns", CLIENT_ORDER_IDS, rounds, (ids) => ordersWithIds(ids).meanNs),
    ...compareSizes(IDS_LONGEST, "of them", "us", CLIENT_ORDER_IDS, rounds, (ids) => ordersWithIds(ids).longestUs),
  ];
}

/** Orders that do not rest, each with a client order id that is kept for a day. */
function ordersWithIds(count: number): { meanNs: number; longestUs: number } {
  const core = new CoreRunner(1);
  const writer = new SnapshotPartWriter(core.actor.actorId, () => {});
  const order = { ...blank(PlaceOrder), accountId: FIRST_CUSTOMER_ACCOUNT, orderType: LIMIT, timeInForce: IOC };
  const priced = { ...order, priceTicks: Math.floor(MID_TICKS / 2), quantityLots: 1 };
  collectGarbage();
  const from = performance.now();
  let longestMs = 0;
  for (let i = 0; i < count; i += ORDERS_PER_PUSH) {
    const before = performance.now();
    for (let j = i; j < i + ORDERS_PER_PUSH; j++) core.decide({ ...priced, clientOrderId: `order-${j}` } as Message);
    core.actor.snapshot(writer, ORDERS_PER_PUSH);
    longestMs = Math.max(longestMs, performance.now() - before);
  }
  return { meanNs: ((performance.now() - from) * 1e6) / count, longestUs: longestMs * 1000 };
}

function operationNs(stream: OrderStream, restingAccounts: number): number {
  return 1e9 / operationsPerSecond((of) => perpdEngine(of, restingAccounts), stream);
}

function streamsOf(symbols: number): OrderStream[] {
  const [live, operations] = [Math.floor(LIVE_ORDERS / symbols), Math.floor(OPERATIONS / symbols)];
  return Array.from({ length: symbols }, (_, i) => orderStream(`symbol ${i}`, live, operations, RANGE_TICKS, 9 + i));
}

/** Runs one operation of each symbol, then the next of each. */
function interleavedNs(streams: readonly OrderStream[]): number {
  const engines = perpdSymbols(streams);
  const { prefill, length } = streams[0] as OrderStream;
  const run = (from: number, to: number): void => {
    for (let i = from; i < to; i++) for (const engine of engines) engine.run(i);
  };
  run(0, prefill);
  collectGarbage();
  const from = performance.now();
  run(prefill, length);
  const ns = (performance.now() - from) * 1e6;
  for (const [i, engine] of engines.entries()) engine.fills.mustEqual((streams[i] as OrderStream).fills, engine.name);
  return ns / ((length - prefill) * engines.length);
}
