import type { Turn } from "./actor.ts";
import { payFunding } from "./funding.ts";
import { showNextSlice } from "./iceberg.ts";
import type { Instrument } from "./instrument.ts";
import { type Fill, settleFill, settleForced } from "./isolated.ts";
import { spendLeg } from "./legs.ts";
import { LevelWalk } from "./level-walk.ts";
import { isFar, isShort, MakerMeans } from "./maker-means.ts";
import * as messages from "./messages.ts";
import { WITH_POSITION } from "./order-terms.ts";
import { blank } from "./shape.ts";
import type { SymbolState } from "./symbol-state.ts";
import * as tables from "./tables.ts";
import type { PriceTicks, Quanta, QuantityLots } from "./units.ts";
import * as units from "./units.ts";
import * as words from "./words.ts";

const { ACCOUNT, CLOSING_ORDERS, FIRST_ORDER, MARGIN_MODE, NONE, OPEN_ORDERS, REDUCE_ONLY_ORDERS, SIZE } = tables;
const {
  BUY,
  DECREMENT,
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
  REASON_POSITION_CLOSED,
  REASON_REDUCE_ONLY,
  REASON_SELF_TRADE,
  SELL,
  serialToId,
  STATUS_CANCELED,
} = words;
const { OrderClosed, OrderReduced, Traded } = messages;
const { mulDivCeil, PPM } = units;

// Filled in again for each event: a turn hands them on before it goes on (see Turn).
const traded = blank(Traded);
const reduced = blank(OrderReduced);
const closed = blank(OrderClosed);
const taken: Fill = { lots: 0, quanta: 0, feeQuanta: 0, realizedQuanta: 0 };

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

/** What a taker would get: exact, also with self-trade prevention and reduce-only makers in the way. */
export interface Preview {
  lots: QuantityLots;
  /** Lots × price, in quanta. */
  quanta: Quanta;
  /** What would be left to rest: nothing when self-trade prevention ends the taker. */
  leftLots: QuantityLots;
}

/**
 * A preview that tells whoever asks of each trade: of what is hidden it knows nothing, or everyone could ask for the size
 * of an iceberg.
 */
export interface DetailedPreview extends Preview {
  readonly fills: [priceTicks: PriceTicks, lots: QuantityLots][];
  /** What the taker would have left, whether it may rest or not. */
  remainingLots: QuantityLots;
  /** As match() answers it. */
  stopped: number;
  /** What the taker's account gives up of its own orders, by slot. */
  readonly ownLots: Map<number, QuantityLots>;
}

/** The walk of whoever asks what is to come: none is asked while another one walks. */
const walk = new LevelWalk();
const makerMeansToCome = new MakerMeans();
/** Of the taker that trades. */
const makerMeans = new MakerMeans();

/**
 * Walks levels; walks single orders only where the taker may meet itself, a reduce-only maker, or one that is far from the
 * mark or short of margin.
 */
export function preview(
  state: SymbolState,
  row: number,
  side: number,
  limitTicks: PriceTicks,
  quantityLots: QuantityLots,
  selfTradePrevention: number,
  out: Preview,
  details: DetailedPreview | null = null,
): Preview {
  out.lots = 0;
  out.quanta = 0;
  out.leftLots = 0;
  const { book } = state;
  const levels = book.opposite(side);
  const looksAtEach =
    details !== null ||
    state.positions.numbers[row + OPEN_ORDERS] > 0 ||
    state.open.reduceOnlyResting > 0 ||
    isFar(state, side, levels.best());
  if (looksAtEach) return previewOrders(state, row, side, limitTicks, quantityLots, selfTradePrevention, out, details);
  const perTick = state.instrument.quantaPerTickLot;
  for (
    let price = levels.best();
    crosses(side, limitTicks, price) && out.lots < quantityLots;
    price = levels.next(price)
  ) {
    const lots = Math.min(book.executableLots(price), quantityLots - out.lots);
    if (meetsShort(state, price, lots)) {
      out.lots = 0;
      out.quanta = 0;
      return previewOrders(state, row, side, limitTicks, quantityLots, selfTradePrevention, out, details);
    }
    out.lots += lots;
    out.quanta += lots * price * perTick;
  }
  out.leftLots = quantityLots - out.lots;
  return out;
}

/** Whether someone is short of margin whom a taker of so many lots meets at a price. */
function meetsShort(state: SymbolState, price: PriceTicks, lots: QuantityLots): boolean {
  const { book, open, orders } = state;
  let left = lots;
  for (let slot = book.first(price); left > 0 && slot !== NONE; slot = orders.next(slot)) {
    if (isShort(state, orders.row(slot))) return true;
    left -= open.shownLots(slot);
  }
  return false;
}

function previewOrders(
  state: SymbolState,
  row: number,
  side: number,
  limitTicks: PriceTicks,
  quantityLots: QuantityLots,
  selfTradePrevention: number,
  out: Preview,
  details: DetailedPreview | null,
): Preview {
  const { book, orders, positions } = state;
  const levels = book.opposite(side);
  const perTick = state.instrument.quantaPerTickLot;
  let room = state.roomInTurn;
  const closing = side === BUY ? 1 : -1; // a maker that sells to a buyer closes a long position
  const takenOf = new Map<number, QuantityLots>();
  makerMeansToCome.begin();
  let wantedLots = quantityLots;
  // What the taker has done to the turn, itself included: trades, and orders and slices that end.
  let eventCount = 1;
  const end = (stopped: number): Preview => {
    if (details === null) return out;
    details.remainingLots = wantedLots - out.lots;
    details.stopped = stopped;
    return out;
  };
  for (let price = levels.best(); crosses(side, limitTicks, price); price = levels.next(price)) {
    walk.begin(state, price, details !== null);
    const areFar = isFar(state, side, price);
    while (out.lots < wantedLots && walk.next()) {
      const { slot } = walk;
      const makerRow = orders.row(slot);
      let { lots } = walk;
      if (details !== null && eventCount >= state.roomInTurn) return end(REASON_IOC_REMAINDER);
      if (makerRow === row) {
        eventCount++;
        if (selfTradePrevention === DECREMENT)
          details?.ownLots.set(slot, (details.ownLots.get(slot) ?? 0) + Math.min(lots, wantedLots - out.lots));
        else if (selfTradePrevention !== EXPIRE_TAKER) details?.ownLots.set(slot, orders.remainingLots(slot));
        if (selfTradePrevention === EXPIRE_MAKER) continue;
        // Its last lots end an order unfilled, see preventSelfTrade().
        if (selfTradePrevention !== DECREMENT || lots >= wantedLots - out.lots) return end(REASON_SELF_TRADE);
        wantedLots -= lots;
        continue;
      }
      const taken = takenOf.get(makerRow) ?? 0;
      if (state.open.isReduceOnly(slot)) {
        const closableLots = Math.max(0, closing * positions.numbers[makerRow + SIZE] - taken);
        lots = Math.min(lots, closableLots);
      }
      // Each is an event at least: what the taker has not got by now it will not get, see isTurnLong.
      if (lots > 0 && room-- === 0) return end(REASON_IOC_REMAINDER);
      lots = Math.min(lots, wantedLots - out.lots);
      const isUnsure = lots > 0 && (areFar || isShort(state, makerRow));
      if (isUnsure && !makerMeansToCome.bears(state, makerRow, side, price, lots)) {
        walk.drop();
        eventCount++;
        continue;
      }
      takenOf.set(makerRow, taken + lots);
      out.lots += lots;
      out.quanta += lots * price * perTick;
      if (lots === 0) continue;
      eventCount += lots === walk.lots ? 2 : 1;
      details?.fills.push([price, lots]);
    }
    if (out.lots >= wantedLots) break;
  }
  out.leftLots = wantedLots - out.lots;
  return end(REASON_NONE);
}

/** Whether a taker would meet more orders than one turn may hold before it had so many lots: FOK must know before. */
export function meetsTooMany(
  state: SymbolState,
  side: number,
  limitTicks: PriceTicks,
  quantityLots: QuantityLots,
): boolean {
  // An order is a lot at least, and gives up others only where there are reduce-only ones.
  if (state.open.reduceOnlyResting === 0 && quantityLots < state.roomInTurn / 4) return false;
  const { orders, positions } = state;
  const levels = state.book.opposite(side);
  let lots = 0;
  let met = 0;
  for (let price = levels.best(); crosses(side, limitTicks, price) && lots < quantityLots; price = levels.next(price)) {
    walk.begin(state, price);
    while (lots < quantityLots && walk.next()) {
      lots += walk.lots;
      // The trade, the end of the maker's order or its next slice, funding, its isolated margin, and what the fill gives up.
      const row = orders.row(walk.slot);
      met += (state.fundingOwed > 0 ? 4 : 2) + positions.numbers[row + REDUCE_ONLY_ORDERS];
      if (positions.numbers[row + MARGIN_MODE] === ISOLATED) met++;
      if (met >= state.roomInTurn) return true;
    }
  }
  return false;
}

/**
 * The taker walks the book, best price first and oldest order first, until it is filled, the limit is reached,
 * self-trade prevention ends it or the turn is long. Returns why it may not come to rest: REASON_NONE, REASON_SELF_TRADE
 * or, behind so many fills that the rest expires like that of an IOC order, REASON_IOC_REMAINDER.
 */
export function match(
  state: SymbolState,
  turn: Turn,
  taker: number,
  limitTicks: PriceTicks,
  terms: TradeTerms = TRADE_TERMS,
): number {
  const { orders, book } = state;
  const side = orders.side(taker);
  const row = orders.row(taker);
  const levels = book.opposite(side);
  const isIsolated = state.positions.numbers[row + MARGIN_MODE] === ISOLATED;
  if (isIsolated) taken.lots = taken.quanta = taken.feeQuanta = taken.realizedQuanta = 0;
  makerMeans.begin();
  let reason = REASON_NONE;
  while (orders.remainingLots(taker) > 0) {
    const price = levels.best();
    if (!crosses(side, limitTicks, price)) break;
    if (state.isTurnLong) {
      reason = REASON_IOC_REMAINDER;
      break;
    }
    const maker = book.first(price);
    const makerRow = orders.row(maker);
    if (makerRow === row) {
      if (preventSelfTrade(state, turn, taker, maker)) continue;
      reason = REASON_SELF_TRADE;
      break;
    }
    if (isFar(state, side, price) || isShort(state, makerRow)) {
      const lots = Math.min(orders.remainingLots(taker), state.open.shownLots(maker));
      if (!makerMeans.bears(state, makerRow, side, price, lots)) {
        close(state, turn, maker, STATUS_CANCELED, REASON_INSUFFICIENT_MARGIN);
        continue;
      }
    }
    trade(state, turn, taker, maker, price, terms);
    if (isIsolated) addTaken(state.instrument.quantaPerTickLot);
  }
  // Once for all fills, as their margin was reserved.
  if (isIsolated && taken.lots !== 0) {
    if (terms.execType === EXEC_LIQUIDATION) settleForced(state, turn, row);
    else settleFill(state, turn, row, taken);
  }
  clipReduceOnly(state, turn, row);
  return reason;
}

/** Why what a taker has left expires; REASON_NONE = it comes to rest. */
export function endOfTaker(orderType: number, mayRest: boolean): number {
  if (mayRest) return REASON_NONE;
  return isAtMarket(orderType) ? REASON_NO_LIQUIDITY : REASON_IOC_REMAINDER;
}

function trade(
  state: SymbolState,
  turn: Turn,
  taker: number,
  maker: number,
  price: PriceTicks,
  terms: TradeTerms,
): void {
  const { orders, positions, instrument } = state;
  const takerRow = orders.row(taker);
  const makerRow = orders.row(maker);
  if (state.fundingOwed > 0) {
    payFunding(state, turn, takerRow);
    payFunding(state, turn, makerRow);
  }
  const side = orders.side(taker);
  const isIceberg = orders.isIceberg(maker);
  const makerLots = isIceberg ? state.open.shownLots(maker) : orders.remainingLots(maker);
  const lots = Math.min(orders.remainingLots(taker), makerLots);
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
  state.traded(traded, taker, maker, turn.time);
  turn.emit(traded);
  // Unless it is gone, with its last lots.
  if (isIceberg && orders.isIceberg(maker) && state.open.shownLots(maker) === 0) showNextSlice(state, turn, maker);
  if (positions.numbers[makerRow + MARGIN_MODE] === ISOLATED)
    settleFill(state, turn, makerRow, {
      lots: -takerLots,
      quanta,
      feeQuanta: traded.makerFeeQuanta,
      realizedQuanta: traded.makerRealizedQuanta,
    });
  clipReduceOnly(state, turn, makerRow);
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
function preventSelfTrade(state: SymbolState, turn: Turn, taker: number, maker: number): boolean {
  const { orders } = state;
  switch (orders.selfTradePrevention(taker)) {
    case EXPIRE_TAKER:
      return false;
    case EXPIRE_MAKER:
      close(state, turn, maker, STATUS_CANCELED, REASON_SELF_TRADE);
      return true;
    case EXPIRE_BOTH:
      close(state, turn, maker, STATUS_CANCELED, REASON_SELF_TRADE);
      return false;
    default: {
      const lots = Math.min(orders.remainingLots(taker), state.open.shownLots(maker));
      if (lots === orders.remainingLots(maker)) close(state, turn, maker, STATUS_CANCELED, REASON_SELF_TRADE);
      else {
        reduce(state, turn, maker, lots, REASON_SELF_TRADE);
        if (state.open.shownLots(maker) === 0) showNextSlice(state, turn, maker);
      }
      // A taker that is used up ends with its last lots unfilled: it expires, it is not filled.
      if (lots === orders.remainingLots(taker)) return false;
      reduce(state, turn, taker, lots, REASON_SELF_TRADE);
      return true;
    }
  }
}

/**
 * A reduce-only order is never larger than the position it closes: what is too much is given up at once, in the turn
 * that made it too much.
 */
export function clipReduceOnly(state: SymbolState, turn: Turn, row: number): void {
  const { orders, positions } = state;
  if (positions.numbers[row + CLOSING_ORDERS] > 0) cancelPointless(state, turn, row);
  if (positions.numbers[row + REDUCE_ONLY_ORDERS] === 0) return;
  const size = positions.numbers[row + SIZE];
  let slot = positions.numbers[row + FIRST_ORDER];
  while (slot !== NONE) {
    const next = orders.accountNext(slot);
    if (orders.isResting(slot) && state.open.isReduceOnly(slot)) {
      const closableLots = Math.max(0, orders.side(slot) === SELL ? size : -size);
      if (closableLots === 0) close(state, turn, slot, STATUS_CANCELED, REASON_REDUCE_ONLY);
      else if (orders.remainingLots(slot) > closableLots)
        clip(state, turn, slot, orders.remainingLots(slot) - closableLots);
    }
    slot = next;
  }
}

/** Takes from a reduce-only order what is too much of it: first what is hidden, so that what is shown keeps its place. */
function clip(state: SymbolState, turn: Turn, slot: number, byLots: QuantityLots): void {
  const hiddenLots = Math.min(byLots, state.open.hiddenLots(slot));
  if (hiddenLots > 0) reduce(state, turn, slot, hiddenLots, REASON_REDUCE_ONLY, true);
  if (byLots > hiddenLots) reduce(state, turn, slot, byLots - hiddenLots, REASON_REDUCE_ONLY);
}

/** What was to close a position ends with it: the orders that wait with a position that is gone or has turned around. */
function cancelPointless(state: SymbolState, turn: Turn, row: number): void {
  const { orders, positions } = state;
  const size = positions.numbers[row + SIZE];
  let slot = positions.numbers[row + FIRST_ORDER];
  while (slot !== NONE) {
    const next = orders.accountNext(slot);
    const closes = orders.side(slot) === SELL ? size > 0 : size < 0;
    if (orders.isWaiting(slot) && (orders.flags(slot) & WITH_POSITION) !== 0 && !closes) {
      const orderId = state.orderId(slot);
      const { parentId } = state.terms.of(slot);
      close(state, turn, slot, STATUS_CANCELED, REASON_POSITION_CLOSED);
      spendLeg(state, turn, orderId, parentId);
    }
    slot = next;
  }
}

/** Ends an order early: canceled or expired, for a reason. */
export function close(state: SymbolState, turn: Turn, slot: number, status: number, reason: number): void {
  const { orders } = state;
  closed.orderId = state.orderId(slot);
  closed.accountId = state.accountId(slot);
  closed.side = orders.side(slot);
  closed.priceTicks = orders.priceTicks(slot);
  closed.restingLots = orders.isResting(slot) ? state.open.shownLots(slot) : 0;
  closed.status = status;
  closed.reason = reason;
  closed.triggerTicks = orders.isExtended(slot) ? trailedTo(state, slot) : 0;
  state.closed(slot);
  turn.emit(closed);
}

/** No event has said so while it trailed. */
function trailedTo({ terms }: SymbolState, slot: number): PriceTicks {
  const { callbackPpm, triggerTicks } = terms.of(slot);
  return callbackPpm === 0 ? 0 : triggerTicks;
}

function reduce(
  state: SymbolState,
  turn: Turn,
  slot: number,
  byLots: QuantityLots,
  reason: number,
  isHidden = false,
): void {
  const { orders } = state;
  reduced.orderId = state.orderId(slot);
  reduced.accountId = state.accountId(slot);
  reduced.side = orders.side(slot);
  reduced.priceTicks = orders.priceTicks(slot);
  reduced.byLots = byLots;
  reduced.resting = orders.isResting(slot) && !isHidden ? 1 : 0;
  reduced.reason = reason;
  state.reduced(reduced, slot);
  turn.emit(reduced);
}
