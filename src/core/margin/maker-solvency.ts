import * as columns from "../base/columns.ts";
import * as enums from "../base/enums.ts";
import type { PriceTicks, Quanta, QuantityLots } from "../base/units.ts";
import * as units from "../base/units.ts";
import { maintenanceMargin } from "../formulas/margin.ts";
import type { SymbolState } from "../state/symbol-state.ts";
import { owedFunding } from "./funding-payment.ts";
import { isolatedEquity } from "./isolated.ts";
import { positionInitial, positionMaintenance } from "./position-margin.ts";

const { ACCOUNT, CONTRIBUTED, MARGIN_MODE, REDUCE_ONLY_ORDERS, SIZE } = columns;
const { mulDivCeil, PPM, proportion } = units;
const { BUY, ISOLATED } = enums;

/** Whether a maker at this price loses more against the mark than its margin is sure to bear: see nearLimit(). */
export function isFarFromMark({ instrument, markTicks }: SymbolState, takerSide: number, price: PriceTicks): boolean {
  const { nearPpm } = instrument;
  return takerSide === BUY ? price * PPM < markTicks * (PPM - nearPpm) : price * PPM > markTicks * (PPM + nearPpm);
}

/**
 * Whether the row's account, or its isolated position, has less than its initial margin: then what was reserved for its
 * orders is not all there any more. Closing may spend it (closingEdge), and so may a price or funding. Cells follow at the
 * end of a turn, and need not within it: who has the initial margin can bear that all orders near the mark are filled.
 */
export function isShort(state: SymbolState, row: number): boolean {
  state.refreshMark(row);
  if (state.isIsolated(row) && isolatedEquity(state, row) < positionInitial(state, row)) return true;
  return state.marginTable.isShort(state.positions.numbers[row + ACCOUNT]);
}

/**
 * What a fill may cost a row, fee included. One that opens leaves the maintenance margin; one that closes a part of a position
 * takes no more than that part of what stands for it: what stays open would come to the insurance fund with nothing.
 */
interface MakerBudget {
  sizeLots: QuantityLots;
  /** Its bucket, or its share of the cross equity. */
  toCloseQuanta: Quanta;
  /** Less the maintenance margin that the row will have then. */
  toOpenQuanta: Quanta;
}

/**
 * Whether the row's orders may lack margin, wherever they stand: the row is short, or has reduce-only orders among them, which
 * close the position that stands for what the others lose as well.
 */
const mayLackMargin = (state: SymbolState, row: number): boolean =>
  state.positions.numbers[row + REDUCE_ONLY_ORDERS] !== 0 || isShort(state, row);

/**
 * What makers that are far from the mark or may lack margin can still lose, along the walk of one taker. Their margin was
 * reserved when they came to rest; the mark has moved since, or the money has gone, and reduce-only orders reserve none. A
 * maker that cannot bear its fill does not trade, or two accounts of one owner could let the insurance fund pay for it
 * (dYdX v4 drops makers that fail the check at the match).
 */
export class MakerSolvency {
  private readonly left = new Map<number, MakerBudget>();
  /** Rows in isolated mode that were not short when the walk met them: their fills move margin at once. */
  private readonly margined = new Set<number>();
  /** What they lose is taken from their accounts at once. */
  private readonly spends: boolean;

  constructor(spends: boolean) {
    this.spends = spends;
  }

  begin(): void {
    if (this.left.size !== 0) this.left.clear();
    if (this.margined.size !== 0) this.margined.clear();
  }

  /**
   * Whether the row is asked what it can bear. Where the walk first meets it decides for all of its orders, or the walk of a
   * preview, which moves no margin, would not be that of its match. Who is asked is asked again: what lies near the mark
   * stands on margin that a fill further away may have spent.
   */
  mustCover(state: SymbolState, row: number, isPriceFar: boolean): boolean {
    if (isPriceFar || (this.left.size !== 0 && this.left.has(row))) return true;
    if (state.positions.numbers[row + MARGIN_MODE] !== ISOLATED) return mayLackMargin(state, row);
    if (this.margined.has(row)) return false;
    if (mayLackMargin(state, row)) return true;
    this.margined.add(row);
    return false;
  }

  /** Whether the maker's row can bear to trade `lots` with the taker; if so, they are taken off what it can lose. */
  canCover(state: SymbolState, row: number, takerSide: number, price: PriceTicks, lots: QuantityLots): boolean {
    const { instrument, markTicks } = state;
    const perTick = lots * instrument.quantaPerTickLot;
    const loss = (takerSide === BUY ? markTicks - price : price - markTicks) * perTick;
    const cost = loss + mulDivCeil(price * perTick, instrument.makerFeePpm, PPM);
    const left = this.leftOf(state, row);
    const sizeLots = left.sizeLots + (takerSide === BUY ? -lots : lots);
    const closes = Math.abs(sizeLots) < Math.abs(left.sizeLots) && sizeLots * left.sizeLots >= 0;
    const notional = Math.abs(sizeLots) * markTicks * instrument.quantaPerTickLot;
    const most = closes
      ? proportion(left.toCloseQuanta, lots, Math.abs(left.sizeLots))
      : left.toOpenQuanta - maintenanceMargin(instrument, notional);
    if (cost > most) return false;
    if (this.spends && cost > 0 && !spend(state, row, cost)) return false;
    left.sizeLots = sizeLots;
    left.toCloseQuanta -= cost;
    left.toOpenQuanta -= cost;
    return true;
  }

  private leftOf(state: SymbolState, row: number): MakerBudget {
    let left = this.left.get(row);
    if (left === undefined) {
      left = budgetOf(state, row);
      this.left.set(row, left);
    }
    return left;
  }
}

/**
 * Takes from the account what a fill is about to cost it, unless another thread has spent that or is withdrawing it. What
 * isolated positions lose is set aside.
 */
export function spend(state: SymbolState, row: number, cost: Quanta): boolean {
  const n = state.positions.numbers;
  return n[row + MARGIN_MODE] === ISOLATED || state.marginTable.spend(n[row + ACCOUNT], cost, n, row + CONTRIBUTED);
}

/** An isolated position loses what is in its bucket, and a fill that opens sets aside more: what the cross margin can spare. */
function budgetOf(state: SymbolState, row: number): MakerBudget {
  state.refreshMark(row);
  const { marginTable, positions } = state;
  const sizeLots = positions.numbers[row + SIZE];
  const account = positions.numbers[row + ACCOUNT];
  if (state.isIsolated(row)) {
    const bucket = isolatedEquity(state, row);
    marginTable.readConsistent(account);
    const { maintenance } = marginTable.consistent(account);
    const spare = Math.max(0, marginTable.remainingEquity(account) - maintenance);
    return { sizeLots, toCloseQuanta: bucket, toOpenQuanta: bucket + spare };
  }
  // With what this turn has taken from it until now, and less what the position owes.
  if (state.isDirty(row)) state.refresh(row);
  marginTable.readConsistent(account);
  const { maintenance } = marginTable.consistent(account);
  const left = marginTable.remainingEquity(account) + Math.min(0, owedFunding(state, row));
  const own = positionMaintenance(state, row);
  return {
    sizeLots,
    toCloseQuanta: proportion(left, own, maintenance),
    toOpenQuanta: left - (maintenance - own),
  };
}
