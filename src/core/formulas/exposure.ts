import * as columns from "../base/columns.ts";
import type { QuantityLots } from "../base/units.ts";

const { BUY_LOTS, SELL_LOTS, SIZE } = columns;

/**
 * The largest position, in lots, that an order can lead to in its direction, with the resting orders of its side. 0 = the
 * order only reduces the position.
 *
 * Lots that fill at once reduce an opposite position first. Lots that rest may fill after something else has closed that
 * position, so they count in full. Later fills, closes and cancels only make the result smaller. So an order that is
 * within a limit now never leads beyond it. `ownLots`: the resting lots of the order itself, when an amendment replaces them.
 */
export function exposedLots(
  numbers: Float64Array,
  row: number,
  isBuy: boolean,
  atOnceLots: QuantityLots,
  restingLots: QuantityLots,
  ownLots: QuantityLots = 0,
): QuantityLots {
  const size = (isBuy ? numbers[row + SIZE] : -numbers[row + SIZE]) + atOnceLots;
  if (size <= 0 && restingLots === 0) return 0;
  return Math.max(0, size) + numbers[row + (isBuy ? BUY_LOTS : SELL_LOTS)] - ownLots + restingLots;
}
