/**
 * The latest rows of a channel, each once by its key, with the number of the change that brought it. After a connection
 * was lost the exchange tells again what it told before: only what is new in it is a change.
 */
export class Updates<Row> {
  /** Behind a channel's first snapshot: what comes from here on has just happened. */
  isLive = false;
  /** When somebody first asked: what is from before that is no news. */
  readonly since: number;
  /** What has happened since may be missing, as it could not be looked up; null when it was, or nothing was missed. */
  unresolvedSince: number | null = null;
  /** How many changes there have been. */
  changes = 0;
  private readonly limit: number;
  /** The latest changed last. */
  private readonly rows = new Map<string, { row: Row; version: string; change: number }>();

  constructor(since: number, limit: number) {
    this.since = since;
    this.limit = limit;
  }

  /** Everything there is, oldest first. */
  get known(): Row[] {
    return [...this.rows.values()].map(({ row }) => row);
  }

  /** What has changed since a change, oldest first. */
  after(change: number): Row[] {
    if (change >= this.changes) return [];
    return [...this.rows.values()].filter((each) => each.change > change).map(({ row }) => row);
  }

  /** Takes a row in, which is a change unless this version of it was seen before. */
  put(key: string, version: string, row: Row): void {
    if (this.rows.get(key)?.version !== version) this.store(key, { row, version, change: ++this.changes });
  }

  /** Takes a row in that is no news. */
  remember(key: string, version: string, row: Row): void {
    this.store(key, { row, version, change: 0 });
  }

  private store(key: string, taken: { row: Row; version: string; change: number }): void {
    this.rows.delete(key);
    this.rows.set(key, taken);
    if (this.rows.size <= this.limit) return;
    const [oldest] = this.rows.keys();
    this.rows.delete(oldest as string);
  }
}
