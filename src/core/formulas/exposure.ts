import * as columns from "../base/columns.ts";
import type { QuantityLots } from "../base/units.ts";

const { BUY_LOTS, SELL_LOTS, SIZE } = columns;

/**
 * The largest position that an order may bring about in its direction, together with the resting orders of its side. Lots
 * that fill at once come off a position that is open the other way; lots that rest may fill when something else has
 * closed that, so they count from no position. What fills, closes or is canceled later only makes it smaller: held to a
 * limit here, no sequence of orders passes it. 0 = the order only reduces the position. `ownLots`: what the order itself
 * has at rest by now, and which all this replaces.
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
