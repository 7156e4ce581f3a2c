import { crossEquity } from "./closing-edge.ts";
import { bucketEquity } from "./isolated.ts";
import type { SymbolState } from "./symbol-state.ts";
import * as tables from "./tables.ts";
import type { PriceTicks, Quanta, QuantityLots } from "./units.ts";
import * as units from "./units.ts";
import * as words from "./words.ts";

const { ACCOUNT, MARGIN_MODE, SIZE } = tables;
const { mulDivCeil, PPM } = units;
const { BUY, ISOLATED } = words;

/**
 * Whether a maker at this price loses more against the mark than any account has that is not about to be liquidated: the
 * least maintenance margin. So it is with an order that the mark has run away from while nobody took it.
 */
export function isFar({ instrument, markTicks }: SymbolState, takerSide: number, price: PriceTicks): boolean {
  const least = instrument.riskTiers[0].maintenanceMarginPpm;
  return takerSide === BUY ? price * PPM < markTicks * (PPM - least) : price * PPM > markTicks * (PPM + least);
}

/**
 * What the makers far from the mark can still lose, along the walk of one taker. Their margin was reserved when they came
 * to rest; the mark has moved since, or the money has gone, and reduce-only orders reserve none. A maker that would be left
 * with less than nothing does not trade, or two accounts of one owner could let the insurance fund pay for it (dYdX v4
 * drops makers that fail the check at the match).
 */
export class FarFills {
  private readonly left = new Map<number, Quanta>();

  begin(): void {
    if (this.left.size !== 0) this.left.clear();
  }

  /** Whether the maker's row can bear to trade `lots` with the taker; if so, they are taken off what it can lose. */
  bears(state: SymbolState, row: number, takerSide: number, price: PriceTicks, lots: QuantityLots): boolean {
    const { instrument, markTicks } = state;
    const perTick = lots * instrument.quantaPerTickLot;
    const loss = (takerSide === BUY ? markTicks - price : price - markTicks) * perTick;
    const cost = loss + mulDivCeil(price * perTick, instrument.makerFeePpm, PPM);
    const left = this.left.get(row) ?? means(state, row);
    if (cost > left) return false;
    this.left.set(row, left - cost);
    return true;
  }
}

/** What a fill may cost the row: its bucket, what may be set aside for one, or the cross equity. */
function means(state: SymbolState, row: number): Quanta {
  if (state.isIsolated(row)) return bucketEquity(state, row);
  const equity = crossEquity(state, row);
  const n = state.positions.numbers;
  const isToIsolate = n[row + MARGIN_MODE] === ISOLATED && n[row + SIZE] === 0;
  return isToIsolate ? equity - state.cells.maintenanceNow(n[row + ACCOUNT]) : equity;
}
