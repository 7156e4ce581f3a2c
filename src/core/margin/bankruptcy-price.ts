import * as columns from "../base/columns.ts";
import type { PriceTicks, Quanta, QuantityLots } from "../base/units.ts";
import * as units from "../base/units.ts";
import type { Instrument } from "../protocol/instrument.ts";
import type { SymbolState } from "../state/symbol-state.ts";
import { owedFunding } from "./funding-payment.ts";
import { isolatedEquity } from "./isolated.ts";
import { positionMaintenance } from "./position-margin.ts";

const { ACCOUNT, SIZE } = columns;
const { mulDivCeil, mulDivFloor, PPM, proportion } = units;

/**
 * The worst price at which the account itself may close: all of it closed there and the fee paid, nothing is left of the
 * equity that stands for the position. So no order can push what a position loses onto the cross margin, or the account's
 * losses onto the insurance fund (Bybit refuses prices beyond bankruptcy; BitMEX stops a market order there).
 */
export function closingBankruptcyTicks(state: SymbolState, row: number): PriceTicks {
  const { instrument } = state;
  const size = state.positions.numbers[row + SIZE];
  const equity = equityBackingClose(state, row);
  return breakEvenTicks(instrument, size, size * state.markTicks * instrument.quantaPerTickLot - equity);
}

/** What stands for an open position: its bucket, or its share of the cross equity. */
export function equityBackingClose(state: SymbolState, row: number): Quanta {
  return state.isIsolated(row) ? isolatedEquity(state, row) : crossEquityShare(state, row);
}

/**
 * The worst price at which a position closes, fee paid, without a loss on `cost`: what is to come back of a long, or less
 * than zero what may be spent on a short. Outside the range of prices where none is good enough.
 */
export function breakEvenTicks(instrument: Instrument, size: QuantityLots, cost: Quanta): PriceTicks {
  const isLong = size > 0;
  const perTick = Math.abs(size) * instrument.quantaPerTickLot;
  if (isLong && cost <= 0) return 1;
  if (!isLong && cost >= 0) return 0;
  return isLong
    ? Math.min(instrument.maxPriceTicks + 1, mulDivCeil(cost, PPM, perTick * (PPM - instrument.takerFeePpm)))
    : Math.min(instrument.maxPriceTicks, mulDivFloor(-cost, PPM, perTick * (PPM + instrument.takerFeePpm)));
}

/**
 * Whether the closing edge of a cross position lies beyond the price band, as it does for nearly all accounts: asked without
 * working out the position's margin, of which the least rate of its value is the lower bound.
 */
export function coversPriceBand(state: SymbolState, row: number): boolean {
  if (state.isIsolated(row) || state.isDirty(row) || state.fundingOwed > 0) return false;
  const { marginTable, instrument } = state;
  const accountId = state.positions.numbers[row + ACCOUNT];
  const lossPpm = instrument.priceBandPpm + 2 * instrument.takerFeePpm;
  const least = instrument.riskTiers[0].maintenanceMarginPpm;
  // A millionth is left for what the products are rounded by.
  return marginTable.equity(accountId) * least > marginTable.maintenance(accountId) * lossPpm * (1 + 1e-6);
}

/**
 * What of the cross equity stands for the position, by maintenance margin, as in a liquidation: all positions of an account
 * may be closed at once, on several threads, and lose no more than there is.
 */
function crossEquityShare(state: SymbolState, row: number): Quanta {
  // With what this turn has taken from it until now, and less what the position owes.
  if (state.isDirty(row)) state.refresh(row);
  const { marginTable, positions } = state;
  const accountId = positions.numbers[row + ACCOUNT];
  const equity = marginTable.usableEquity(accountId) + Math.min(0, owedFunding(state, row));
  return proportion(equity, positionMaintenance(state, row), marginTable.usableMaintenance(accountId));
}
