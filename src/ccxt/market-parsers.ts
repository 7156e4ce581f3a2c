import type * as ccxt from "ccxt";
import type * as api from "../client/types.ts";
import { PerpdBase } from "./base.ts";

type Instrument = api.InstrumentList["data"][number];
type FundingInterval = api.FundingList["data"][number];

/** The settlement currency of all markets. */
export const SETTLE = "USDC";
const SETTLE_PRECISION = 1e-6;

/** Parses public data into ccxt's structures. Amounts stay strings until ccxt converts them. */
export class PerpdMarketParsers extends PerpdBase {
  override parseMarket(row: Instrument): ccxt.Market {
    const { baseAsset, quoteAsset } = row;
    const base = this.safeCurrencyCode(baseAsset);
    const quote = this.safeCurrencyCode(quoteAsset);
    return this.safeMarketStructure({
      id: row.symbol,
      symbol: `${base}/${quote}:${quote}`,
      base,
      quote,
      settle: quote,
      baseId: baseAsset,
      quoteId: quoteAsset,
      settleId: quoteAsset,
      type: "swap",
      spot: false,
      margin: false,
      swap: true,
      future: false,
      option: false,
      index: false,
      active: row.status === "TRADING",
      contract: true,
      linear: true,
      inverse: false,
      subType: "linear",
      taker: this.parseNumber(row.takerFeeRate),
      maker: this.parseNumber(row.makerFeeRate),
      contractSize: 1,
      precision: {
        amount: this.parseNumber(row.stepSize),
        price: this.parseNumber(row.tickSize),
        quote: SETTLE_PRECISION,
      },
      limits: {
        leverage: { min: 1, max: row.maxLeverage },
        amount: { min: this.parseNumber(row.minQuantity), max: this.parseNumber(row.maxQuantity) },
        price: { min: this.parseNumber(row.tickSize), max: this.parseNumber(row.maxPrice) },
        cost: { min: this.parseNumber(row.minNotional), max: undefined },
      },
      marginModes: { cross: true, isolated: true },
      info: row,
    });
  }

  override parseMarketLeverageTiers(row: Instrument, market?: ccxt.Market): ccxt.LeverageTier[] {
    return row.riskTiers.map((tier, i) => ({
      tier: i + 1,
      symbol: this.safeSymbol(row.symbol, market),
      currency: SETTLE,
      minNotional: this.parseNumber(row.riskTiers[i - 1]?.maxNotional ?? "0"),
      maxNotional: this.parseNumber(tier.maxNotional),
      maintenanceMarginRate: this.parseNumber(tier.maintenanceMarginRate),
      maxLeverage: tier.maxLeverage,
      info: tier,
    }));
  }

  override parseTicker(row: api.Ticker, given?: ccxt.Market): ccxt.Ticker {
    const market = this.safeMarket(row.symbol, given);
    return this.safeTicker(
      {
        symbol: market.symbol,
        timestamp: row.time,
        datetime: this.iso8601(row.time),
        high: row.highPrice24h,
        low: row.lowPrice24h,
        bid: row.bidPrice,
        bidVolume: row.bidPrice === null ? undefined : row.bidSize,
        ask: row.askPrice,
        askVolume: row.askPrice === null ? undefined : row.askSize,
        open: row.openPrice24h,
        close: row.lastPrice,
        change: row.priceChange24h,
        percentage: row.priceChangePercent24h,
        baseVolume: row.volume24h,
        quoteVolume: row.turnover24h,
        markPrice: row.markPrice,
        indexPrice: row.indexPrice,
        info: row,
      },
      market,
    );
  }

  /** ccxt declares a string but passes a row. */
  override parseFundingRate(given: string | api.Ticker, market?: ccxt.Market): ccxt.FundingRate {
    const row = given as api.Ticker;
    return {
      symbol: this.safeSymbol(row.symbol, market),
      timestamp: row.time,
      datetime: this.iso8601(row.time),
      fundingRate: this.parseNumber(row.fundingRate),
      fundingTimestamp: row.nextFundingTime ?? undefined,
      fundingDatetime: this.iso8601(row.nextFundingTime ?? undefined),
      markPrice: this.parseNumber(row.markPrice ?? undefined),
      indexPrice: this.parseNumber(row.indexPrice ?? undefined),
      interval: `${row.fundingIntervalHours}h`,
      info: row,
    } as ccxt.FundingRate;
  }

  override parseFundingRateHistory(row: FundingInterval, given?: ccxt.Market): ccxt.FundingRateHistory {
    return {
      symbol: this.safeSymbol(row.symbol, given),
      timestamp: row.fundingTime,
      datetime: this.iso8601(row.fundingTime),
      fundingRate: this.parseNumber(row.fundingRate),
      info: row,
    };
  }

  override parseOpenInterest(row: api.OpenInterest, given?: ccxt.Market): ccxt.OpenInterest {
    return this.safeOpenInterest(
      {
        symbol: this.safeSymbol(row.symbol, given),
        openInterestAmount: row.openInterest,
        openInterestValue: row.notional,
        timestamp: row.time,
        datetime: this.iso8601(row.time),
        info: row,
      },
      given,
    );
  }

  override parseOHLCV(row: api.Kline): ccxt.OHLCV {
    return [
      row.openTime,
      this.parseNumber(row.open),
      this.parseNumber(row.high),
      this.parseNumber(row.low),
      this.parseNumber(row.close),
      this.parseNumber(row.volume),
    ];
  }

  override parseLastPrice(row: api.Ticker, market?: ccxt.Market): ccxt.LastPrice {
    return {
      symbol: this.safeSymbol(row.symbol, market),
      timestamp: row.time,
      datetime: this.iso8601(row.time),
      price: this.parseNumber(row.lastPrice ?? undefined),
      side: undefined,
      info: row,
    } as ccxt.LastPrice;
  }

  override parseLiquidation(row: api.PublicTrade | api.Fill, given?: ccxt.Market): ccxt.Liquidation {
    const market = this.safeMarket(row.symbol, given);
    return this.safeLiquidation(
      {
        symbol: market.symbol,
        contracts: row.quantity,
        price: row.price,
        side: row.side.toLowerCase(),
        timestamp: row.time,
        datetime: this.iso8601(row.time),
        info: row,
      } as ccxt.Dict,
      market,
    );
  }
}
