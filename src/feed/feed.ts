import type { Engine, ReleasedTransaction } from "../actor/engine/engine.ts";
import type { FeedSettings } from "../config/feed.ts";
import { SetIndexPrice } from "../core/protocol/commands.ts";
import type { Instrument } from "../core/protocol/instrument.ts";
import { blank, type MessageOf } from "../core/protocol/message-schema.ts";
import { Refused } from "../core/protocol/replies.ts";
import { type CombineRules, combine, type Quote } from "./combine.ts";
import { Poller } from "./poller.ts";
import { type openSource, timeoutOf } from "./sources.ts";

export interface FeedLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

interface FeedOptions {
  engine: Engine;
  settings: FeedSettings;
  open: typeof openSource;
  log: FeedLog;
  now: () => number;
  /** Milliseconds of a monotonic clock, for the age of quotes. */
  monotonic: () => number;
}

/**
 * Index prices from other exchanges. Each source is polled at its own pace. At each interval their quotes are combined
 * into one guarded index price per instrument (see core/pricing).
 */
export class Feed {
  private readonly options: FeedOptions;
  private readonly rules: CombineRules;
  private readonly pollers: Poller[];
  private readonly timers = new Set<NodeJS.Timeout>();
  private ticker: NodeJS.Timeout | null = null;
  /** By symbol: the quotes behind the last index price while the engine has not accepted it. */
  private readonly unconfirmed = new Map<string, readonly Quote[]>();
  /** The last log line per symbol or source: only changes are logged. */
  private readonly lastLogged = new Map<string, string>();

  private constructor(parts: FeedOptions, pollers: Poller[]) {
    this.options = parts;
    this.pollers = pollers;
    const { maxAgeMs, maxDeviation, minSources } = parts.settings;
    this.rules = { maxAgeMs, maxDeviation: Number(maxDeviation), minSources };
  }

  /** Rejects when a source cannot be opened. A source that does not answer is retried. */
  static async open(parts: FeedOptions): Promise<Feed> {
    const { settings, engine, open, now, monotonic } = parts;
    const pollers = settings.sources.map(async (source) => {
      const markets = new Map(
        engine.instruments.map(({ symbol, config }) => [
          symbol,
          source.symbols?.[symbol] ?? `${config.baseAsset}/${source.quoteAsset ?? "USDT"}`,
        ]),
      );
      return new Poller({
        name: source.exchange,
        weight: source.weight ?? 1,
        source: await open(source),
        markets,
        intervalMs: settings.pollMs,
        timeoutMs: timeoutOf(source),
        now,
        monotonic,
      });
    });
    return new Feed(parts, await Promise.all(pollers));
  }

  start(): void {
    for (const poller of this.pollers) for (const symbol of poller.symbols) void this.follow(poller, symbol);
    this.ticker = setInterval(() => this.publish(), this.options.settings.pollMs).unref();
  }

  stop(): void {
    if (this.ticker !== null) clearInterval(this.ticker);
    this.ticker = null;
    for (const timer of this.timers) clearTimeout(timer);
    this.timers.clear();
  }

  /** Sends each instrument its combined price, when there are enough quotes. */
  publish(): void {
    for (const instrument of this.options.engine.instruments) {
      const { symbol } = instrument;
      const quotes = this.pollers.flatMap((poller) => poller.quote(symbol) ?? []);
      const { price, used, stale, outliers } = combine(quotes, this.options.monotonic(), this.rules);
      if (price === null)
        this.logChange(symbol, { symbol, used, stale, outliers }, "too few quotes for an index price");
      else {
        const problem = stale.length + outliers.length > 0 ? "quotes were left out" : "";
        this.logChange(symbol, { symbol, stale, outliers }, problem);
        const usedQuotes = quotes.filter(({ source }) => used.includes(source));
        this.submit(instrument, price, usedQuotes);
      }
    }
  }

  private submit(instrument: Instrument, price: number, quotes: readonly Quote[]): void {
    const { id, symbol, maxPriceTicks } = instrument;
    const indexTicks = Math.min(maxPriceTicks, Math.max(1, ticksOf(instrument, price)));
    // A price jump needs confirmation by newer quotes. Sending the same quotes again would confirm nothing.
    const doubted = this.unconfirmed.get(symbol);
    if (doubted !== undefined && quotes.every((quote) => doubted.includes(quote))) return;
    this.unconfirmed.set(symbol, quotes);
    const command = { ...blank(SetIndexPrice), indexTicks, isGuarded: 1 } as MessageOf<typeof SetIndexPrice>;
    const asked = this.options.engine.request(id, command, (transaction: ReleasedTransaction | null) => {
      if (transaction === null) return void this.unconfirmed.delete(symbol); // the next price follows soon
      const reply = transaction.messages[transaction.eventCount];
      const code = reply?.type === Refused.code ? (reply as MessageOf<typeof Refused>).code : "";
      if (code === "") this.unconfirmed.delete(symbol);
      const problem = code === "" ? "" : "the exchange refused an index price";
      this.logChange(`${symbol} index`, { symbol, price, code }, problem);
    });
    if (!asked) this.unconfirmed.delete(symbol);
  }

  private async follow(poller: Poller, symbol: string): Promise<void> {
    const { waitMs, failure } = await poller.poll(symbol);
    this.logChange(poller.name, { source: poller.name, failure }, failure === null ? "" : "a price source has failed");
    if (this.ticker === null) return;
    const timer = setTimeout(() => {
      this.timers.delete(timer);
      void this.follow(poller, symbol);
    }, waitMs).unref();
    this.timers.add(timer);
  }

  /** `message` "" = no problem. */
  private logChange(about: string, fields: object, message: string): void {
    const text = message === "" ? "" : `${message} ${JSON.stringify(fields)}`;
    const before = this.lastLogged.get(about) ?? "";
    if (text === before) return;
    this.lastLogged.set(about, text);
    if (message !== "") this.options.log.warn(fields, message);
    else this.options.log.info({ about }, "index prices have recovered");
  }
}

const ticksOf = ({ priceDecimals, tickUnits }: Instrument, price: number): number =>
  Math.round((price * 10 ** priceDecimals) / tickUnits);
