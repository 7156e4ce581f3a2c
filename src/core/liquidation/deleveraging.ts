import { ACCOUNT, COST, NONE, SIZE } from "../base/columns.ts";
import type { PriceTicks, QuantityLots } from "../base/units.ts";
import { equityBackingClose } from "../margin/bankruptcy-price.ts";
import { isolatedEquity } from "../margin/isolated.ts";
import { spend } from "../margin/maker-solvency.ts";
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

/** Instead of a loss per lot: any position of the side is accepted, and nothing is taken from its account. */
const ANY_LOSS = Number.NEGATIVE_INFINITY;

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
 * A position that the loss would bankrupt is passed over while there are others (dYdX v4 asks that the bankruptcy prices of
 * both sides overlap). The unpaid rest would fall on the insurance fund, which has nothing left when this runs.
 */
export class DeleveragingQueue {
  /** By side: rows in the order in which they are closed, and the place of the next one. */
  private readonly rows: [longs: number[], shorts: number[]] = [[], []];
  private readonly nextPlace = [0, 0];
  /** By side: the loss per lot of the last call, and the lowest loss that no position could bear. */
  private readonly lastLossPerLot = [0, 0];
  private readonly unbearableLossPerLot = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  private markTicks: PriceTicks = 0;
  private rankings = 0;

  /** Another scan begins: the next call of next() ranks again. */
  reset(): void {
    for (const side of [LONG, SHORT] as const) {
      this.rows[side] = [];
      this.unbearableLossPerLot[side] = Number.POSITIVE_INFINITY;
    }
  }

  /**
   * The row whose position is closed next: up to `lots` of it, `lossPerLot` quanta a lot worse than at the mark. NONE when the
   * side has no open position. If the position can bear the loss, it is taken from its account already.
   */
  next(state: SymbolState, isLong: boolean, lossPerLot: number, lots: QuantityLots): number {
    if (this.markTicks !== state.markTicks) this.reset();
    this.markTicks = state.markTicks;
    const side = isLong ? LONG : SHORT;
    if (this.rows[side].length === 0) this.rank(state, side, ANY_LOSS);
    // Positions that were passed over for a higher loss may bear this one.
    if (lossPerLot < this.lastLossPerLot[side]) this.nextPlace[side] = 0;
    this.lastLossPerLot[side] = lossPerLot;
    if (lossPerLot < this.unbearableLossPerLot[side]) {
      const row = this.findOrRank(state, side, lossPerLot, lots);
      if (row !== NONE) return row;
      this.unbearableLossPerLot[side] = lossPerLot;
    }
    return this.findOrRank(state, side, ANY_LOSS, lots);
  }

  private findOrRank(state: SymbolState, side: QueueSide, lossPerLot: number, lots: QuantityLots): number {
    const row = this.find(state, side, lossPerLot, lots);
    if (row !== NONE) return row;
    this.rank(state, side, lossPerLot);
    return this.find(state, side, lossPerLot, lots);
  }

  private rank(state: SymbolState, side: QueueSide, lossPerLot: number): void {
    const step = Math.ceil(state.positions.open.length / SAMPLED);
    this.nextPlace[side] = 0;
    this.rows[side] = highestScores(state, side, lossPerLot, this.rankings++ % step, step);
    // The sample may have missed a side with few positions.
    if (this.rows[side].length === 0 && step > 1) this.rows[side] = highestScores(state, side, lossPerLot, 0, 1);
  }

  private find(state: SymbolState, side: QueueSide, lossPerLot: number, lots: QuantityLots): number {
    const rows = this.rows[side];
    for (; this.nextPlace[side] < rows.length; this.nextPlace[side]++) {
      const row = rows[this.nextPlace[side]];
      if (isOfSide(state, row, side) && canBear(state, row, lossPerLot) && takeLoss(state, row, lossPerLot, lots))
        return row;
    }
    return NONE;
  }
}

function isOfSide({ positions }: SymbolState, row: number, side: QueueSide): boolean {
  const sizeLots = positions.numbers[row + SIZE];
  return side === LONG ? sizeLots > 0 : sizeLots < 0;
}

/** Whether the equity behind the position covers `lossPerLot` on all of its lots. */
function canBear(state: SymbolState, row: number, lossPerLot: number): boolean {
  if (lossPerLot === ANY_LOSS) return true;
  state.contributions.refreshMark(row);
  return equityBackingClose(state, row) >= lossPerLot * Math.abs(state.positions.numbers[row + SIZE]);
}

/** Takes the loss on up to `lots` from the account. Returns false if another thread has spent or withdrawn the money since. */
function takeLoss(state: SymbolState, row: number, lossPerLot: number, lots: QuantityLots): boolean {
  if (lossPerLot <= 0) return true;
  return spend(state, row, Math.ceil(lossPerLot * Math.min(lots, Math.abs(state.positions.numbers[row + SIZE]))));
}

/** The QUEUED highest scores of a side that can bear the loss, among every `step`-th open position after the first `from`. */
function highestScores(state: SymbolState, side: QueueSide, lossPerLot: number, from: number, step: number): number[] {
  const { open } = state.positions;
  const rows: number[] = [];
  const scores: number[] = [];
  for (let i = from; i < open.length; i += step) {
    const row = open[i];
    if (!isOfSide(state, row, side)) continue;
    const rowScore = score(state, row);
    if (rows.length === QUEUED && rowScore <= scores[QUEUED - 1]) continue;
    if (!canBear(state, row, lossPerLot)) continue;
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
