import { ACCOUNT, NONE, SIZE } from "../base/columns.ts";
import { EXEC_LIQUIDATION, REASON_LIQUIDATION } from "../base/enums.ts";
import { type PriceTicks, proportion, type Quanta, type QuantityLots } from "../base/units.ts";
import { payFunding } from "../margin/funding-payment.ts";
import { isolatedEquity } from "../margin/isolated.ts";
import { closeAllOrders } from "../matching/order-closing.ts";
import type { Transaction } from "../protocol/actor.ts";
import type { SymbolState } from "../state/symbol-state.ts";
import { bankruptcyTicks, type ClosePlan, equityShareOf, stepLotsOf } from "./close-plan.ts";
import type { DeleveragingQueue } from "./deleveraging.ts";
import { closeInBook } from "./house-order.ts";
import { transferPosition } from "./position-transfer.ts";

/**
 * One step against an isolated position: its own equity bears it. The account's orders in this symbol are cancelled with it
 * (Binance, Bybit); nothing else of the account is touched.
 */
export function liquidateIsolated(
  state: SymbolState,
  transaction: Transaction,
  queue: DeleveragingQueue,
  row: number,
): void {
  prepare(state, transaction, row);
  const lots = stepLotsOf(state, state.positions.numbers[row + SIZE]);
  closePart(state, transaction, queue, row, lots, Math.max(0, isolatedEquity(state, row)));
}

/**
 * One step against a cross account whose equity is negative, right after the caller's readConsistent() of it: all of its
 * positions have to go, so the symbols need no order among them. No step of this symbol's mark is the cause.
 */
export function liquidateBankrupt(
  state: SymbolState,
  transaction: Transaction,
  queue: DeleveragingQueue,
  row: number,
): void {
  const { marginTable, positions } = state;
  const { equity, maintenance } = marginTable.consistent(positions.numbers[row + ACCOUNT]);
  const lots = stepLotsOf(state, positions.numbers[row + SIZE]);
  closePart(state, transaction, queue, row, lots, equityShareOf(state, row, equity, maintenance));
}

/**
 * The planned step against a position of a cross account. While another symbol can close its position in its book, this one
 * closes only what its own book takes.
 */
export function liquidateCross(
  state: SymbolState,
  transaction: Transaction,
  queue: DeleveragingQueue,
  row: number,
  plan: ClosePlan,
  canOthersClose: boolean,
): void {
  const { isEnough, bookLots, stepLots, equityShare, limitTicks } = plan;
  if (!canOthersClose) closePart(state, transaction, queue, row, isEnough ? bookLots : stepLots, equityShare);
  else closeAt(state, transaction, row, bookLots, limitTicks);
}

/**
 * Before a step: pays funding, since a debt lowers the equity that the step divides, and ends the account's orders in the
 * symbol, so that no fill changes the size. Returns whether there was anything to do; then the totals include it.
 */
export function prepare(state: SymbolState, transaction: Transaction, row: number): boolean {
  payFunding(state, transaction, row);
  closeAllOrders(state, transaction, row, REASON_LIQUIDATION);
  if (!state.dirty.has(row)) return false;
  state.contributions.refresh(row);
  return true;
}

/**
 * Closes `lots` of a position: in the book as far as possible, no worse than the bankruptcy price, and the rest by a transfer.
 * The lots take along their part of `equityShare`: see equityShareOf().
 */
function closePart(
  state: SymbolState,
  transaction: Transaction,
  queue: DeleveragingQueue,
  row: number,
  lots: QuantityLots,
  equityShare: Quanta,
): void {
  const sizeLots = state.positions.numbers[row + SIZE];
  const limitTicks = bankruptcyTicks(state, sizeLots, equityShare);
  const restLots = lots - closeAt(state, transaction, row, lots, limitTicks);
  if (restLots === 0) return;
  transferPosition(state, transaction, queue, row, restLots, proportion(equityShare, restLots, Math.abs(sizeLots)));
}

/** Closes lots in the book. Returns how many. */
function closeAt(
  state: SymbolState,
  transaction: Transaction,
  row: number,
  lots: QuantityLots,
  limitTicks: PriceTicks,
): QuantityLots {
  if (limitTicks === NONE) return 0;
  const terms = { execType: EXEC_LIQUIDATION, bankruptcyTicks: limitTicks };
  return closeInBook(state, transaction, row, lots, limitTicks, terms);
}
