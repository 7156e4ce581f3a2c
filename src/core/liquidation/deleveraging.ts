import { ACCOUNT, COST, NONE, SIZE } from "../base/columns.ts";
import type { PriceTicks } from "../base/units.ts";
import { isolatedEquity } from "../margin/isolated.ts";
import type { SymbolState } from "../state/symbol-state.ts";

/** A rank is a fifth of the ranking; it is estimated from at most so many positions. */
const RANKS = 5;
const MAX_RANKED = 500;
/** So many positions of a side are ranked at a time, out of so many; the next ones when these are closed. */
const QUEUED = 256;
const SAMPLED = 8192;

/**
 * The score of an open position: the highest is deleveraged first. BitMEX: profit × leverage for winners, profit ÷ leverage for
 * losers. Profit is relative to the cost. Leverage is notional ÷ equity of the account, or of the isolated position.
 */
function score(state: SymbolState, row: number): number {
  const { positions, marginTable, markTicks, instrument } = state;
  const n = positions.numbers;
  const value = n[row + SIZE] * markTicks * instrument.quantaPerTickLot;
  const profit = (value - n[row + COST]) / Math.max(1, Math.abs(n[row + COST]));
  const equity = state.isIsolated(row) ? isolatedEquity(state, row) : marginTable.equity(n[row + ACCOUNT]);
  const leverage = Math.abs(value) / Math.max(1, equity);
  return profit > 0 ? profit * leverage : profit / leverage;
}

type QueueSide = 0 | 1;
const LONG: QueueSide = 0;
const SHORT: QueueSide = 1;

/**
 * Decides which positions auto-deleveraging closes, in which order.
 *
 * The market is ranked once for a scan, not once for each transferred position: at one mark the order hardly changes. In a
 * market with more than SAMPLED positions, the queue holds the first 3 % of an evenly spread sample, another one each time.
 * Otherwise orders would wait until a hundred thousand positions are compared.
 *
 * Nobody has to be passed over: a deleveraged position loses no more than a part of what the last step of the mark gave it.
 */
export class DeleveragingQueue {
  /** By side: rows in the order in which they are closed, and the place of the next one. */
  private readonly rows: [longs: number[], shorts: number[]] = [[], []];
  private readonly nextPlace = [0, 0];
  private markTicks: PriceTicks = 0;
  private rankings = 0;

  /** Another scan begins: the next call of next() ranks again. */
  reset(): void {
    for (const side of [LONG, SHORT] as const) this.rows[side] = [];
  }

  /** The row whose position is closed next. NONE when the side has no open position. */
  next(state: SymbolState, isLong: boolean): number {
    if (this.markTicks !== state.markTicks) this.reset();
    this.markTicks = state.markTicks;
    const side = isLong ? LONG : SHORT;
    const row = this.find(state, side);
    if (row !== NONE) return row;
    this.rank(state, side);
    return this.find(state, side);
  }

  private rank(state: SymbolState, side: QueueSide): void {
    const step = Math.ceil(state.positions.open.length / SAMPLED);
    this.nextPlace[side] = 0;
    this.rows[side] = highestScores(state, side, this.rankings++ % step, step);
    // The sample may have missed a side with few positions.
    if (this.rows[side].length === 0 && step > 1) this.rows[side] = highestScores(state, side, 0, 1);
  }

  /** A row that is closed only in part stays the next one. */
  private find(state: SymbolState, side: QueueSide): number {
    const rows = this.rows[side];
    for (; this.nextPlace[side] < rows.length; this.nextPlace[side]++) {
      const row = rows[this.nextPlace[side]];
      if (isOfSide(state, row, side)) return row;
    }
    return NONE;
  }
}

function isOfSide({ positions }: SymbolState, row: number, side: QueueSide): boolean {
  const sizeLots = positions.numbers[row + SIZE];
  return side === LONG ? sizeLots > 0 : sizeLots < 0;
}

/** The QUEUED highest scores of a side, among every `step`-th open position after the first `from`. */
function highestScores(state: SymbolState, side: QueueSide, from: number, step: number): number[] {
  const { open } = state.positions;
  const rows: number[] = [];
  const scores: number[] = [];
  for (let i = from; i < open.length; i += step) {
    const row = open[i];
    if (!isOfSide(state, row, side)) continue;
    const rowScore = score(state, row);
    if (rows.length === QUEUED && rowScore <= scores[QUEUED - 1]) continue;
    let place = rows.length;
    while (place > 0 && scores[place - 1] < rowScore) place--;
    rows.splice(place, 0, row);
    scores.splice(place, 0, rowScore);
    if (rows.length > QUEUED) {
      rows.pop();
      scores.pop();
    }
  }
  return rows;
}

/**
 * The rank of an open position among those of its side: 5 = in the first fifth to be deleveraged, 1 = in the last, 0 = not
 * open. In a large market it is estimated from at most MAX_RANKED evenly spread positions, which bounds the cost of a
 * read. Near the edge of a fifth it may then be off by one.
 */
export function deleveragingRank(state: SymbolState, row: number): number {
  const { open, numbers } = state.positions;
  const sizeLots = numbers[row + SIZE];
  if (sizeLots === 0) return 0;
  const rowScore = score(state, row);
  const step = Math.ceil(open.length / MAX_RANKED);
  let compared = 0;
  let before = 0;
  for (let i = 0; i < open.length; i += step) {
    const other = open[i];
    if (other === row || numbers[other + SIZE] > 0 !== sizeLots > 0) continue;
    compared++;
    if (score(state, other) > rowScore) before++;
  }
  return RANKS - Math.floor((RANKS * before) / (compared + 1));
}
