import type { TimeMs } from "../../../core/base/units.ts";
import type { Instrument } from "../../../core/protocol/instrument.ts";
import type { SymbolMarket } from "../../exchange/symbol-market.ts";
import { figuresOf, instrumentJson, tradingStateOf } from "../../json/instrument-json.ts";
import { headOf, type Publish, Stream, type Subscriber } from "../base/stream.ts";

/** Open interest changes with many trades, and an instrument is a long row. */
const FIGURES_PACE_MS = 1000;

interface Row {
  readonly market: SymbolMarket;
  /** As published last. */
  text: string;
  state: string;
  figures: string;
  publishedAt: number;
}

/** The instruments with their limits and the state of these: all in the snapshot, then each one that has changed. */
export class SymbolsStream extends Stream {
  private readonly rows: readonly Row[];
  private readonly now: () => TimeMs;
  private readonly monotonic: () => number;

  /** `instrument`: null for all. */
  constructor(
    topic: string,
    instrument: Instrument | null,
    markets: readonly SymbolMarket[],
    publish: Publish,
    now: () => TimeMs,
    monotonic: () => number,
  ) {
    const sequence = Math.max(0, ...markets.map((market) => market.sequence));
    super(topic, headOf("symbols", instrument), sequence, publish);
    this.now = now;
    this.monotonic = monotonic;
    this.rows = markets.map((market) => {
      const text = instrumentJson(market, now());
      return { market, text, state: stateJson(market), figures: figuresJson(market, now()), publishedAt: monotonic() };
    });
  }

  /** A new subscriber gets the rows published last, so that it does not speed up the stream for the others. */
  override subscribe(subscriber: Subscriber): void {
    this.flush();
    this.sendSnapshot(subscriber, dataOf(this.rows));
  }

  override flush(): void {
    const changed = this.rows.filter((row) => this.refresh(row));
    if (changed.length === 0) return;
    const sequence = Math.max(this.sequence, ...changed.map(({ market }) => market.sequence));
    this.publishUpdate("UPDATE", sequence, dataOf(changed));
  }

  /** Returns whether the row has changed and must be published. */
  private refresh(row: Row): boolean {
    const { market } = row;
    const now = this.monotonic();
    const state = stateJson(market);
    if (state === row.state && now - row.publishedAt < FIGURES_PACE_MS) return false;
    const figures = figuresJson(market, this.now());
    if (state === row.state && figures === row.figures) return false;
    Object.assign(row, { text: instrumentJson(market, this.now()), state, figures, publishedAt: now });
    return true;
  }
}

const dataOf = (rows: readonly Row[]): string => `"data":[${rows.map(({ text }) => text).join(",")}]`;

const stateJson = (market: SymbolMarket): string => JSON.stringify(tradingStateOf(market));

const figuresJson = (market: SymbolMarket, now: TimeMs): string => JSON.stringify(figuresOf(market, now));
