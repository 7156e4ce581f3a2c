import { type Signal, signal } from "@preact/signals";
import type { Page } from "../../client/types.ts";
import { refusalText } from "../text/refusals.ts";

/** Reads one page of a list, newest first; without a cursor the first one. */
export type ReadPage<Row> = (page: { limit: number; cursor?: string }) => Promise<Page<Row>>;

const PAGE = 100;
const NEWS_EVERY_MS = 1_000;

/** The rows of a list that were read so far. */
export class Listing<Row> {
  readonly rows = signal<readonly Row[]>([]);
  /** Of the next page. Null: all are read. */
  readonly cursor = signal<string | null>(null);
  readonly isLoading = signal(true);
  /** Why the last page could not be read. */
  readonly fault = signal<string | null>(null);
  private readonly readPage: ReadPage<Row>;
  private readonly keyOf: (row: Row) => string;
  private timer: number | undefined;
  private askedAtMs = 0;
  /** One read after the other. */
  private reading: Promise<void> = Promise.resolve();
  private isClosed = false;

  constructor(readPage: ReadPage<Row>, keyOf: (row: Row) => string) {
    this.readPage = readPage;
    this.keyOf = keyOf;
  }

  /** Nothing changes afterwards. */
  close(): void {
    this.isClosed = true;
    clearTimeout(this.timer);
  }

  /** Reads the page after those that were read. */
  older(): void {
    this.isLoading.value = true;
    this.read(this.cursor, (data, cursor) => {
      const known = new Set(this.rows.peek().map(this.keyOf));
      this.rows.value = [...this.rows.peek(), ...data.filter((row) => !known.has(this.keyOf(row)))];
      this.cursor.value = cursor;
    });
  }

  /** Reads the newest rows, at once or within a second of the last time. */
  newest(): void {
    if (this.timer !== undefined || this.isClosed) return;
    const wait = Math.max(0, this.askedAtMs + NEWS_EVERY_MS - performance.now());
    this.timer = window.setTimeout(() => {
      this.timer = undefined;
      this.askedAtMs = performance.now();
      this.read(null, (data, cursor) => this.putInFront(data, cursor));
    }, wait);
  }

  private putInFront(data: readonly Row[], cursor: string | null): void {
    const fresh = new Set(data.map(this.keyOf));
    const rest = this.rows.peek().filter((row) => !fresh.has(this.keyOf(row)));
    // Without a row in common there may be a gap between the two.
    const isJoined = rest.length < this.rows.peek().length;
    this.rows.value = isJoined ? [...data, ...rest] : data;
    if (!isJoined) this.cursor.value = cursor;
  }

  private read(from: Signal<string | null> | null, take: (data: readonly Row[], cursor: string | null) => void): void {
    this.reading = this.reading.then(async () => {
      try {
        let cursor = from?.peek() ?? null;
        let data: readonly Row[] = [];
        // A page of few matches may be empty while others follow.
        do {
          const page = await this.readPage({ limit: PAGE, ...(cursor !== null && { cursor }) });
          ({ data, nextCursor: cursor } = page);
        } while (data.length === 0 && cursor !== null && !this.isClosed);
        if (this.isClosed) return;
        take(data, cursor);
        this.fault.value = null;
      } catch (error) {
        this.fault.value = refusalText(error);
      }
      this.isLoading.value = false;
    });
  }
}
