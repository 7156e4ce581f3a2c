import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { BadRequest, type Dict, ExchangeNotAvailable, type Order, Precise } from "ccxt";
import type { perpd } from "../../src/ccxt/index.ts";
import { PerpdClient } from "../../src/client/client.ts";
import type { ClosedPosition, Page } from "../../src/client/types.ts";
import { until } from "../e2e/support/wait.ts";
import { HABITS } from "./support/habits.ts";
import { BTC, ETH, type Market, openMarket, openMember } from "./support/market.ts";
import * as check from "./support/structures.ts";

/**
 * Runs every REST method that the class claims against a running exchange, and checks the structures and contents of
 * the results.
 */
let market: Market;
let maker: perpd;
let taker: perpd;
/** Of the maker: one filled in part, one canceled, one filled; and the taker's market order. */
let open: Order;
let canceled: Order;
let filled: Order;
let taken: Order;
const SOL = "SOL/USDC:USDC";
/** ccxt's types leave it open whether an order has one. */
const idOf = ({ id }: Order): string => id as string;
const idsOf = (orders: readonly Order[]): string[] => orders.map(idOf);

before(async () => {
  market = await openMarket();
  await market.operator.setIndex("SOL-PERP", "150");
  maker = market.maker.exchange;
  taker = market.taker.exchange;
  canceled = await maker.createOrder(BTC, "limit", "sell", 0.3, 65100, { clientOrderId: "canceled" });
  canceled = await maker.cancelOrder(idOf(canceled), BTC);
  filled = await maker.createLimitSellOrder(BTC, 0.2, 65010, { clientOrderId: "filled" });
  open = await maker.createOrder(BTC, "limit", "sell", 0.5, 65020.5, { postOnly: true });
  await maker.createLimitBuyOrder(BTC, 0.4, 64990);
  await maker.createLimitBuyOrder(BTC, 0.1, 64980);
  await maker.createLimitSellOrder(ETH, 1, 3001);
  await maker.createLimitBuyOrder(ETH, 1, 2999);
  taken = await taker.createMarketBuyOrder(BTC, 0.3);
});

after(() => market.server.dispose());

/** The order waits, is listed, and is canceled again. */
async function waits(created: Promise<Order>): Promise<Order> {
  const order = await created;
  check.checkOrder(taker, order, order.symbol as string);
  assert.deepEqual([order.status, order.info.status], ["open", "UNTRIGGERED"]);
  const listed = await taker.fetchOpenOrders(order.symbol);
  assert.ok(listed.some(({ id }) => id === order.id));
  assert.equal((await taker.fetchOrder(idOf(order))).triggerPrice, order.triggerPrice);
  assert.equal((await taker.cancelOrder(idOf(order))).status, "canceled");
  return order;
}

/** By the name in `has`. */
const METHODS: Record<string, () => Promise<void> | void> = {
  async fetchTime() {
    assert.ok(Math.abs(((await maker.fetchTime()) as number) - Date.now()) < 60_000);
  },
  async fetchStatus() {
    const status = await maker.fetchStatus();
    check.checkStatus(status);
    assert.equal(status.status, "ok");
  },
  async fetchMarkets() {
    const markets = await maker.fetchMarkets();
    assert.equal(markets.length, 3);
    for (const row of Object.values(maker.markets as Dict)) check.checkMarket(maker, row as Dict);
    const { precision, limits } = maker.market(BTC) as Dict;
    assert.deepEqual([precision.price, precision.amount, limits.cost.min], [0.1, 0.001, 5]);
  },
  async fetchLeverageTiers() {
    const tiers = await maker.fetchLeverageTiers([BTC, ETH]);
    assert.deepEqual(Object.keys(tiers), [BTC, ETH]);
    for (const [symbol, rows] of Object.entries(tiers)) check.checkLeverageTiers(rows, symbol);
  },
  async fetchMarketLeverageTiers() {
    check.checkLeverageTiers(await maker.fetchMarketLeverageTiers(BTC), BTC);
  },
  async fetchTradingFees() {
    const fees = await maker.fetchTradingFees();
    assert.deepEqual(Object.keys(fees), maker.symbols);
    for (const [symbol, fee] of Object.entries(fees)) check.checkTradingFee(fee as Dict, symbol);
  },
  async fetchTradingFee() {
    check.checkTradingFee((await maker.fetchTradingFee(BTC)) as Dict, BTC);
  },
  async fetchTicker() {
    const ticker = await maker.fetchTicker(BTC);
    check.checkTicker(maker, ticker, BTC);
    assert.deepEqual([ticker.last, ticker.bid, ticker.ask, ticker.baseVolume], [65020.5, 64990, 65020.5, 0.3]);
  },
  async fetchTickers() {
    const all = await maker.fetchTickers();
    assert.deepEqual(Object.keys(all).toSorted(), maker.symbols);
    for (const [symbol, ticker] of Object.entries(all)) check.checkTicker(maker, ticker, symbol);
    assert.deepEqual(Object.keys(await maker.fetchTickers([ETH])), [ETH]);
  },
  async fetchBidsAsks() {
    const quotes = await maker.fetchBidsAsks([BTC]);
    check.checkTicker(maker, quotes[BTC] as Dict, BTC);
    const { bid, bidVolume, ask, askVolume } = quotes[BTC] as Dict;
    assert.deepEqual([bid, bidVolume, ask, askVolume], [64990, 0.4, 65020.5, 0.4]);
  },
  async fetchMarkPrices() {
    const prices = await maker.fetchMarkPrices([BTC, ETH]);
    assert.deepEqual(Object.keys(prices).toSorted(), [BTC, ETH]);
    for (const price of Object.values(prices)) assert.ok((price.markPrice as number) > 0);
  },
  async fetchMarkPrice() {
    check.checkTicker(maker, await maker.fetchMarkPrice(BTC), BTC);
  },
  async fetchLastPrices() {
    const prices = await maker.fetchLastPrices();
    assert.deepEqual(Object.keys(prices).toSorted(), maker.symbols);
    for (const [symbol, price] of Object.entries(prices)) check.checkLastPrice(maker, price, symbol);
    assert.equal(prices[BTC]?.price, 65020.5);
  },
  async fetchOrderBook() {
    const book = await maker.fetchOrderBook(BTC);
    check.checkOrderBook(maker, book, BTC);
    assert.deepEqual(book.bids, [
      [64990, 0.4],
      [64980, 0.1],
    ]);
    check.checkOrderBook(maker, await maker.fetchOrderBook(BTC, 1), BTC, 1);
  },
  async fetchOrderBooks() {
    const books = await maker.fetchOrderBooks([BTC, ETH], 1);
    assert.deepEqual(Object.keys(books), [BTC, ETH]);
    for (const [symbol, book] of Object.entries(books)) check.checkOrderBook(maker, book, symbol, 1);
    assert.deepEqual(Object.keys(await maker.fetchOrderBooks()), maker.symbols);
  },
  async fetchCurrencies() {
    const currencies = await maker.fetchCurrencies();
    assert.deepEqual(Object.keys(currencies).toSorted(), ["BTC", "ETH", "SOL", "USDC"]);
    for (const currency of Object.values(currencies)) check.checkCurrency(currency as Dict);
    assert.deepEqual([currencies.USDC?.deposit, currencies.BTC?.deposit], [true, false]);
    assert.equal(currencies.USDC?.precision, 0.000001);
  },
  async fetchL2OrderBook() {
    check.checkOrderBook(maker, await maker.fetchL2OrderBook(ETH), ETH);
  },
  async fetchTrades() {
    const trades = await maker.fetchTrades(BTC);
    check.checkList(trades, (trade) => check.checkTrade(maker, trade, BTC, false));
    assert.deepEqual(
      trades.map(({ price, amount, side }) => [price, amount, side]),
      [
        [65010, 0.2, "buy"],
        [65020.5, 0.1, "buy"],
      ],
    );
    assert.equal((await maker.fetchTrades(BTC, undefined, 1)).length, 1);
    const until = (trades[0]?.timestamp ?? 0) - 1;
    assert.deepEqual(await maker.fetchTrades(BTC, undefined, undefined, { until }), []);
    assert.deepEqual(await maker.fetchTrades(ETH), []);
  },
  async fetchOHLCV() {
    const candles = await maker.fetchOHLCV(BTC, "1m");
    check.checkCandles(candles, 60_000);
    // Of all, since minutes may have ended between the trades and now.
    const range = [
      Math.max(...candles.map((candle) => Number(candle[2]))),
      Math.min(...candles.map((candle) => Number(candle[3]))),
    ];
    assert.deepEqual(range, [65020.5, 65010]);
    const since = candles.at(-1)?.[0] as number;
    assert.deepEqual(await maker.fetchOHLCV(BTC, "1m", since, 1), candles.slice(-1));
    for (const timeframe of Object.keys(maker.timeframes as Dict)) await maker.fetchOHLCV(BTC, timeframe, undefined, 2);
  },
  async fetchMarkOHLCV() {
    const candles = await maker.fetchMarkOHLCV(BTC, "1d");
    check.checkCandles(candles, 86_400_000);
    assert.equal(candles.at(-1)?.[4], (await maker.fetchMarkPrice(BTC)).markPrice);
    await assert.rejects(maker.fetchMarkOHLCV(BTC, "1s"), BadRequest);
  },
  async fetchPremiumIndexOHLCV() {
    const [candle] = await maker.fetchPremiumIndexOHLCV(BTC, "1d", undefined, 1);
    assert.ok(Math.abs(candle?.[4] as number) < 0.1, "a share of the index price");
    assert.equal(candle?.[5], 0);
  },
  async fetchIndexOHLCV() {
    const candles = await maker.fetchIndexOHLCV(BTC, "1M", undefined, 1);
    assert.deepEqual(candles.at(-1)?.slice(1), [65000, 65000, 65000, 65000, 0]);
  },
  async fetchOpenInterest() {
    const interest = await maker.fetchOpenInterest(BTC);
    check.checkOpenInterest(maker, interest, BTC);
    assert.equal(interest.openInterestAmount, 0.3);
  },
  async fetchOpenInterests() {
    const interests = await maker.fetchOpenInterests([BTC, ETH]);
    assert.deepEqual(Object.keys(interests).toSorted(), [BTC, ETH]);
    for (const [symbol, interest] of Object.entries(interests)) check.checkOpenInterest(maker, interest, symbol);
  },
  async fetchOpenInterestHistory() {
    const day = await maker.fetchOpenInterestHistory(BTC, "1d");
    check.checkList(day, (interest) => check.checkOpenInterest(maker, interest, BTC));
    const newest = day.at(-1);
    assert.equal(newest?.openInterestAmount, 0.3);
    // Five minutes may end at any moment: before the trade, or between it and these calls. Without a price or a trade, the
    // next five minutes have no entry.
    const since = Number(newest?.timestamp) - 3_600_000;
    const amounts = async (limit?: number) =>
      (await maker.fetchOpenInterestHistory(BTC, "5m", since, limit)).map(
        ({ openInterestAmount }) => openInterestAmount,
      );
    const all = await amounts();
    assert.equal(all.at(-1), 0.3);
    assert.deepEqual(await amounts(1), all.slice(0, 1));
    assert.deepEqual(await maker.fetchOpenInterestHistory(BTC, "5m", 1, 5, { until: 2 }), []);
    await assert.rejects(maker.fetchOpenInterestHistory(BTC, "1m"), BadRequest);
  },
  async fetchFundingRate() {
    check.checkFundingRate(maker, await maker.fetchFundingRate(BTC), BTC);
  },
  async fetchFundingRates() {
    const rates = await maker.fetchFundingRates([BTC, ETH]);
    assert.deepEqual(Object.keys(rates).toSorted(), [BTC, ETH]);
    for (const [symbol, rate] of Object.entries(rates)) check.checkFundingRate(maker, rate, symbol);
  },
  async fetchFundingInterval() {
    assert.equal((await maker.fetchFundingInterval(BTC)).interval, "1h");
  },
  async fetchFundingIntervals() {
    const intervals = await maker.fetchFundingIntervals([BTC, ETH]);
    assert.deepEqual(Object.keys(intervals).toSorted(), [BTC, ETH]);
    for (const [symbol, rate] of Object.entries(intervals)) check.checkFundingRate(maker, rate, symbol);
  },
  /** An interval takes an hour: the test may see none. */
  async fetchFundingRateHistory() {
    for (const rate of await maker.fetchFundingRateHistory(BTC, 0, 5)) check.checkFundingRateHistory(maker, rate, BTC);
    const interval = {
      symbol: "BTC-PERP",
      fundingRate: "0.0000125",
      fundingTime: 1_790_000_000_000,
      markPrice: "65000.5",
      indexPrice: "65000",
      premium: "0",
      fundingIntervalHours: 1,
    };
    const rates = maker.parseFundingRateHistories([interval], maker.market(BTC));
    check.checkList(rates, (rate) => check.checkFundingRateHistory(maker, rate, BTC));
  },
  async fetchFundingHistory() {
    for (const payment of await maker.fetchFundingHistory(BTC, 0, 5)) check.checkFundingPayment(maker, payment, BTC);
    const payment = {
      symbol: "BTC-PERP",
      fundingRate: "0.0000125",
      fundingTime: 1_790_000_000_000,
      markPrice: "65000.5",
      indexPrice: "65000",
      premium: "0",
      fundingIntervalHours: 1,
      positionSize: "0.333",
      amount: "-0.270563",
      time: 1_790_000_000_250,
      sequence: 8,
    };
    const [parsed] = maker.parseIncomes([payment]) as Dict[];
    check.checkFundingPayment(maker, parsed as Dict, BTC);
    assert.equal(parsed?.amount, -0.270563);
  },
  async fetchBalance() {
    const balance = await taker.fetchBalance();
    check.checkBalance(taker, balance);
    const exact = await market.taker.trader.balance();
    assert.equal(String((balance as Dict).USDC.total), exact.equity);
    assert.equal(String((balance as Dict).USDC.used), exact.initialMargin);
  },
  async fetchPositions() {
    const positions = await taker.fetchPositions();
    check.checkList(positions, (position) => check.checkPosition(taker, position, BTC));
    const found = positions.map(({ side, contracts }) => [side, contracts]);
    assert.deepEqual(found, [["long", 0.3]]);
    assert.deepEqual(await taker.fetchPositions([ETH]), []);
  },
  async fetchPosition() {
    check.checkPosition(maker, await maker.fetchPosition(BTC), BTC);
    const flat = await maker.fetchPosition(ETH);
    assert.deepEqual([flat.symbol, flat.contracts], [ETH, 0]);
  },
  async fetchPositionsForSymbol() {
    assert.deepEqual(
      (await taker.fetchPositionsForSymbol(BTC)).map(({ symbol }) => symbol),
      [BTC],
    );
    assert.deepEqual(await taker.fetchPositionsForSymbol(ETH), []);
  },
  async fetchPositionsADLRank() {
    const ranks = await taker.fetchPositionsADLRank();
    check.checkList(ranks, (rank) => check.checkADLRank(taker, rank, BTC));
    assert.deepEqual(await taker.fetchPositionsADLRank([ETH]), []);
  },
  async fetchPositionADLRank() {
    check.checkADLRank(taker, await taker.fetchPositionADLRank(BTC), BTC);
  },
  async fetchPositionMode() {
    assert.equal((await taker.fetchPositionMode()).hedged, false);
  },
  async setPositionMode() {
    await taker.setPositionMode(false, BTC);
    await assert.rejects(taker.setPositionMode(true), { name: "NotSupported" });
  },
  async fetchLeverage() {
    await maker.setLeverage(9, ETH);
    const leverage = await maker.fetchLeverage(ETH);
    check.checkLeverage(leverage, ETH);
    assert.deepEqual([leverage.longLeverage, leverage.shortLeverage], [9, 9]);
    check.checkLeverage(await taker.fetchLeverage(BTC), BTC);
  },
  async fetchLeverages() {
    const leverages = await maker.fetchLeverages([ETH, BTC]);
    assert.deepEqual(Object.keys(leverages), [ETH, BTC]);
    for (const [symbol, leverage] of Object.entries(leverages)) check.checkLeverage(leverage, symbol);
    assert.deepEqual(leverages[ETH], await maker.fetchLeverage(ETH));
    assert.deepEqual(Object.keys(await maker.fetchLeverages()), maker.symbols);
  },
  async fetchMarginModes() {
    const modes = await taker.fetchMarginModes();
    assert.deepEqual(Object.keys(modes), taker.symbols);
    for (const [symbol, mode] of Object.entries(modes)) check.checkMarginMode(mode, symbol);
  },
  async fetchMarginMode() {
    await taker.setMarginMode("isolated", ETH);
    const mode = await taker.fetchMarginMode(ETH);
    check.checkMarginMode(mode, ETH);
    assert.equal(mode.marginMode, "isolated");
    await taker.setMarginMode("cross", ETH);
    assert.equal((await taker.fetchMarginMode(ETH)).marginMode, "cross");
  },
  async setLeverage() {
    await maker.setLeverage(7, ETH);
    await maker.setLeverage(7, ETH);
    await assert.rejects(maker.setLeverage(7), { name: "ArgumentsRequired" });
    await assert.rejects(maker.setLeverage(500, ETH), { name: "BadRequest" });
  },
  async setMarginMode() {
    await taker.setMarginMode("isolated", ETH);
    await taker.setMarginMode("isolated", ETH);
    const order = await taker.createMarketBuyOrder(ETH, 0.2);
    const position = await taker.fetchPosition(ETH);
    check.checkPosition(taker, position, ETH);
    assert.equal(position.marginMode, "isolated");
    assert.equal(position.collateral, Number(position.info.isolatedMargin));
    assert.equal(order.status, "closed");
    await taker.createLimitBuyOrder(ETH, 0.1, 2900);
    await assert.rejects(taker.setMarginMode("cross", ETH), { name: "OperationRejected" });
    await taker.cancelAllOrders(ETH);
  },
  async addMargin() {
    const before = Number((await taker.fetchPosition(ETH)).info.isolatedMargin);
    const added = await taker.addMargin(ETH, 12.5);
    check.checkMarginModification(taker, added, ETH);
    assert.deepEqual([added.type, added.amount, added.total], ["add", 12.5, before + 12.5]);
    await assert.rejects(taker.addMargin(BTC, 1), { name: "OperationRejected" });
  },
  async reduceMargin() {
    const before = Number((await taker.fetchPosition(ETH)).info.isolatedMargin);
    const taken = await taker.reduceMargin(ETH, 2.5);
    check.checkMarginModification(taker, taken, ETH);
    assert.deepEqual([taken.type, taken.amount, taken.total], ["reduce", 2.5, before - 2.5]);
    await taker.closePosition(ETH);
    await taker.setMarginMode("cross", ETH);
  },
  createOrder() {
    for (const order of [open, canceled, filled]) check.checkOrder(maker, order, BTC);
    check.checkOrder(taker, taken, BTC);
    assert.deepEqual([open.status, open.timeInForce, open.postOnly], ["open", "PO", true]);
    assert.deepEqual([taken.status, taken.filled, taken.trades.length], ["closed", 0.3, 2]);
    assert.equal(taken.cost, 0.2 * 65010 + 0.1 * 65020.5);
  },
  async createLimitOrder() {
    const order = await maker.createLimitOrder(ETH, "buy", 0.5, 2950, { timeInForce: "IOC", clientOrderId: "gone" });
    check.checkOrder(maker, order, ETH);
    assert.deepEqual([order.status, order.filled, order.remaining, order.timeInForce], ["expired", 0, 0.5, "IOC"]);
    // The same order under the same name is the same order.
    const again = await maker.createLimitOrder(ETH, "buy", 0.5, 2950, { timeInForce: "IOC", clientOrderId: "gone" });
    assert.equal(again.id, order.id);
  },
  async createMarketOrder() {
    // A price that is given all the same is none of its terms.
    const tried = await taker.createMarketOrder(ETH, "sell", 0.1, 3100, { test: true });
    assert.deepEqual([tried.id, tried.filled, tried.average, tried.trades], [undefined, 0.1, 2999, []]);
    assert.ok(Number(tried.info.marginRequired) > 0);
    const order = await taker.createMarketOrder(ETH, "sell", 0.1);
    check.checkOrder(taker, order, ETH);
    assert.deepEqual([order.side, order.average, order.status], ["sell", 2999, "closed"]);
  },
  async createPostOnlyOrder() {
    const order = await maker.createPostOnlyOrder(ETH, "limit", "buy", 0.1, 2900);
    assert.equal(order.postOnly, true);
    await maker.cancelOrder(idOf(order), ETH);
    await assert.rejects(maker.createPostOnlyOrder(ETH, "limit", "buy", 0.1, 3001), {
      name: "OrderImmediatelyFillable",
    });
    await assert.rejects(maker.createPostOnlyOrder(ETH, "market", "buy", 0.1), { name: "InvalidOrder" });
  },
  async createReduceOnlyOrder() {
    await assert.rejects(taker.createReduceOnlyOrder(BTC, "market", "buy", 0.1), { name: "InvalidOrder" });
    const order = await taker.createReduceOnlyOrder(BTC, "limit", "sell", 0.1, 66000);
    check.checkOrder(taker, order, BTC);
    assert.equal(order.reduceOnly, true);
    await taker.cancelOrder(idOf(order));
  },
  async createTriggerOrder() {
    const above = await waits(taker.createTriggerOrder(ETH, "market", "buy", 0.1, undefined, 3300));
    assert.deepEqual([above.info.type, above.type, above.triggerPrice], ["STOP_MARKET", "market", 3300]);
    const direction = { triggerDirection: "ascending", triggerPriceType: "index" };
    const sell = await waits(taker.createTriggerOrder(ETH, "limit", "sell", 0.1, 3305, 3300, direction));
    assert.deepEqual([sell.info.type, sell.info.triggerBy, sell.price], ["TAKE_PROFIT", "INDEX", 3305]);
    const below = { triggerDirection: "descending" };
    const buy = await waits(taker.createTriggerOrder(ETH, "market", "buy", 0.1, undefined, 2900, below));
    assert.equal(buy.info.type, "TAKE_PROFIT_MARKET");
    const stop = await waits(taker.createTriggerOrder(ETH, "market", "sell", 0.1, undefined, 2900, below));
    assert.equal(stop.info.type, "STOP_MARKET");
    // It may open a position as well.
    assert.deepEqual([sell.takeProfitPrice, stop.stopLossPrice], [undefined, undefined]);
    await assert.rejects(taker.createTriggerOrder(ETH, "market", "buy", 0.1, undefined, 2900), {
      name: "InvalidOrder",
    });
    const unclear = { triggerDirection: "sideways" };
    await assert.rejects(taker.createTriggerOrder(ETH, "market", "buy", 0.1, undefined, 3300, unclear), {
      name: "BadRequest",
    });
    const both = { stopLossPrice: 2800 };
    await assert.rejects(taker.createTriggerOrder(ETH, "market", "buy", 0.1, undefined, 3300, both), {
      name: "InvalidOrder",
    });
  },
  async createStopOrder() {
    const order = await waits(taker.createStopOrder(ETH, "market", "sell", 0.1, undefined, 2700));
    assert.equal(order.info.type, "STOP_MARKET");
  },
  async createStopLimitOrder() {
    const order = await waits(taker.createStopLimitOrder(ETH, "sell", 0.1, 2690, 2700));
    assert.deepEqual([order.info.type, order.price, order.triggerPrice], ["STOP", 2690, 2700]);
  },
  async createStopMarketOrder() {
    const order = await waits(taker.createStopMarketOrder(ETH, "sell", 0.1, 2700));
    assert.equal(order.info.type, "STOP_MARKET");
  },
  async createStopLossOrder() {
    const order = await waits(taker.createStopLossOrder(BTC, "market", "sell", 0.1, undefined, 60000));
    assert.deepEqual([order.info.type, order.reduceOnly, order.stopLossPrice], ["STOP_MARKET", true, 60000]);
    const whole = await taker.createStopLossOrder(BTC, "market", "sell", 0, undefined, 60000, { closePosition: true });
    assert.equal(whole.info.closePosition, true);
    await taker.cancelOrder(idOf(whole), BTC);
  },
  async createTakeProfitOrder() {
    const order = await waits(taker.createTakeProfitOrder(BTC, "limit", "sell", 0.1, 70000, 69000));
    assert.deepEqual([order.info.type, order.reduceOnly, order.takeProfitPrice], ["TAKE_PROFIT", true, 69000]);
  },
  async createTrailingPercentOrder() {
    const order = await waits(taker.createTrailingPercentOrder(BTC, "market", "sell", 0.1, undefined, 2.5));
    assert.deepEqual(
      [order.info.type, order.info.callbackRate, order.type],
      ["TRAILING_STOP_MARKET", "0.025", "market"],
    );
    const far = await waits(
      taker.createTrailingPercentOrder(BTC, "market", "sell", 0.1, undefined, 1, 70000, {
        reduceOnly: true,
        maxSlippage: "0.02",
      }),
    );
    assert.deepEqual([far.info.callbackRate, far.info.activationPrice, far.reduceOnly], ["0.01", "70000", true]);
    assert.equal(far.info.maxSlippage, "0.02");
    await assert.rejects(taker.createTrailingPercentOrder(BTC, "limit", "sell", 0.1, 66000, 1), {
      name: "InvalidOrder",
    });
    const both = { triggerPrice: 60000 };
    await assert.rejects(taker.createTrailingPercentOrder(BTC, "market", "sell", 0.1, undefined, 1, undefined, both), {
      name: "InvalidOrder",
    });
  },
  async createOrderWithTakeProfitAndStopLoss() {
    if ((await taker.fetchPosition(ETH)).contracts !== 0) await taker.closePosition(ETH);
    const legs = { takeProfitLimitPrice: "3210", stopLossPriceType: "last" };
    const order = await taker.createOrderWithTakeProfitAndStopLoss(
      ETH,
      "market",
      "buy",
      0.1,
      undefined,
      3200,
      2800,
      legs,
    );
    check.checkOrder(taker, order, ETH);
    const waiting = (await taker.fetchOpenOrders(ETH)).map(({ info, triggerPrice }) => [
      info.type,
      triggerPrice,
      info.price,
      info.triggerBy,
    ]);
    assert.deepEqual(waiting.toSorted(), [
      ["STOP_MARKET", 2800, null, "LAST"],
      ["TAKE_PROFIT", 3200, "3210", "MARK"],
    ]);
    await taker.closePosition(ETH);
    assert.deepEqual(await taker.fetchOpenOrders(ETH), []);
    const until = Date.now() + 3_600_000;
    const dated = await taker.createOrder(ETH, "limit", "buy", 0.1, 2900, { timeInForce: "GTD", goodTillDate: until });
    check.checkOrder(taker, dated, ETH);
    assert.deepEqual([dated.timeInForce, dated.info.goodTillDate], ["GTD", until]);
    const bestBid = async () => (await maker.fetchOrderBook(ETH)).bids[0] as [price: number, amount: number];
    const [bid, shown] = await bestBid();
    const shy = { priceMatch: "QUEUE", displayQuantity: "0.05", postOnly: true };
    const iceberg = await maker.createOrder(ETH, "limit", "buy", 0.2, undefined, shy);
    check.checkOrder(maker, iceberg, ETH);
    assert.deepEqual([iceberg.price, iceberg.amount, iceberg.info.displayQuantity], [bid, 0.2, "0.05"]);
    assert.equal((await bestBid())[1].toFixed(3), (shown + 0.05).toFixed(3));
    await maker.cancelOrder(idOf(iceberg), ETH);
    await taker.cancelOrder(idOf(dated), ETH);
  },
  async editOrder() {
    const order = await maker.createLimitBuyOrder(ETH, 0.3, 2900, { clientOrderId: "edited" });
    const smaller = await maker.editOrder(idOf(order), ETH, "limit", "buy", 0.2);
    check.checkOrder(maker, smaller, ETH);
    assert.deepEqual([smaller.id, smaller.amount, smaller.price], [order.id, 0.2, 2900]);
    const moved = await maker.editOrder("", ETH, "limit", "buy", undefined, 2910, { clientOrderId: "edited" });
    assert.deepEqual([moved.id, moved.amount, moved.price], [order.id, 0.2, 2910]);
    await maker.cancelOrder(idOf(order), ETH);
    await assert.rejects(maker.editOrder(idOf(order), ETH, "limit", "buy", 0.1), { name: "OrderNotFound" });
    const stop = await maker.createOrder(ETH, "market", "sell", 0.3, undefined, { triggerPrice: 2800 });
    for (const edit of [maker.editOrder.bind(maker), maker.editOrderWs.bind(maker)]) {
      const later = await edit(idOf(stop), ETH, "market", "sell", 0.2, undefined, { triggerPrice: 2790.004 });
      check.checkOrder(maker, later, ETH);
      assert.deepEqual([later.id, later.amount, later.triggerPrice, later.status], [stop.id, 0.2, 2790, "open"]);
    }
    await maker.cancelOrder(idOf(stop), ETH);
    const trails = { trailingPercent: 1, trailingTriggerPrice: 3500 };
    const trailing = await maker.createOrder(ETH, "market", "sell", 0.3, undefined, trails);
    const other = { trailingPercent: 2.5, trailingTriggerPrice: 3400.004 };
    const { info } = await maker.editOrder(idOf(trailing), ETH, "market", "sell", undefined, undefined, other);
    assert.deepEqual([info.orderId, info.callbackRate, info.activationPrice], [trailing.id, "0.025", "3400"]);
    await maker.cancelOrder(idOf(trailing), ETH);
    const [goodTillDate, later] = [Date.now() + 600_000, Date.now() + 900_000];
    const dated = await maker.createLimitBuyOrder(ETH, 0.3, 2900, { timeInForce: "GTD", goodTillDate });
    const longer = await maker.editOrder(idOf(dated), ETH, "limit", "buy", undefined, undefined, {
      goodTillDate: later,
    });
    assert.deepEqual([longer.id, longer.info.goodTillDate], [dated.id, later]);
    await maker.cancelOrder(idOf(dated), ETH);
    const protect = { takeProfit: { triggerPrice: 3100.004, price: 3110 }, stopLoss: { triggerPrice: 2700 } };
    const entry = await maker.createLimitBuyOrder(ETH, 0.3, 2900, { stopLoss: { triggerPrice: 2750 } });
    assert.deepEqual([entry.takeProfitPrice, entry.stopLossPrice], [undefined, 2750]);
    for (const edit of [maker.editOrder.bind(maker), maker.editOrderWs.bind(maker)]) {
      const edited = await edit(idOf(entry), ETH, "limit", "buy", undefined, undefined, protect);
      check.checkOrder(maker, edited, ETH);
      assert.deepEqual([edited.takeProfitPrice, edited.stopLossPrice], [3100, 2700]);
      assert.equal(edited.info.takeProfit.price, "3110");
      const bare = await edit(idOf(entry), ETH, "limit", "buy", 0.2, undefined, { remove: ["takeProfit", "stopLoss"] });
      assert.deepEqual([bare.amount, bare.takeProfitPrice, bare.stopLossPrice], [0.2, undefined, undefined]);
    }
    await maker.cancelOrder(idOf(entry), ETH);
  },
  async editOrderWithClientOrderId() {
    const order = await maker.createLimitBuyOrder(ETH, 0.3, 2900, { clientOrderId: "named-edit" });
    const edited = await maker.editOrderWithClientOrderId("named-edit", ETH, "limit", "buy", 0.25);
    check.checkOrder(maker, edited, ETH);
    assert.deepEqual([edited.id, edited.amount], [order.id, 0.25]);
  },
  async fetchOrderWithClientOrderId() {
    const order = await maker.fetchOrderWithClientOrderId("named-edit", ETH);
    check.checkOrder(maker, order, ETH);
    assert.equal(order.amount, 0.25);
  },
  async cancelOrderWithClientOrderId() {
    const order = await maker.cancelOrderWithClientOrderId("named-edit", ETH);
    check.checkOrder(maker, order, ETH);
    assert.equal(order.status, "canceled");
  },
  async cancelAllOrdersAfter() {
    const order = await taker.createLimitBuyOrder(ETH, 0.1, 2900);
    await taker.cancelAllOrdersAfter(60_000);
    await taker.cancelAllOrdersAfter(0);
    assert.equal((await taker.fetchOrder(idOf(order))).status, "open");
    await taker.cancelAllOrdersAfter(1000);
    const ended = await until("the switch", async () => {
      const now = await taker.fetchOrder(idOf(order));
      return now.status === "canceled" && now;
    });
    assert.equal(ended.info.reason, "CANCEL_AFTER");
    await assert.rejects(taker.cancelAllOrdersAfter(1), { name: "BadRequest" });
  },
  async cancelOrder() {
    check.checkOrder(maker, canceled, BTC);
    assert.deepEqual([canceled.status, canceled.remaining], ["canceled", 0.3]);
    await assert.rejects(maker.cancelOrder(idOf(canceled), BTC), { name: "OrderNotFound" });
    await maker.createLimitBuyOrder(ETH, 0.1, 2900, { clientOrderId: "by name" }).catch(() => {});
    const order = await maker.createLimitBuyOrder(ETH, 0.1, 2900, { clientOrderId: "by-name" });
    assert.equal((await maker.cancelOrder("", ETH, { clientOrderId: "by-name" })).id, order.id);
  },
  async cancelOrders() {
    const orders = [await maker.createLimitBuyOrder(ETH, 0.1, 2900), await maker.createLimitBuyOrder(ETH, 0.1, 2901)];
    const ids = orders.map(idOf);
    const ended = await maker.cancelOrders(ids, ETH);
    for (const order of ended) check.checkOrder(maker, order, ETH);
    assert.deepEqual(
      ended.map(({ id, status }) => [id, status]),
      ids.map((id) => [id, "canceled"]),
    );
    const named = await maker.createLimitBuyOrder(ETH, 0.1, 2900, { clientOrderId: "one-of-many" });
    const order = await maker.createLimitBuyOrder(ETH, 0.1, 2900);
    // One that is not open any more stands in its place, and stops nobody.
    const [gone, ...others] = await maker.cancelOrders([ids[0] as string, idOf(order)], ETH, {
      clientOrderIds: ["one-of-many"],
    });
    assert.deepEqual([gone?.id, gone?.status, gone?.info.code], [ids[0], undefined, "ORDER_NOT_OPEN"]);
    assert.deepEqual(
      others.map(({ id, status }) => [id, status]),
      [order, named].map(({ id }) => [id, "canceled"]),
    );
    const last = await maker.createLimitBuyOrder(ETH, 0.1, 2900);
    assert.equal((await maker.cancelOrders([idOf(last)]))[0]?.status, "canceled");
    await assert.rejects(maker.cancelOrders([idOf(last)]), { name: "OrderNotFound" });
    // The same without a symbol.
    const open = await maker.createLimitBuyOrder(ETH, 0.1, 2900);
    const [again, canceled] = await maker.cancelOrders([idOf(last), idOf(open)]);
    check.checkOrder(maker, canceled as Dict, ETH);
    assert.deepEqual([again?.id, again?.status, again?.info.code], [idOf(last), undefined, "ORDER_NOT_OPEN"]);
    assert.deepEqual([canceled?.id, canceled?.status], [open.id, "canceled"]);
    assert.deepEqual(await maker.cancelOrders([]), []);
  },
  async createOrders() {
    const request = (symbol: string, price: number, params: Dict = {}) => ({
      ...{ symbol, type: "limit" as const, side: "buy" as const, amount: 1, price, params },
    });
    const orders = await maker.createOrders([
      request(ETH, 2900, { clientOrderId: "batch-1" }),
      request(SOL, 140, { postOnly: true }),
      request(ETH, 3005, { postOnly: true, clientOrderId: "batch-2" }),
      ...Array.from({ length: 21 }, (_, i) => request(ETH, 2901 + i)),
    ]);
    assert.equal(orders.length, 24);
    const [first, second, refused, ...others] = orders as Order[];
    check.checkOrder(maker, first as Dict, ETH);
    check.checkOrder(maker, second as Dict, SOL);
    assert.deepEqual([first?.clientOrderId, second?.postOnly], ["batch-1", true]);
    assert.deepEqual(
      [refused?.status, refused?.clientOrderId, refused?.symbol, refused?.info.code],
      ["rejected", "batch-2", ETH, "POST_ONLY_WOULD_TRADE"],
    );
    assert.deepEqual(
      others.map(({ price, status }) => [price, status]),
      others.map((_, i) => [2901 + i, "open"]),
    );
    // A mistake refuses the whole batch.
    await assert.rejects(maker.createOrders([request(ETH, 2950), request(ETH, 2950, { timeInForce: "NEVER" })]), {
      name: "BadRequest",
    });
  },
  async editOrders() {
    const open = await maker.fetchOpenOrders(ETH);
    const { id } = open.find(({ price }) => price === 2901) as Order;
    const change = { symbol: ETH, type: "limit" as const, side: "buy" as const };
    const [byId, byName, gone] = await maker.editOrders([
      { ...change, id, amount: 0.5 } as Dict & typeof change,
      { ...change, price: 2899, params: { clientOrderId: "batch-1" } },
      { ...change, id: canceled.id, symbol: BTC, amount: 0.1 } as Dict & typeof change,
    ]);
    check.checkOrder(maker, byId as Dict, ETH);
    assert.deepEqual([byId?.id, byId?.amount, byId?.price], [id, 0.5, 2901]);
    assert.deepEqual([byName?.clientOrderId, byName?.amount, byName?.price], ["batch-1", 1, 2899]);
    assert.deepEqual([gone?.id, gone?.status, gone?.info.code], [canceled.id, undefined, "ORDER_NOT_OPEN"]);
  },
  async cancelOrdersForSymbols() {
    const open = (await maker.fetchOpenOrders()).filter(({ side, symbol }) => side === "buy" && symbol !== BTC);
    const batch = open.filter(({ price }) => (price as number) < 2990);
    const requests = batch.map((order) => ({ id: idOf(order), symbol: order.symbol as string }));
    assert.ok(requests.length > 20);
    const ended = await maker.cancelOrdersForSymbols(requests);
    assert.deepEqual(
      ended.map(({ id, symbol, status }) => [id, symbol, status]),
      requests.map(({ id, symbol }) => [id, symbol, "canceled"]),
    );
  },
  async cancelAllOrders() {
    await taker.createLimitBuyOrder(ETH, 0.1, 2900);
    await taker.createLimitBuyOrder(BTC, 0.1, 64000);
    const ended = await taker.cancelAllOrders(ETH);
    check.checkList(ended, (order) => check.checkOrder(taker, order, ETH));
    assert.equal(ended.length, 1);
    assert.equal((await taker.cancelAllOrders()).length, 1);
    assert.deepEqual(await taker.fetchOpenOrders(), []);
  },
  async closePosition() {
    await taker.createMarketBuyOrder(ETH, 0.2);
    const order = await taker.closePosition(ETH);
    check.checkOrder(taker, order, ETH);
    assert.deepEqual([order.reduceOnly, order.status], [true, "closed"]);
    assert.equal((await taker.fetchPosition(ETH)).contracts, 0);
    await assert.rejects(taker.closePosition(ETH), { name: "InvalidOrder" });
  },
  async fetchOrder() {
    const order = await maker.fetchOrder(idOf(open), BTC);
    check.checkOrder(maker, order, BTC);
    assert.deepEqual([order.filled, order.remaining, order.status], [0.1, 0.4, "open"]);
    assert.equal((await maker.fetchOrder("", BTC, { clientOrderId: "canceled" })).id, canceled.id);
    await assert.rejects(maker.fetchOrder("999999999", BTC), { name: "OrderNotFound" });
  },
  async fetchOpenOrders() {
    const orders = await maker.fetchOpenOrders(BTC);
    check.checkList(orders, (order) => check.checkOrder(maker, order, BTC));
    assert.deepEqual(new Set(orders.map(({ status }) => status)), new Set(["open"]));
    assert.equal(orders[0]?.id, open.id);
    assert.equal((await maker.fetchOpenOrders(undefined, undefined, 1)).length, 1);
    assert.deepEqual(await maker.fetchOpenOrders(BTC, Date.now() + 60_000), []);
  },
  async fetchClosedOrders() {
    const orders = await maker.fetchClosedOrders(BTC);
    check.checkList(orders, (order) => check.checkOrder(maker, order, BTC));
    assert.deepEqual(
      orders.map(({ id }) => id),
      [filled.id],
    );
  },
  async fetchCanceledOrders() {
    const orders = await maker.fetchCanceledOrders(BTC);
    assert.deepEqual(
      orders.map(({ id }) => id),
      [canceled.id],
    );
    check.checkOrder(maker, orders[0] as Dict, BTC);
  },
  async fetchOrders() {
    const orders = await maker.fetchOrders(BTC);
    check.checkList(orders, (order) => check.checkOrder(maker, order, BTC));
    assert.deepEqual(idsOf(orders).slice(0, 3), [canceled.id, filled.id, open.id]);
    assert.deepEqual(idsOf(await maker.fetchOrders(BTC, canceled.timestamp, 2)), [canceled.id, filled.id]);
    assert.deepEqual(idsOf(await maker.fetchOrders(BTC, undefined, 2)), idsOf(orders).slice(-2));
    assert.deepEqual(await maker.fetchOrders(BTC, Date.now() + 60_000), []);
  },
  async fetchCanceledAndClosedOrders() {
    const orders = await maker.fetchCanceledAndClosedOrders(BTC);
    check.checkList(orders, (order) => check.checkOrder(maker, order, BTC));
    assert.deepEqual(
      orders.map(({ id }) => id),
      [canceled.id, filled.id],
    );
  },
  async fetchMyTrades() {
    const trades = await taker.fetchMyTrades(BTC);
    check.checkList(trades, (trade) => check.checkTrade(taker, trade, BTC, true));
    assert.deepEqual(new Set(trades.map(({ order }) => order)), new Set([taken.id]));
    assert.deepEqual(
      trades.map(({ takerOrMaker }) => takerOrMaker),
      ["taker", "taker"],
    );
    assert.equal((await maker.fetchMyTrades(BTC)).at(-1)?.takerOrMaker, "maker");
    assert.deepEqual(await taker.fetchMyTrades(BTC, Date.now() + 60_000), []);
  },
  async fetchOrderTrades() {
    const trades = await taker.fetchOrderTrades(idOf(taken), BTC);
    check.checkList(trades, (trade) => check.checkTrade(taker, trade, BTC, true));
    assert.deepEqual(trades, await taker.fetchMyTrades(BTC));
    await assert.rejects(maker.fetchOrderTrades(idOf(taken), BTC), { name: "OrderNotFound" });
  },
  async fetchDeposits() {
    const deposits = await taker.fetchDeposits("USDC");
    check.checkList(deposits, (row) => check.checkTransaction(taker, row, "deposit"));
    assert.deepEqual(
      deposits.map(({ amount, status }) => [amount, status]),
      [[100000, "ok"]],
    );
  },
  async withdraw() {
    const address = "0x8ba1f109551bD432803012645Ac136ddd64DBA72";
    const sent = await taker.withdraw("USDC", 12.5, address, undefined, { reference: "w" });
    check.checkTransaction(taker, sent, "withdrawal");
    assert.deepEqual([sent.amount, sent.addressTo, sent.status], [12.5, address, "pending"]);
    assert.equal((await taker.withdraw("USDC", 12.5, address, undefined, { reference: "w" })).id, sent.id);
    await assert.rejects(taker.withdraw("USDC", 1e9, address), { name: "InsufficientFunds" });
  },
  async fetchDepositsWithdrawals() {
    const rows = await until("the withdrawal", async () => {
      const listed = await taker.fetchDepositsWithdrawals("USDC");
      return listed.length === 2 && listed;
    });
    assert.deepEqual(
      rows.map(({ type, amount }) => [type, amount]),
      [
        ["deposit", 100000],
        ["withdrawal", 12.5],
      ],
    );
    check.checkList(rows, (row) => check.checkTransaction(taker, row, row.type as "deposit" | "withdrawal"));
  },
  /** Nobody is liquidated here: a fill as the exchange would list it. */
  async fetchLiquidations() {
    assert.deepEqual(await taker.fetchLiquidations(BTC, 1, 5), []);
    const [fill] = (await maker.fetchTrades(BTC)).map(({ info }) => info);
    check.checkLiquidation(maker, maker.parseLiquidation({ ...fill, execType: "LIQUIDATION" }), BTC);
  },
  async fetchMyLiquidations() {
    assert.deepEqual(await taker.fetchMyLiquidations(BTC), []);
    const [fill] = (await taker.fetchMyTrades(BTC)).map(({ info }) => info);
    check.checkLiquidation(taker, taker.parseLiquidation({ ...fill, execType: "LIQUIDATION" }), BTC);
  },
  async closeAllPositions() {
    await taker.createMarketOrder(ETH, "buy", 0.1);
    const symbols = async () => (await taker.fetchPositions()).map(({ symbol }) => symbol);
    assert.deepEqual(await symbols(), [BTC, ETH]);
    // A market that is halted keeps no other position open.
    await market.operator.call(200, "POST", "/operator/symbols/BTC-PERP/halt", { mode: "CANCEL_ONLY" });
    await assert.rejects(taker.closeAllPositions(), /SYMBOL_HALTED/);
    assert.deepEqual(await symbols(), [BTC]);
    await market.operator.call(200, "POST", "/operator/symbols/BTC-PERP/resume");
    const closed = await taker.closeAllPositions();
    assert.ok(closed.some(({ symbol }) => symbol === BTC));
    assert.ok(closed.every(({ contracts }) => contracts === 0));
    assert.deepEqual(await taker.fetchPositions(), []);
  },
  async fetchPositionsHistory() {
    const closed = await taker.fetchPositionsHistory();
    check.checkList(closed, (position) => check.checkClosedPosition(taker, position, position.symbol as string));
    const last = closed.at(-1) as Dict;
    const { data } = await market.taker.trader.get<Page<ClosedPosition>>("/positions/history");
    assert.deepEqual(
      closed.map(({ id }) => id),
      data.map(({ positionId }) => positionId).reverse(),
    );
    const [newest] = data;
    assert.deepEqual(
      [last.side, String(last.contracts), String(last.realizedPnl), String(last.lastPrice), last.timestamp],
      [newest?.side.toLowerCase(), newest?.closedSize, newest?.netPnl, newest?.exitPrice, newest?.closedAt],
    );
    assert.deepEqual(await taker.fetchPositionsHistory([BTC, ETH], undefined, 1), [last]);
    assert.deepEqual(await taker.fetchPositionsHistory(undefined, last.timestamp + 1), []);
    // Not known to an exchange that was updated: see docs/trading/position-history.md.
    const older = { ...last.info, openedAt: null, leverage: null, marginMode: null };
    check.checkClosedPosition(taker, taker.parsePosition(older), last.symbol);
  },
  async fetchPositionHistory() {
    const closed = await taker.fetchPositionHistory(BTC);
    assert.ok(closed.length > 0 && closed.every(({ symbol }) => symbol === BTC));
    assert.deepEqual(await taker.fetchPositionHistory(SOL, undefined, 3), []);
  },
  async fetchLedger() {
    const entries = await taker.fetchLedger("USDC");
    check.checkList(entries, (entry) => check.checkLedgerEntry(taker, entry));
    const [first] = entries;
    assert.deepEqual([first?.type, first?.direction, first?.amount], ["transaction", "in", 100000]);
    const fees = await taker.fetchLedger(undefined, undefined, 2, { type: "FEE", symbol: "BTC-PERP" });
    assert.deepEqual(
      fees.map(({ type, direction }) => [type, direction]),
      [
        ["fee", "out"],
        ["fee", "out"],
      ],
    );
    assert.deepEqual(await taker.fetchLedger("USDC", Date.now() + 60_000), []);
    // Nothing is told in another asset than that which was moved.
    assert.deepEqual([await taker.fetchLedger("BTC"), await taker.fetchDepositsWithdrawals("BTC")], [[], []]);
    const rebate = { ...first?.info, type: "FEE", amount: "0.5" };
    assert.deepEqual([taker.parseLedgerEntry(rebate).type, taker.parseLedgerEntry(rebate).direction], ["rebate", "in"]);
  },
  async fetchWithdrawals() {
    const withdrawals = await until("a withdrawal", async () => {
      const rows = await taker.fetchWithdrawals();
      return rows.length > 0 && rows;
    });
    check.checkList(withdrawals, (row) => check.checkTransaction(taker, row, "withdrawal"));
  },
};

type List = (since: number | undefined, limit: number) => Promise<readonly Dict[]>;

test("reading with `since` and `limit` in steps misses no row", async () => {
  const { exchange } = await openMember(market.server);
  await maker.createLimitBuyOrder(SOL, 10, 149);
  await maker.createLimitSellOrder(SOL, 10, 151);
  const since = exchange.milliseconds() - 1;
  for (let i = 0; i < 7; i++) {
    await exchange.createMarketOrder(SOL, i % 2 === 0 ? "buy" : "sell", 1);
    await exchange.createLimitBuyOrder(SOL, 1, 140);
    // A program that goes on a millisecond behind the last one it got wants one in each.
    const now = exchange.milliseconds();
    await until("another millisecond", () => exchange.milliseconds() > now + 1);
  }
  const lists: Record<string, List> = {
    fetchMyTrades: (from, limit) => exchange.fetchMyTrades(SOL, from, limit),
    fetchTrades: (from, limit) => exchange.fetchTrades(SOL, from, limit),
    fetchOpenOrders: (from, limit) => exchange.fetchOpenOrders(SOL, from, limit),
    fetchClosedOrders: (from, limit) => exchange.fetchClosedOrders(SOL, from, limit),
    fetchLedger: (from, limit) => exchange.fetchLedger("USDC", from, limit, { type: "FEE" }),
  };
  const readsAll = async (name: string, list: List): Promise<void> => {
    const ids: string[] = [];
    for (let from = since; ; ) {
      const rows = await list(from, 2);
      if (rows.length === 0) break;
      ids.push(...rows.map(({ id }) => id));
      from = rows.at(-1)?.timestamp + 1;
      assert.ok(ids.length <= 7, name);
    }
    const whole = (await list(since, 100)).map(({ id }) => id);
    assert.equal(whole.length, 7, name);
    assert.deepEqual(ids, whole, name);
  };
  for (const [name, list] of Object.entries(lists)) await readsAll(name, list);
  // All end at once, and still they are told by when they began.
  await exchange.cancelAllOrders(SOL);
  await readsAll("fetchCanceledOrders", (from, limit) => exchange.fetchCanceledOrders(SOL, from, limit));
  await maker.cancelAllOrders(SOL);
});

for (const [name, run] of Object.entries(METHODS)) test(name, run);

for (const [name, run] of Object.entries(HABITS)) test(`a program ${name}`, () => run(market));

test("after a failed market load the next call loads the markets", async () => {
  const { exchange } = await openMember(market.server);
  const { fetchMarkets } = exchange;
  const failOnce = () => {
    exchange.fetchMarkets = async () => {
      exchange.fetchMarkets = fetchMarkets;
      throw new ExchangeNotAvailable("not yet");
    };
  };
  failOnce();
  await assert.rejects(exchange.fetchTicker(BTC), { name: "ExchangeNotAvailable" });
  check.checkTicker(exchange, await exchange.fetchTicker(BTC), BTC);
  // Nor are those that are known lost when they cannot be loaded anew.
  failOnce();
  await assert.rejects(exchange.loadMarkets(true), { name: "ExchangeNotAvailable" });
  check.checkTicker(exchange, await exchange.fetchTicker(BTC), BTC);
});

test("an edited order has its total fee and the trades of the edit", async () => {
  const { exchange } = await openMember(market.server);
  await maker.createLimitSellOrder(SOL, 1, 150.5);
  const order = await exchange.createLimitBuyOrder(SOL, 3, 150.5);
  await maker.createLimitSellOrder(SOL, 1, 150.6);
  const edited = await exchange.editOrder(idOf(order), SOL, "limit", "buy", 3, 150.6);
  check.checkOrder(exchange, edited, SOL);
  const paid = (await exchange.fetchMyTrades(SOL)).map(({ fee }) => String(fee?.cost));
  assert.deepEqual([edited.filled, edited.trades.length, paid.length], [2, 1, 2]);
  const whole = { currency: "USDC", cost: Number(paid.reduce((sum, fee) => Precise.stringAdd(sum, fee) as string)) };
  assert.deepEqual([edited.fee, (edited as Dict).fees], [whole, [whole]]);
  await exchange.cancelOrder(idOf(order));
});

test("quantity that a reduce-only order gave up is not part of its amount", async () => {
  const { exchange } = await openMember(market.server);
  await maker.createLimitSellOrder(SOL, 3, 150.5);
  await exchange.createMarketBuyOrder(SOL, 3);
  const id = idOf(await exchange.createLimitSellOrder(SOL, 3, 151, { reduceOnly: true }));
  await maker.createLimitBuyOrder(SOL, 2, 150);
  await exchange.createMarketSellOrder(SOL, 2, { reduceOnly: true });
  for (const [status, filled, remaining] of [
    ["open", 0, 1],
    ["closed", 1, 0],
  ] as const) {
    const order = await exchange.fetchOrder(id, SOL);
    check.checkOrder(exchange, order, SOL);
    assert.deepEqual([order.status, order.amount, order.filled, order.remaining], [status, 1, filled, remaining]);
    if (status === "open") await maker.createMarketBuyOrder(SOL, 1);
  }
});

test("the params trigger and trailing select conditional orders", async () => {
  const { exchange } = await openMember(market.server);
  const plain = idOf(await exchange.createLimitBuyOrder(SOL, 1, 140));
  const stopAt = (price: number) => exchange.createTriggerOrder(SOL, "market", "buy", 1, undefined, price);
  const stop = idOf(await stopAt(160));
  const trailing = idOf(await exchange.createTrailingPercentOrder(SOL, "market", "sell", 1, undefined, 1));
  assert.deepEqual(idsOf(await exchange.fetchOpenOrders(SOL)).toSorted(), [plain, stop, trailing].toSorted());
  for (const [params, ids] of [
    [{ trigger: true }, [stop, trailing]],
    [{ trailing: true }, [trailing]],
    [{ trigger: false }, [plain, stop, trailing]],
  ] as const) {
    assert.deepEqual(
      idsOf(await exchange.fetchOpenOrders(SOL, undefined, undefined, params)).toSorted(),
      ids.toSorted(),
    );
    assert.equal((await exchange.fetchOrder(stop, SOL, params)).id, stop);
  }
  await exchange.cancelOrder(stop, SOL, { trigger: true });
  await exchange.cancelOrders([plain, trailing], SOL, { trigger: true });
  const since = exchange.milliseconds() - 60_000;
  for (const from of [undefined, since])
    assert.deepEqual(idsOf(await exchange.fetchCanceledOrders(SOL, from, 10, { trailing: true })), [trailing]);
  assert.deepEqual(await exchange.fetchClosedOrders(SOL, undefined, undefined, { trigger: true }), []);
  // Of all orders only those of the kind are canceled.
  const [other, again] = [await exchange.createLimitBuyOrder(SOL, 1, 140), await stopAt(160)];
  assert.deepEqual(idsOf(await exchange.cancelAllOrders(SOL, { trigger: true })), [idOf(again)]);
  assert.deepEqual(idsOf(await exchange.cancelAllOrdersWs(SOL, { trigger: true })), []);
  assert.deepEqual(idsOf(await exchange.cancelAllOrders(SOL)), [idOf(other)]);
  await exchange.close();
});

test("an invalid order id is not sent, since it could address another endpoint", async () => {
  const order = await maker.createLimitBuyOrder(SOL, 1, 140);
  const refused = { name: "BadRequest", message: /nothing was sent/ };
  for (const id of ["../orders", "history", "", ".", "1?symbol=SOL-PERP", "1/../../orders", "%2e%2e/orders", "01"]) {
    await assert.rejects(maker.cancelOrder(id, SOL), refused, id);
    await assert.rejects(maker.fetchOrder(id, SOL), refused, id);
    await assert.rejects(maker.editOrder(id, SOL, "limit", "buy", 2), refused, id);
    await assert.rejects(maker.cancelOrders([id]), refused, id);
    await assert.rejects(maker.cancelOrder("", SOL, { clientOrderId: `${id}/` }), refused, id);
  }
  await assert.rejects(maker.fetchOrder(undefined as unknown as string), refused);
  assert.equal((await maker.fetchOrder(idOf(order))).status, "open");
  await maker.cancelOrder(idOf(order));
});

test("the description claims exactly the methods that are tested", () => {
  const claimed = Object.entries(maker.has as Dict)
    .filter(([name, has]) => has && /^(fetch|create|cancel|edit|close|set|add|reduce|withdraw).*(?<!Ws)$/.test(name))
    .map(([name]) => name);
  assert.deepEqual(claimed.toSorted(), Object.keys(METHODS).toSorted());
  for (const name of claimed) assert.equal(typeof (maker as unknown as Dict)[name], "function", name);
});

test("features describe what createOrder and the lists support", () => {
  const { swap } = maker.features as Dict;
  assert.deepEqual(swap.linear.createOrder.timeInForce, { GTC: true, IOC: true, FOK: true, PO: true, GTD: true });
  for (const name of Object.keys(swap.linear))
    if (swap.linear[name] !== undefined && name !== "sandbox") assert.ok((maker.has as Dict)[name], name);
});

test("the rate limiter weighs requests as the exchange does", async () => {
  const { paths } = (await new PerpdClient({ baseUrl: market.server.url }).openApi()) as Dict;
  const cancelCost = 0.2;
  for (const [access, methods] of Object.entries(maker.api as Dict))
    for (const [method, named] of Object.entries(methods as Record<string, string[]>))
      for (const path of named) {
        if (path === "orders/batch") continue; // see below
        const { budget, weight } = paths[`/${path}`][method]["x-rate-limit"];
        const cost = maker.calculateRateLimiterCost(access, method.toUpperCase(), path, {});
        assert.equal(cost, budget === "CANCEL" ? cancelCost * weight : weight, `${method} ${path}`);
      }
  const batchCost = (...actions: string[]): number =>
    maker.calculateRateLimiterCost("private", "POST", "orders/batch", { items: actions.map((action) => ({ action })) });
  assert.equal(batchCost("CANCEL", "CANCEL"), 2 * cancelCost);
  assert.equal(batchCost("CANCEL", "PLACE", "AMEND"), 3);
});
