import { applyTraded } from "../apply/position-events.ts";
import * as columns from "../base/columns.ts";
import * as enums from "../base/enums.ts";
import type { PriceTicks, Quanta, QuantityLots } from "../base/units.ts";
import { payFunding } from "../margin/funding-payment.ts";
import { type Fill, settleFill, settleForcedFill } from "../margin/isolated.ts";
import { isFarFromMark, MakerSolvency } from "../margin/maker-solvency.ts";
import type { Transaction } from "../protocol/actor.ts";
import * as events from "../protocol/events.ts";
import { blank } from "../protocol/message-schema.ts";
import type { SymbolState } from "../state/symbol-state.ts";
import { liquidationFee, makerFee, takerFee } from "./fees.ts";
import { showNextSlice } from "./iceberg.ts";
import { closeOrder } from "./order-closing.ts";
import { clampReduceOnlyOrders } from "./reduce-only.ts";
import { preventSelfTrade } from "./self-trade.ts";

const { ACCOUNT, MARGIN_MODE, SIZE } = columns;
const {
  BUY,
  EXEC_LIQUIDATION,
  EXEC_TRADE,
  isAtMarket,
  ISOLATED,
  REASON_INSUFFICIENT_MARGIN,
  REASON_IOC_REMAINDER,
  REASON_NO_LIQUIDITY,
  REASON_NONE,
  REASON_SELF_TRADE,
  serialToId,
  STATUS_CANCELED,
} = enums;
const { Traded } = events;

// Reused for each event: emit() reads it and keeps nothing (see Transaction).
const traded = blank(Traded);
/** The sum of the fills of an isolated taker: its margin is settled once, after the last fill. */
const takerFills: Fill = { lots: 0, quanta: 0, feeQuanta: 0, realizedQuanta: 0 };
const makerSolvency = new MakerSolvency(true);

/** Whether an order of `side` trades at the best price of the other side (negative = that side is empty). */
export function crosses(side: number, limitTicks: PriceTicks, oppositeTicks: PriceTicks): boolean {
  if (oppositeTicks < 0) return false;
  return side === BUY ? oppositeTicks <= limitTicks : oppositeTicks >= limitTicks;
}

/** How the taker's fills are booked: as those of an order, or as those of a liquidation. */
export interface TradeTerms {
  /** EXEC_TRADE or EXEC_LIQUIDATION. */
  readonly execType: number;
  /** Of a liquidation: bounds its fee, see liquidationFee(). */
  readonly bankruptcyTicks: PriceTicks;
}
export const TRADE_TERMS: TradeTerms = { execType: EXEC_TRADE, bankruptcyTicks: 0 };

/**
 * Matches the order in slot `taker` with the book in price-time priority, until it is filled or its limit is reached.
 * Then it returns REASON_NONE. It may stop earlier and return a reason; then the rest must not come to rest:
 * - REASON_SELF_TRADE: self-trade prevention ends the taker.
 * - REASON_IOC_REMAINDER: the transaction is full (see TransactionProgress.isLong).
 * - REASON_INSUFFICIENT_MARGIN: the fills would lose more than `lossQuanta` against the mark.
 *
 * `lossQuanta` is the loss that preview() found and that margin is reserved for. The fills can lose
 * more only when another thread took margin from a maker after the preview: the makers behind it have worse prices.
 */
export function match(
  state: SymbolState,
  transaction: Transaction,
  taker: number,
  limitTicks: PriceTicks,
  terms: TradeTerms,
  lossQuanta = Number.POSITIVE_INFINITY,
): number {
  const { orders, book, markTicks } = state;
  const side = orders.side(taker);
  const row = orders.row(taker);
  const levels = book.opposite(side);
  const isIsolated = state.positions.numbers[row + MARGIN_MODE] === ISOLATED;
  if (isIsolated) takerFills.lots = takerFills.quanta = takerFills.feeQuanta = takerFills.realizedQuanta = 0;
  makerSolvency.begin();
  let lossLeft = lossQuanta;
  let reason = REASON_NONE;
  while (orders.remainingLots(taker) > 0) {
    const price = levels.best();
    if (!crosses(side, limitTicks, price)) break;
    if (state.progress.isLong) {
      reason = REASON_IOC_REMAINDER;
      break;
    }
    const maker = book.first(price);
    const makerRow = orders.row(maker);
    if (makerRow === row) {
      if (preventSelfTrade(state, transaction, taker, maker)) continue;
      reason = REASON_SELF_TRADE;
      break;
    }
    const lots = Math.min(orders.remainingLots(taker), state.open.shownLots(maker));
    state.marginTable.beginFilling(state.positions.numbers[makerRow + ACCOUNT]);
    const isUnsure = makerSolvency.mustCover(state, makerRow, isFarFromMark(state, side, price));
    if (isUnsure && !makerSolvency.canCover(state, makerRow, side, price, lots)) {
      closeOrder(state, transaction, maker, STATUS_CANCELED, REASON_INSUFFICIENT_MARGIN);
      continue;
    }
    lossLeft -= (side === BUY ? price - markTicks : markTicks - price) * lots * state.instrument.quantaPerTickLot;
    if (lossLeft < 0) {
      // canCover() has already taken the maker's loss from its margin: give it back.
      state.contributions.refresh(makerRow);
      reason = REASON_INSUFFICIENT_MARGIN;
      break;
    }
    trade(state, transaction, taker, maker, price, lots, terms);
    if (isIsolated) addToTakerFills(state.instrument.quantaPerTickLot);
  }
  // Once for all fills, because their margin was reserved in one sum.
  if (isIsolated && takerFills.lots !== 0) {
    if (terms.execType === EXEC_LIQUIDATION) settleForcedFill(state, transaction, row);
    else settleFill(state, transaction, row, takerFills);
  }
  clampReduceOnlyOrders(state, transaction, row);
  return reason;
}

/** Why the rest of a taker expires after matching; REASON_NONE = it rests in the book. */
export function expiryReason(orderType: number, mayRest: boolean): number {
  if (mayRest) return REASON_NONE;
  return isAtMarket(orderType) ? REASON_NO_LIQUIDITY : REASON_IOC_REMAINDER;
}

function trade(
  state: SymbolState,
  transaction: Transaction,
  taker: number,
  maker: number,
  price: PriceTicks,
  lots: QuantityLots,
  terms: TradeTerms,
): void {
  const { orders, positions, instrument } = state;
  const takerRow = orders.row(taker);
  const makerRow = orders.row(maker);
  if (state.funding.owingCount > 0) {
    payFunding(state, transaction, takerRow);
    payFunding(state, transaction, makerRow);
  }
  const side = orders.side(taker);
  const isIceberg = orders.isIceberg(maker);
  const quanta = lots * price * instrument.quantaPerTickLot;
  const takerLots = side === BUY ? lots : -lots;
  traded.tradeId = serialToId(state.nextTradeSerial, instrument.id);
  traded.takerOrderId = state.orderId(taker);
  traded.makerOrderId = state.orderId(maker);
  traded.takerAccountId = positions.numbers[takerRow + ACCOUNT];
  traded.makerAccountId = positions.numbers[makerRow + ACCOUNT];
  traded.takerSide = side;
  traded.priceTicks = price;
  traded.quantityLots = lots;
  traded.takerFeeQuanta =
    terms.execType === EXEC_LIQUIDATION
      ? liquidationFee(instrument, side, lots, quanta, terms.bankruptcyTicks)
      : takerFee(instrument, quanta);
  traded.makerFeeQuanta = makerFee(instrument, quanta);
  traded.takerSizeLots = positions.numbers[takerRow + SIZE] + takerLots;
  traded.makerSizeLots = positions.numbers[makerRow + SIZE] - takerLots;
  traded.takerRealizedQuanta = positions.realized(takerRow, takerLots, quanta);
  traded.makerRealizedQuanta = positions.realized(makerRow, -takerLots, quanta);
  traded.execType = terms.execType;
  if (orders.isExtended(taker)) state.noteFill(taker, lots);
  if (orders.isExtended(maker)) state.noteFill(maker, lots);
  applyTraded(state, traded, taker, maker, transaction.time);
  transaction.emit(traded);
  // isIceberg() again: the trade has removed the maker if these were its last lots.
  if (isIceberg && orders.isIceberg(maker) && state.open.shownLots(maker) === 0)
    showNextSlice(state, transaction, maker);
  if (positions.numbers[makerRow + MARGIN_MODE] === ISOLATED)
    settleFill(state, transaction, makerRow, {
      lots: -takerLots,
      quanta,
      feeQuanta: traded.makerFeeQuanta,
      realizedQuanta: traded.makerRealizedQuanta,
    });
  clampReduceOnlyOrders(state, transaction, makerRow);
}

/** Adds the trade in `traded` to the taker's sum. */
function addToTakerFills(quantaPerTickLot: Quanta): void {
  takerFills.lots += traded.takerSide === BUY ? traded.quantityLots : -traded.quantityLots;
  takerFills.quanta += traded.quantityLots * traded.priceTicks * quantaPerTickLot;
  takerFills.feeQuanta += traded.takerFeeQuanta;
  takerFills.realizedQuanta += traded.takerRealizedQuanta;
}
