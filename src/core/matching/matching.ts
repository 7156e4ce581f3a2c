import { applyTraded } from "../apply/position-events.ts";
import * as columns from "../base/columns.ts";
import * as enums from "../base/enums.ts";
import type { PriceTicks, Quanta, QuantityLots } from "../base/units.ts";
import * as units from "../base/units.ts";
import { payFunding } from "../margin/funding-payment.ts";
import { type Fill, settleFill, settleForcedFill } from "../margin/isolated.ts";
import { isFarFromMark, MakerSolvency } from "../margin/maker-solvency.ts";
import type { Transaction } from "../protocol/actor.ts";
import * as events from "../protocol/events.ts";
import type { Instrument } from "../protocol/instrument.ts";
import { blank } from "../protocol/message-schema.ts";
import type { SymbolState } from "../state/symbol-state.ts";
import { showNextSlice } from "./iceberg.ts";
import { clipReduceOnly, close, reduce } from "./order-closing.ts";

const { ACCOUNT, MARGIN_MODE, SIZE } = columns;
const {
  BUY,
  EXEC_LIQUIDATION,
  EXEC_TRADE,
  EXPIRE_BOTH,
  EXPIRE_MAKER,
  EXPIRE_TAKER,
  isAtMarket,
  ISOLATED,
  REASON_INSUFFICIENT_MARGIN,
  REASON_IOC_REMAINDER,
  REASON_NO_LIQUIDITY,
  REASON_NONE,
  REASON_SELF_TRADE,
  SELL,
  serialToId,
  STATUS_CANCELED,
} = enums;
const { Traded } = events;
const { mulDivCeil, PPM } = units;

// Filled in again for each event: a turn hands it on before it goes on (see Turn).
const traded = blank(Traded);
/** What the taker that trades has got, and what its makers can still lose. */
const taken: Fill = { lots: 0, quanta: 0, feeQuanta: 0, realizedQuanta: 0 };
const makerSolvency = new MakerSolvency(true);

/** Whether a price of the other side is within the limit. */
export function crosses(side: number, limitTicks: PriceTicks, oppositeTicks: PriceTicks): boolean {
  if (oppositeTicks < 0) return false;
  return side === BUY ? oppositeTicks <= limitTicks : oppositeTicks >= limitTicks;
}

/** On what terms a taker trades: its own, or those of a liquidation. */
export interface TradeTerms {
  readonly execType: number;
  /** A liquidation's fee comes out of what its price is better than this; see liquidation.ts. */
  readonly bankruptcyTicks: PriceTicks;
}
export const TRADE_TERMS: TradeTerms = { execType: EXEC_TRADE, bankruptcyTicks: 0 };

/**
 * The taker walks the book, best price first and oldest order first, until it is filled, the limit is reached,
 * self-trade prevention ends it or the turn is long. Returns why it may not come to rest: REASON_NONE, REASON_SELF_TRADE
 * or, behind so many fills that the rest expires like that of an IOC order, REASON_IOC_REMAINDER.
 *
 * `lossQuanta`: what its fills may lose against the mark together, as the preview has found. Beyond it the taker ends with
 * REASON_INSUFFICIENT_MARGIN: another thread has taken from a maker what it had then, and those behind it are dearer.
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
  if (isIsolated) taken.lots = taken.quanta = taken.feeQuanta = taken.realizedQuanta = 0;
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
      close(state, transaction, maker, STATUS_CANCELED, REASON_INSUFFICIENT_MARGIN);
      continue;
    }
    lossLeft -= (side === BUY ? price - markTicks : markTicks - price) * lots * state.instrument.quantaPerTickLot;
    if (lossLeft < 0) {
      // What the maker was about to lose has been taken from it already.
      state.contributions.refresh(makerRow);
      reason = REASON_INSUFFICIENT_MARGIN;
      break;
    }
    trade(state, transaction, taker, maker, price, lots, terms);
    if (isIsolated) addTaken(state.instrument.quantaPerTickLot);
  }
  // Once for all fills, as their margin was reserved.
  if (isIsolated && taken.lots !== 0) {
    if (terms.execType === EXEC_LIQUIDATION) settleForcedFill(state, transaction, row);
    else settleFill(state, transaction, row, taken);
  }
  clipReduceOnly(state, transaction, row);
  return reason;
}

/** Why what a taker has left expires; REASON_NONE = it comes to rest. */
export function endOfTaker(orderType: number, mayRest: boolean): number {
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
      ? liquidationFee(state, side, lots, quanta, terms.bankruptcyTicks)
      : takerFee(instrument, quanta);
  traded.makerFeeQuanta = mulDivCeil(quanta, instrument.makerFeePpm, PPM);
  traded.takerSizeLots = positions.numbers[takerRow + SIZE] + takerLots;
  traded.makerSizeLots = positions.numbers[makerRow + SIZE] - takerLots;
  traded.takerRealizedQuanta = positions.realized(takerRow, takerLots, quanta);
  traded.makerRealizedQuanta = positions.realized(makerRow, -takerLots, quanta);
  traded.execType = terms.execType;
  if (orders.isExtended(taker)) state.noteFill(taker, lots);
  if (orders.isExtended(maker)) state.noteFill(maker, lots);
  applyTraded(state, traded, taker, maker, transaction.time);
  transaction.emit(traded);
  // Unless it is gone, with its last lots.
  if (isIceberg && orders.isIceberg(maker) && state.open.shownLots(maker) === 0)
    showNextSlice(state, transaction, maker);
  if (positions.numbers[makerRow + MARGIN_MODE] === ISOLATED)
    settleFill(state, transaction, makerRow, {
      lots: -takerLots,
      quanta,
      feeQuanta: traded.makerFeeQuanta,
      realizedQuanta: traded.makerRealizedQuanta,
    });
  clipReduceOnly(state, transaction, makerRow);
}

/** Of a trade of so much notional, rounded against the payer. */
export const takerFee = (instrument: Instrument, quanta: Quanta): Quanta =>
  mulDivCeil(quanta, instrument.takerFeePpm, PPM);

/** The trade that has just happened, for the taker. */
function addTaken(quantaPerTickLot: Quanta): void {
  taken.lots += traded.takerSide === BUY ? traded.quantityLots : -traded.quantityLots;
  taken.quanta += traded.quantityLots * traded.priceTicks * quantaPerTickLot;
  taken.feeQuanta += traded.takerFeeQuanta;
  taken.realizedQuanta += traded.takerRealizedQuanta;
}

/** The configured share of the notional, out of what the fill is better than the bankruptcy price (dYdX v4). */
function liquidationFee(
  state: SymbolState,
  side: number,
  lots: QuantityLots,
  quanta: Quanta,
  bankruptcyTicks: PriceTicks,
): Quanta {
  const { quantaPerTickLot, liquidationFeePpm } = state.instrument;
  const atBankruptcy = lots * bankruptcyTicks * quantaPerTickLot;
  const surplus = side === SELL ? quanta - atBankruptcy : atBankruptcy - quanta;
  return Math.min(Math.max(0, surplus), mulDivCeil(quanta, liquidationFeePpm, PPM));
}

/** One account on both sides. Returns whether the taker may go on. */
function preventSelfTrade(state: SymbolState, transaction: Transaction, taker: number, maker: number): boolean {
  const { orders } = state;
  switch (orders.selfTradePrevention(taker)) {
    case EXPIRE_TAKER:
      return false;
    case EXPIRE_MAKER:
      close(state, transaction, maker, STATUS_CANCELED, REASON_SELF_TRADE);
      return true;
    case EXPIRE_BOTH:
      close(state, transaction, maker, STATUS_CANCELED, REASON_SELF_TRADE);
      return false;
    default: {
      const lots = Math.min(orders.remainingLots(taker), state.open.shownLots(maker));
      if (lots === orders.remainingLots(maker)) close(state, transaction, maker, STATUS_CANCELED, REASON_SELF_TRADE);
      else {
        reduce(state, transaction, maker, lots, REASON_SELF_TRADE);
        if (state.open.shownLots(maker) === 0) showNextSlice(state, transaction, maker);
      }
      // A taker that is used up ends with its last lots unfilled: it expires, it is not filled.
      if (lots === orders.remainingLots(taker)) return false;
      reduce(state, transaction, taker, lots, REASON_SELF_TRADE);
      return true;
    }
  }
}
