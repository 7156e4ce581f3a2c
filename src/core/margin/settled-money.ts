import { ACCOUNT, COST, SIZE } from "../base/columns.ts";
import { proportion, type Quanta, type QuantityLots } from "../base/units.ts";
import type { SymbolState } from "../state/symbol-state.ts";

/**
 * The settled money of a cross account, in quanta: its equity without unrealised gains. Infinity without such gains: then the
 * equity itself is the bound, and margin checks keep to it. Unrealised losses are not set off against gains: who loses to an
 * accomplice and leaves the loss open would spend the same settled money again and again.
 *
 * The loss of a trade against the mark goes to the counterparty, who may withdraw it. So it is paid from settled money only.
 * Otherwise a gain that may still be lost again, at a stale price or at one that was driven up, could be withdrawn through
 * an accomplice.
 *
 * Of two threads that take equity first and look afterwards, the later one sees what both have taken.
 */
export function settledMoney({ marginTable, positions }: SymbolState, row: number): Quanta {
  const account = positions.numbers[row + ACCOUNT];
  // Another thread may change both: a gain rises before the equity, and falls after it.
  const gainsBefore = marginTable.usableGains(account);
  const equity = marginTable.usableEquityAfterFence(account);
  const gains = Math.max(gainsBefore, marginTable.usableGains(account));
  return gains > 0 ? equity - gains : Number.POSITIVE_INFINITY;
}

/** The unrealised gain of the row's position, in quanta, at least 0. */
export function positionGain({ positions, markTicks, instrument }: SymbolState, row: number): Quanta {
  const n = positions.numbers;
  return Math.max(0, n[row + SIZE] * markTicks * instrument.quantaPerTickLot - n[row + COST]);
}

/** The part of that gain that closing so many lots settles: a close may lose it against the mark. */
export function gainOfClosing(state: SymbolState, row: number, closedLots: QuantityLots): Quanta {
  if (closedLots === 0) return 0;
  return proportion(positionGain(state, row), closedLots, Math.abs(state.positions.numbers[row + SIZE]));
}
