/**
 * The latest rows of a channel, each once by its key, and those of them that nobody was handed yet. After a connection
 * was lost the exchange tells again what it told before: only what is new in it is news.
 */
export class Updates<Row> {
  /** Behind a channel's first snapshot: what comes from here on has just happened. */
  isLive = false;
  /** When somebody first asked: what is from before that is no news. */
  readonly since: number;
  private readonly limit: number;
  private readonly rows = new Map<string, { row: Row; version: string }>();
  private readonly news = new Map<string, Row>();

  constructor(since: number, limit: number) {
    this.since = since;
    this.limit = limit;
  }

  get hasNews(): boolean {
    return this.news.size > 0;
  }

  /** Everything there is, oldest first. */
  get known(): Row[] {
    return [...this.rows.values()].map(({ row }) => row);
  }

  /** Takes a row in, which is news unless this version of it was seen before. */
  put(key: string, version: string, row: Row): void {
    if (this.rows.get(key)?.version === version) return;
    this.remember(key, version, row);
    this.news.delete(key);
    this.news.set(key, row);
    dropOldest(this.news, this.limit);
  }

  /** Takes a row in that is no news. */
  remember(key: string, version: string, row: Row): void {
    this.rows.delete(key);
    this.rows.set(key, { row, version });
    dropOldest(this.rows, this.limit);
  }

  /** Hands out what is new, or everything there is, oldest first. */
  take(isNewOnly: boolean): Row[] {
    const taken = isNewOnly ? [...this.news.values()] : this.known;
    this.news.clear();
    return taken;
  }
}

function dropOldest(rows: Map<string, unknown>, limit: number): void {
  if (rows.size <= limit) return;
  for (const key of rows.keys()) {
    rows.delete(key);
    return;
  }
}
