import { BUY, FIRST_CUSTOMER_ACCOUNT, PlaceOrder, SELL, SetIndexPrice } from "../src/core/messages.ts";
import { blank, type Message } from "../src/core/shape.ts";
import { rate } from "./core.ts";
import { RESTING_ACCOUNTS } from "./support/commands.ts";
import { Core, perpdEngine } from "./support/engines.ts";
import { collectGarbage } from "./support/garbage.ts";
import { compact, median, type Row, ratioRow } from "./support/report.ts";
import { MID_TICKS, type OrderStream, orderStream } from "./support/stream.ts";

const ACCOUNTS = [100, 1000, 10_000, 100_000];
const RESTING_ORDERS = [1000, 10_000, 100_000, 1_000_000];
const POSITIONS = [1000, 10_000, 100_000];
const OPERATIONS = 200_000;
const RANGE_TICKS = 10_000;
const LIVE_ORDERS = 10_000;
const PRICES = 21;

/** How the core's costs grow with what it holds: each size beside the smallest. */
export function benchGrowth(rounds: number): Row[] {
  const ofAccounts = orderStream("accounts", LIVE_ORDERS, OPERATIONS, RANGE_TICKS, 7);
  const byLive = new Map(RESTING_ORDERS.map((live) => [live, orderStream("live", live, OPERATIONS, RANGE_TICKS, 8)]));
  operationNs(ofAccounts, RESTING_ACCOUNTS); // warm-up
  return [
    ...compare("growth, one operation", "accounts", "ns", ACCOUNTS, rounds, (accounts) =>
      operationNs(ofAccounts, accounts),
    ),
    ...compare("growth, one operation", "resting orders", "ns", RESTING_ORDERS, rounds, (live) =>
      operationNs(byLive.get(live) as OrderStream, RESTING_ACCOUNTS),
    ),
    ...compare("growth, one price", "open positions", "us", POSITIONS, rounds, priceUs),
  ];
}

function compare(
  what: string,
  things: string,
  unit: string,
  sizes: readonly number[],
  rounds: number,
  measure: (size: number) => number,
): Row[] {
  const results = sizes.map((): number[] => []);
  for (let round = 0; round < rounds; round++) for (const [i, size] of sizes.entries()) results[i].push(measure(size));
  return sizes.map((size, i) => {
    const row = ratioRow(`${what}, ${compact(size)} ${things}`, unit, `with ${sizes[0]}`, results[i], results[0]);
    return i > 0 ? row : { ...row, beside: "", other: null, ratio: null, spread: null };
  });
}

function operationNs(stream: OrderStream, restingAccounts: number): number {
  return 1e9 / rate((of) => perpdEngine(of, restingAccounts), stream);
}

/** How long a new index price takes, which brings the margin of every open position up to date. */
function priceUs(positions: number): number {
  const core = new Core(positions);
  const place = blank(PlaceOrder);
  place.priceTicks = MID_TICKS;
  place.quantityLots = 1;
  for (let i = 0; i < positions; i++) {
    place.accountId = FIRST_CUSTOMER_ACCOUNT + i;
    place.side = i % 2 === 0 ? SELL : BUY;
    core.decide(place);
  }
  if (core.fills.count !== positions / 2) throw new Error(`${core.fills.count} trades for ${positions} positions`);
  collectGarbage();
  const times: number[] = [];
  for (let i = 0; i < PRICES; i++) {
    const from = performance.now();
    core.decide({ type: SetIndexPrice.code, indexTicks: MID_TICKS + (i % 2 === 0 ? 10 : -10) } as Message);
    times.push((performance.now() - from) * 1e3);
  }
  return median(times);
}
