import { type Publish, Stream, type Subscriber } from "../base/stream.ts";

export const SNAPSHOT_ROWS = 100;

/** What a stream wants of the history to begin with. */
export interface RecentQuery {
  readonly throughSequence: number;
  /** Nobody waits for it any more: whoever comes again gets another stream. */
  isCanceled(): boolean;
}

/** The account's last rows in the history, at most SNAPSHOT_ROWS, oldest first. */
export type LoadRecent<Row> = (wanted: RecentQuery) => Promise<Row[]>;

/** What has happened to an account, oldest first: the last hundred rows in a snapshot, then those of each turn. */
export abstract class RecentStream<Row> extends Stream {
  private readonly loadRecent: LoadRecent<Row>;
  private readonly onFailure: (thrown: unknown) => void;
  private isReady = false;
  /** The last hundred, once ready; until then those since the history was asked. */
  private recent: readonly Row[] = [];
  private pending: { sequence: number; rows: Row[] }[] = [];

  constructor(
    topic: string,
    head: string,
    rowsBefore: LoadRecent<Row>,
    publish: Publish,
    onFailure: (thrown: unknown) => void,
  ) {
    super(topic, head, 0, publish);
    this.loadRecent = rowsBefore;
    this.onFailure = onFailure;
  }

  /** From behind this sequence on, rows are added; those before are the history's. */
  start(sequence: number): void {
    this.sequence = sequence;
    const ready = (before: readonly Row[]): void => {
      this.recent = this.merge(before, this.recent).slice(-SNAPSHOT_ROWS);
      this.isReady = true;
      this.sendRecent();
    };
    const wanted = { throughSequence: sequence, isCanceled: () => this.isEmpty };
    this.loadRecent(wanted).then(ready).catch(this.onFailure);
  }

  override subscribe(member: Subscriber): void {
    this.awaitSnapshot(member);
    if (this.isReady) this.sendRecent();
  }

  /** Of a turn. */
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

  /** Rows with those that came after them, in the order in which they are shown. */
  protected merge(before: readonly Row[], after: readonly Row[]): Row[] {
    return [...before, ...after];
  }

  protected abstract text(row: Row): string;

  private sendRecent(): void {
    this.flush();
    this.sendAwaitedSnapshots(this.body(this.recent));
  }

  private body(rows: readonly Row[]): string {
    return `"data":[${rows.map((row) => this.text(row)).join(",")}]`;
  }
}
