import * as columns from "../base/columns.ts";
import { BUY, SELL, type Side } from "../base/enums.ts";
import type { PriceTicks, QuantityLots } from "../base/units.ts";
import type { VisibleBook } from "../formulas/funding.ts";
import { isFarFromMark, MakerSolvency } from "../margin/maker-solvency.ts";
import type { SymbolState } from "../state/symbol-state.ts";
import { LevelWalk } from "./level-walk.ts";

const { SIZE } = columns;

/** Orders behind so many do not count: a bound on how long one look at the book takes. */
const MOST_ORDERS = 10_000;

/**
 * The shown orders of a book as far as a taker would get them. A reduce-only order trades at most its account's position, and
 * an order whose account has lost the margin for it does not trade at all. Both cost nothing, so they must not make a
 * funding premium. The rules are those of preview(). Levels must be read from the best one on.
 */
export class ExecutableBook implements VisibleBook {
  private readonly state: SymbolState;
  private readonly walk = new LevelWalk();
  private readonly makerSolvency = new MakerSolvency(false);
  /** Lots that the taker has had of each row. */
  private readonly takenOf = new Map<number, QuantityLots>();
  private takerSide: Side = BUY;
  private ordersLeft = 0;

  constructor(state: SymbolState) {
    this.state = state;
  }

  /** A taker of the other side begins. */
  side(side: Side) {
    this.takerSide = side === BUY ? SELL : BUY;
    this.ordersLeft = MOST_ORDERS;
    this.makerSolvency.begin();
    this.takenOf.clear();
    return this.state.book.side(side);
  }

  /** At most `mostLots`. */
  levelLots(priceTicks: PriceTicks, mostLots: QuantityLots): QuantityLots {
    const { state, walk } = this;
    const areFar = isFarFromMark(state, this.takerSide, priceTicks);
    let sum = 0;
    walk.begin(state, priceTicks, true);
    while (sum < mostLots && this.ordersLeft-- > 0 && walk.next())
      sum += this.executableLots(priceTicks, mostLots - sum, areFar);
    return sum;
  }

  /** Of the walk's order. */
  private executableLots(priceTicks: PriceTicks, mostLots: QuantityLots, isFar: boolean): QuantityLots {
    const { state, walk, takenOf, makerSolvency, takerSide } = this;
    const row = state.orders.row(walk.slot);
    const taken = takenOf.get(row) ?? 0;
    let lots = Math.min(walk.lots, mostLots);
    if (state.open.isReduceOnly(walk.slot)) {
      const sizeLots = state.positions.numbers[row + SIZE];
      lots = Math.min(lots, Math.max(0, (takerSide === BUY ? sizeLots : -sizeLots) - taken));
    }
    if (lots === 0) return 0;
    const isUnsure = makerSolvency.mustCover(state, row, isFar);
    if (isUnsure && !makerSolvency.canCover(state, row, takerSide, priceTicks, lots)) return 0;
    takenOf.set(row, taken + lots);
    return lots;
  }
}
