import { LEVERAGE, SIZE } from "../base/columns.ts";
import { mulDivCeil, PPM, type PriceTicks, type Quanta } from "../base/units.ts";
import type { Instrument } from "../protocol/instrument.ts";

/**
 * The margin in quanta that must stay behind a position of this notional when money is taken out, be it more than its initial
 * margin (Hyperliquid: max(initial margin, 0.1 × position value)). A coalition that knows the next price would else take the
 * margin out of the side that loses, and leave the loss to the winners.
 */
export const transferMargin = ({ transferMarginPpm }: Instrument, notionalQuanta: Quanta): Quanta =>
  mulDivCeil(notionalQuanta, transferMarginPpm, PPM);

/** The notional of the row's position in quanta, if that margin may be more than the initial margin at its leverage; else 0. */
export function thinNotional(
  { transferMarginPpm, quantaPerTickLot }: Instrument,
  row: Float64Array,
  at: number,
  markTicks: PriceTicks,
): Quanta {
  return row[at + LEVERAGE] * transferMarginPpm <= PPM ? 0 : Math.abs(row[at + SIZE]) * markTicks * quantaPerTickLot;
}
