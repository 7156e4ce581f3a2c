import type * as ccxt from "ccxt";
import { Precise } from "ccxt";
import type * as api from "../client/types.ts";
import { PerpdMarketParsers, SETTLE } from "./market-parsers.ts";

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

const LEDGER_TYPE: Readonly<Record<api.LedgerEntry["type"], string>> = {
  DEPOSIT: "transaction",
  WITHDRAWAL: "transaction",
  REALIZED_PNL: "trade",
  FEE: "fee",
  LIQUIDATION_FEE: "fee",
  FUNDING: "fee",
  DEFICIT_COVERED: "transfer",
};
/** For adlRank 1 to 5. */
const ADL_RATINGS = ["low", "medium-low", "medium", "medium-high", "high"];

/** Parses account data into ccxt's structures. */
export class PerpdParsers extends PerpdMarketParsers {
  override parseIncome(row: api.FundingPayment, given?: ccxt.Market): ccxt.FundingHistory {
    return {
      // A position has one payment per interval.
      id: `${row.symbol}:${row.fundingTime}`,
      symbol: this.safeSymbol(row.symbol, given),
      code: SETTLE,
      timestamp: row.time,
      datetime: this.iso8601(row.time),
      amount: this.parseNumber(row.amount),
      info: row,
    } as ccxt.FundingHistory;
  }

  /** Parses a public trade, or the account's side of a trade. */
  override parseTrade(row: api.PublicTrade | api.Fill, given?: ccxt.Market): ccxt.Trade {
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
        // Public trades show the taker's side.
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

  /**
   * `remaining` is the unfilled amount, also for an order that ended early. Quantity that an open order has given up
   * (see api.Order.status) is not part of `amount`: an open order can still fill all that remains, and a closed one has
   * nothing left.
   */
  override parseOrder(row: api.Order | api.PlacedOrder | api.DryRunOrder, given?: ccxt.Market): ccxt.Order {
    const market = this.safeMarket(row.symbol, given);
    // The fills of a dry run are not trades.
    const fills = "fills" in row && !("dryRun" in row) ? row.fills : undefined;
    const status = ORDER_STATUS[row.status];
    const endedEarly = status !== "open" && status !== "closed";
    const order = this.safeOrder(
      {
        id: row.orderId,
        clientOrderId: row.clientOrderId ?? undefined,
        timestamp: row.createdAt,
        datetime: this.iso8601(row.createdAt),
        lastUpdateTimestamp: row.updatedAt,
        symbol: market.symbol,
        // The type after the trigger.
        type: row.type.endsWith("MARKET") ? "market" : "limit",
        timeInForce: row.postOnly ? "PO" : row.timeInForce,
        postOnly: row.postOnly,
        reduceOnly: row.reduceOnly,
        side: row.side.toLowerCase(),
        price: row.price,
        amount: endedEarly ? row.quantity : Precise.stringAdd(row.filledQuantity, row.remainingQuantity),
        filled: row.filledQuantity,
        average: row.avgPrice,
        cost: row.avgPrice === null ? "0" : Precise.stringMul(row.avgPrice, row.filledQuantity),
        status,
        triggerPrice: row.triggerPrice,
        // The trigger of an order that closes, or of the orders that its fills will attach.
        stopLossPrice: row.type.startsWith("STOP") && row.reduceOnly ? row.triggerPrice : row.stopLoss?.triggerPrice,
        takeProfitPrice:
          row.type.startsWith("TAKE_PROFIT") && row.reduceOnly ? row.triggerPrice : row.takeProfit?.triggerPrice,
        fee: { currency: SETTLE, cost: this.parseNumber(row.fee) },
        ...(fills !== undefined && { trades: fills }),
        info: row,
      },
      market,
    );
    // ccxt would sum the fees of the fills, which are only those of this request.
    return { ...order, fees: [order.fee] } as ccxt.Order;
  }

  /** Parses an open position, or one of the history. */
  override parsePosition(row: api.Position | api.ClosedPosition, given?: ccxt.Market): ccxt.Position {
    const market = this.safeMarket(row.symbol, given);
    if ("closedAt" in row) return this.closedPosition(row, market);
    const { notional } = row;
    // A cross position has no separate collateral. That of an isolated one already includes its unrealized profit.
    const collateral = row.isolatedMargin ?? undefined;
    const ofNotional = (amount: string) =>
      Precise.stringEq(notional, "0") ? undefined : this.parseNumber(Precise.stringDiv(amount, notional, 8));
    return this.safePosition({
      ...this.positionFields(row, market, row.updatedAt ?? undefined),
      contracts: this.parseNumber(row.size),
      markPrice: this.parseNumber(row.markPrice ?? undefined),
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
    });
  }

  private closedPosition(row: api.ClosedPosition, market: ccxt.Market): ccxt.Position {
    return this.safePosition({
      ...this.positionFields(row, market, row.closedAt),
      id: row.positionId,
      contracts: this.parseNumber(row.closedSize),
      lastPrice: this.parseNumber(row.exitPrice),
      leverage: row.leverage ?? undefined,
      realizedPnl: this.parseNumber(row.netPnl),
    });
  }

  /** The fields that open and closed positions share, and all others as undefined. */
  private positionFields(row: api.Position | api.ClosedPosition, market: ccxt.Market, timestamp: number | undefined) {
    return {
      id: undefined,
      symbol: market?.symbol,
      timestamp,
      datetime: this.iso8601(timestamp),
      lastUpdateTimestamp: timestamp,
      side: row.side?.toLowerCase(),
      hedged: false,
      marginMode: row.marginMode?.toLowerCase(),
      contractSize: this.safeNumber(market, "contractSize"),
      entryPrice: this.parseNumber(row.entryPrice ?? undefined),
      lastPrice: undefined,
      markPrice: undefined,
      notional: undefined,
      collateral: undefined,
      initialMargin: undefined,
      initialMarginPercentage: undefined,
      maintenanceMargin: undefined,
      maintenanceMarginPercentage: undefined,
      marginRatio: undefined,
      liquidationPrice: undefined,
      unrealizedPnl: undefined,
      stopLossPrice: undefined,
      takeProfitPrice: undefined,
      info: row,
    };
  }

  override parseTransaction(row: api.Transfer, currency?: ccxt.Currency): ccxt.Transaction {
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
    } as ccxt.Transaction;
  }

  /** Equity is the total. Margin of orders and positions is used; the rest is free. */
  override parseBalance(row: api.Balance): ReturnType<PerpdMarketParsers["safeBalance"]> {
    return this.safeBalance({
      timestamp: row.updatedAt,
      datetime: this.iso8601(row.updatedAt),
      [SETTLE]: { total: row.equity, free: row.availableBalance } as ccxt.Dict,
      info: row,
    });
  }

  /** The amount has no sign; `direction` tells in or out of the account. */
  override parseLedgerEntry(row: api.LedgerEntry): ccxt.LedgerEntry {
    const isOut = row.amount.startsWith("-");
    return this.safeLedgerEntry(
      {
        id: row.entryId,
        timestamp: row.time,
        direction: isOut ? "out" : "in",
        account: undefined,
        referenceId: row.tradeId ?? row.transferId ?? undefined,
        referenceAccount: undefined,
        type: row.type === "FEE" && !isOut ? "rebate" : LEDGER_TYPE[row.type],
        amount: isOut ? row.amount.slice(1) : row.amount,
        status: "ok",
        info: row,
      },
      this.currency(row.asset),
    ) as ccxt.LedgerEntry;
  }

  override parseLeverage(row: api.Position, market?: ccxt.Market): ccxt.Leverage {
    return {
      info: row,
      symbol: this.safeSymbol(row.symbol, market),
      marginMode: row.marginMode.toLowerCase(),
      longLeverage: row.leverage,
      shortLeverage: row.leverage,
    };
  }

  override parseMarginMode(row: api.Position, market?: ccxt.Market): ccxt.MarginMode {
    return { info: row, symbol: this.safeSymbol(row.symbol, market), marginMode: row.marginMode.toLowerCase() };
  }

  /** Rank 1 would be deleveraged last, rank 5 first. */
  override parseADLRank(row: api.Position, market?: ccxt.Market): ccxt.ADL {
    const timestamp = row.updatedAt ?? undefined;
    return {
      info: row,
      symbol: this.safeSymbol(row.symbol, market),
      rank: row.adlRank ?? undefined,
      rating: row.adlRank === null ? undefined : ADL_RATINGS[row.adlRank - 1],
      percentage: undefined,
      timestamp,
      datetime: this.iso8601(timestamp),
    };
  }
}
