import { must } from "../assert.ts";
import type { Quote } from "./combine.ts";
import type { TickerLike, TickerSource } from "./sources.ts";

/** The longest pause after failures that follow each other. */
const MAX_BACKOFF_MS = 60_000;

/** What one poll came to. */
export interface Polled {
  /** Until the next time. */
  readonly waitMs: number;
  /** What is wrong with any of the exchange's markets; null when all is well. */
  readonly failure: string | null;
}

/** What a market has answered lately, in the place of a price. */
interface Failing {
  readonly times: number;
  readonly failure: string;
}

export interface PollerOptions {
  name: string;
  /** Of its quotes, against those of other exchanges. */
  weight: number;
  source: TickerSource;
  /** What the exchange calls each of our symbols. */
  markets: ReadonlyMap<string, string>;
  intervalMs: number;
  /** Who has not answered by then has failed, and is asked again. */
  timeoutMs: number;
  now: () => number;
  /** Milliseconds by a clock that nobody sets. */
  monotonic: () => number;
}

/** One exchange, asked again and again for its prices of some symbols; for each less and less often while it fails. */
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

  /** The last quote of one of our symbols, however old; undefined when there was none. */
  quote(symbol: string): Quote | undefined {
    return this.latest.get(symbol);
  }

  /** Asks for one symbol: one that is not listed, or that hangs, must not hold the others back. Never rejects. */
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
    // An exchange whose clock runs ahead does not make its quotes younger than they are.
    const ageMs = typeof timestamp === "number" ? Math.max(0, now() - timestamp) : 0;
    const time = monotonic() - ageMs;
    this.latest.set(symbol, { source: name, weight, price, time });
  }
}

/** What comes later is left out: it is no price of then any more. */
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

/** Of whatever was thrown: some things have no text at all, and throw when they are asked for it. */
function textOf(thrown: unknown): string {
  try {
    return String((thrown as Error)?.message ?? thrown);
  } catch {
    return "it threw what has no text";
  }
}

const isPrice = (value: unknown): value is number => typeof value === "number" && Number.isFinite(value) && value > 0;
