import { BUY } from "../base/enums.ts";
import type { PriceTicks, RatePpm } from "../base/units.ts";
import { PPM } from "../base/units.ts";
import type { SymbolState } from "../state/symbol-state.ts";

/**
 * The worst price at which an order at market may trade, in ticks: from × (1 ± maxSlippagePpm), rounded towards `from`, and
 * never outside the price band. A maxSlippagePpm of 0 means the band only. For a MARKET order `from` is the best price of
 * the other side; −1 = that side is empty. Source: Bybit, slippageToleranceType "Percent": ask × (1 + tolerance),
 * bid × (1 − tolerance).
 */
export function slippageLimitTicks(
  side: number,
  from: PriceTicks,
  bandTicks: PriceTicks,
  maxSlippagePpm: RatePpm,
): PriceTicks {
  if (maxSlippagePpm === 0 || from < 0) return bandTicks;
  return nearerTicks(side, bandTicks, slippedTicks(side, from, maxSlippagePpm));
}

/**
 * The worst price of a stop, a take-profit or a closing at market, in ticks: mark × (1 ± maxSlippagePpm); 0 = none. It
 * counts from the mark: nobody watches the book when a stop fires, and a best price may be anybody's.
 */
export const capFromMark = ({ markTicks }: SymbolState, side: number, maxSlippagePpm: RatePpm): PriceTicks =>
  maxSlippagePpm === 0 ? 0 : slippedTicks(side, markTicks, maxSlippagePpm);

/** The price that the order of this side would rather not pass. */
export const nearerTicks = (side: number, a: PriceTicks, b: PriceTicks): PriceTicks =>
  side === BUY ? Math.min(a, b) : Math.max(a, b);

const slippedTicks = (side: number, from: PriceTicks, maxSlippagePpm: RatePpm): PriceTicks =>
  side === BUY ? Math.floor((from * (PPM + maxSlippagePpm)) / PPM) : Math.ceil((from * (PPM - maxSlippagePpm)) / PPM);
