import type { TimeMs } from "../../../core/base/units.ts";
import { AppendOnlyStream, type RecentStreamOptions } from "./recent-stream.ts";

/** A query for the positions that were closed since the last one. */
export interface ClosedQuery {
  readonly afterSequence: number;
  readonly throughSequence: number;
  /** None of them was closed earlier. */
  readonly startTime: TimeMs;
  isCanceled(): boolean;
}

/** A closed position as JSON text, and the sequence of the transaction that closed it. */
export type ClosedRow = readonly [sequence: number, text: string];

/** Loads all of them from the history, oldest first. */
type LoadClosed = (query: ClosedQuery) => Promise<ClosedRow[]>;

/**
 * An account's closed positions. Their sums are in the history only, so the stream reads a record there when a transaction
 * has closed a position. It reads at ticks: an account that turns its position with every order must not make the history
 * commit for each.
 */
export class PositionHistoryStream extends AppendOnlyStream {
  private readonly loadClosed: LoadClosed;
  /** Everything through this sequence is loaded or is being loaded by start(). */
  private loadedThrough = 0;
  /** The transactions that closed positions since then; 0 = none. */
  private firstTime: TimeMs = 0;
  private lastSequence = 0;
  private isLoading = false;

  constructor(options: RecentStreamOptions<string>, loadClosed: LoadClosed) {
    super(options);
    this.loadClosed = loadClosed;
  }

  override start(sequence: number): void {
    this.loadedThrough = sequence;
    super.start(sequence);
  }

  /** A transaction has closed a position that the stream covers. */
  noteClosed(sequence: number, time: TimeMs): void {
    // Times of different symbols may differ a little from the log's order.
    this.firstTime = this.lastSequence === 0 ? time : Math.min(this.firstTime, time);
    this.lastSequence = sequence;
  }

  /** Begins to load what was closed. */
  tick(): void {
    if (this.isLoading || this.lastSequence === 0) return;
    const query: ClosedQuery = {
      afterSequence: this.loadedThrough,
      throughSequence: this.lastSequence,
      startTime: this.firstTime,
      isCanceled: () => this.isEmpty,
    };
    this.lastSequence = 0;
    this.isLoading = true;
    const loaded = (rows: readonly ClosedRow[]): void => {
      for (const [sequence, text] of rows) this.add(sequence, [text]);
      this.loadedThrough = query.throughSequence;
      this.isLoading = false;
      this.flush();
    };
    this.loadClosed(query)
      .then(loaded)
      .catch((thrown) => this.failed(thrown));
  }
}
