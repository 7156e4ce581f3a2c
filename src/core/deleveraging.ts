import { bucketEquity } from "./isolated.ts";
import type { SymbolState } from "./symbol-state.ts";
import { ACCOUNT, COST, NONE, SIZE } from "./tables.ts";
import type { PriceTicks } from "./units.ts";

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
  const { positions, cells, markTicks, instrument } = state;
  const n = positions.numbers;
  const value = n[at + SIZE] * markTicks * instrument.quantaPerTickLot;
  const profit = (value - n[at + COST]) / Math.max(1, Math.abs(n[at + COST]));
  const equity = state.isIsolated(at) ? bucketEquity(state, at) : cells.equity(n[at + ACCOUNT]);
  const leverage = Math.abs(value) / Math.max(1, equity);
  return profit > 0 ? profit * leverage : profit / leverage;
}

/**
 * Those whom deleveraging closes, of each side, in their order. A market is ranked in one pass, not once for each position
 * that is handed over: during a look at one mark the order changes by little but the positions that are closed. Of a market
 * with more positions than SAMPLED the queue is the first 3 % of evenly spread ones, each time others: an order that waits
 * behind it must not wait for a hundred thousand to be compared.
 */
export class DeleveragingQueue {
  /** Rows, first those who are closed first; of longs and of shorts. */
  private readonly rows: [longs: number[], shorts: number[]] = [[], []];
  private readonly places = [0, 0];
  private markTicks: PriceTicks = 0;
  private rankings = 0;

  /** The next one to rank anew: another look begins. */
  forget(): void {
    for (const side of [0, 1] as const) this.rows[side] = [];
  }

  /** The open position of a side that is next; NONE when none is open. */
  next(state: SymbolState, isLong: boolean): number {
    if (this.markTicks !== state.markTicks) this.forget();
    this.markTicks = state.markTicks;
    const side = isLong ? 0 : 1;
    const found = this.find(state, side, isLong);
    if (found !== NONE) return found;
    const step = Math.ceil(state.positions.open.length / SAMPLED);
    this.places[side] = 0;
    this.rows[side] = rankFirst(state, isLong, this.rankings++ % step, step);
    // Where a side is small, the sample may have missed it.
    if (this.rows[side].length === 0 && step > 1) this.rows[side] = rankFirst(state, isLong, 0, 1);
    return this.find(state, side, isLong);
  }

  private find(state: SymbolState, side: 0 | 1, isLong: boolean): number {
    const rows = this.rows[side];
    const { numbers } = state.positions;
    for (; this.places[side] < rows.length; this.places[side]++) {
      const row = rows[this.places[side]];
      if (isOfSide(numbers[row + SIZE], isLong)) return row;
    }
    return NONE;
  }
}

const isOfSide = (size: number, isLong: boolean): boolean => (isLong ? size > 0 : size < 0);

/** The first QUEUED of a side among every `step`-th of the open positions. */
function rankFirst(state: SymbolState, isLong: boolean, from: number, step: number): number[] {
  const { open, numbers } = state.positions;
  const rows: number[] = [];
  const scores: number[] = [];
  for (let i = from; i < open.length; i += step) {
    const row = open[i];
    if (!isOfSide(numbers[row + SIZE], isLong)) continue;
    const own = score(state, row);
    if (rows.length === QUEUED && own <= scores[QUEUED - 1]) continue;
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
