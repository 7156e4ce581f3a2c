import * as columns from "../base/columns.ts";
import * as enums from "../base/enums.ts";
import type { PriceTicks, Quanta, QuantityLots } from "../base/units.ts";
import * as units from "../base/units.ts";
import { maintenanceMargin } from "../formulas/margin.ts";
import type { SymbolState } from "../state/symbol-state.ts";
import { owedFunding } from "./funding-payment.ts";
import { isolatedEquity, keptEquity } from "./isolated.ts";
import { positionInitial, positionMaintenance } from "./position-margin.ts";
import { positionGain, settledMoney } from "./settled-money.ts";

const { ACCOUNT, CONTRIBUTED, MARGIN_MODE, REDUCE_ONLY_ORDERS, SIZE } = columns;
const { mulDivCeil, PPM, proportion } = units;
const { BUY, ISOLATED } = enums;

/** Whether a fill at `price` may cost a maker more, against the mark, than its initial margin covers: see nearLimit(). */
export function isFarFromMark({ instrument, markTicks }: SymbolState, takerSide: number, price: PriceTicks): boolean {
  const { nearPpm } = instrument;
  return takerSide === BUY ? price * PPM < markTicks * (PPM - nearPpm) : price * PPM > markTicks * (PPM + nearPpm);
}

/**
 * Whether the row's orders may lack margin, because of one of these:
 *
 * - Its account, or its isolated position, has less than its initial margin. Then a price, funding or a close has used a part
 *   of what its orders reserved.
 * - Fills would move margin into isolation that must stay behind other positions.
 * - The margin consists of unrealised gains, which must not pay for losses against the mark.
 * - Reduce-only orders may close the position that backs others.
 *
 * The totals may lag behind within a transaction: an account that had its initial margin can bear that all its orders near
 * the mark are filled.
 */
export function mayLackMargin(state: SymbolState, row: number): boolean {
  const { numbers } = state.positions;
  if (numbers[row + REDUCE_ONLY_ORDERS] !== 0) return true;
  state.contributions.refreshMark(row);
  if (state.isIsolated(row) && isolatedEquity(state, row) < positionInitial(state, row)) return true;
  const account = numbers[row + ACCOUNT];
  if (numbers[row + MARGIN_MODE] === ISOLATED && state.marginTable.lacksAdditional(account)) return true;
  return state.marginTable.isShort(account);
}

/** The most that the fills of one walk may still cost a row, fees included. */
interface MakerBudget {
  sizeLots: QuantityLots;
  /** For closing: the isolated equity, or the position's share of the cross equity. A part may take its part of this. */
  toCloseQuanta: Quanta;
  /** For opening: less the maintenance margin of the new size. The rest must be able to stay open. */
  toOpenQuanta: Quanta;
  /** The most that may be lost against the mark: see settledMoney(). */
  settledQuanta: Quanta;
  /** The settled money when the budget was made. */
  readonly settledBeforeQuanta: Quanta;
  /** The costs of the walk that were taken from the margin table. */
  spentQuanta: Quanta;
  /** The unrealised gain of the position: closing settles it. */
  gainQuanta: Quanta;
  /** The part of it that the margin table does not have yet: closing at a worse price than the mark gives that up first. */
  heldQuanta: Quanta;
}

/**
 * Maker solvency: decides whether a resting order can bear its fill. A maker that cannot does not trade. Otherwise two
 * accounts of one owner could trade far from the mark and let the insurance fund pay the loss. dYdX v4 drops makers that
 * fail the check at the match.
 *
 * A maker's margin was reserved when its order came to rest. Since then the mark may have moved, or the account lost money;
 * reduce-only orders reserved none. So makers far from the mark, and makers that may lack margin, get a budget, which lasts
 * along the walk of one taker through the book.
 */
export class MakerSolvency {
  private readonly budgets = new Map<number, MakerBudget>();
  /** Isolated rows that had their margin when the walk met them first. Their fills move margin at once. */
  private readonly marginedRows = new Set<number>();
  /** Costs are taken from the margin table at once. A preview takes nothing. */
  private readonly spends: boolean;

  constructor(spends: boolean) {
    this.spends = spends;
  }

  /** A walk begins. */
  begin(): void {
    if (this.budgets.size !== 0) this.budgets.clear();
    if (this.marginedRows.size !== 0) this.marginedRows.clear();
  }

  /**
   * Whether fills of the row need a budget. A row that has one keeps it: a fill far from the mark may have spent what its
   * orders near the mark rely on. For isolated rows the first meeting decides for the whole walk. Otherwise a preview, which
   * moves no margin, would differ from its match.
   */
  mustCover(state: SymbolState, row: number, isPriceFar: boolean): boolean {
    if (isPriceFar || (this.budgets.size !== 0 && this.budgets.has(row))) return true;
    if (state.positions.numbers[row + MARGIN_MODE] !== ISOLATED) return mayLackMargin(state, row);
    if (this.marginedRows.has(row)) return false;
    if (mayLackMargin(state, row)) return true;
    this.marginedRows.add(row);
    return false;
  }

  /**
   * Whether the maker's row can bear a fill of `lots` at `price`. If so, its cost is taken off the row's budget. The cost is
   * the loss against the mark and the fee.
   *
   * A fill that closes a part of the position may take that part of the budget, so that the rest is not left without equity.
   * A fill that opens must leave the maintenance margin.
   */
  canCover(state: SymbolState, row: number, takerSide: number, price: PriceTicks, lots: QuantityLots): boolean {
    const { instrument, markTicks } = state;
    const perTick = lots * instrument.quantaPerTickLot;
    const loss = (takerSide === BUY ? markTicks - price : price - markTicks) * perTick;
    const budget = this.budgetFor(state, row);
    const sizeLots = budget.sizeLots + (takerSide === BUY ? -lots : lots);
    const closes = Math.abs(sizeLots) < Math.abs(budget.sizeLots) && sizeLots * budget.sizeLots >= 0;
    const part = (quanta: Quanta): Quanta => (closes ? proportion(quanta, lots, Math.abs(budget.sizeLots)) : 0);
    const turnsAround = sizeLots * budget.sizeLots < 0;
    const held = turnsAround ? budget.heldQuanta : part(budget.heldQuanta);
    const cost = loss - held + mulDivCeil(price * perTick, instrument.makerFeePpm, PPM);
    const notional = Math.abs(sizeLots) * markTicks * instrument.quantaPerTickLot;
    const limit = closes ? part(budget.toCloseQuanta) : budget.toOpenQuanta - maintenanceMargin(instrument, notional);
    if (cost > limit) return false;
    const gain = part(budget.gainQuanta);
    if (loss > 0 && loss > budget.settledQuanta + gain) return false;
    if (this.spends && cost > 0) {
      if (!spend(state, row, cost)) return false;
      budget.spentQuanta += cost;
      // Another thread may have taken the same settled money.
      if (loss > 0 && loss > budget.settledQuanta + gain - takenByOthers(state, row, budget)) {
        budget.settledQuanta = Number.NEGATIVE_INFINITY;
        return false;
      }
    }
    budget.sizeLots = sizeLots;
    budget.toCloseQuanta -= cost;
    budget.toOpenQuanta -= cost;
    budget.settledQuanta += gain - Math.max(0, loss);
    budget.gainQuanta -= gain;
    budget.heldQuanta -= held;
    return true;
  }

  private budgetFor(state: SymbolState, row: number): MakerBudget {
    let budget = this.budgets.get(row);
    if (budget === undefined) {
      budget = state.isIsolated(row) ? isolatedBudget(state, row) : crossBudget(state, row);
      this.budgets.set(row, budget);
    }
    return budget;
  }
}

/**
 * Takes the cost of a fill from the cross account at once, so that no other thread spends or pays out the same money. Returns
 * false when one was faster. Rows in isolated mode need no taking: their margin is set aside already.
 */
export function spend(state: SymbolState, row: number, cost: Quanta): boolean {
  const n = state.positions.numbers;
  return n[row + MARGIN_MODE] === ISOLATED || state.marginTable.spend(n[row + ACCOUNT], cost, n, row + CONTRIBUTED);
}

/** The settled money that other threads have taken since the budget was made. Fills of rows in isolated mode look at that themselves. */
function takenByOthers(state: SymbolState, row: number, { settledBeforeQuanta, spentQuanta }: MakerBudget): Quanta {
  if (settledBeforeQuanta === Number.POSITIVE_INFINITY || state.positions.numbers[row + MARGIN_MODE] === ISOLATED)
    return 0;
  return Math.max(0, settledBeforeQuanta - spentQuanta - settledMoney(state, row));
}

/**
 * Closing may cost the isolated equity. Opening also sets aside what the cross account need not keep.
 */
function isolatedBudget(state: SymbolState, row: number): MakerBudget {
  state.contributions.refreshMark(row);
  const { marginTable, positions } = state;
  const account = positions.numbers[row + ACCOUNT];
  const toCloseQuanta = isolatedEquity(state, row);
  marginTable.readConsistent(account);
  const spare = Math.max(0, marginTable.remainingEquity(account) - keptEquity(state, row));
  return {
    sizeLots: positions.numbers[row + SIZE],
    toCloseQuanta,
    toOpenQuanta: toCloseQuanta + spare,
    settledQuanta: Number.POSITIVE_INFINITY,
    settledBeforeQuanta: Number.POSITIVE_INFINITY,
    spentQuanta: 0,
    gainQuanta: 0,
    heldQuanta: 0,
  };
}

/**
 * Closing may cost the position's share of the equity, by maintenance margin. Opening may use the equity that the maintenance
 * margin of other positions leaves. In isolated mode it moves margin out of the account, which keeps what it must. Owed funding is
 * subtracted first.
 */
function crossBudget(state: SymbolState, row: number): MakerBudget {
  state.contributions.refreshMark(row);
  // Includes what this transaction has changed so far.
  if (state.dirty.has(row)) state.contributions.refresh(row);
  const { marginTable, positions } = state;
  const account = positions.numbers[row + ACCOUNT];
  marginTable.readConsistent(account);
  const { maintenance } = marginTable.consistent(account);
  const equity = marginTable.remainingEquity(account) + Math.min(0, owedFunding(state, row));
  const ownMaintenance = positionMaintenance(state, row);
  const others = maintenance - ownMaintenance;
  const kept = positions.numbers[row + MARGIN_MODE] === ISOLATED ? keptEquity(state, row) : others;
  const settledQuanta = settledMoney(state, row);
  return {
    sizeLots: positions.numbers[row + SIZE],
    toCloseQuanta: proportion(equity, ownMaintenance, maintenance),
    toOpenQuanta: equity - kept,
    settledQuanta,
    settledBeforeQuanta: settledQuanta,
    spentQuanta: 0,
    gainQuanta: positionGain(state, row),
    heldQuanta: state.contributions.heldGain(row),
  };
}
