import { LEVERAGE, SIZE } from "../base/columns.ts";
import { mulDivCeil, PPM, type PriceTicks, type Quanta } from "../base/units.ts";
import type { Instrument } from "../protocol/instrument.ts";
import { initialMargin } from "./margin.ts";

/**
 * The margin in quanta that must stay behind a position of this notional when money is taken out, be it more than its initial
 * margin (Hyperliquid: max(initial margin, 0.1 × position value)). A coalition that knows the next price would else take the
 * margin out of the side that loses, and leave the loss to the winners.
 */
export const transferMargin = ({ transferMarginPpm }: Instrument, notionalQuanta: Quanta): Quanta =>
  mulDivCeil(notionalQuanta, transferMarginPpm, PPM);

/** By how much that of the row's position exceeds its initial margin, in quanta. */
export function transferMarginBeyondInitial(
  instrument: Instrument,
  row: Float64Array,
  at: number,
  markTicks: PriceTicks,
): Quanta {
  const leverage = row[at + LEVERAGE];
  const size = row[at + SIZE];
  if (size === 0 || leverage * instrument.transferMarginPpm <= PPM) return 0;
  const notionalQuanta = Math.abs(size) * markTicks * instrument.quantaPerTickLot;
  return Math.max(0, transferMargin(instrument, notionalQuanta) - initialMargin(instrument, notionalQuanta, leverage));
}
