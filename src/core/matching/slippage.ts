import { BUY } from "../base/enums.ts";
import type { PriceTicks, RatePpm } from "../base/units.ts";
import { PPM } from "../base/units.ts";
import type { SymbolState } from "../state/symbol-state.ts";

/**
 * The worst price at which a market order may trade: best price × (1 ± maxSlippagePpm), rounded towards the best price,
 * and never outside the price band. A maxSlippagePpm of 0 means the band only. Source: Bybit, slippageToleranceType
 * "Percent": ask × (1 + tolerance), bid × (1 − tolerance).
 */
export function slippageLimitTicks(
  state: SymbolState,
  side: number,
  bandTicks: PriceTicks,
  maxSlippagePpm: RatePpm,
): PriceTicks {
  const best = state.book.opposite(side).best();
  if (maxSlippagePpm === 0 || best < 0) return bandTicks;
  if (side === BUY) return Math.min(bandTicks, Math.floor((best * (PPM + maxSlippagePpm)) / PPM));
  return Math.max(bandTicks, Math.ceil((best * (PPM - maxSlippagePpm)) / PPM));
}
