import { LEVERAGE, SIZE } from "../base/columns.ts";
import type { Quanta, QuantityLots } from "../base/units.ts";
import { initialMargin, maintenanceMargin } from "../formulas/margin.ts";
import type { SymbolState } from "../state/symbol-state.ts";

/** Initial margin of the open position at mark. */
export function positionInitial(state: SymbolState, row: number): Quanta {
  const n = state.positions.numbers;
  return initialOf(state, n[row + SIZE], n[row + LEVERAGE]);
}

/** Initial margin of a position of so many lots (signed) at mark. */
export function initialOf(state: SymbolState, sizeLots: QuantityLots, leverage: number): Quanta {
  const { instrument, markTicks } = state;
  if (sizeLots === 0) return 0;
  return initialMargin(instrument, Math.abs(sizeLots) * markTicks * instrument.quantaPerTickLot, leverage);
}

/** Maintenance margin of the open position at mark. */
export function positionMaintenance(state: SymbolState, row: number): Quanta {
  const { instrument, markTicks } = state;
  const lots = Math.abs(state.positions.numbers[row + SIZE]);
  return maintenanceMargin(instrument, lots * markTicks * instrument.quantaPerTickLot);
}
