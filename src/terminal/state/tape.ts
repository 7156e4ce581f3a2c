import type { PublicTrade } from "../../client/types.ts";

/** The newest trades of at least a size, newest first, and which sizes are large. Pure. */

const KEPT = 200;
/** With fewer trades nothing is large. */
const FEWEST_TO_COMPARE = 20;
const LARGE_SHARE = 0.95;
const LARGE_FACTOR = 4;

export const notionalOf = ({ price, quantity }: PublicTrade): number => Number(price) * Number(quantity);

export class Tape {
  readonly rows: PublicTrade[] = [];
  /** Of the last trades of any size. */
  private readonly notionals: number[] = [];
  private large: number | null = null;

  clear(): void {
    this.rows.length = 0;
    this.notionals.length = 0;
    this.large = null;
  }

  /** `trades` in any order, also some that are known. `smallest` in USDC. */
  add(trades: readonly PublicTrade[], smallest: number): void {
    for (const trade of trades) {
      const notional = notionalOf(trade);
      this.notionals.push(notional);
      if (notional >= smallest) this.insert(trade);
    }
    if (this.rows.length > KEPT) this.rows.length = KEPT;
    if (this.notionals.length > KEPT) this.notionals.splice(0, this.notionals.length - KEPT);
    this.large = null;
  }

  /** Forgets what is smaller. */
  keep(smallest: number): void {
    const kept = this.rows.filter((trade) => notionalOf(trade) >= smallest);
    this.rows.splice(0, this.rows.length, ...kept);
  }

  /** From this notional on a trade is large: more than nearly all of the last ones, and than four times the usual one. */
  get largeFrom(): number {
    this.large ??= largeFrom(this.notionals);
    return this.large;
  }

  private insert(trade: PublicTrade): void {
    const { rows } = this;
    // Nearly always the first one.
    const place = rows.findIndex((row) => !isLater(row, trade));
    if (place === -1) rows.push(trade);
    else if (isLater(trade, rows[place] as PublicTrade)) rows.splice(place, 0, trade);
  }
}

/** A transaction has one sequence. The ids of its trades rise. */
const isLater = (a: PublicTrade, b: PublicTrade): boolean =>
  a.sequence === b.sequence ? Number(a.tradeId) > Number(b.tradeId) : a.sequence > b.sequence;

export function largeFrom(notionals: readonly number[]): number {
  if (notionals.length < FEWEST_TO_COMPARE) return Number.POSITIVE_INFINITY;
  const sorted = [...notionals].sort((a, b) => a - b);
  const at = (share: number): number => sorted[Math.floor(share * (sorted.length - 1))] ?? 0;
  return Math.max(at(LARGE_SHARE), LARGE_FACTOR * at(0.5));
}
