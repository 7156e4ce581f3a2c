import * as columns from "../base/columns.ts";
import * as enums from "../base/enums.ts";
import type { PriceTicks, Quanta, QuantityLots } from "../base/units.ts";
import { isFarFromMark, isShort, MakerSolvency } from "../margin/maker-solvency.ts";
import type { SymbolState } from "../state/symbol-state.ts";
import { LevelWalk } from "./level-walk.ts";
import { crosses } from "./matching.ts";

const { CLOSING_ORDERS, MARGIN_MODE, NONE, OPEN_ORDERS, REDUCE_ONLY_ORDERS, SIZE } = columns;
const { BUY, DECREMENT, EXPIRE_MAKER, EXPIRE_TAKER, ISOLATED, REASON_IOC_REMAINDER, REASON_NONE, REASON_SELF_TRADE } =
  enums;

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
  readonly selfTradeLots: Map<number, QuantityLots>;
}

/** Of whoever asks what is to come: none is asked while another one walks. */
const walk = new LevelWalk();
const makerSolvency = new MakerSolvency(false);

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
    isFarFromMark(state, side, levels.best());
  if (looksAtEach) return previewOrders(state, row, side, limitTicks, quantityLots, selfTradePrevention, out, details);
  const perTick = state.instrument.quantaPerTickLot;
  for (
    let price = levels.best();
    crosses(side, limitTicks, price) && out.lots < quantityLots;
    price = levels.next(price)
  ) {
    const lots = Math.min(book.executableLots(price), quantityLots - out.lots);
    if (meetsShortMaker(state, price, lots)) {
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
function meetsShortMaker(state: SymbolState, price: PriceTicks, lots: QuantityLots): boolean {
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
  let room = state.progress.room;
  const closing = side === BUY ? 1 : -1; // a maker that sells to a buyer closes a long position
  const takenOf = new Map<number, QuantityLots>();
  makerSolvency.begin();
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
    const areFar = isFarFromMark(state, side, price);
    while (out.lots < wantedLots && walk.next()) {
      const { slot } = walk;
      const makerRow = orders.row(slot);
      let { lots } = walk;
      if (details !== null && eventCount >= state.progress.room) return end(REASON_IOC_REMAINDER);
      if (makerRow === row) {
        eventCount++;
        if (selfTradePrevention === DECREMENT)
          details?.selfTradeLots.set(
            slot,
            (details.selfTradeLots.get(slot) ?? 0) + Math.min(lots, wantedLots - out.lots),
          );
        else if (selfTradePrevention !== EXPIRE_TAKER) details?.selfTradeLots.set(slot, orders.remainingLots(slot));
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
      const isUnsure = lots > 0 && makerSolvency.mustCover(state, makerRow, areFar);
      if (isUnsure && !makerSolvency.canCover(state, makerRow, side, price, lots)) {
        walk.dropCurrent();
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
export function exceedsTransaction(
  state: SymbolState,
  side: number,
  limitTicks: PriceTicks,
  quantityLots: QuantityLots,
): boolean {
  const { reduceOnlyResting, waitingCount } = state.open;
  // An order is a lot at least, and gives up others only where there are reduce-only ones, or some that wait.
  if (reduceOnlyResting === 0 && waitingCount === 0 && quantityLots < state.progress.room / 4) return false;
  const { orders, positions } = state;
  const levels = state.book.opposite(side);
  const rows = new Set<number>();
  let lots = 0;
  let met = 0;
  for (let price = levels.best(); crosses(side, limitTicks, price) && lots < quantityLots; price = levels.next(price)) {
    walk.begin(state, price);
    while (lots < quantityLots && walk.next()) {
      lots += walk.lots;
      // The trade, the end of the maker's order or its next slice, funding, its isolated margin, and what the fill gives up.
      const row = orders.row(walk.slot);
      met += (state.funding.owingCount > 0 ? 4 : 2) + positions.numbers[row + REDUCE_ONLY_ORDERS];
      if (positions.numbers[row + MARGIN_MODE] === ISOLATED) met++;
      // They go with the position, once.
      if (!rows.has(row)) met += positions.numbers[row + CLOSING_ORDERS];
      rows.add(row);
      if (met >= state.progress.room) return true;
    }
  }
  return false;
}
