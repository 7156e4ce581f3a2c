import { applyTradingHalted } from "../apply/market-events.ts";
import * as enums from "../base/enums.ts";
import type { TimeMs } from "../base/units.ts";
import type { Transaction } from "../protocol/actor.ts";
import * as events from "../protocol/events.ts";
import { blank } from "../protocol/message-schema.ts";
import { refuse } from "../protocol/refusals.ts";
import * as replies from "../protocol/replies.ts";
import type { SymbolState } from "../state/symbol-state.ts";

const { MODE_CANCEL_ONLY, MODE_HALTED, MODE_REDUCE_ONLY, MODE_TRADING, HALT_REASON, TRADING_STATUSES } = enums;
const { StatusView } = replies;
const { TradingHalted } = events;

/** What holds a symbol back; see statusOf. */
export interface Restrictions {
  readonly markTicks: number;
  /** MODE_TRADING when nobody has halted it. */
  readonly haltMode: number;
  readonly haltReason: number;
  readonly isIndexStale: boolean;
}

/**
 * What the symbol lets happen, and why. TRADING: everything. REDUCE_ONLY: what only reduces a position, and cancels.
 * CANCEL_ONLY: cancels; nobody is liquidated. HALTED: nothing.
 */
export function statusOf(symbol: Restrictions): { mode: number; reason: number } {
  if (symbol.markTicks === 0) return { mode: MODE_HALTED, reason: HALT_REASON.NO_PRICE };
  if (symbol.isIndexStale && symbol.haltMode < MODE_REDUCE_ONLY)
    return { mode: MODE_REDUCE_ONLY, reason: HALT_REASON.STALE_INDEX };
  return { mode: symbol.haltMode, reason: symbol.haltReason };
}

/**
 * Refuses what the symbol does not let happen now. Returns whether it did. `reducesOnly`: no risk can come of it. While
 * orders that should be gone are still there, it takes cancels only: see fireCancelSwitches and Conditional.expire.
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
  if (reducesOnly || !state.isIndexOld(transaction.time)) return false;
  const details = { status: TRADING_STATUSES[MODE_REDUCE_ONLY], maxAgeMs: state.maxIndexAgeMs };
  refuse(transaction, "STALE_PRICE", "symbol", details);
  return true;
}

/** Liquidations trade: not where orders may not, and not at a price that nobody vouches for any more. */
export const mayLiquidate = (state: SymbolState, time: TimeMs): boolean =>
  state.markTicks !== 0 && state.haltMode < MODE_CANCEL_ONLY && !state.isIndexOld(time);

const halted = blank(TradingHalted);
const statusView = blank(StatusView);

/** Halts the symbol, or lets it trade again (MODE_TRADING). `until` 0 = until someone says otherwise. */
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

/** Ends a halt whose time is over. */
export function endExpiredHalt(state: SymbolState, transaction: Transaction): void {
  if (state.haltMode !== MODE_TRADING && state.haltUntil !== 0 && transaction.time >= state.haltUntil)
    setHalt(state, transaction, MODE_TRADING, state.haltReason, 0);
}

/** Answers the operator. */
export function replyStatus(state: SymbolState, transaction: Transaction): void {
  const { mode, reason } = statusOf(state);
  statusView.mode = mode;
  statusView.reason = reason;
  statusView.until = state.haltUntil;
  transaction.reply(statusView);
}
