import type { Road } from "../actor/road.ts";
import { type Interval, openTimeOf } from "../core/candles.ts";
import type { TimeMs } from "../core/units.ts";
import type { History } from "../store/history.ts";
import { klineJson, readKlines } from "./klines.ts";
import { type Member, type Publish, Stream } from "./stream.ts";
import type { SymbolMarket } from "./symbol-market.ts";

const UPDATE_MS = 250;

/**
 * A symbol's current candle: in a snapshot, and again at most every 250 ms after trades. When its interval is over, the
 * candle as it closed comes with the one that follows. Candles are read where REST reads them.
 */
export class KlineStream extends Stream {
  private readonly market: SymbolMarket;
  private readonly interval: Interval;
  private readonly history: Pick<History, "candles">;
  private readonly road: Road;
  private readonly now: () => TimeMs;
  /** The current candle as last shown; time 0 before the symbol's first trade. */
  private openTime: TimeMs = 0;
  private text = "";
  private readAt: TimeMs = 0;
  /** The last trade when the history was last asked. */
  private tradeId = 0;

  constructor(
    topic: string,
    market: SymbolMarket,
    interval: Interval,
    history: Pick<History, "candles">,
    road: Road,
    publish: Publish,
    now: () => TimeMs,
  ) {
    const head = `"channel":"klines","symbol":"${market.instrument.symbol}","interval":"${interval}"`;
    super(topic, head, road.releasedSequence(), publish);
    this.market = market;
    this.interval = interval;
    this.history = history;
    this.road = road;
    this.now = now;
  }

  override join(member: Member): void {
    this.members.add(member);
    this.read(() => {
      if (this.members.has(member)) this.admit(member, `"data":[${this.text}]`);
    });
  }

  override flush(): void {
    const now = this.now();
    if (now - this.readAt < UPDATE_MS) return;
    const isOver = this.openTime !== 0 && openTimeOf(this.interval, this.exchangeTime()) > this.openTime;
    if (isOver || this.lastTradeId() !== this.tradeId) this.read(() => {});
  }

  /** Trades may be ahead of the machine's clock, if that was set back. */
  private exchangeTime(): TimeMs {
    return Math.max(this.now(), this.market.updatedAt);
  }

  private lastTradeId(): number {
    return this.market.recentTrades(1)[0]?.tradeId ?? 0;
  }

  private read(then: () => void): void {
    this.readAt = this.now();
    this.tradeId = this.lastTradeId();
    const sequence = this.road.releasedSequence();
    this.road.historyCaughtUp().then(() => {
      if (this.isEmpty) return;
      this.show(sequence);
      then();
    });
  }

  /** The history holds at least all that was released through this sequence. */
  private show(sequence: number): void {
    const { interval, market, openTime } = this;
    const now = this.exchangeTime();
    const latest = { interval, limit: 2, startTime: undefined, endTime: undefined };
    const { candles } = readKlines(this.history, market.instrument.id, latest, now);
    const changed: string[] = [];
    for (const candle of candles) {
      if (candle.openTime < openTime) continue;
      const text = klineJson(market.instrument, interval, candle, now);
      if (candle.openTime === openTime && text === this.text) continue;
      this.openTime = candle.openTime;
      this.text = text;
      // Of two candles that nobody was shown before, the current one is enough.
      if (openTime !== 0 || candle === candles.at(-1)) changed.push(text);
    }
    if (changed.length > 0) this.update("UPDATE", Math.max(sequence, this.sequence), `"data":[${changed.join(",")}]`);
  }
}
