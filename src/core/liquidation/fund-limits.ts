import { SIZE } from "../base/columns.ts";
import { INSURANCE_ACCOUNT } from "../base/enums.ts";
import type { Quanta, QuantityLots } from "../base/units.ts";
import { maintenanceMargin } from "../formulas/margin.ts";
import { fundAllowance } from "../margin/deficit.ts";
import type { SymbolState } from "../state/symbol-state.ts";

/** A step of the mark by a tenth costs no more than the allowance. */
const ALLOWANCE_MULTIPLE = 10;

/**
 * Whether the fund may take over `lots` (signed) that bring `equityShare` along. The limits make it an allowance and no
 * counterparty: without them an attacker sells to the fund what will fall, as much as the fund can hold (Hyperliquid after
 * JELLY, March 2025). The fund must also keep the maintenance margin of all that it holds.
 */
export function mayFundTake(state: SymbolState, fundRow: number, lots: QuantityLots, equityShare: Quanta): boolean {
  const { marginTable, positions, instrument, markTicks } = state;
  if (-equityShare > Math.max(0, fundAllowance(state))) return false;
  const beforeLots = Math.abs(positions.numbers[fundRow + SIZE]);
  const afterLots = Math.abs(positions.numbers[fundRow + SIZE] + lots);
  if (afterLots <= beforeLots) return true;
  const perLot = markTicks * instrument.quantaPerTickLot;
  if (afterLots * perLot > mostNotional(state, beforeLots * perLot)) return false;
  const added = maintenanceMargin(instrument, afterLots * perLot) - maintenanceMargin(instrument, beforeLots * perLot);
  const { equity, maintenance } = marginTable.consistent(INSURANCE_ACCOUNT);
  return equity + equityShare >= maintenance + added;
}

/**
 * The largest position of the fund, in quanta of notional. Unless it is set, it is so small that most steps of the mark cost
 * less than the rest of the allowance. The settlement of the mark takes the cost of a larger step from the other side. With
 * the positions in other symbols it is not larger than the fund's equity: beyond that, the ledger gates withdrawals.
 * `heldQuanta`: the notional of the present position. Right after readConsistent() of the fund.
 */
function mostNotional(state: SymbolState, heldQuanta: Quanta): Quanta {
  const { instrument, marginTable } = state;
  if (instrument.fundMaxNotionalQuanta !== null) return instrument.fundMaxNotionalQuanta;
  const { equity, positionInitial } = marginTable.consistent(INSURANCE_ACCOUNT);
  const elsewhere = Math.max(0, positionInitial - heldQuanta);
  return Math.max(0, Math.min(fundAllowance(state) * ALLOWANCE_MULTIPLE, equity - elsewhere));
}

/**
 * Lots of the fund's position that it may not keep: all when the symbol has used up the hour's allowance. Right after
 * readConsistent() of the fund.
 */
export function lotsBeyondLimits(state: SymbolState, sizeLots: QuantityLots): QuantityLots {
  const { instrument, markTicks } = state;
  if (fundAllowance(state) < 0) return Math.abs(sizeLots);
  const perLot = markTicks * instrument.quantaPerTickLot;
  const mostLots = Math.floor(mostNotional(state, Math.abs(sizeLots) * perLot) / perLot);
  return Math.max(0, Math.abs(sizeLots) - mostLots);
}
