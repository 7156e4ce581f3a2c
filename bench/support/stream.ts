import { BUY, SELL } from "../../src/core/messages.ts";
import { Random } from "../../src/sandbox/random.ts";

/** A stream of operations in columns, the same for every engine. */
export interface OrderStream {
  readonly name: string;
  /** Adds that build the book before the clock starts. */
  readonly prefill: number;
  readonly length: number;
  /** 1 = a limit order that is added, 0 = a cancel of the order that `target` names by its place among all adds. */
  readonly isAdd: Uint8Array;
  readonly side: Uint8Array;
  readonly priceTicks: Int32Array;
  readonly lots: Int32Array;
  readonly target: Int32Array;
  /** 1 = the order is meant to trade. */
  readonly crosses: Uint8Array;
}

export const MID_TICKS = 650_000;

/**
 * 50 % adds that rest, 42 % cancels of a random live order, 8 % limit orders that cross and take about one resting order
 * each, after `live` orders are there. Prices lie evenly within `spreadTicks` of the mid on both sides.
 */
export function orderStream(
  name: string,
  live: number,
  operations: number,
  spreadTicks: number,
  seed: number,
): OrderStream {
  const random = new Random(seed, name);
  const length = live + operations;
  const stream = {
    name,
    prefill: live,
    length,
    isAdd: new Uint8Array(length),
    side: new Uint8Array(length),
    priceTicks: new Int32Array(length),
    lots: new Int32Array(length),
    target: new Int32Array(length),
    crosses: new Uint8Array(length),
  };
  const alive: number[] = [];
  let adds = 0;
  for (let i = 0; i < length; i++) {
    const dice = i < live ? 0 : random.uniform();
    if (dice < 0.5 || alive.length === 0) {
      const side = random.uniform() < 0.5 ? BUY : SELL;
      const away = 1 + Math.floor(random.uniform() * spreadTicks);
      add(i, side, MID_TICKS + (side === BUY ? -away : away), 1 + Math.floor(random.uniform() * 100));
      alive.push(adds++);
    } else if (dice < 0.92) {
      const pick = Math.floor(random.uniform() * alive.length);
      stream.target[i] = alive[pick];
      alive[pick] = alive[alive.length - 1];
      alive.pop();
    } else {
      const side = random.uniform() < 0.5 ? BUY : SELL;
      // Through all that rests, so that it is always filled: what would rest could later meet its own account.
      add(i, side, MID_TICKS + (side === BUY ? spreadTicks : -spreadTicks), 1 + Math.floor(random.uniform() * 100));
      stream.crosses[i] = 1;
      adds++;
    }
  }
  return stream;

  function add(i: number, side: number, priceTicks: number, lots: number): void {
    stream.isAdd[i] = 1;
    stream.side[i] = side;
    stream.priceTicks[i] = priceTicks;
    stream.lots[i] = lots;
  }
}
