import * as columns from "../base/columns.ts";
import * as enums from "../base/enums.ts";
import type { Quanta, QuantityLots, TimeMs } from "../base/units.ts";
import type {
  DeficitCovered,
  FundingPaid,
  IsolatedMarginSet,
  LeverageSet,
  MarginModeSet,
  MarginMoved,
  PositionTransferred,
  Traded,
} from "../protocol/events.ts";
import type { MessageOf } from "../protocol/message-schema.ts";
import type { SymbolState } from "../state/symbol-state.ts";
import { applyOrderClosed } from "./order-events.ts";

const { CASH, FUNDING, FUNDING_TIME, ISOLATED_QUANTA, LEVERAGE, MARGIN_MODE, SIZE } = columns;
const { BUY, EXEC_LIQUIDATION, FEE_ACCOUNT, idToSerial, INSURANCE_ACCOUNT } = enums;

export function applyTraded(
  state: SymbolState,
  event: MessageOf<typeof Traded>,
  taker: number,
  maker: number,
  time: TimeMs,
): void {
  state.progress.eventCount++;
  const { orders, dirty } = state;
  const lots = event.quantityLots;
  const quanta = lots * event.priceTicks * state.instrument.quantaPerTickLot;
  const takerRow = orders.row(taker);
  const makerRow = orders.row(maker);
  const takerLots = event.takerSide === BUY ? lots : -lots;
  movePosition(state, takerRow, takerLots, quanta, event.takerFeeQuanta, time);
  movePosition(state, makerRow, -takerLots, quanta, event.makerFeeQuanta, time);
  // The liquidation fee belongs to the insurance fund, which covers the losses of liquidations.
  if (event.execType === EXEC_LIQUIDATION) {
    credit(state, INSURANCE_ACCOUNT, event.takerFeeQuanta);
    credit(state, FEE_ACCOUNT, event.makerFeeQuanta);
  } else credit(state, FEE_ACCOUNT, event.takerFeeQuanta + event.makerFeeQuanta);
  state.recentFills.add(
    time,
    event.takerOrderId,
    event.takerSide === BUY ? takerRow : makerRow,
    event.takerSide === BUY ? makerRow : takerRow,
    lots,
  );
  orders.fill(taker, lots, quanta, event.takerFeeQuanta);
  state.open.takeFromResting(maker, lots);
  if (orders.fill(maker, lots, quanta, event.makerFeeQuanta) === 0) applyOrderClosed(state, maker);
  else dirty.order(maker);
  dirty.row(takerRow);
  dirty.row(makerRow);
  if (event.priceTicks !== state.lastTicks) state.needsTriggerCheck = true;
  state.lastTicks = event.priceTicks;
  state.nextTradeSerial = idToSerial(event.tradeId, state.instrument.id) + 1;
  state.changed = true;
}

export function applyPositionTransferred(
  state: SymbolState,
  event: MessageOf<typeof PositionTransferred>,
  time: TimeMs,
): void {
  state.progress.eventCount++;
  const from = state.positions.ensure(event.accountId);
  const to = state.positions.ensure(event.counterpartyId);
  const lots = event.side === BUY ? event.quantityLots : -event.quantityLots;
  movePosition(state, from, lots, event.quanta, 0, time);
  movePosition(state, to, -lots, event.quanta, 0, time);
  if (event.counterpartyId === INSURANCE_ACCOUNT) state.fundTakeovers++;
  state.dirty.row(from);
  state.dirty.row(to);
  state.nextTradeSerial = idToSerial(event.tradeId, state.instrument.id) + 1;
  state.changed = true;
}

export function applyFundingPaid(state: SymbolState, event: MessageOf<typeof FundingPaid>): void {
  state.progress.eventCount++;
  const { positions } = state;
  const at = positions.ensure(event.accountId);
  credit(state, INSURANCE_ACCOUNT, -event.amountQuanta);
  const n = positions.numbers;
  n[at + CASH] += event.amountQuanta;
  n[at + FUNDING] += event.amountQuanta;
  n[at + FUNDING_TIME] = event.fundingTime;
  state.funding.notePaid(event.sizeLots);
  state.dirty.row(at);
  // Also when nothing was paid: the fund's equity follows from what is still owed.
  state.dirty.row(positions.ensure(INSURANCE_ACCOUNT));
}

export function applyDeficitCovered(state: SymbolState, event: MessageOf<typeof DeficitCovered>): void {
  credit(state, INSURANCE_ACCOUNT, -event.amountQuanta);
  credit(state, event.accountId, event.amountQuanta);
  // Cross margin was below zero: an isolated position gets none of the cover.
  const at = state.positions.ensure(event.accountId);
  if (state.isIsolated(at)) state.positions.numbers[at + ISOLATED_QUANTA] -= event.amountQuanta;
}

export function applyLeverageSet(state: SymbolState, event: MessageOf<typeof LeverageSet>): void {
  const at = state.positions.ensure(event.accountId);
  state.positions.numbers[at + LEVERAGE] = event.leverage;
  state.dirty.row(at);
}

export function applyMarginModeSet(state: SymbolState, event: MessageOf<typeof MarginModeSet>): void {
  const at = state.positions.ensure(event.accountId);
  state.positions.numbers[at + MARGIN_MODE] = event.marginMode;
  state.positions.numbers[at + ISOLATED_QUANTA] = event.isolatedQuanta;
  state.dirty.row(at);
}

export function applyIsolatedMarginSet(state: SymbolState, event: MessageOf<typeof IsolatedMarginSet>): void {
  state.progress.eventCount++;
  const at = state.positions.ensure(event.accountId);
  state.positions.numbers[at + ISOLATED_QUANTA] = event.isolatedQuanta;
  state.dirty.row(at);
}

export function applyMarginMoved(state: SymbolState, event: MessageOf<typeof MarginMoved>): void {
  state.marginReferences.add(event.accountId, event.reference, event.amountQuanta);
}

/** Money of an account in this symbol, outside any trade. */
function credit(state: SymbolState, accountId: number, quanta: Quanta): void {
  if (quanta === 0) return;
  const at = state.positions.ensure(accountId);
  state.positions.numbers[at + CASH] += quanta;
  state.dirty.row(at);
}

/** Moves a position and keeps the open interest, which is half of all sizes, since long and short lots are equal. */
function movePosition(
  state: SymbolState,
  at: number,
  lots: QuantityLots,
  quanta: Quanta,
  feeQuanta: Quanta,
  time: TimeMs,
): void {
  const n = state.positions.numbers;
  const before = n[at + SIZE];
  state.positions.trade(at, lots, quanta, feeQuanta, time);
  state.openInterestLots += (Math.abs(n[at + SIZE]) - Math.abs(before)) / 2;
  // A position that is opened or turned around owes nothing for intervals before it.
  if (before === 0 || before > 0 !== n[at + SIZE] > 0) {
    n[at + FUNDING_TIME] = state.funding.lastTime;
    n[at + FUNDING] = 0;
  }
}
