import { BUY, SELL } from "../../../src/core/base/enums.ts";
import { Random } from "../../../src/sandbox/random.ts";
import { Fills } from "./fills.ts";
import { ReferenceBook } from "./reference-book.ts";

/** A stream of operations, stored in columns, the same for every engine. */
export interface OrderStream {
  readonly name: string;
  /** Number of adds that build the book. */
  readonly prefill: number;
  /** Index of the first timed operation. */
  readonly timedFrom: number;
  readonly length: number;
  /** 1 = adds a limit order; 0 = cancels the order whose number among all adds is in `target`. */
  readonly isAdd: Uint8Array;
  readonly side: Uint8Array;
  readonly priceTicks: Int32Array;
  readonly lots: Int32Array;
  readonly target: Int32Array;
  /** 1 = the order trades at once, completely. */
  readonly crosses: Uint8Array;
  /** The fills of the whole stream. */
  readonly fills: Fills;
}

export const MID_TICKS = 650_000;
const MAX_LOTS = 100;
/** Half of all orders are within this fraction of the range. */
const MEDIAN_OF_RANGE = 1 / 20;
/** Drift of the number of live orders, as a fraction, at which the stream corrects it. */
const DRIFT = 0.05;

/**
 * Generates a stream. The first `live` operations are resting adds. After that 50 % are resting adds, 42 % cancel a
 * random live order, and 8 % are limit orders that cross and fill about one resting order each. The number of live
 * orders stays about the same, and no cancel is late. `untimed` operations come before the timed ones.
 * Most orders are near the best prices. The distance from the mid is s·u/(1−u) ticks with uniform u, which decays as
 * 1/d² far out and is cut at `rangeTicks`; the median s is a twentieth of it. Measured books have tails from 1/d^1.6
 * (Bouchaud, Mézard, Potters 2002) to 1/d^2.5 (Zovko, Farmer 2002).
 */
export function orderStream(
  name: string,
  live: number,
  operations: number,
  rangeTicks: number,
  seed: number,
  untimed = 0,
): OrderStream {
  const random = new Random(seed, name);
  const timedFrom = live + untimed;
  const length = timedFrom + operations;
  const stream = {
    name,
    prefill: live,
    timedFrom,
    length,
    isAdd: new Uint8Array(length),
    side: new Uint8Array(length),
    priceTicks: new Int32Array(length),
    lots: new Int32Array(length),
    target: new Int32Array(length),
    crosses: new Uint8Array(length),
    fills: new Fills(),
  };
  const book = new ReferenceBook(length, stream.fills);
  const alive: number[] = [];
  const placeOf = new Int32Array(length);
  let adds = 0;
  for (let i = 0; i < length; i++) {
    const dice = i < live ? 0 : random.uniform();
    if (dice >= 0.92) cross(i);
    else if (isAdd(dice)) rest(i);
    else cancel(i);
  }
  return stream;

  function isAdd(dice: number): boolean {
    if (alive.length < live * (1 - DRIFT)) return true;
    return dice < 0.5 && alive.length < live * (1 + DRIFT);
  }

  function rest(i: number): void {
    const side = random.chance(0.5) ? BUY : SELL;
    const away = distance();
    add(i, side, MID_TICKS + (side === BUY ? -away : away));
    placeOf[adds] = alive.length;
    alive.push(adds);
    book.rest(adds++, side, stream.priceTicks[i], stream.lots[i]);
  }

  function cancel(i: number): void {
    stream.target[i] = alive[Math.floor(random.uniform() * alive.length)];
    book.cancel(stream.target[i]);
    leave(stream.target[i]);
  }

  /** Priced beyond all resting orders, so that it always fills: a rest could later match its own account. */
  function cross(i: number): void {
    const side = random.chance(0.5) ? BUY : SELL;
    add(i, side, MID_TICKS + (side === BUY ? rangeTicks : -rangeTicks));
    stream.crosses[i] = 1;
    book.take(side, stream.priceTicks[i], stream.lots[i], leave);
    adds++;
  }

  function add(i: number, side: number, priceTicks: number): void {
    stream.isAdd[i] = 1;
    stream.side[i] = side;
    stream.priceTicks[i] = priceTicks;
    stream.lots[i] = 1 + Math.floor(random.uniform() * MAX_LOTS);
  }

  function leave(order: number): void {
    const last = alive.pop() as number;
    if (last === order) return;
    alive[placeOf[order]] = last;
    placeOf[last] = placeOf[order];
  }

  /** 1 to rangeTicks. */
  function distance(): number {
    for (;;) {
      const u = random.uniform();
      const away = 1 + Math.floor((rangeTicks * MEDIAN_OF_RANGE * u) / (1 - u));
      if (away <= rangeTicks) return away;
    }
  }
}

/** The arguments of orderStream() for a million orders on 20k levels. */
export const deepStream = (operations: number): Parameters<typeof orderStream> => [
  "deep",
  1_000_000,
  operations,
  10_000,
  5,
];

/** A million operations on a book of medium size, for logs. */
export const recordedStream = (): OrderStream => orderStream("recorded", 10_000, 990_000, 1000, 9);
