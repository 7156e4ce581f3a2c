import * as columns from "../base/columns.ts";
import * as enums from "../base/enums.ts";
import type { PriceTicks, Quanta, QuantityLots } from "../base/units.ts";
import { isFarFromMark, MakerSolvency, mayLackMargin } from "../margin/maker-solvency.ts";
import type { SymbolState } from "../state/symbol-state.ts";
import { LevelWalk } from "./level-walk.ts";
import { crosses } from "./matching.ts";

const { CLOSING_ORDERS, MARGIN_MODE, NONE, OPEN_ORDERS, REDUCE_ONLY_ORDERS, SIZE } = columns;
const { BUY, DECREMENT, EXPIRE_MAKER, EXPIRE_TAKER, ISOLATED, REASON_IOC_REMAINDER, REASON_NONE, REASON_SELF_TRADE } =
  enums;

/** The fills of a taker, exactly as match() would, including self-trade prevention and reduce-only makers. */
export interface Preview {
  lots: QuantityLots;
  /** The notional: Σ lots × price, in quanta. */
  quanta: Quanta;
  /** Lots that would rest; 0 if self-trade prevention ends the taker. */
  leftLots: QuantityLots;
}

/** A preview with each fill, for a client. It counts shown lots only, or a client could find the size of an iceberg. */
export interface DetailedPreview extends Preview {
  readonly fills: [priceTicks: PriceTicks, lots: QuantityLots][];
  /** The taker's remaining lots, whether they rest or expire. */
  remainingLots: QuantityLots;
  /** The reason that match() would return. */
  stopped: number;
  /** Lots that self-trade prevention takes from the account's own orders, by slot. */
  readonly selfTradeLots: Map<number, QuantityLots>;
}

// Reused by all previews: only one runs at a time.
const walk = new LevelWalk();
const makerSolvency = new MakerSolvency(false);

/**
 * Predicts what match() would do with a taker, and changes nothing. Writes the result to `out`, and to `details` if given.
 * It sums up price levels, which is fast. It looks at single orders only where one may not trade in full: an own order, a
 * reduce-only order, one far from the mark, or one of an account that may lack margin.
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
    if (meetsWeakMaker(state, price, lots)) {
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

/**
 * Whether the fills in `expected`, from preview(), take lots that an iceberg hides. A refusal whose figures count such lots
 * must not show them: they would tell the size of the iceberg without a trade.
 */
export function takesHiddenLots(
  state: SymbolState,
  row: number,
  side: number,
  limitTicks: PriceTicks,
  quantityLots: QuantityLots,
  selfTradePrevention: number,
  expected: Preview,
): boolean {
  if (expected.lots === 0) return false;
  const shown: DetailedPreview = {
    lots: 0,
    quanta: 0,
    leftLots: 0,
    fills: [],
    remainingLots: 0,
    stopped: REASON_NONE,
    selfTradeLots: new Map(),
  };
  preview(state, row, side, limitTicks, quantityLots, selfTradePrevention, shown, shown);
  return shown.lots !== expected.lots || shown.quanta !== expected.quanta;
}

/** Whether a taker of `lots` meets an account at this price that may lack margin. */
function meetsWeakMaker(state: SymbolState, price: PriceTicks, lots: QuantityLots): boolean {
  const { book, open, orders } = state;
  let left = lots;
  for (let slot = book.first(price); left > 0 && slot !== NONE; slot = orders.next(slot)) {
    if (mayLackMargin(state, orders.row(slot))) return true;
    left -= open.shownLots(slot);
  }
  return false;
}

/**
 * The preview order by order. It must follow match() step by step, so it is one loop like match(): the conditions can be
 * compared side by side.
 */
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
  let tradesLeft = state.progress.room;
  const closing = side === BUY ? 1 : -1; // a maker that sells to a buyer closes a long position
  const takenOf = new Map<number, QuantityLots>();
  makerSolvency.begin();
  let wantedLots = quantityLots;
  // Events of the transaction until now: the order itself, trades, closed orders and used-up slices.
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
        // A taker that decrements its last lots expires unfilled, see preventSelfTrade().
        if (selfTradePrevention !== DECREMENT || lots >= wantedLots - out.lots) return end(REASON_SELF_TRADE);
        wantedLots -= lots;
        continue;
      }
      const taken = takenOf.get(makerRow) ?? 0;
      if (state.open.isReduceOnly(slot)) {
        const closableLots = Math.max(0, closing * positions.numbers[makerRow + SIZE] - taken);
        lots = Math.min(lots, closableLots);
      }
      // Each trade is at least one event: match() stops at the latest here.
      if (lots > 0 && tradesLeft-- === 0) return end(REASON_IOC_REMAINDER);
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

/** Whether a taker of so many lots may need more events than a transaction holds. A FOK order must know before it trades. */
export function exceedsTransaction(
  state: SymbolState,
  side: number,
  limitTicks: PriceTicks,
  quantityLots: QuantityLots,
): boolean {
  const { reduceOnlyResting, waitingCount } = state.open;
  // Fast answer: each maker has one lot or more, and without reduce-only and untriggered orders it causes four events at most.
  if (reduceOnlyResting === 0 && waitingCount === 0 && quantityLots < state.progress.room / 4) return false;
  const { orders, positions } = state;
  const levels = state.book.opposite(side);
  const rows = new Set<number>();
  let lots = 0;
  let events = 0;
  for (let price = levels.best(); crosses(side, limitTicks, price) && lots < quantityLots; price = levels.next(price)) {
    walk.begin(state, price);
    while (lots < quantityLots && walk.next()) {
      lots += walk.lots;
      // The trade, the end of the maker or its next slice, funding of both, isolated margin, and reduce-only orders.
      const row = orders.row(walk.slot);
      events += (state.funding.owingCount > 0 ? 4 : 2) + positions.numbers[row + REDUCE_ONLY_ORDERS];
      if (positions.numbers[row + MARGIN_MODE] === ISOLATED) events++;
      // Orders that end with the maker's position: once per account.
      if (!rows.has(row)) events += positions.numbers[row + CLOSING_ORDERS];
      rows.add(row);
      if (events >= state.progress.room) return true;
    }
  }
  return false;
}
