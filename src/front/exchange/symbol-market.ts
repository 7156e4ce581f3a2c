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
import {
  openInterestChange,
  openInterestChangeOfTransfer,
  type PublicTrade,
  Ring,
  toPublicTrade,
  toPublicTransfer,
} from "../../core/market-data/public-trades.ts";
import { Ticker24h } from "../../core/market-data/ticker.ts";
import { statusOf } from "../../core/pricing/halt.ts";
import {
  FundingSettled,
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
import { bookChecksum, LevelPrinter, type LevelText, levelsJson, priceJson } from "../json/market-json.ts";

export const RECENT_TRADES = 1000;
export const RECENT_LIQUIDATIONS = 100;

const MINUTE_MS = 60_000;

/** What a symbol's events up to now have left in the history, oldest first. */
export interface SymbolPast {
  /** Of the last 24 hours. */
  minuteCandles: Iterable<Readonly<Candle>>;
  /** The last 1000. */
  trades: readonly PublicTrade[];
  /** The last 100. */
  liquidations: readonly PublicTrade[];
  /** Of the interval of funding that ended last. */
  fundingRates: Iterable<FundingRateRecord>;
}

/** What everyone may know of one symbol, folded from its events, with the answers that are asked for most kept printed. */
export class SymbolMarket {
  readonly instrument: Instrument;
  /** The last turn that changed anything here. */
  sequence = 0;
  /** The last turn that changed the book. */
  bookSequence = 0;
  bookTime: TimeMs = 0;
  /** Of the last change of index and mark price since the start; 0 = none. */
  priceSequence = 0;
  /** Prices are 0 while there is none. */
  indexTicks: PriceTicks = 0;
  markTicks: PriceTicks = 0;
  lastTicks: PriceTicks = 0;
  openInterestLots: QuantityLots = 0;
  haltMode = 0;
  haltReason = 0;
  isIndexStale = false;
  /** What the self-check found when it halted the symbol; "" = nothing. */
  private fault = "";
  /** What funding would be if the interval ended now. */
  fundingRatePpb = 0;
  /** 0 before the first price. */
  nextFundingTime: TimeMs = 0;
  private readonly depth: Depth;
  private readonly printLevel: (tick: PriceTicks, lots: QuantityLots) => LevelText;
  private readonly trades = new Ring<PublicTrade>(RECENT_TRADES);
  private readonly liquidations = new Ring<PublicTrade>(RECENT_LIQUIDATIONS);
  /** Of the interval that ended last, and of the one before: what some owe for that they pay in the turn that ends another. */
  private readonly fundingRates = new Ring<FundingRateRecord>(2);
  private readonly day = new Ticker24h();
  private updatedAt: TimeMs = 0;

  private ticker: Buffer | null = null;
  /** The rolling day and the next funding time move with the minute, also when nothing happens. */
  private tickerMinute = 0;
  private readonly books = new Map<number, Buffer>();

  constructor(instrument: Instrument) {
    this.instrument = instrument;
    this.depth = new Depth(instrument.maxPriceTicks);
    const printer = new LevelPrinter(instrument);
    this.printLevel = (tick, lots) => printer.print(tick, lots);
  }

  /** What the symbol lets happen, and why not everything; see core/halt.ts. */
  get status(): { status: TradingStatus; statusReason: string | null } {
    const { mode, reason } = statusOf(this);
    return { status: TRADING_STATUSES[mode], statusReason: HALT_REASONS[reason] };
  }

  /** Why the self-check halted the symbol: nothing, or one line. */
  get faults(): string[] {
    if (this.fault !== "") return [`${this.instrument.symbol}: ${this.fault}`];
    return this.haltReason === HALT_REASON.SELF_CHECK ? [`${this.instrument.symbol}: stopped for the ledger`] : [];
  }

  /** The state to fold from, as of `sequence`, and what was before it. */
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
    this.nextFundingTime = state.nextFundingTime;
    this.haltMode = state.haltMode;
    this.haltReason = state.haltReason;
    this.isIndexStale = state.isIndexStale;
    this.fault = state.fault;
    this.updatedAt = time;
    for (const trade of past.trades) this.trades.push(trade);
    for (const liquidation of past.liquidations) this.liquidations.push(liquidation);
    for (const rate of past.fundingRates) this.fundingRates.push(rate);
    this.day.prime(past.minuteCandles);
    this.ticker = null;
    this.books.clear();
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
      this.indexTicks = event.indexTicks;
      this.markTicks = event.markTicks;
      this.fundingRatePpb = event.fundingRatePpb;
      this.nextFundingTime = event.nextFundingTime;
      this.isIndexStale = false;
    } else if (event.type === FundingSettled.code) {
      // Of the interval that has begun there is no sample yet.
      this.fundingRatePpb = fundingRatePpb(this.instrument, 0, 0);
      this.nextFundingTime = event.nextFundingTime;
      this.fundingRates.push(settledRate(event));
    } else if (event.type === TradingHalted.code) {
      this.haltMode = event.mode;
      this.haltReason = event.mode === MODE_TRADING ? 0 : event.reason;
      if (event.mode === MODE_TRADING) this.fault = "";
    } else if (event.type === SelfCheckFailed.code) {
      this.fault = event.fault;
    } else if (event.type === IndexWentStale.code) this.isIndexStale = true;
    this.sequence = sequence;
    this.updatedAt = time;
    this.ticker = null;
  }

  /** At most `limit` of the last 1000, newest first. */
  recentTrades(limit: number): PublicTrade[] {
    return this.trades.newest(limit);
  }

  /** The latest page of them, where the market remembers so many; or null. */
  latestTrades(limit: number): Page<PublicTrade> | null {
    return latestPage(this.trades, limit);
  }

  latestLiquidations(limit: number): Page<PublicTrade> | null {
    return latestPage(this.liquidations, limit);
  }

  /** At most `limit` of the last 100: liquidations in the book, and positions that were handed over. Newest first. */
  recentLiquidations(limit: number): PublicTrade[] {
    return this.liquidations.newest(limit);
  }

  /** What a payment that this turn has brought follows from. */
  fundingRateAt(fundingTime: TimeMs): FundingRateRecord {
    const rates = this.fundingRates.newest(2);
    return must(
      rates.find((rate) => rate.fundingTime === fundingTime),
      "the rate of a payment",
    );
  }

  /** The best `depth` levels of a side as printed, best first. */
  levels(side: Side, depth: number): LevelText[] {
    return this.depth.levels(side, depth, this.printLevel);
  }

  /** The best `depth` levels (1 to 1000) of each side, as JSON text in UTF-8. It is kept, so it is not to be written to. */
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

  private printTicker(now: TimeMs): string {
    const { instrument, day } = this;
    const [bid] = this.levels(BUY, 1);
    const [ask] = this.levels(SELL, 1);
    // Without a trade in the window the price has stood still since the last one.
    const openTicks = day.openTicks || this.lastTicks;
    const changeTicks = this.lastTicks - openTicks;
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
      `"priceChange24h":"${printPrice(instrument, changeTicks)}",` +
      `"priceChangePercent24h":"${printRatio(changeTicks * 100, openTicks, 4)}",` +
      `"volume24h":"${printQuantity(instrument, day.volumeLots)}","turnover24h":"${printBigQuanta(day.turnoverQuanta)}",` +
      `"openInterest":"${printQuantity(instrument, this.openInterestLots)}",` +
      `"fundingRate":"${printFixed(this.fundingRatePpb, PPB_DECIMALS)}",` +
      `"nextFundingTime":${Math.max(this.nextFundingTime, nextFundingTime(now, instrument.fundingIntervalMs))},` +
      `"fundingIntervalHours":${instrument.config.fundingIntervalHours},"time":${this.updatedAt}}`
    );
  }
}

function latestPage(trades: Ring<PublicTrade>, limit: number): Page<PublicTrade> | null {
  const data = trades.newest(limit + 1);
  if (data.length > limit) return { nextCursor: tradeCursor(data.pop() as PublicTrade), data };
  return trades.isWhole ? { data, nextCursor: null } : null;
}
