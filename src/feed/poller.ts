import type { Quote } from "./combine.ts";
import type { TickerSource } from "./sources.ts";

/** The longest pause after failures that follow each other. */
const MAX_BACKOFF_MS = 60_000;

/** One exchange, asked again and again for its prices of some symbols; less and less often while it fails. */
export class Poller {
  readonly name: string;
  private readonly weight: number;
  private readonly source: TickerSource;
  /** What the exchange calls each of our symbols. */
  private readonly markets: ReadonlyMap<string, string>;
  private readonly intervalMs: number;
  private readonly now: () => number;
  private readonly latest = new Map<string, Quote>();
  private failures = 0;

  constructor(
    name: string,
    weight: number,
    source: TickerSource,
    markets: ReadonlyMap<string, string>,
    intervalMs: number,
    now: () => number,
  ) {
    this.name = name;
    this.weight = weight;
    this.source = source;
    this.markets = markets;
    this.intervalMs = intervalMs;
    this.now = now;
  }

  /** The last quote of one of our symbols, however old; undefined when there was none. */
  quote(symbol: string): Quote | undefined {
    return this.latest.get(symbol);
  }

  /** Asks for every symbol. Never rejects: answers how long to wait before the next time, and what went wrong. */
  async poll(): Promise<{ waitMs: number; failure: string | null }> {
    const results = await Promise.allSettled([...this.markets].map(([symbol, market]) => this.ask(symbol, market)));
    const failed = results.find((result) => result.status === "rejected");
    if (failed === undefined) {
      this.failures = 0;
      return { waitMs: this.intervalMs, failure: null };
    }
    // One symbol that is not listed must not slow the others down.
    if (results.some((result) => result.status === "fulfilled")) this.failures = 0;
    else this.failures++;
    const waitMs = Math.min(MAX_BACKOFF_MS, this.intervalMs * 2 ** Math.min(this.failures, 16));
    return { waitMs, failure: String((failed.reason as Error)?.message ?? failed.reason) };
  }

  private async ask(symbol: string, market: string): Promise<void> {
    const { bid, ask, last, timestamp } = await this.source.fetchTicker(market);
    const price = isPrice(bid) && isPrice(ask) ? (bid + ask) / 2 : last;
    if (!isPrice(price)) throw new Error(`${market} has no price`);
    const now = this.now();
    // An exchange whose clock runs ahead does not make its quotes younger than they are.
    const time = typeof timestamp === "number" ? Math.min(now, timestamp) : now;
    this.latest.set(symbol, { source: this.name, weight: this.weight, price, time });
  }
}

const isPrice = (value: unknown): value is number => typeof value === "number" && Number.isFinite(value) && value > 0;
