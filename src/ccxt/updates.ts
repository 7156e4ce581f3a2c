import type * as api from "../client/types.ts";

/**
 * The latest rows of a channel by key, each with the number of the change that brought it. After a reconnect the
 * exchange repeats rows: only a new version of a row counts as a change.
 */
export class Updates<Row> {
  /** True after the first snapshot: later rows have just happened. */
  isLive = false;
  /** Time of the first call, in milliseconds. Older rows are not reported. */
  readonly since: number;
  /** Start of a period for which orders could not be looked up; null when nothing is missing. */
  unresolvedSince: number | null = null;
  /** Number of changes so far. */
  changes = 0;
  private readonly limit: number;
  /** Ordered by change, latest last. */
  private readonly rows = new Map<string, { row: Row; version: string; change: number }>();

  constructor(since: number, limit: number) {
    this.since = since;
    this.limit = limit;
  }

  /** All rows, oldest first. */
  get known(): Row[] {
    return [...this.rows.values()].map(({ row }) => row);
  }

  /** Rows that changed after change number `change`, oldest first. */
  after(change: number): Row[] {
    if (change >= this.changes) return [];
    return [...this.rows.values()].filter((each) => each.change > change).map(({ row }) => row);
  }

  /** Stores a row. It counts as a change unless this version was stored before. */
  put(key: string, version: string, row: Row): void {
    if (this.rows.get(key)?.version !== version) this.store(key, { row, version, change: ++this.changes });
  }

  /** Stores a row without reporting it. */
  remember(key: string, version: string, row: Row): void {
    this.store(key, { row, version, change: 0 });
  }

  /** Stores a row of the time `time`, and reports it unless it is from before the first call. */
  putIfNew(time: number, key: string, version: string, row: Row): void {
    if (this.isLive || time >= this.since) this.put(key, version, row);
    else this.remember(key, version, row);
  }

  private store(key: string, taken: { row: Row; version: string; change: number }): void {
    this.rows.delete(key);
    this.rows.set(key, taken);
    if (this.rows.size <= this.limit) return;
    const [oldest] = this.rows.keys();
    this.rows.delete(oldest as string);
  }
}

/**
 * Differs after each change of an order, also of two changes in one millisecond. A trailing trigger is left out: lists
 * show the current one, and streams do not.
 */
export function orderVersion(order: api.Order): string {
  const { status, filledQuantity, remainingQuantity, quantity, price, updatedAt, displayQuantity } = order;
  const { triggerPrice, callbackRate, activationPrice, maxSlippage, goodTillDate, takeProfit, stopLoss } = order;
  const progress = [status, filledQuantity, remainingQuantity, quantity, price, updatedAt, displayQuantity];
  const trigger = callbackRate === null ? triggerPrice : callbackRate;
  return JSON.stringify([...progress, trigger, activationPrice, maxSlippage, goodTillDate, takeProfit, stopLoss]);
}
