import assert from "node:assert/strict";
import { type Dict, Precise } from "ccxt";
import type { perpd } from "../../../src/ccxt/index.ts";

/**
 * Checks of ccxt's structures, as its own test-suite does for every exchange: required keys, types, and relations
 * between values. Numbers are compared as printed decimals.
 */

type Kind = "number" | "string" | "boolean" | "object" | "array";
/** With "?": the key must exist, but may be undefined. */
type Format = Readonly<Record<string, Kind | `${Kind}?`>>;

const FIRST_BLOCK = Date.UTC(2009, 0, 3);
const LATE_MS = 60_000;

function hasFormat(entry: Dict, format: Format): void {
  assert.equal(typeof entry, "object");
  for (const [key, kind] of Object.entries(format)) {
    const said = `${key} of ${JSON.stringify(entry)}`;
    assert.ok(key in entry, said);
    const value = entry[key];
    if (kind.endsWith("?") && value === undefined) continue;
    assert.equal(Array.isArray(value) ? "array" : typeof value, kind.replace("?", ""), said);
    assert.notEqual(value, null, said);
    if (typeof value === "number") assert.ok(Number.isFinite(value), said);
  }
}

const text = (value: number): string => {
  const printed = String(value);
  assert.doesNotMatch(printed, /e/);
  return printed;
};

/** `low ≤ high`, where both are known. */
function ordered(low: number | undefined, high: number | undefined, what: string): void {
  if (low !== undefined && high !== undefined) assert.ok(Precise.stringLe(text(low), text(high)), what);
}

function positive(entry: Dict, ...keys: string[]): void {
  for (const key of keys) if (entry[key] !== undefined) assert.ok(entry[key] > 0, `${key} of ${JSON.stringify(entry)}`);
}
function notNegative(entry: Dict, ...keys: string[]): void {
  for (const key of keys)
    if (entry[key] !== undefined) assert.ok(entry[key] >= 0, `${key} of ${JSON.stringify(entry)}`);
}

/** A whole millisecond of this age, repeated in `datetime`. */
function hasTime(exchange: perpd, entry: Dict, key = "timestamp", datetimeKey = "datetime"): void {
  const time = entry[key];
  assert.ok(Number.isInteger(time), `${key} of ${JSON.stringify(entry)}`);
  assert.ok(time > FIRST_BLOCK);
  if (key === "timestamp") assert.ok(time < Date.now() + LATE_MS);
  if (datetimeKey !== "") assert.equal(entry[datetimeKey], exchange.iso8601(time));
}

function hasFee(exchange: perpd, fee: Dict): void {
  hasFormat(fee, { currency: "string", cost: "number" });
  assert.ok(fee.currency in exchange.currencies);
  if ("rate" in fee) assert.equal(typeof fee.rate, "number");
}

export function checkMarket(exchange: perpd, market: Dict): void {
  hasFormat(market, {
    id: "string",
    symbol: "string",
    base: "string",
    quote: "string",
    settle: "string",
    baseId: "string",
    quoteId: "string",
    settleId: "string",
    type: "string",
    spot: "boolean",
    margin: "boolean",
    swap: "boolean",
    future: "boolean",
    option: "boolean",
    active: "boolean",
    contract: "boolean",
    linear: "boolean",
    inverse: "boolean",
    subType: "string",
    taker: "number",
    maker: "number",
    contractSize: "number",
    expiry: "number?",
    expiryDatetime: "string?",
    strike: "number?",
    optionType: "string?",
    precision: "object",
    limits: "object",
    marginModes: "object",
    info: "object",
  });
  assert.equal(market.symbol, `${market.base}/${market.quote}:${market.settle}`);
  assert.equal(market.type, "swap");
  assert.deepEqual([market.swap, market.spot, market.future, market.option], [true, false, false, false]);
  assert.notEqual(market.linear, market.inverse);
  assert.equal(market.subType, market.linear ? "linear" : "inverse");
  assert.deepEqual([market.expiry, market.expiryDatetime, market.strike, market.optionType], Array(4).fill(undefined));
  positive(market, "contractSize");
  for (const rate of [market.taker, market.maker]) assert.ok(rate > -1 && rate < 1);
  positive(market.precision, "price", "amount");
  assert.ok(market.precision.price < 1 && market.precision.amount < 5, "a tick size, not a number of digits");
  for (const key of ["amount", "price", "cost", "leverage"]) {
    assert.ok(key in market.limits, key);
    notNegative(market.limits[key], "min");
    positive(market.limits[key], "max");
    ordered(market.limits[key].min, market.limits[key].max, key);
  }
  for (const mode of ["cross", "isolated"]) assert.equal(typeof market.marginModes[mode], "boolean");
  for (const name of ["base", "quote", "settle"]) assert.equal(exchange.currency(market[name]).id, market[`${name}Id`]);
}

export function checkTicker(exchange: perpd, ticker: Dict, symbol: string): void {
  hasFormat(ticker, {
    info: "object",
    symbol: "string",
    high: "number?",
    low: "number?",
    bid: "number?",
    bidVolume: "number?",
    ask: "number?",
    askVolume: "number?",
    vwap: "number?",
    open: "number?",
    close: "number?",
    last: "number?",
    previousClose: "number?",
    change: "number?",
    percentage: "number?",
    average: "number?",
    baseVolume: "number",
    quoteVolume: "number",
    markPrice: "number?",
    indexPrice: "number?",
  });
  hasTime(exchange, ticker);
  assert.equal(ticker.symbol, symbol);
  assert.equal(ticker.last, ticker.close);
  positive(ticker, "open", "high", "low", "close", "bid", "ask", "average", "vwap", "markPrice", "indexPrice");
  notNegative(ticker, "bidVolume", "askVolume", "baseVolume", "quoteVolume");
  ordered(ticker.low, ticker.high, "low and high");
  for (const key of ["open", "close", "vwap"]) {
    ordered(ticker.low, ticker[key], `low and ${key}`);
    ordered(ticker[key], ticker.high, `${key} and high`);
  }
  if (ticker.bid !== undefined && ticker.ask !== undefined) assert.ok(ticker.bid < ticker.ask, "an uncrossed book");
  if (ticker.last !== undefined)
    assert.equal(Precise.stringSub(text(ticker.close), text(ticker.open)), text(ticker.change));
}

/** `limit`: requested levels per side. */
export function checkOrderBook(exchange: perpd, book: Dict, symbol: string, limit = 1000): void {
  hasFormat(book, { symbol: "string", bids: "array", asks: "array", nonce: "number" });
  hasTime(exchange, book);
  assert.equal(book.symbol, symbol);
  for (const [side, direction] of [
    [book.bids, -1],
    [book.asks, 1],
  ]) {
    assert.ok(side.length > 0 && side.length <= limit);
    for (const [i, level] of side.entries()) {
      assert.equal(level.length, 2);
      for (const value of level) assert.ok(typeof value === "number" && value > 0);
      if (i > 0) assert.ok((level[0] - side[i - 1][0]) * direction > 0, "best first");
    }
  }
  assert.ok(book.bids[0][0] < book.asks[0][0], "an uncrossed book");
}

export function checkCandles(rows: readonly unknown[], durationMs: number): void {
  assert.ok(rows.length > 0);
  let before = 0;
  for (const row of rows as (number | undefined)[][]) {
    assert.equal(row.length, 6);
    const [time, open, high, low, close, volume] = row as number[];
    for (const value of row) assert.ok(Number.isFinite(value));
    assert.ok(Number.isInteger(time) && time > before && time % durationMs === 0, `${time} after ${before}`);
    assert.ok(low <= open && low <= close && open <= high && close <= high && low > 0 && volume >= 0);
    before = time;
  }
}

const SIDES = ["buy", "sell"];

export function checkTrade(exchange: perpd, trade: Dict, symbol: string, isOwn: boolean): void {
  hasFormat(trade, {
    info: "object",
    id: "string",
    symbol: "string",
    order: isOwn ? "string" : "string?",
    side: "string",
    takerOrMaker: "string",
    price: "number",
    amount: "number",
    cost: "number",
    fee: isOwn ? "object" : "object?",
    fees: "array",
  });
  hasTime(exchange, trade);
  assert.equal(trade.symbol, symbol);
  assert.ok(SIDES.includes(trade.side));
  assert.ok(["taker", "maker"].includes(trade.takerOrMaker));
  positive(trade, "price", "amount", "cost");
  assert.equal(text(trade.cost), Precise.stringMul(text(trade.price), text(trade.amount)));
  if (isOwn) hasFee(exchange, trade.fee);
  for (const fee of trade.fees) if (isOwn) hasFee(exchange, fee);
}

export function checkOrder(exchange: perpd, order: Dict, symbol: string): void {
  hasFormat(order, {
    info: "object",
    id: "string",
    clientOrderId: "string?",
    lastTradeTimestamp: "number?",
    symbol: "string",
    type: "string",
    timeInForce: "string",
    postOnly: "boolean",
    reduceOnly: "boolean",
    side: "string",
    price: "number?",
    triggerPrice: "number?",
    amount: "number",
    cost: "number",
    average: "number?",
    filled: "number",
    remaining: "number",
    status: "string",
    fee: "object",
    trades: "array",
  });
  hasTime(exchange, order);
  assert.equal(order.symbol, symbol);
  assert.ok(SIDES.includes(order.side));
  assert.ok(["GTC", "IOC", "FOK", "PO", "GTD"].includes(order.timeInForce), order.timeInForce);
  assert.ok(["open", "closed", "canceled", "expired", "rejected"].includes(order.status), order.status);
  positive(order, "price", "amount", "average", "triggerPrice");
  notNegative(order, "filled", "remaining", "cost");
  assert.equal(Precise.stringAdd(text(order.filled), text(order.remaining)), text(order.amount));
  assert.equal(order.filled > 0, order.average !== undefined);
  if (order.status === "closed") assert.equal(order.remaining, 0);
  if (order.status === "open") assert.ok(order.remaining > 0);
  if (order.type === "limit") assert.ok(order.price > 0);
  hasFee(exchange, order.fee);
  for (const trade of order.trades) checkTrade(exchange, trade, symbol, true);
}

export function checkPosition(exchange: perpd, position: Dict, symbol: string): void {
  hasFormat(position, {
    info: "object",
    symbol: "string",
    side: "string",
    marginMode: "string",
    hedged: "boolean",
    contracts: "number",
    contractSize: "number",
    entryPrice: "number",
    markPrice: "number",
    notional: "number",
    leverage: "number",
    collateral: "number?",
    initialMargin: "number",
    initialMarginPercentage: "number",
    maintenanceMargin: "number",
    maintenanceMarginPercentage: "number",
    marginRatio: "number?",
    liquidationPrice: "number?",
    unrealizedPnl: "number",
    percentage: "number",
  });
  hasTime(exchange, position);
  assert.equal(position.symbol, symbol);
  assert.ok(["long", "short"].includes(position.side));
  assert.ok(["cross", "isolated"].includes(position.marginMode));
  positive(position, "contracts", "contractSize", "entryPrice", "markPrice", "notional", "leverage", "initialMargin");
  positive(position, "initialMarginPercentage", "maintenanceMargin", "maintenanceMarginPercentage", "liquidationPrice");
  ordered(position.leverage, exchange.market(symbol).limits?.leverage?.max as number, "leverage");
  ordered(position.maintenanceMargin, position.initialMargin, "margins");
  assert.equal(text(position.notional), Precise.stringMul(text(position.contracts), text(position.markPrice)));
}

export function checkClosedPosition(exchange: perpd, position: Dict, symbol: string): void {
  hasFormat(position, {
    info: "object",
    id: "string",
    symbol: "string",
    side: "string",
    marginMode: "string?",
    hedged: "boolean",
    contracts: "number",
    contractSize: "number",
    entryPrice: "number",
    lastPrice: "number",
    leverage: "number?",
    realizedPnl: "number",
    lastUpdateTimestamp: "number",
  });
  hasTime(exchange, position);
  assert.equal(position.symbol, symbol);
  assert.ok(["long", "short"].includes(position.side));
  positive(position, "contracts", "contractSize", "entryPrice", "lastPrice");
  assert.equal(position.unrealizedPnl, undefined);
}

export function checkBalance(exchange: perpd, balance: Dict): void {
  hasFormat(balance, { info: "object", free: "object", used: "object", total: "object" });
  hasTime(exchange, balance);
  const codes = Object.keys(balance.total);
  assert.ok(codes.length > 0);
  for (const code of codes) {
    assert.ok(code in exchange.currencies);
    const { free, used, total } = balance[code];
    assert.deepEqual([balance.free[code], balance.used[code], balance.total[code]], [free, used, total]);
    assert.equal(Precise.stringAdd(text(free), text(used)), text(total));
  }
}

export function checkMarginModification(exchange: perpd, change: Dict, symbol: string): void {
  hasFormat(change, {
    info: "object",
    symbol: "string",
    type: "string",
    marginMode: "string",
    amount: "number",
    total: "number",
    code: "string",
    status: "string",
  });
  hasTime(exchange, change);
  assert.equal(change.symbol, symbol);
  assert.ok(["add", "reduce", "set"].includes(change.type));
  assert.equal(change.status, "ok");
  assert.ok(change.code in exchange.currencies);
  positive(change, "amount", "total");
}

export function checkFundingRate(exchange: perpd, rate: Dict, symbol: string): void {
  hasFormat(rate, {
    info: "object",
    symbol: "string",
    fundingRate: "number",
    fundingTimestamp: "number",
    markPrice: "number",
    indexPrice: "number",
    interval: "string",
  });
  hasTime(exchange, rate);
  hasTime(exchange, rate, "fundingTimestamp", "fundingDatetime");
  assert.ok(rate.fundingTimestamp > rate.timestamp);
  assert.match(rate.interval, /^\d+h$/);
  assert.equal(rate.symbol, symbol);
}

export function checkFundingRateHistory(exchange: perpd, rate: Dict, symbol: string): void {
  hasFormat(rate, { info: "object", symbol: "string", fundingRate: "number" });
  hasTime(exchange, rate);
  assert.equal(rate.symbol, symbol);
  assert.ok(Math.abs(rate.fundingRate) < 1);
}

export function checkFundingPayment(exchange: perpd, payment: Dict, symbol: string): void {
  hasFormat(payment, { info: "object", id: "string", symbol: "string", code: "string", amount: "number" });
  hasTime(exchange, payment);
  assert.equal(payment.symbol, symbol);
  assert.ok(payment.code in exchange.currencies);
}

export function checkTransaction(exchange: perpd, transaction: Dict, type: "deposit" | "withdrawal"): void {
  hasFormat(transaction, {
    info: "object",
    id: "string",
    txid: "string?",
    network: "string?",
    address: type === "withdrawal" ? "string" : "string?",
    addressTo: "string?",
    addressFrom: "string?",
    tag: "string?",
    tagTo: "string?",
    tagFrom: "string?",
    type: "string",
    amount: "number",
    currency: "string",
    status: "string",
    updated: "number",
    fee: "object",
  });
  hasTime(exchange, transaction);
  hasFee(exchange, transaction.fee);
  assert.equal(transaction.type, type);
  assert.ok(["ok", "pending", "failed", "canceled"].includes(transaction.status));
  assert.ok(transaction.currency in exchange.currencies);
  positive(transaction, "amount");
  ordered(transaction.timestamp, transaction.updated, "updated before it began");
}

export function checkLeverageTiers(tiers: readonly Dict[], symbol: string): void {
  assert.ok(tiers.length > 0);
  for (const [i, tier] of tiers.entries()) {
    hasFormat(tier, {
      tier: "number",
      symbol: "string",
      currency: "string",
      minNotional: "number",
      maxNotional: "number",
      maintenanceMarginRate: "number",
      maxLeverage: "number",
      info: "object",
    });
    assert.equal(tier.symbol, symbol);
    assert.equal(tier.tier, i + 1);
    assert.ok(tier.maintenanceMarginRate > 0 && tier.maintenanceMarginRate <= 1);
    assert.ok(tier.maxLeverage >= 1 && tier.minNotional < tier.maxNotional);
    const before = tiers[i - 1];
    if (before === undefined) continue;
    assert.equal(tier.minNotional, before.maxNotional);
    ordered(tier.maxLeverage, before.maxLeverage, "a larger position has no more leverage");
    ordered(before.maintenanceMarginRate, tier.maintenanceMarginRate, "a larger position needs no less");
  }
}

export function checkOpenInterest(exchange: perpd, interest: Dict, symbol: string): void {
  hasFormat(interest, {
    symbol: "string",
    openInterestAmount: "number",
    openInterestValue: "number",
    info: "object",
  });
  hasTime(exchange, interest);
  assert.equal(interest.symbol, symbol);
  notNegative(interest, "openInterestAmount", "openInterestValue");
}

export function checkTradingFee(fee: Dict, symbol: string): void {
  hasFormat(fee, {
    info: "object",
    symbol: "string",
    maker: "number",
    taker: "number",
    percentage: "boolean",
    tierBased: "boolean",
  });
  assert.equal(fee.symbol, symbol);
  ordered(fee.maker, fee.taker, "a maker pays no more");
}

export function checkStatus(status: Dict): void {
  hasFormat(status, { status: "string", updated: "number", eta: "number?", url: "string?", info: "object" });
  assert.ok(["ok", "shutdown", "error", "maintenance", "unknown"].includes(status.status));
}

export function checkLedgerEntry(exchange: perpd, entry: Dict): void {
  hasFormat(entry, {
    info: "object",
    id: "string",
    direction: "string",
    account: "string?",
    referenceId: "string?",
    referenceAccount: "string?",
    type: "string",
    currency: "string",
    amount: "number",
    before: "number?",
    after: "number?",
    status: "string",
  });
  hasTime(exchange, entry);
  assert.ok(["in", "out"].includes(entry.direction));
  assert.ok(["transaction", "trade", "fee", "rebate", "transfer"].includes(entry.type), entry.type);
  assert.ok(entry.currency in exchange.currencies);
  positive(entry, "amount");
}

export function checkLeverage(leverage: Dict, symbol: string): void {
  hasFormat(leverage, {
    info: "object",
    symbol: "string",
    marginMode: "string",
    longLeverage: "number",
    shortLeverage: "number",
  });
  assert.equal(leverage.symbol, symbol);
  assert.ok(["cross", "isolated"].includes(leverage.marginMode));
  assert.ok(leverage.longLeverage >= 1 && leverage.shortLeverage >= 1);
}

export function checkMarginMode(mode: Dict, symbol: string): void {
  hasFormat(mode, { info: "object", symbol: "string", marginMode: "string" });
  assert.equal(mode.symbol, symbol);
  assert.ok(["cross", "isolated"].includes(mode.marginMode));
}

export function checkADLRank(exchange: perpd, rank: Dict, symbol: string): void {
  hasFormat(rank, { info: "object", symbol: "string", rank: "number", rating: "string" });
  hasTime(exchange, rank);
  assert.equal(rank.symbol, symbol);
  assert.ok(Number.isInteger(rank.rank) && rank.rank >= 1 && rank.rank <= 5);
}

export function checkLastPrice(exchange: perpd, price: Dict, symbol: string): void {
  hasFormat(price, { info: "object", symbol: "string", price: "number?" });
  hasTime(exchange, price);
  assert.equal(price.symbol, symbol);
  positive(price, "price");
}

export function checkLiquidation(exchange: perpd, liquidation: Dict, symbol: string): void {
  hasFormat(liquidation, {
    info: "object",
    symbol: "string",
    contracts: "number",
    contractSize: "number",
    price: "number",
    baseValue: "number",
    quoteValue: "number",
    side: "string",
  });
  hasTime(exchange, liquidation);
  assert.equal(liquidation.symbol, symbol);
  assert.ok(SIDES.includes(liquidation.side));
  positive(liquidation, "contracts", "contractSize", "price", "baseValue", "quoteValue");
}

/** Oldest first, none twice. */
export function checkList(rows: readonly Dict[], check: (row: Dict) => void): void {
  assert.ok(rows.length > 0);
  for (const row of rows) check(row);
  const times = rows.map(({ timestamp }) => timestamp);
  assert.deepEqual(
    times,
    times.toSorted((a, b) => a - b),
  );
  if (rows.every(({ id }) => id !== undefined)) assert.equal(new Set(rows.map(({ id }) => id)).size, rows.length);
}

export function checkCurrency(currency: Dict): void {
  hasFormat(currency, {
    id: "string",
    code: "string",
    name: "string",
    type: "string",
    active: "boolean",
    deposit: "boolean",
    withdraw: "boolean",
    precision: "number",
    fee: "number?",
    limits: "object",
    networks: "object",
    info: "object",
  });
  assert.equal(currency.code, currency.id);
  positive(currency, "precision");
  for (const key of ["deposit", "withdraw"]) assert.ok(key in currency.limits, key);
}
