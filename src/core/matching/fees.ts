import * as enums from "../base/enums.ts";
import type { PriceTicks, Quanta, QuantityLots } from "../base/units.ts";
import * as units from "../base/units.ts";
import type { Instrument } from "../protocol/instrument.ts";

const { SELL } = enums;
const { mulDivCeil, PPM } = units;

/** The fee of a taker for a trade of this notional, rounded up to a whole quantum. */
export const takerFee = (instrument: Instrument, notionalQuanta: Quanta): Quanta =>
  mulDivCeil(notionalQuanta, instrument.takerFeePpm, PPM);

/** The fee of a maker for a trade of this notional, rounded up to a whole quantum. */
export const makerFee = (instrument: Instrument, notionalQuanta: Quanta): Quanta =>
  mulDivCeil(notionalQuanta, instrument.makerFeePpm, PPM);

/**
 * The fee of a fill of a liquidation order: liquidationFeePpm of the notional, at most the amount by which the fill is
 * better than the bankruptcy price (dYdX v4). `side`: the side of the liquidation order.
 */
export function liquidationFee(
  { quantaPerTickLot, liquidationFeePpm }: Instrument,
  side: number,
  lots: QuantityLots,
  notionalQuanta: Quanta,
  bankruptcyTicks: PriceTicks,
): Quanta {
  const atBankruptcy = lots * bankruptcyTicks * quantaPerTickLot;
  const surplus = side === SELL ? notionalQuanta - atBankruptcy : atBankruptcy - notionalQuanta;
  return Math.min(Math.max(0, surplus), mulDivCeil(notionalQuanta, liquidationFeePpm, PPM));
}
