import { must } from "../assert.ts";
import type { Quote } from "./combine.ts";
import type { TickerLike, TickerSource } from "./sources.ts";

/** The longest wait after repeated failures. */
const MAX_BACKOFF_MS = 60_000;

export interface Polled {
  /** Wait until the next poll. */
  readonly waitMs: number;
  /** The first failure among the exchange's markets; null when there is none. */
  readonly failure: string | null;
}

/** Consecutive failures of a market. */
interface Failing {
  readonly times: number;
  readonly failure: string;
}

interface PollerOptions {
  name: string;
  /** Weight of its quotes relative to other exchanges. */
  weight: number;
  source: TickerSource;
  /** The exchange's market name for each of our symbols. */
  markets: ReadonlyMap<string, string>;
  intervalMs: number;
  /** A poll without an answer by then has failed and is retried. */
  timeoutMs: number;
  now: () => number;
  /** Milliseconds of a monotonic clock. */
  monotonic: () => number;
}

/** Polls one exchange for the prices of some symbols, with exponential backoff per symbol while it fails. */
export class Poller {
  private readonly options: PollerOptions;
  private readonly latest = new Map<string, Quote>();
  private readonly failing = new Map<string, Failing>();

  constructor(options: PollerOptions) {
    this.options = options;
  }

  get name(): string {
    return this.options.name;
  }

  get symbols(): string[] {
    return [...this.options.markets.keys()];
  }

  /** The last quote of a symbol, of any age; undefined when there is none. */
  quote(symbol: string): Quote | undefined {
    return this.latest.get(symbol);
  }

  /** Polls one symbol: an unlisted or hanging market must not delay the others. Never rejects. */
  async poll(symbol: string): Promise<Polled> {
    let times = 0;
    try {
      await this.fetch(symbol, must(this.options.markets.get(symbol), "a market"));
      this.failing.delete(symbol);
    } catch (error) {
      times = (this.failing.get(symbol)?.times ?? 0) + 1;
      this.failing.set(symbol, { times, failure: textOf(error) });
    }
    const waitMs = Math.min(MAX_BACKOFF_MS, this.options.intervalMs * 2 ** Math.min(times, 16));
    const first = this.symbols.find((each) => this.failing.has(each));
    return { waitMs, failure: first === undefined ? null : (this.failing.get(first)?.failure ?? null) };
  }

  private async fetch(symbol: string, market: string): Promise<void> {
    const { name, weight, source, timeoutMs, now, monotonic } = this.options;
    const answer = source.fetchTicker(market);
    const { bid, ask, last, timestamp } = await withTimeout(answer, timeoutMs, market);
    const price = isPrice(bid) && isPrice(ask) ? (bid + ask) / 2 : last;
    if (!isPrice(price)) throw new Error(`${market} has no price`);
    // A clock that runs ahead must not make a quote look newer than it is.
    const ageMs = typeof timestamp === "number" ? Math.max(0, now() - timestamp) : 0;
    const time = monotonic() - ageMs;
    this.latest.set(symbol, { source: name, weight, price, time });
  }
}

/** Rejects after `timeoutMs`; a later answer is ignored. */
async function withTimeout(answer: Promise<TickerLike>, timeoutMs: number, market: string): Promise<TickerLike> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`${market} did not answer within ${timeoutMs} ms`)), timeoutMs);
  });
  try {
    return await Promise.race([answer, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** The message of anything that was thrown. Some values throw when converted to a string. */
function textOf(thrown: unknown): string {
  try {
    return String((thrown as Error)?.message ?? thrown);
  } catch {
    return "an error without a message";
  }
}

const isPrice = (value: unknown): value is number => typeof value === "number" && Number.isFinite(value) && value > 0;
