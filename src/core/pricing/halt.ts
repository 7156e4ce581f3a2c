import { applyTradingHalted } from "../apply/market-events.ts";
import * as enums from "../base/enums.ts";
import type { PriceTicks, TimeMs } from "../base/units.ts";
import type { Transaction } from "../protocol/actor.ts";
import * as events from "../protocol/events.ts";
import { blank } from "../protocol/message-schema.ts";
import { refuse, refuses } from "../protocol/refusals.ts";
import * as replies from "../protocol/replies.ts";
import type { SymbolState } from "../state/symbol-state.ts";
import { CONFIRMATIONS } from "./price-guards.ts";

const { MODE_CANCEL_ONLY, MODE_HALTED, MODE_REDUCE_ONLY, MODE_TRADING, HALT_REASON, TRADING_STATUSES } = enums;
const { StatusView } = replies;
const { TradingHalted } = events;

/** The state that can restrict trading in a symbol: see statusOf. */
interface Restrictions {
  readonly markTicks: number;
  /** MODE_TRADING when the symbol is not halted. */
  readonly haltMode: number;
  readonly haltReason: number;
  readonly isIndexStale: boolean;
  readonly pendingIndexTicks: PriceTicks;
}

/**
 * The trading status of a symbol and its reason. TRADING allows everything; REDUCE_ONLY allows orders that only reduce a
 * position, and cancels; CANCEL_ONLY allows cancels, and stops liquidations; HALTED allows nothing.
 */
export function statusOf(symbol: Restrictions): { mode: number; reason: number } {
  if (symbol.markTicks === 0) return { mode: MODE_HALTED, reason: HALT_REASON.NO_PRICE };
  if (symbol.isIndexStale && symbol.haltMode < MODE_REDUCE_ONLY)
    return { mode: MODE_REDUCE_ONLY, reason: HALT_REASON.STALE_INDEX };
  if (symbol.pendingIndexTicks !== 0 && symbol.haltMode < MODE_REDUCE_ONLY)
    return { mode: MODE_REDUCE_ONLY, reason: HALT_REASON.PRICE_PENDING };
  return { mode: symbol.haltMode, reason: symbol.haltReason };
}

/**
 * Refuses a command that the symbol's status does not allow. Returns whether it did. `reducesOnly`: the command adds no risk.
 * While expired orders are not yet removed, only cancels are allowed: see fireCancelSwitches() and expireOrders().
 */
export function refuseWhileHalted(state: SymbolState, transaction: Transaction, reducesOnly: boolean): boolean {
  const { haltMode } = state;
  if (haltMode > MODE_REDUCE_ONLY || (haltMode === MODE_REDUCE_ONLY && !reducesOnly)) {
    refuse(transaction, "SYMBOL_HALTED", "symbol", { status: TRADING_STATUSES[haltMode] });
    return true;
  }
  if (state.hasOverdue(transaction.time)) {
    refuse(transaction, "SYMBOL_HALTED", "symbol", { status: TRADING_STATUSES[MODE_CANCEL_ONLY] });
    return true;
  }
  if (reducesOnly) return false;
  const status = TRADING_STATUSES[MODE_REDUCE_ONLY];
  if (state.isIndexOld(transaction.time))
    return refuses(transaction, "STALE_PRICE", "symbol", { status, maxAgeMs: state.maxIndexAgeMs });
  if (state.pendingIndexTicks === 0) return false;
  // The next mark is public before it is used: a position at the old one would be a bet on a known result.
  const { pendingIndexTicks: pendingTicks, indexTicks, markTicks } = state;
  const missing = CONFIRMATIONS - state.pendingIndexCount;
  return refuses(transaction, "PRICE_PENDING", "symbol", { status, pendingTicks, indexTicks, markTicks, missing });
}

/** Liquidations are trades: they need a status in which orders trade, and an index price that is not stale. */
export const mayLiquidate = (state: SymbolState, time: TimeMs): boolean =>
  state.markTicks !== 0 && state.haltMode < MODE_CANCEL_ONLY && !state.isIndexOld(time);

const halted = blank(TradingHalted);
const statusView = blank(StatusView);

/** Halts the symbol, or resumes it (MODE_TRADING). `until` in ms; 0 = until it is resumed. */
export function setHalt(
  state: SymbolState,
  transaction: Transaction,
  mode: number,
  reason: number,
  until: TimeMs,
): void {
  halted.mode = mode;
  halted.reason = reason;
  halted.until = until;
  applyTradingHalted(state, halted);
  transaction.emit(halted);
}

/** Resumes the symbol when its halt has expired. Returns whether it did. */
export function endExpiredHalt(state: SymbolState, transaction: Transaction): boolean {
  if (state.haltMode === MODE_TRADING || state.haltUntil === 0 || transaction.time < state.haltUntil) return false;
  setHalt(state, transaction, MODE_TRADING, state.haltReason, 0);
  return true;
}

/** Replies to the operator with the status. */
export function replyStatus(state: SymbolState, transaction: Transaction): void {
  const { mode, reason } = statusOf(state);
  statusView.mode = mode;
  statusView.reason = reason;
  statusView.until = state.haltUntil;
  transaction.reply(statusView);
}
