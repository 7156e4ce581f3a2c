import { ACCOUNT, COST, NONE, SIZE } from "../base/columns.ts";
import type { PriceTicks, QuantityLots } from "../base/units.ts";
import { equityBackingClose } from "../margin/bankruptcy-price.ts";
import { isolatedEquity } from "../margin/isolated.ts";
import { spend } from "../margin/maker-solvency.ts";
import type { SymbolState } from "../state/symbol-state.ts";

/** Fifths of the ranking that a position may stand in, and how many positions a look at it compares at most. */
const RANKS = 5;
const MAX_RANKED = 500;
/** How many of a side are ranked at a time, out of how many: the next ones only once these are closed. */
const QUEUED = 256;
const SAMPLED = 8192;

/**
 * Who is closed first. BitMEX: profit × leverage for winners, profit ÷ leverage for losers; profit as a share of the cost,
 * leverage as notional ÷ equity of the account, or of the isolated position.
 */
function score(state: SymbolState, at: number): number {
  const { positions, marginTable, markTicks, instrument } = state;
  const n = positions.numbers;
  const value = n[at + SIZE] * markTicks * instrument.quantaPerTickLot;
  const profit = (value - n[at + COST]) / Math.max(1, Math.abs(n[at + COST]));
  const equity = state.isIsolated(at) ? isolatedEquity(state, at) : marginTable.equity(n[at + ACCOUNT]);
  const leverage = Math.abs(value) / Math.max(1, equity);
  return profit > 0 ? profit * leverage : profit / leverage;
}

/** A loss that whoever is of the side will do for. */
const NO_MATTER = Number.NEGATIVE_INFINITY;

/**
 * Those whom deleveraging closes, of each side, in their order. A market is ranked in one pass, not once for each position
 * that is handed over: during a look at one mark the order changes by little but the positions that are closed. Of a market
 * with more positions than SAMPLED the queue is the first 3 % of evenly spread ones, each time others: an order that waits
 * behind it must not wait for a hundred thousand to be compared.
 *
 * Whoever would have nothing left by it is passed over as long as there are others (dYdX v4 wants the bankruptcy prices of
 * the two to overlap): what they cannot pay would be the insurance fund's, and that has nothing where people are deleveraged.
 */
export class DeleveragingQueue {
  /** Rows, first those who are closed first; of longs and of shorts. */
  private readonly rows: [longs: number[], shorts: number[]] = [[], []];
  private readonly places = [0, 0];
  /** The loss that was asked for last, and the least one that nobody of the side could bear. */
  private readonly asked = [0, 0];
  private readonly unbearable = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  private markTicks: PriceTicks = 0;
  private rankings = 0;

  /** The next one to rank anew: another look begins. */
  forget(): void {
    for (const side of [0, 1] as const) {
      this.rows[side] = [];
      this.unbearable[side] = Number.POSITIVE_INFINITY;
    }
  }

  /**
   * The open position of a side that is next to lose so many quanta a lot against the mark, by up to so many lots; NONE when
   * none is open. What it can bear of that is taken from its account.
   */
  next(state: SymbolState, isLong: boolean, lossPerLot: number, lots: QuantityLots): number {
    if (this.markTicks !== state.markTicks) this.forget();
    this.markTicks = state.markTicks;
    const side = isLong ? 0 : 1;
    if (this.rows[side].length === 0) this.rank(state, side, NO_MATTER);
    // Whoever could not bear more may bear this.
    if (lossPerLot < this.asked[side]) this.places[side] = 0;
    this.asked[side] = lossPerLot;
    if (lossPerLot < this.unbearable[side]) {
      const found = this.findOrRank(state, side, lossPerLot, lots);
      if (found !== NONE) return found;
      this.unbearable[side] = lossPerLot;
    }
    return this.findOrRank(state, side, NO_MATTER, lots);
  }

  private findOrRank(state: SymbolState, side: 0 | 1, lossPerLot: number, lots: QuantityLots): number {
    const found = this.find(state, side, lossPerLot, lots);
    if (found !== NONE) return found;
    this.rank(state, side, lossPerLot);
    return this.find(state, side, lossPerLot, lots);
  }

  private rank(state: SymbolState, side: 0 | 1, lossPerLot: number): void {
    const step = Math.ceil(state.positions.open.length / SAMPLED);
    this.places[side] = 0;
    this.rows[side] = rankFirst(state, side, lossPerLot, this.rankings++ % step, step);
    // Where a side is small, the sample may have missed it.
    if (this.rows[side].length === 0 && step > 1) this.rows[side] = rankFirst(state, side, lossPerLot, 0, 1);
  }

  private find(state: SymbolState, side: 0 | 1, lossPerLot: number, lots: QuantityLots): number {
    const rows = this.rows[side];
    for (; this.places[side] < rows.length; this.places[side]++) {
      const row = rows[this.places[side]];
      if (isOfSide(state, row, side) && bears(state, row, lossPerLot) && spends(state, row, lossPerLot, lots))
        return row;
    }
    return NONE;
  }
}

function isOfSide({ positions }: SymbolState, row: number, side: 0 | 1): boolean {
  const size = positions.numbers[row + SIZE];
  return side === 0 ? size > 0 : size < 0;
}

/** Whether what stands for the position is enough to close it so much worse than at the mark. */
function bears(state: SymbolState, row: number, lossPerLot: number): boolean {
  if (lossPerLot === NO_MATTER) return true;
  state.refreshMark(row);
  return equityBackingClose(state, row) >= lossPerLot * Math.abs(state.positions.numbers[row + SIZE]);
}

/** Takes what the lots cost from what bears it, unless another thread has spent that since or is withdrawing it. */
function spends(state: SymbolState, row: number, lossPerLot: number, lots: QuantityLots): boolean {
  if (lossPerLot <= 0) return true;
  return spend(state, row, Math.ceil(lossPerLot * Math.min(lots, Math.abs(state.positions.numbers[row + SIZE]))));
}

/** The first QUEUED of a side among every `step`-th of the open positions. */
function rankFirst(state: SymbolState, side: 0 | 1, lossPerLot: number, from: number, step: number): number[] {
  const { open } = state.positions;
  const rows: number[] = [];
  const scores: number[] = [];
  for (let i = from; i < open.length; i += step) {
    const row = open[i];
    if (!isOfSide(state, row, side)) continue;
    const own = score(state, row);
    if (rows.length === QUEUED && own <= scores[QUEUED - 1]) continue;
    if (!bears(state, row, lossPerLot)) continue;
    let place = rows.length;
    while (place > 0 && scores[place - 1] < own) place--;
    rows.splice(place, 0, row);
    scores.splice(place, 0, own);
    if (rows.length > QUEUED) {
      rows.pop();
      scores.pop();
    }
  }
  return rows;
}

/**
 * Where an open position stands among those of its side that deleveraging would close: 5 = in the first fifth, 1 = in the
 * last; 0 when it is not open. Of a market with many positions it compares evenly spread ones, so that a read never
 * costs more than MAX_RANKED looks: near the border of a fifth it may then be off by one.
 */
export function deleveragingRank(state: SymbolState, row: number): number {
  const { open, numbers } = state.positions;
  const size = numbers[row + SIZE];
  if (size === 0) return 0;
  const own = score(state, row);
  const step = Math.ceil(open.length / MAX_RANKED);
  let compared = 0;
  let before = 0;
  for (let i = 0; i < open.length; i += step) {
    const at = open[i];
    if (at === row || numbers[at + SIZE] > 0 !== size > 0) continue;
    compared++;
    if (score(state, at) > own) before++;
  }
  return RANKS - Math.floor((RANKS * before) / (compared + 1));
}
