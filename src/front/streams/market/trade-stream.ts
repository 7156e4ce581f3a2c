import type { PublicTrade } from "../../../core/market-data/public-trades.ts";
import type { Instrument } from "../../../core/protocol/instrument.ts";
import { publicTradeJson } from "../../json/market-json.ts";
import type { Pace } from "../base/pace.ts";
import { headOf, type Publish, Stream, type Subscriber } from "../base/stream.ts";

const SNAPSHOT_TRADES = 100;
/** With so many a message does not wait for its pace: a longer one would take much of a slow client's backlog. */
const MOST_WAITING = 1000;

interface TradeOfSymbol {
  readonly instrument: Instrument;
  readonly trade: PublicTrade;
}

/** The trades that a stream publishes: of a symbol, or of all. */
export interface TradeSource {
  readonly channel: "trades" | "liquidations";
  /** Null: all symbols. */
  readonly instrument: Instrument | null;
  /** The newest trades that are in memory, at most `limit`, newest first. */
  recent(limit: number): TradeOfSymbol[];
}

/** Public trades, oldest first: the last hundred in the snapshot, then each new one. */
export class TradeStream extends Stream {
  private readonly source: TradeSource;
  private readonly pace: Pace;
  /** Those of a snapshot, printed. */
  private recent: string[];
  /** The body of a snapshot, until the next trade: many clients may come at once. */
  private snapshotBody: string | null = null;
  /** Printed, but not published yet. */
  private pending: string[] = [];
  private pendingSequence = 0;

  constructor(topic: string, source: TradeSource, pace: Pace, publish: Publish) {
    const { channel, instrument } = source;
    const newestFirst = source.recent(SNAPSHOT_TRADES);
    super(topic, headOf(channel, instrument) + pace.field, newestFirst[0]?.trade.sequence ?? 0, publish);
    this.source = source;
    this.pace = pace;
    this.recent = printed(newestFirst);
  }

  /** A new subscriber gets the trades published last, so that it does not speed up the stream for the others. */
  override subscribe(subscriber: Subscriber, resume: number | null): void {
    this.flush();
    const missed = resume === null ? null : this.messagesAfter(resume);
    if (missed !== null) return this.resume(subscriber, missed);
    this.snapshotBody ??= bodyOf(this.recent);
    this.sendSnapshot(subscriber, this.snapshotBody);
  }

  /** `text`: the trade, printed. */
  add(sequence: number, text: string): void {
    this.pending.push(text);
    this.pendingSequence = sequence;
  }

  /** One message with all missed trades. The market keeps trades even without subscribers. */
  protected override messagesAfter(sequence: number): string[] | null {
    if (sequence >= this.sequence) return super.messagesAfter(sequence);
    const isPublished = ({ trade }: TradeOfSymbol): boolean => trade.sequence <= this.sequence;
    const known = this.source.recent(Number.POSITIVE_INFINITY).filter(isPublished);
    const count = known.findIndex(({ trade }) => trade.sequence <= sequence);
    if (count < 0) return null;
    return [this.messageText("UPDATE", this.sequence, sequence, bodyOf(printed(known.slice(0, count))))];
  }

  override flush(): void {
    const { pending, pace } = this;
    if (pending.length === 0 || !pace.take(pending.length >= MOST_WAITING)) return;
    const body = bodyOf(pending);
    this.recent = [...this.recent, ...pending].slice(-SNAPSHOT_TRADES);
    this.snapshotBody = null;
    this.pending = [];
    this.publishUpdate("UPDATE", this.pendingSequence, body);
  }
}

/** Oldest first. */
const printed = (newestFirst: readonly TradeOfSymbol[]): string[] =>
  newestFirst.map(({ instrument, trade }) => publicTradeJson(instrument, trade)).reverse();

const bodyOf = (texts: readonly string[]): string => `"data":[${texts.join(",")}]`;

/** The newest trades of several symbols together, at most `limit`, newest first. `recent`: those of one symbol, likewise. */
export function newestOf<Market extends { readonly instrument: Instrument }>(
  markets: readonly Market[],
  limit: number,
  recent: (market: Market, limit: number) => readonly PublicTrade[],
): TradeOfSymbol[] {
  const heads = markets.map((market) => ({ instrument: market.instrument, trades: recent(market, limit), next: 0 }));
  const merged: TradeOfSymbol[] = [];
  while (merged.length < limit) {
    let newest: (typeof heads)[number] | null = null;
    for (const head of heads) {
      if (head.next === head.trades.length) continue;
      const { sequence } = head.trades[head.next];
      if (newest === null || sequence > newest.trades[newest.next].sequence) newest = head;
    }
    if (newest === null) break;
    merged.push({ instrument: newest.instrument, trade: newest.trades[newest.next++] });
  }
  return merged;
}
