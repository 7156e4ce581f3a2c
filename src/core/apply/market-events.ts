import { HALT_REASON, MODE_CANCEL_ONLY, MODE_TRADING } from "../base/enums.ts";
import type { TimeMs } from "../base/units.ts";
import type {
  FundingSettled,
  IndexJumpHeld,
  PriceUpdated,
  SelfCheckFailed,
  TradingHalted,
} from "../protocol/events.ts";
import type { MessageOf } from "../protocol/message-schema.ts";
import type { SymbolState } from "../state/symbol-state.ts";

const HOUR_MS = 3_600_000;

export function applyPriceUpdated(state: SymbolState, event: MessageOf<typeof PriceUpdated>, time: TimeMs): void {
  state.indexRange.note(state.indexTicks, event.indexTicks, time);
  noteFundHour(state, time);
  state.markBeforeTicks = state.markTicks;
  state.fundTakeovers = 0;
  state.indexTicks = event.indexTicks;
  state.markTicks = event.markTicks;
  state.basis1024 = event.basis1024;
  state.lastTriggerPpm = event.lastTriggerPpm;
  state.priceTime = time;
  if (state.haltMode < MODE_CANCEL_ONLY) state.markTime = time;
  state.progress.hasMovedMark = true;
  state.needsTriggerCheck = true;
  state.isIndexStale = false;
  state.pendingIndexTicks = 0;
  state.pendingIndexCount = 0;
  state.funding.sample(event.premiumPpb, event.premiumHeldMs, event.nextFundingTime, time);
  state.changed = true;
}

/** With the first price of an hour another allowance of the fund begins, from its equity at the mark before. */
function noteFundHour(state: SymbolState, time: TimeMs): void {
  const hour = Math.floor(time / HOUR_MS);
  const { fundHour } = state;
  if (hour === fundHour.hour) return;
  fundHour.hour = hour;
  fundHour.baseQuanta = state.fundEquity();
}

export function applyFundingSettled(state: SymbolState, event: MessageOf<typeof FundingSettled>): void {
  state.funding.settle(event);
  state.changed = true;
}

export function applyTradingHalted(state: SymbolState, event: MessageOf<typeof TradingHalted>): void {
  state.haltMode = event.mode;
  state.haltReason = event.mode === MODE_TRADING ? HALT_REASON.NONE : event.reason;
  state.haltUntil = event.until;
  // No trigger is reached during a halt. When it ends, the prices at that time count.
  state.needsTriggerCheck = true;
  if (event.mode === MODE_TRADING) state.fault = "";
  state.changed = true;
}

export function applyIndexJumpHeld(state: SymbolState, event: MessageOf<typeof IndexJumpHeld>): void {
  state.pendingIndexTicks = event.indexTicks;
  state.pendingIndexCount = event.count;
  state.changed = true;
}

/** A jump that nothing confirmed for so long is forgotten: from here on the age of the index keeps new risk out. */
export function applyIndexWentStale(state: SymbolState): void {
  state.isIndexStale = true;
  state.pendingIndexTicks = 0;
  state.pendingIndexCount = 0;
  state.changed = true;
}

export function applySelfCheckFailed(state: SymbolState, event: MessageOf<typeof SelfCheckFailed>): void {
  state.fault = event.fault;
  state.changed = true;
}
