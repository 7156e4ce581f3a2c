import type { Instrument } from "../../../core/protocol/instrument.ts";
import { type OnFailure, type Publish, Stream, type Subscriber } from "../base/stream.ts";

export const SNAPSHOT_ROWS = 100;

/** A stream's query for the rows of its first snapshot. */
export interface RecentQuery {
  readonly throughSequence: number;
  /** The stream has no subscribers any more, so the rows are not needed. */
  isCanceled(): boolean;
}

/** Loads the account's last rows from the history, at most SNAPSHOT_ROWS, oldest first. */
export type LoadRecent<Row> = (query: RecentQuery) => Promise<Row[]>;

export interface RecentStreamOptions<Row> {
  readonly topic: string;
  readonly head: string;
  /** Null: all of them. */
  readonly instrument: Instrument | null;
  readonly loadRecent: LoadRecent<Row>;
  readonly publish: Publish;
  readonly onFailure: OnFailure;
}

/** Rows of an account, oldest first: the last hundred in the snapshot, then those of each transaction. */
export abstract class RecentStream<Row> extends Stream {
  private readonly options: RecentStreamOptions<Row>;
  private isReady = false;
  /** The last hundred rows. Until the history is loaded: those added since start(). */
  private recent: readonly Row[] = [];
  private pending: { sequence: number; rows: Row[] }[] = [];

  constructor(options: RecentStreamOptions<Row>) {
    super(options.topic, options.head, 0, options.publish);
    this.options = options;
  }

  covers(instrument: Instrument): boolean {
    return this.options.instrument === null || this.options.instrument === instrument;
  }

  /** Rows up to this sequence are loaded from the history. Later rows come with add(). */
  start(sequence: number): void {
    this.sequence = sequence;
    const ready = (before: readonly Row[]): void => {
      this.recent = this.merge(before, this.recent).slice(-SNAPSHOT_ROWS);
      this.isReady = true;
      this.sendRecent();
    };
    const query = { throughSequence: sequence, isCanceled: () => this.isEmpty };
    this.options
      .loadRecent(query)
      .then(ready)
      .catch((thrown) => this.failed(thrown));
  }

  override subscribe(subscriber: Subscriber): void {
    this.awaitSnapshot(subscriber);
    if (this.isReady) this.sendRecent();
  }

  /** Adds rows of a transaction. */
  add(sequence: number, rows: readonly Row[]): void {
    const last = this.pending.at(-1);
    if (last?.sequence === sequence) last.rows.push(...rows);
    else this.pending.push({ sequence, rows: [...rows] });
    this.recent = this.merge(this.recent, rows).slice(-SNAPSHOT_ROWS);
  }

  override flush(): void {
    const { pending } = this;
    this.pending = [];
    for (const { sequence, rows } of pending) this.publishUpdate("UPDATE", sequence, this.body(rows));
  }

  /** Both lists in one, in the order of publication. */
  protected merge(before: readonly Row[], after: readonly Row[]): Row[] {
    return [...before, ...after];
  }

  protected abstract text(row: Row): string;

  protected failed(thrown: unknown): void {
    this.options.onFailure(this, thrown);
  }

  private sendRecent(): void {
    this.flush();
    this.sendAwaitedSnapshots(this.body(this.recent));
  }

  private body(rows: readonly Row[]): string {
    return `"data":[${rows.map((row) => this.text(row)).join(",")}]`;
  }
}

/** Rows of an account that never change, as JSON texts. */
export class AppendOnlyStream extends RecentStream<string> {
  protected override text(row: string): string {
    return row;
  }
}
