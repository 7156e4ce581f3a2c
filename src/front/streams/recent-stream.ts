import { type Member, type Publish, Stream } from "./stream.ts";

export const SNAPSHOT_ROWS = 100;

/** What a stream wants of the history to begin with. */
export interface Wanted {
  readonly throughSequence: number;
  /** Nobody waits for it any more: whoever comes again gets another stream. */
  isForgotten(): boolean;
}

/** The account's last rows in the history, at most SNAPSHOT_ROWS, oldest first. */
export type RowsBefore<Row> = (wanted: Wanted) => Promise<Row[]>;

/** What has happened to an account, oldest first: the last hundred rows in a snapshot, then those of each turn. */
export abstract class RecentStream<Row> extends Stream {
  private readonly rowsBefore: RowsBefore<Row>;
  private readonly onFailure: (thrown: unknown) => void;
  private isReady = false;
  /** The last hundred, once ready; until then those since the history was asked. */
  private recent: readonly Row[] = [];
  private pending: { sequence: number; rows: Row[] }[] = [];

  constructor(
    topic: string,
    head: string,
    rowsBefore: RowsBefore<Row>,
    publish: Publish,
    onFailure: (thrown: unknown) => void,
  ) {
    super(topic, head, 0, publish);
    this.rowsBefore = rowsBefore;
    this.onFailure = onFailure;
  }

  /** From behind this sequence on, rows are added; those before are the history's. */
  start(sequence: number): void {
    this.sequence = sequence;
    const ready = (before: readonly Row[]): void => {
      this.recent = this.joined(before, this.recent).slice(-SNAPSHOT_ROWS);
      this.isReady = true;
      this.admitRecent();
    };
    const wanted = { throughSequence: sequence, isForgotten: () => this.isEmpty };
    this.rowsBefore(wanted).then(ready).catch(this.onFailure);
  }

  override join(member: Member): void {
    this.enrol(member);
    if (this.isReady) this.admitRecent();
  }

  /** Of a turn. */
  add(sequence: number, rows: readonly Row[]): void {
    const last = this.pending.at(-1);
    if (last?.sequence === sequence) last.rows.push(...rows);
    else this.pending.push({ sequence, rows: [...rows] });
    this.recent = this.joined(this.recent, rows).slice(-SNAPSHOT_ROWS);
  }

  override flush(): void {
    const { pending } = this;
    this.pending = [];
    for (const { sequence, rows } of pending) this.update("UPDATE", sequence, this.body(rows));
  }

  /** Rows with those that came after them, in the order in which they are shown. */
  protected joined(before: readonly Row[], after: readonly Row[]): Row[] {
    return [...before, ...after];
  }

  protected abstract text(row: Row): string;

  private admitRecent(): void {
    this.flush();
    this.admitJoining(this.body(this.recent));
  }

  private body(rows: readonly Row[]): string {
    return `"data":[${rows.map((row) => this.text(row)).join(",")}]`;
  }
}
