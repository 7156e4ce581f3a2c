import { BUY, FIRST_CUSTOMER_ACCOUNT, SELL } from "../src/core/base/enums.ts";
import { PlaceOrder, SetIndexPrice, Tick } from "../src/core/protocol/commands.ts";
import { blank, type Message } from "../src/core/protocol/message-schema.ts";
import { CoreRunner } from "./support/engines/core-engine.ts";
import { collectGarbage, keepUntilNext } from "./support/garbage.ts";
import { MID_TICKS } from "./support/orders/order-stream.ts";
import { compareSizes, median, type Row } from "./support/report.ts";

const POSITIONS = [1000, 10_000, 100_000];
const PRICES = 21;
/** One lot is 65 USDC: this deposit covers 10x leverage and a little more. */
const THIN_DEPOSIT_QUANTA = 7_000_000;
const FALLS = [0.95, 0.9, 0.85, 0.8, 0.75, 0.7, 0.65, 0.6];
const TICKS_PER_FALL = 4;

/**
 * The cost of a new mark price in a market with many positions: how long until all positions use it, and how long a
 * single transaction of that may delay an order. Then the same while prices fall by 40 % and every long is closed.
 */
export function benchCascade(rounds: number): Row[] {
  const rows = (what: string, measure: (positions: number) => number): Row[] =>
    compareSizes(what, "open positions", "us", POSITIONS, rounds, measure);
  return [
    ...rows("one price, until all positions are at it", (positions) => median(markUpdates(positions).map(sum))),
    ...rows("one price, transactions behind which orders wait, p99", (positions) => p99(markUpdates(positions).flat())),
    ...rows("one price beyond the band, orders wait, p50", (positions) =>
      median(markUpdates(positions, 3250).map(([wait]) => wait)),
    ),
    ...rows("40 % fall, one position closed", (positions) => fallingPrices(positions).eachUs),
    ...rows("40 % fall, transactions behind which orders wait, p99", (positions) =>
      p99(fallingPrices(positions).transactionsUs),
    ),
    ...rows("40 % fall, the longest wait of an order", (positions) =>
      Math.max(...fallingPrices(positions).transactionsUs),
    ),
  ];
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
const p99 = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length * 0.99)] ?? Number.NaN;

/** A market in which every account holds one lot, long and short alternating. */
function marketWithPositions(positions: number, depositQuanta?: number): CoreRunner {
  const core = new CoreRunner(positions, depositQuanta);
  keepUntilNext(core);
  const place = blank(PlaceOrder);
  place.priceTicks = MID_TICKS;
  place.quantityLots = 1;
  for (let i = 0; i < positions; i++) {
    place.accountId = FIRST_CUSTOMER_ACCOUNT + i;
    place.side = i % 2 === 0 ? SELL : BUY;
    core.decide(place);
  }
  if (core.fills.count !== positions / 2) throw new Error(`${core.fills.count} trades for ${positions} positions`);
  runToEnd(core, { type: Tick.code }); // the first self-check
  collectGarbage();
  return core;
}

/** Runs a command and the background work that it starts. Returns the processor time of each transaction, in us. */
function runToEnd(core: CoreRunner, command: Message): number[] {
  let from = processorUs();
  const transactionsUs: number[] = [];
  const record = (): void => {
    const now = processorUs();
    transactionsUs.push(now - from);
    from = now;
  };
  core.decide(command);
  // Orders wait until the mark is settled: that counts as one transaction.
  while (core.actor.isSettlingMark) core.settleMark();
  record();
  for (let more = true; more; record()) {
    more = core.runBackground();
    while (core.actor.isSettlingMark) core.settleMark();
  }
  return transactionsUs;
}

/** Processor time of this process in us. On a shared machine the clock includes other processes. */
function processorUs(): number {
  const { user, system } = process.cpuUsage();
  return user + system;
}

const price = (indexTicks: number): Message =>
  ({ type: SetIndexPrice.code, indexTicks, isGuarded: 0, operator: "" }) as Message;

/** Prices that move to and fro by twice `awayTicks`, and bankrupt nobody. Beyond 0.2 % all positions of a side are checked at once. */
function markUpdates(positions: number, awayTicks = 10): number[][] {
  const core = marketWithPositions(positions);
  return Array.from({ length: PRICES }, (_, i) =>
    runToEnd(core, price(MID_TICKS + (i % 2 === 0 ? 1 : -1) * awayTicks)),
  );
}

function fallingPrices(positions: number): { eachUs: number; transactionsUs: number[] } {
  const core = marketWithPositions(positions, THIN_DEPOSIT_QUANTA);
  const { state } = core.actor;
  const transactionsUs: number[] = [];
  for (const share of FALLS) {
    transactionsUs.push(...runToEnd(core, price(Math.round(MID_TICKS * share))));
    for (let look = 0; look < TICKS_PER_FALL; look++) transactionsUs.push(...runToEnd(core, { type: Tick.code }));
  }
  // Nobody bids, so the shorts take the longs, and both are gone.
  const closed = positions - state.positions.open.length;
  if (closed < positions) throw new Error(`only ${closed} of ${positions} positions were closed`);
  return { eachUs: sum(transactionsUs) / closed, transactionsUs };
}
