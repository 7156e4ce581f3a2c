import { BUY, SELL } from "../../../src/core/base/enums.ts";
import { Random } from "../../../src/sandbox/random.ts";
import { Fills } from "./fills.ts";
import { ReferenceBook } from "./reference-book.ts";

/** A stream of operations in columns, the same for every engine. */
export interface OrderStream {
  readonly name: string;
  /** Adds that build the book. */
  readonly prefill: number;
  /** The first operation that is timed. */
  readonly timedFrom: number;
  readonly length: number;
  /** 1 = a limit order that is added, 0 = a cancel of the order that `target` names by its place among all adds. */
  readonly isAdd: Uint8Array;
  readonly side: Uint8Array;
  readonly priceTicks: Int32Array;
  readonly lots: Int32Array;
  readonly target: Int32Array;
  /** 1 = the order trades at once, all of it. */
  readonly crosses: Uint8Array;
  /** What all of it trades. */
  readonly fills: Fills;
}

export const MID_TICKS = 650_000;
const MAX_LOTS = 100;
/** Half of all orders are priced within this part of the range. */
const MEDIAN_OF_RANGE = 1 / 20;
/** How far the number of live orders may drift before the stream corrects it. */
const DRIFT = 0.05;

/**
 * 50 % adds that rest, 42 % cancels of a random live order, 8 % limit orders that cross and take about one resting order
 * each, after `live` orders are there; as many stay. No cancel comes too late. `untimed` more of them come first.
 *
 * Most orders stand near the touch: the distance from the mid is s·u/(1−u) ticks, u uniform, which falls off as 1/d² far
 * out, cut at `rangeTicks`; s, the median, is a twentieth of it. Measured books have tails from 1/d^1.6 (Bouchaud, Mézard,
 * Potters 2002) to 1/d^2.5 (Zovko, Farmer 2002).
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

  /** Priced through all that rests, so that it is always filled: what rested could later meet its own account. */
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

/** A million turns of a middling book, for logs. */
export const recordedStream = (): OrderStream => orderStream("recorded", 10_000, 990_000, 1000, 9);
