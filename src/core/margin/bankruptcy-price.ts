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
 * The worst price, in ticks, at which an account may close its own position: closed there, taker fee paid, nothing is left of
 * the equity that backs it. So an order cannot push a position's loss onto the rest of the account, or onto the insurance
 * fund (Bybit refuses prices beyond bankruptcy; BitMEX stops a market order there).
 */
export function closingBankruptcyTicks(state: SymbolState, row: number): PriceTicks {
  const { instrument } = state;
  const sizeLots = state.positions.numbers[row + SIZE];
  const equity = equityBackingClose(state, row);
  return breakEvenTicks(instrument, sizeLots, sizeLots * state.markTicks * instrument.quantaPerTickLot - equity);
}

/** The equity that backs an open position, in quanta: its isolated equity, or its share of the cross equity. */
function equityBackingClose(state: SymbolState, row: number): Quanta {
  return state.isIsolated(row) ? isolatedEquity(state, row) : crossEquityShare(state, row);
}

/**
 * The worst price, in ticks, at which a position closes without a loss on `cost`, taker fee paid. `cost` in quanta: what a long
 * must return, or as a negative number what a short may pay. Returns maxPriceTicks + 1 (long) or 0 (short) when no price
 * is good enough.
 */
export function breakEvenTicks(instrument: Instrument, sizeLots: QuantityLots, cost: Quanta): PriceTicks {
  const isLong = sizeLots > 0;
  const perTick = Math.abs(sizeLots) * instrument.quantaPerTickLot;
  if (isLong && cost <= 0) return 1;
  if (!isLong && cost >= 0) return 0;
  return isLong
    ? Math.min(instrument.maxPriceTicks + 1, mulDivCeil(cost, PPM, perTick * (PPM - instrument.takerFeePpm)))
    : Math.min(instrument.maxPriceTicks, mulDivFloor(-cost, PPM, perTick * (PPM + instrument.takerFeePpm)));
}

/**
 * Whether a cross position can close anywhere in the price band and not reach its bankruptcy price. A cheap sufficient test,
 * which nearly all accounts pass: it uses the lowest maintenance rate as a lower bound of the position's own margin.
 */
export function coversPriceBand(state: SymbolState, row: number): boolean {
  if (state.isIsolated(row) || state.dirty.has(row) || state.funding.owingCount > 0) return false;
  const { marginTable, instrument } = state;
  const accountId = state.positions.numbers[row + ACCOUNT];
  const lossPpm = instrument.priceBandPpm + 2 * instrument.takerFeePpm;
  const lowestRatePpm = instrument.riskTiers[0].maintenanceMarginPpm;
  // One millionth more, for the rounding of the products.
  return marginTable.equity(accountId) * lowestRatePpm > marginTable.maintenance(accountId) * lossPpm * (1 + 1e-6);
}

/**
 * The position's share of the cross equity, by maintenance margin, as in a liquidation. The shares of all positions add up to
 * the equity. So all may close at once, on several threads, and lose no more than there is.
 */
function crossEquityShare(state: SymbolState, row: number): Quanta {
  // Includes what this transaction has changed so far.
  if (state.dirty.has(row)) state.contributions.refresh(row);
  const { marginTable, positions } = state;
  const accountId = positions.numbers[row + ACCOUNT];
  const equity = marginTable.usableEquity(accountId) + Math.min(0, owedFunding(state, row));
  return proportion(equity, positionMaintenance(state, row), marginTable.usableMaintenance(accountId));
}
