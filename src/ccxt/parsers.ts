import {
  type Currency,
  type Dict,
  type FundingHistory,
  type FundingRate,
  type FundingRateHistory,
  type LeverageTier,
  type Market,
  type OHLCV,
  type OpenInterest,
  type Order,
  type Position,
  Precise,
  type Ticker,
  type Trade,
  type Transaction,
} from "ccxt";
import type * as api from "../client/types.ts";
import { PerpdBase } from "./base.ts";

type Instrument = api.InstrumentList["data"][number];
type FundingInterval = api.FundingList["data"][number];
type FundingPayment = api.FundingPaymentList["data"][number];

/** Everything settles in it. */
export const SETTLE = "USDC";

const ORDER_STATUS: Readonly<Record<string, string>> = {
  UNTRIGGERED: "open",
  NEW: "open",
  PARTIALLY_FILLED: "open",
  FILLED: "closed",
  CANCELED: "canceled",
  EXPIRED: "expired",
  REJECTED: "rejected",
};
const TRANSFER_STATUS: Readonly<Record<string, string>> = {
  PENDING: "pending",
  SENT: "pending",
  COMPLETED: "ok",
  FAILED: "failed",
};

/** The exchange's rows as ccxt's structures. Sums stay strings until ccxt makes them numbers. */
export class PerpdParsers extends PerpdBase {
  override parseMarket(row: Instrument): Market {
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
      precision: { amount: this.parseNumber(row.stepSize), price: this.parseNumber(row.tickSize) },
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

  override parseMarketLeverageTiers(row: Instrument, market?: Market): LeverageTier[] {
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

  override parseTicker(row: api.Ticker, given?: Market): Ticker {
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

  /** ccxt declares a text, and gives a row. */
  override parseFundingRate(given: string | api.Ticker, market?: Market): FundingRate {
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
    } as FundingRate;
  }

  override parseFundingRateHistory(row: FundingInterval, given?: Market): FundingRateHistory {
    return {
      symbol: this.safeSymbol(row.symbol, given),
      timestamp: row.fundingTime,
      datetime: this.iso8601(row.fundingTime),
      fundingRate: this.parseNumber(row.fundingRate),
      info: row,
    };
  }

  override parseIncome(row: FundingPayment, given?: Market): FundingHistory {
    return {
      // A position pays once for an interval.
      id: `${row.symbol}:${row.fundingTime}`,
      symbol: this.safeSymbol(row.symbol, given),
      code: SETTLE,
      timestamp: row.time,
      datetime: this.iso8601(row.time),
      amount: this.parseNumber(row.amount),
      info: row,
    } as FundingHistory;
  }

  override parseOpenInterest(row: api.OpenInterest, given?: Market): OpenInterest {
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

  override parseOHLCV(row: api.Kline): OHLCV {
    return [
      row.openTime,
      this.parseNumber(row.open),
      this.parseNumber(row.high),
      this.parseNumber(row.low),
      this.parseNumber(row.close),
      this.parseNumber(row.volume),
    ];
  }

  /** A public trade, or the account's own side of one. */
  override parseTrade(row: api.PublicTrade | api.Fill, given?: Market): Trade {
    const market = this.safeMarket(row.symbol, given);
    const own = "liquidity" in row ? row : undefined;
    return this.safeTrade(
      {
        id: row.tradeId,
        timestamp: row.time,
        datetime: this.iso8601(row.time),
        symbol: market.symbol,
        order: own?.orderId ?? undefined,
        type: undefined,
        side: row.side.toLowerCase(),
        // What everyone sees is told from the taker's side.
        takerOrMaker: own === undefined ? "taker" : own.liquidity.toLowerCase(),
        price: row.price,
        amount: row.quantity,
        cost: own?.quoteQuantity,
        fee: own === undefined ? undefined : { currency: own.feeAsset, cost: own.fee, rate: own.feeRate },
        info: row,
      },
      market,
    );
  }

  /** `remaining` is what was left of the amount, also of an order that ended early. */
  override parseOrder(row: api.Order | api.PlacedOrder, given?: Market): Order {
    const market = this.safeMarket(row.symbol, given);
    const fills = "fills" in row ? row.fills : undefined;
    return this.safeOrder(
      {
        id: row.orderId,
        clientOrderId: row.clientOrderId ?? undefined,
        timestamp: row.createdAt,
        datetime: this.iso8601(row.createdAt),
        lastUpdateTimestamp: row.updatedAt,
        symbol: market.symbol,
        // What it is once it has waited.
        type: row.type.endsWith("MARKET") ? "market" : "limit",
        timeInForce: row.postOnly ? "PO" : row.timeInForce,
        postOnly: row.postOnly,
        reduceOnly: row.reduceOnly,
        side: row.side.toLowerCase(),
        price: row.price,
        amount: row.quantity,
        filled: row.filledQuantity,
        average: row.avgPrice,
        cost: row.avgPrice === null ? "0" : Precise.stringMul(row.avgPrice, row.filledQuantity),
        status: ORDER_STATUS[row.status],
        triggerPrice: row.triggerPrice,
        ...(row.type.startsWith("STOP") && row.reduceOnly && { stopLossPrice: row.triggerPrice }),
        ...(row.type.startsWith("TAKE_PROFIT") && row.reduceOnly && { takeProfitPrice: row.triggerPrice }),
        fee: { currency: SETTLE, cost: this.parseNumber(row.fee) },
        ...(fills !== undefined && { trades: fills }),
        info: row,
      },
      market,
    );
  }

  override parsePosition(row: api.Position, given?: Market): Position {
    const market = this.safeMarket(row.symbol, given);
    const { notional } = row;
    // A cross position has no collateral of its own; an isolated one's holds its unrealised profit already.
    const collateral = row.isolatedMargin ?? undefined;
    const ofNotional = (amount: string) =>
      Precise.stringEq(notional, "0") ? undefined : this.parseNumber(Precise.stringDiv(amount, notional, 8));
    return this.safePosition({
      id: undefined,
      symbol: market.symbol,
      timestamp: row.updatedAt ?? undefined,
      datetime: this.iso8601(row.updatedAt ?? undefined),
      lastUpdateTimestamp: row.updatedAt ?? undefined,
      side: row.side?.toLowerCase(),
      hedged: false,
      marginMode: row.marginMode.toLowerCase(),
      contracts: this.parseNumber(row.size),
      contractSize: this.safeNumber(market, "contractSize"),
      entryPrice: this.parseNumber(row.entryPrice ?? undefined),
      markPrice: this.parseNumber(row.markPrice ?? undefined),
      lastPrice: undefined,
      notional: this.parseNumber(notional),
      leverage: row.leverage,
      collateral: this.parseNumber(collateral),
      initialMargin: this.parseNumber(row.initialMargin),
      initialMarginPercentage: ofNotional(row.initialMargin),
      maintenanceMargin: this.parseNumber(row.maintenanceMargin),
      maintenanceMarginPercentage: ofNotional(row.maintenanceMargin),
      marginRatio:
        collateral === undefined
          ? undefined
          : this.parseNumber(Precise.stringDiv(row.maintenanceMargin, collateral, 8)),
      liquidationPrice: this.parseNumber(row.liquidationPrice ?? undefined),
      unrealizedPnl: this.parseNumber(row.unrealizedPnl),
      realizedPnl: this.parseNumber(row.realizedPnl),
      stopLossPrice: undefined,
      takeProfitPrice: undefined,
      info: row,
    });
  }

  override parseTransaction(row: api.Transfer, currency?: Currency): Transaction {
    const address = row.address ?? undefined;
    return {
      id: row.transferId,
      txid: row.txHash ?? undefined,
      timestamp: row.createdAt,
      datetime: this.iso8601(row.createdAt),
      network: undefined,
      address,
      addressTo: address,
      addressFrom: undefined,
      tag: undefined,
      tagTo: undefined,
      tagFrom: undefined,
      type: row.kind === "DEPOSIT" ? "deposit" : "withdrawal",
      amount: this.parseNumber(row.amount),
      currency: this.safeCurrencyCode(row.asset, currency),
      status: TRANSFER_STATUS[row.status],
      updated: row.updatedAt,
      internal: false,
      comment: undefined,
      fee: { currency: SETTLE, cost: 0 },
      info: row,
    } as Transaction;
  }

  /** Equity is the total: what orders and positions bind is used, the rest free. */
  override parseBalance(row: api.Balance): ReturnType<PerpdBase["safeBalance"]> {
    return this.safeBalance({
      timestamp: row.updatedAt,
      datetime: this.iso8601(row.updatedAt),
      [SETTLE]: { total: row.equity, free: row.availableBalance } as Dict,
      info: row,
    });
  }
}
