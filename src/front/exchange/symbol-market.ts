import { must } from "../../assert.ts";
import {
  BUY,
  EXEC_LIQUIDATION,
  HALT_REASON,
  HALT_REASONS,
  MODE_TRADING,
  SELL,
  type Side,
  TRADING_STATUSES,
  type TradingStatus,
} from "../../core/base/enums.ts";
import {
  PPB_DECIMALS,
  type PriceTicks,
  printBigQuanta,
  printFixed,
  printRatio,
  type QuantityLots,
  type TimeMs,
} from "../../core/base/units.ts";
import { fundingRatePpb, nextFundingTime } from "../../core/formulas/funding.ts";
import type { Candle } from "../../core/market-data/candles.ts";
import { Depth } from "../../core/market-data/depth.ts";
import { IndexRange } from "../../core/market-data/index-range.ts";
import { openInterestChange, openInterestChangeOfTransfer } from "../../core/market-data/open-interest.ts";
import { type PublicTrade, toPublicTrade, toPublicTransfer } from "../../core/market-data/public-trades.ts";
import { RecentBuffer } from "../../core/market-data/recent-buffer.ts";
import { type Close, SPARKLINE_INTERVAL, Sparkline, sparklineStart } from "../../core/market-data/sparkline.ts";
import { Ticker24h, type TradedMinute } from "../../core/market-data/ticker.ts";
import { statusOf } from "../../core/pricing/halt.ts";
import {
  FundingSettled,
  IndexJumpHeld,
  IndexWentStale,
  PositionTransferred,
  PriceUpdated,
  SelfCheckFailed,
  type SymbolEvent,
  Traded,
  TradingHalted,
} from "../../core/protocol/events.ts";
import { type Instrument, printPrice, printQuantity } from "../../core/protocol/instrument.ts";
import type { SymbolSummary } from "../../core/protocol/payloads.ts";
import type { FundingRateRecord } from "../../store/database/history-schema.ts";
import { type Page, tradeCursor } from "../../store/database/pages.ts";
import { settledRate } from "../../store/history/funding-records.ts";
import { descriptionJson } from "../json/instrument-json.ts";
import { bookChecksum, LevelPrinter, type LevelText, levelsJson, priceJson } from "../json/market-json.ts";

export const RECENT_TRADES = 1000;
export const RECENT_LIQUIDATIONS = 100;

const MINUTE_MS = 60_000;
/** How soon another index price may come. */
const NEXT_PRICE_MS = 1000;

/** A symbol's past from the history, oldest first. */
export interface SymbolPast {
  /** Candles of the last 24 hours. */
  minuteCandles: readonly Readonly<Candle>[];
  /** The last RECENT_TRADES. */
  trades: readonly PublicTrade[];
  /** The last RECENT_LIQUIDATIONS. */
  liquidations: readonly PublicTrade[];
  /** The rate of the last funding interval that ended. */
  fundingRates: Iterable<FundingRateRecord>;
}

/** Everything that a SymbolMarket holds, as plain data. */
export interface SymbolState {
  readonly summary: SymbolSummary;
  readonly sequence: number;
  readonly bookSequence: number;
  readonly bookTime: TimeMs;
  readonly priceSequence: number;
  readonly updatedAt: TimeMs;
  /** Oldest first, as all lists here. */
  readonly trades: readonly PublicTrade[];
  readonly liquidations: readonly PublicTrade[];
  readonly fundingRates: readonly FundingRateRecord[];
  readonly minutes: readonly TradedMinute[];
  readonly closes: readonly Close[];
}

/** The public data of one symbol, folded from its events. It caches the most frequent answers as JSON text. */
export class SymbolMarket {
  readonly instrument: Instrument;
  /** The instrument's constant fields as JSON text. */
  readonly description: string;
  /** The last transaction that changed anything here. */
  sequence = 0;
  /** The last transaction that changed the book. */
  bookSequence = 0;
  bookTime: TimeMs = 0;
  /** The last transaction that changed index and mark price. 0: none since the start. */
  priceSequence = 0;
  // Prices; 0 while there is none.
  indexTicks: PriceTicks = 0;
  markTicks: PriceTicks = 0;
  lastTicks: PriceTicks = 0;
  openInterestLots: QuantityLots = 0;
  /** When the index price came; 0 = there is none. */
  priceTime: TimeMs = 0;
  readonly indexRange = new IndexRange();
  haltMode = 0;
  haltReason = 0;
  /** When the halt ends by itself. 0: it does not. */
  haltUntil: TimeMs = 0;
  isIndexStale = false;
  /** The index price that jumped and waits for confirmation. */
  pendingIndexTicks: PriceTicks = 0;
  /** The fault for which the self-check halted the symbol. "": none. */
  private fault = "";
  /** The funding rate if the interval ended now. */
  fundingRatePpb = 0;
  /** 0 before the first price. */
  nextFundingTime: TimeMs = 0;
  private readonly depth: Depth;
  private readonly printLevel: (tick: PriceTicks, lots: QuantityLots) => LevelText;
  private readonly trades = new RecentBuffer<PublicTrade>(RECENT_TRADES);
  private readonly liquidations = new RecentBuffer<PublicTrade>(RECENT_LIQUIDATIONS);
  /** Of the last two intervals: payments for the earlier one may come in the transaction that ends the later one. */
  private readonly fundingRates = new RecentBuffer<FundingRateRecord>(2);
  private readonly day = new Ticker24h();
  private readonly sparkline = new Sparkline();
  private updatedAt: TimeMs = 0;

  private ticker: Buffer | null = null;
  private markPrice: Buffer | null = null;
  /** The minute of the cached ticker: the rolling 24 hours and the next funding time change without an event. */
  private tickerMinute = 0;
  private readonly books = new Map<number, Buffer>();

  constructor(instrument: Instrument) {
    this.instrument = instrument;
    this.description = descriptionJson(instrument);
    this.depth = new Depth(instrument.maxPriceTicks);
    const printer = new LevelPrinter(instrument);
    this.printLevel = (tick, lots) => printer.print(tick, lots);
  }

  /** The trading status and its reason: see core/pricing/halt.ts. */
  get status(): { status: TradingStatus; statusReason: string | null } {
    const { mode, reason } = statusOf(this);
    return { status: TRADING_STATUSES[mode], statusReason: HALT_REASONS[reason] };
  }

  /**
   * When a request that the status refuses may pass, in ms from `now`. Null: an operator decides. A price that is stale or
   * pending may end with each index price.
   */
  retryAfterMs(now: TimeMs): number | null {
    if (this.haltMode === MODE_TRADING) return NEXT_PRICE_MS;
    return this.haltUntil === 0 ? null : Math.max(1, this.haltUntil - now);
  }

  /** The faults for which the self-check halted the symbol: none or one line. */
  get faults(): string[] {
    if (this.fault !== "") return [`${this.instrument.symbol}: ${this.fault}`];
    return this.haltReason === HALT_REASON.SELF_CHECK ? [`${this.instrument.symbol}: stopped for the ledger`] : [];
  }

  /** Sets the state as of `sequence`, and the past before it. Later events are applied to it. */
  prime(state: SymbolSummary, sequence: number, time: TimeMs, past: SymbolPast): void {
    this.depth.reset(state.bids, state.asks);
    this.sequence = sequence;
    this.bookSequence = sequence;
    this.bookTime = time;
    this.indexTicks = state.indexTicks;
    this.markTicks = state.markTicks;
    this.lastTicks = state.lastTicks;
    this.openInterestLots = state.openInterestLots;
    this.fundingRatePpb = state.fundingRatePpb;
    this.markPrice = null;
    this.nextFundingTime = state.nextFundingTime;
    this.haltMode = state.haltMode;
    this.haltReason = state.haltReason;
    this.haltUntil = state.haltUntil;
    this.priceTime = state.priceTime;
    this.indexRange.load(state.indexRange);
    this.isIndexStale = state.isIndexStale;
    this.pendingIndexTicks = state.pendingIndexTicks;
    this.fault = state.fault;
    this.updatedAt = time;
    for (const trade of past.trades) this.trades.push(trade);
    for (const liquidation of past.liquidations) this.liquidations.push(liquidation);
    for (const rate of past.fundingRates) this.fundingRates.push(rate);
    this.day.prime(past.minuteCandles);
    this.sparkline.prime(past.minuteCandles);
    this.ticker = null;
    this.books.clear();
  }

  /** The present state, for restore() in another process. */
  capture(): SymbolState {
    const { sequence, bookSequence, bookTime, priceSequence, updatedAt } = this;
    const all = Number.POSITIVE_INFINITY;
    return {
      ...{ sequence, bookSequence, bookTime, priceSequence, updatedAt, summary: this.summary() },
      trades: this.trades.newest(all).reverse(),
      liquidations: this.liquidations.newest(all).reverse(),
      fundingRates: this.fundingRates.newest(all).reverse(),
      minutes: this.day.minutes(),
      closes: this.sparkline.traded(),
    };
  }

  /** Sets a state that capture() has returned. Later events are applied to it. Call it before anything else. */
  restore(state: SymbolState): void {
    const { summary, sequence, updatedAt, trades, liquidations, fundingRates } = state;
    this.prime(summary, sequence, updatedAt, { minuteCandles: [], trades, liquidations, fundingRates });
    this.bookSequence = state.bookSequence;
    this.bookTime = state.bookTime;
    this.priceSequence = state.priceSequence;
    this.day.prime(state.minutes);
    this.sparkline.prime(state.closes);
  }

  private summary(): SymbolSummary {
    const { indexTicks, markTicks, lastTicks, openInterestLots, priceTime, fundingRatePpb, nextFundingTime } = this;
    const { haltMode, haltReason, haltUntil, fault, isIndexStale, pendingIndexTicks } = this;
    const levels = (side: Side) => this.depth.levels(side, Number.POSITIVE_INFINITY, levelOf);
    return {
      ...{ next: null, indexTicks, markTicks, lastTicks, openInterestLots, priceTime, fundingRatePpb, nextFundingTime },
      ...{ haltMode, haltReason, haltUntil, fault, isIndexStale, pendingIndexTicks },
      indexRange: this.indexRange.figures,
      bids: levels(BUY),
      asks: levels(SELL),
    };
  }

  apply(event: SymbolEvent, sequence: number, time: TimeMs): void {
    if (this.depth.apply(event)) {
      this.bookSequence = sequence;
      this.bookTime = time;
      this.books.clear();
    }
    if (event.type === Traded.code) {
      const quanta = event.priceTicks * event.quantityLots * this.instrument.quantaPerTickLot;
      this.day.trade(time, event.priceTicks, event.quantityLots, quanta);
      this.sparkline.trade(time, event.priceTicks);
      const trade = toPublicTrade(event, time, sequence);
      this.trades.push(trade);
      if (event.execType === EXEC_LIQUIDATION) this.liquidations.push(trade);
      this.lastTicks = event.priceTicks;
      this.openInterestLots += openInterestChange(event);
    } else if (event.type === PositionTransferred.code) {
      this.liquidations.push(toPublicTransfer(event, time, sequence));
      this.openInterestLots += openInterestChangeOfTransfer(event);
    } else if (event.type === PriceUpdated.code) {
      this.priceSequence = sequence;
      this.priceTime = time;
      this.indexRange.note(this.indexTicks, event.indexTicks, time);
      this.indexTicks = event.indexTicks;
      this.markTicks = event.markTicks;
      this.fundingRatePpb = event.fundingRatePpb;
      this.nextFundingTime = event.nextFundingTime;
      this.isIndexStale = false;
      this.pendingIndexTicks = 0;
      this.markPrice = null;
    } else if (event.type === FundingSettled.code) {
      // The new interval has no sample yet.
      this.fundingRatePpb = fundingRatePpb(this.instrument, 0);
      this.nextFundingTime = event.nextFundingTime;
      this.fundingRates.push(settledRate(event));
      this.markPrice = null;
    } else if (event.type === TradingHalted.code) {
      this.haltMode = event.mode;
      this.haltReason = event.mode === MODE_TRADING ? 0 : event.reason;
      this.haltUntil = event.until;
      if (event.mode === MODE_TRADING) this.fault = "";
    } else if (event.type === SelfCheckFailed.code) {
      this.fault = event.fault;
    } else if (event.type === IndexJumpHeld.code) this.pendingIndexTicks = event.indexTicks;
    else if (event.type === IndexWentStale.code) {
      this.isIndexStale = true;
      this.pendingIndexTicks = 0;
    }
    this.sequence = sequence;
    this.updatedAt = time;
    this.ticker = null;
  }

  /** At most `limit` of the last 1000, newest first. */
  recentTrades(limit: number): PublicTrade[] {
    return this.trades.newest(limit);
  }

  /** The latest page of trades, or null when more rows are asked for than are in memory. */
  latestTrades(limit: number): Page<PublicTrade> | null {
    return latestPage(this.trades, limit);
  }

  latestLiquidations(limit: number): Page<PublicTrade> | null {
    return latestPage(this.liquidations, limit);
  }

  /** At most `limit` of the last 100 liquidations in the book and transferred positions, newest first. */
  recentLiquidations(limit: number): PublicTrade[] {
    return this.liquidations.newest(limit);
  }

  /** The rate of a funding payment in the present transaction. */
  fundingRateAt(fundingTime: TimeMs): FundingRateRecord {
    const rates = this.fundingRates.newest(2);
    return must(
      rates.find((rate) => rate.fundingTime === fundingTime),
      "the rate of a payment",
    );
  }

  /** The best `depth` levels of a side, printed, best first. */
  levels(side: Side, depth: number): LevelText[] {
    return this.depth.levels(side, depth, this.printLevel);
  }

  /** Whether orderBookJson() is cheap: the book has not changed since it was last printed. */
  hasOrderBookJson(depth: number): boolean {
    return this.books.has(depth);
  }

  /** The best `depth` levels (1 to 1000) of each side as JSON text in UTF-8. It is cached, so it must not be changed. */
  orderBookJson(depth: number): Buffer {
    let book = this.books.get(depth);
    if (book === undefined) {
      const bids = this.levels(BUY, depth);
      const asks = this.levels(SELL, depth);
      book = Buffer.from(
        `{"symbol":"${this.instrument.symbol}","sequence":${this.bookSequence},"time":${this.bookTime},` +
          `"checksum":${bookChecksum(bids, asks)},"bids":${levelsJson(bids)},"asks":${levelsJson(asks)}}`,
      );
      this.books.set(depth, book);
    }
    return book;
  }

  tickerJson(now: TimeMs): Buffer {
    const minute = Math.floor(now / MINUTE_MS);
    if (this.ticker === null || minute !== this.tickerMinute) {
      this.day.advance(now);
      this.ticker = Buffer.from(this.printTicker(now));
      this.tickerMinute = minute;
    }
    return this.ticker;
  }

  /** Mark price, index price and funding as JSON text in UTF-8. It is cached, so it must not be changed. */
  markPriceJson(now: TimeMs): Buffer {
    if (this.markPrice === null || now >= this.nextFundingTime) {
      const { instrument, markTicks, indexTicks, priceTime } = this;
      this.markPrice = Buffer.from(
        `{"symbol":"${instrument.symbol}","markPrice":${priceJson(instrument, markTicks)},` +
          `"indexPrice":${priceJson(instrument, indexTicks)},${this.fundingFields(now)},` +
          `"time":${priceTime === 0 ? "null" : priceTime}}`,
      );
    }
    return this.markPrice;
  }

  private fundingFields(now: TimeMs): string {
    const next = Math.max(this.nextFundingTime, nextFundingTime(now, this.instrument.fundingIntervalMs));
    return `"fundingRate":"${printFixed(this.fundingRatePpb, PPB_DECIMALS)}","nextFundingTime":${next}`;
  }

  /** The closing prices of a day as JSON text. Not cached. */
  sparklineJson(now: TimeMs): string {
    const { instrument, lastTicks } = this;
    this.day.advance(now);
    const openTicks = this.day.openTicks || lastTicks;
    const prices = lastTicks === 0 ? [] : this.sparkline.prices(now, openTicks);
    const texts = prices.map((ticks) => `"${printPrice(instrument, ticks)}"`);
    return (
      `{"symbol":"${instrument.symbol}","interval":"${SPARKLINE_INTERVAL}","startTime":${sparklineStart(now)},` +
      `"lastPrice":${priceJson(instrument, lastTicks)},${this.changeFields(openTicks)},"prices":[${texts}]}`
    );
  }

  private changeFields(openTicks: PriceTicks): string {
    const changeTicks = this.lastTicks - openTicks;
    return (
      `"priceChange24h":"${printPrice(this.instrument, changeTicks)}",` +
      `"priceChangePercent24h":"${printRatio(changeTicks * 100, openTicks, 4)}"`
    );
  }

  private printTicker(now: TimeMs): string {
    const { instrument, day } = this;
    const [bid] = this.levels(BUY, 1);
    const [ask] = this.levels(SELL, 1);
    // Without a trade in the window, the price is that of the last trade.
    const openTicks = day.openTicks || this.lastTicks;
    const { status, statusReason } = this.status;
    const price = (ticks: PriceTicks): string => priceJson(instrument, ticks);
    return (
      `{"symbol":"${instrument.symbol}","status":"${status}",` +
      `"statusReason":${statusReason === null ? "null" : `"${statusReason}"`},` +
      `"lastPrice":${price(this.lastTicks)},"markPrice":${price(this.markTicks)},"indexPrice":${price(this.indexTicks)},` +
      `"bidPrice":${bid ? `"${bid.price}"` : "null"},"bidSize":"${bid?.quantity ?? "0"}",` +
      `"askPrice":${ask ? `"${ask.price}"` : "null"},"askSize":"${ask?.quantity ?? "0"}",` +
      `"openPrice24h":${price(openTicks)},"highPrice24h":${price(day.highTicks || this.lastTicks)},` +
      `"lowPrice24h":${price(day.lowTicks || this.lastTicks)},` +
      `${this.changeFields(openTicks)},"volume24h":"${printQuantity(instrument, day.volumeLots)}","turnover24h":"${printBigQuanta(day.turnoverQuanta)}",` +
      `"openInterest":"${printQuantity(instrument, this.openInterestLots)}",` +
      `${this.fundingFields(now)},"fundingIntervalHours":${instrument.config.fundingIntervalHours},"time":${this.updatedAt}}`
    );
  }
}

const levelOf = (tick: PriceTicks, lots: QuantityLots): [number, number] => [tick, lots];

function latestPage(trades: RecentBuffer<PublicTrade>, limit: number): Page<PublicTrade> | null {
  const data = trades.newest(limit + 1);
  if (data.length > limit) return { nextCursor: tradeCursor(data.pop() as PublicTrade), data };
  return trades.isWhole ? { data, nextCursor: null } : null;
}
