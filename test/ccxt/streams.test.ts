import assert from "node:assert/strict";
import { after, before, type TestContext, test } from "node:test";
import { type Dict, ExchangeNotAvailable, type Order, RequestTimeout } from "ccxt";
import type { perpd } from "../../src/ccxt/index.ts";
import { until } from "../e2e/support/wait.ts";
import { connectionOf, subscribed } from "./support/connection.ts";
import { BTC, ETH, type Market, openMarket, programOf } from "./support/market.ts";
import * as check from "./support/structures.ts";

/** Every watch method that the class claims, against a running exchange, through gaps and lost connections. */
let market: Market;
/** Makes what the others watch. */
let actor: perpd;

before(async () => {
  market = await openMarket();
  actor = market.maker.exchange;
  await actor.createLimitSellOrder(BTC, 5, 65010);
  await actor.createLimitBuyOrder(BTC, 5, 64990);
  await actor.createLimitBuyOrder(BTC, 1, 64980);
});

after(() => market.server.dispose());

/** A program of the taker's, closed with the test, and its key with it: an account has so many. */
async function open(t: TestContext, options: Dict = {}): Promise<perpd> {
  const program = await programOf(market.server, market.taker.trader, options);
  t.after(async () => {
    await program.close();
    await market.taker.trader.request("DELETE", `/auth/keys/${program.apiKey}`);
  });
  return program;
}

const take = (amount: number) => market.taker.exchange.createMarketBuyOrder(BTC, amount);
/** ccxt rejects what waits when a program is closed. */
const ignore = () => {};

/** By the name in `has`. */
const METHODS: Record<string, (t: TestContext) => Promise<void>> = {
  async watchOrderBook(t) {
    const program = await open(t);
    const first = await program.watchOrderBook(BTC);
    check.checkOrderBook(program, first, BTC);
    assert.deepEqual(first.bids[0], [64990, first.bids[0]?.[1]]);
    const next = program.watchOrderBook(BTC);
    const order = await actor.createLimitBuyOrder(BTC, 0.5, 64995);
    check.checkOrderBook(program, await next, BTC);
    assert.deepEqual((await next).bids[0], [64995, 0.5]);
    const last = program.watchOrderBook(BTC);
    await actor.cancelOrder(order.id as string);
    assert.equal((await last).bids[0]?.[0], 64990);
    const shallow = await program.watchOrderBook(BTC, 1);
    check.checkOrderBook(program, shallow, BTC, 1);
  },
  async watchTicker(t) {
    const program = await open(t);
    const ticker = await program.watchTicker(BTC);
    check.checkTicker(program, ticker, BTC);
    assert.equal(ticker.bid, 64990);
    const next = program.watchTicker(BTC);
    await take(0.01);
    check.checkTicker(program, await next, BTC);
  },
  async watchTickers(t) {
    const program = await open(t);
    const seen: Dict = {};
    while (Object.keys(seen).length < 2) Object.assign(seen, await program.watchTickers([BTC, ETH]));
    for (const [symbol, ticker] of Object.entries(seen)) check.checkTicker(program, ticker, symbol);
    const next = program.watchTickers([BTC]);
    await take(0.01);
    check.checkTicker(program, (await next)[BTC] as Dict, BTC);
    const all = await open(t, { options: { newUpdates: false } });
    await until("all symbols", async () => Object.keys(await all.watchTickers()).length === all.symbols.length);
  },
  async watchBidsAsks(t) {
    const program = await open(t);
    const quotes = await program.watchBidsAsks([BTC]);
    assert.deepEqual([quotes[BTC]?.bid, quotes[BTC]?.ask], [64990, 65010]);
  },
  async watchMarkPrice(t) {
    const program = await open(t);
    const ticker = await program.watchMarkPrice(BTC);
    check.checkTicker(program, ticker, BTC);
    assert.ok((ticker.markPrice as number) > 0);
  },
  async watchMarkPrices(t) {
    const program = await open(t);
    const prices = await program.watchMarkPrices([ETH]);
    assert.deepEqual(Object.keys(prices), [ETH]);
    assert.ok((prices[ETH]?.markPrice as number) > 0);
  },
  async watchTradesForSymbols(t) {
    await take(0.01);
    const program = await open(t);
    const before = await program.watchTradesForSymbols([BTC, ETH]);
    check.checkList(before, (trade) => check.checkTrade(program, trade, BTC, false));
    const next = program.watchTradesForSymbols([BTC, ETH]);
    await take(0.02);
    assert.deepEqual(
      (await next).map(({ amount, symbol }) => [amount, symbol]),
      [[0.02, BTC]],
    );
  },
  async watchOrderBookForSymbols(t) {
    const bid = await actor.createLimitBuyOrder(ETH, 1, 2990);
    const ask = await actor.createLimitSellOrder(ETH, 1, 3010);
    const program = await open(t);
    // One after the other, and none is left out.
    const first = await program.watchOrderBookForSymbols([BTC, ETH], 5);
    const second = await program.watchOrderBookForSymbols([BTC, ETH], 5);
    assert.deepEqual([first.symbol, second.symbol].toSorted(), [BTC, ETH]);
    for (const book of [first, second]) check.checkOrderBook(program, book, book.symbol as string, 5);
    const next = program.watchOrderBookForSymbols([BTC, ETH], 5);
    await actor.cancelOrder(bid.id as string);
    const changed = await next;
    assert.deepEqual([changed.symbol, changed.bids], [ETH, []]);
    await actor.cancelOrder(ask.id as string);
  },
  /** Nobody is liquidated here: a message as the exchange would send it. */
  async watchLiquidations(t) {
    const program = await open(t);
    const told = program.watchLiquidations(BTC);
    await subscribed(program);
    tellLiquidation(program, "BTC-PERP");
    check.checkList(await told, (row) => check.checkLiquidation(program, row, BTC));
  },
  async watchLiquidationsForSymbols(t) {
    const program = await open(t);
    const told = program.watchLiquidationsForSymbols([BTC, ETH]);
    await until("both", () => Object.keys(connectionOf(program)?.subscriptions ?? {}).length === 2);
    await subscribed(program);
    tellLiquidation(program, "ETH-PERP");
    check.checkList(await told, (row) => check.checkLiquidation(program, row, ETH));
  },
  async createOrderWs(t) {
    const program = await open(t);
    const order = await program.createOrderWs(BTC, "limit", "buy", 0.1, 64000, { clientOrderId: "ws-1" });
    check.checkOrder(program, order, BTC);
    assert.deepEqual([order.status, order.clientOrderId, order.price], ["open", "ws-1", 64000]);
    assert.equal((await program.fetchOrder(order.id as string)).id, order.id);
    await assert.rejects(program.createOrderWs(BTC, "limit", "buy", 90, 64000), { name: "InsufficientFunds" });
    await assert.rejects(program.createOrderWs(BTC, "limit", "buy", 0.1, 64000, { clientOrderId: "b a d" }));
    // Nothing is kept of what is done.
    const hashes = Object.keys(connectionOf(program).subscriptions);
    assert.deepEqual(hashes, ["authenticated"]);
    await program.cancelAllOrdersWs(BTC);
  },
  async createLimitOrderWs(t) {
    const program = await open(t);
    const order = await program.createLimitOrderWs(BTC, "buy", 0.1, 64000, { timeInForce: "IOC" });
    check.checkOrder(program, order, BTC);
    assert.equal(order.status, "expired");
  },
  async createMarketOrderWs(t) {
    const program = await open(t);
    const order = await program.createMarketOrderWs(BTC, "buy", 0.01);
    check.checkOrder(program, order, BTC);
    assert.deepEqual([order.status, order.average, order.trades.length], ["closed", 65010, 1]);
  },
  async createPostOnlyOrderWs(t) {
    const program = await open(t);
    await assert.rejects(program.createPostOnlyOrderWs(BTC, "limit", "buy", 0.1, 65010), {
      name: "OrderImmediatelyFillable",
    });
  },
  async createReduceOnlyOrderWs(t) {
    const program = await open(t);
    await take(0.01);
    const order = await program.createReduceOnlyOrderWs(BTC, "limit", "sell", 0.01, 66000);
    check.checkOrder(program, order, BTC);
    assert.equal(order.reduceOnly, true);
    await program.cancelOrderWs(order.id as string, BTC);
  },
  async createTriggerOrderWs(t) {
    await waits(
      t,
      (program) => program.createTriggerOrderWs(BTC, "market", "buy", 0.1, undefined, 66000),
      "STOP_MARKET",
    );
  },
  async createStopLossOrderWs(t) {
    await take(0.01);
    await waits(
      t,
      (program) => program.createStopLossOrderWs(BTC, "market", "sell", 0.01, undefined, 60000),
      "STOP_MARKET",
    );
  },
  async createTakeProfitOrderWs(t) {
    await take(0.01);
    await waits(
      t,
      (program) => program.createTakeProfitOrderWs(BTC, "limit", "sell", 0.01, 70000, 69000),
      "TAKE_PROFIT",
    );
  },
  async createTrailingPercentOrderWs(t) {
    const type = "TRAILING_STOP_MARKET";
    await waits(t, (program) => program.createTrailingPercentOrderWs(BTC, "market", "sell", 0.1, undefined, 1), type);
  },
  async editOrderWs(t) {
    const program = await open(t);
    const order = await program.createLimitBuyOrder(BTC, 0.3, 64000, { clientOrderId: "ws-edit" });
    const smaller = await program.editOrderWs(order.id as string, BTC, "limit", "buy", 0.2);
    check.checkOrder(program, smaller, BTC);
    assert.deepEqual([smaller.id, smaller.amount], [order.id, 0.2]);
    const moved = await program.editOrderWs("", BTC, "limit", "buy", undefined, 64010, { clientOrderId: "ws-edit" });
    assert.deepEqual([moved.id, moved.price], [order.id, 64010]);
    await program.cancelOrder(order.id as string, BTC);
  },
  async cancelOrderWs(t) {
    const program = await open(t);
    const orders = [
      await program.createLimitBuyOrder(BTC, 0.1, 64000),
      await program.createLimitBuyOrder(BTC, 0.1, 64001, { clientOrderId: "ws-cancel" }),
    ];
    const ended = [
      await program.cancelOrderWs(orders[0]?.id as string, BTC),
      await program.cancelOrderWs("", BTC, { clientOrderId: "ws-cancel" }),
    ];
    for (const order of ended) check.checkOrder(program, order, BTC);
    assert.deepEqual(
      ended.map(({ id, status }) => [id, status]),
      orders.map(({ id }) => [id, "canceled"]),
    );
    await assert.rejects(program.cancelOrderWs(orders[0]?.id as string), { name: "OrderNotFound" });
  },
  async cancelAllOrdersWs(t) {
    const program = await open(t);
    await program.createLimitBuyOrder(BTC, 0.1, 64000);
    const ended = await program.cancelAllOrdersWs(BTC);
    check.checkList(ended, (order) => check.checkOrder(program, order, BTC));
    assert.deepEqual(await program.cancelAllOrdersWs(), []);
  },
  unWatchOrderBook: (t) =>
    ends(
      t,
      (program) => program.watchOrderBook(BTC, 5),
      (program) => program.unWatchOrderBook(BTC),
    ),
  unWatchOrderBookForSymbols: (t) =>
    ends(
      t,
      (program) => program.watchOrderBookForSymbols([BTC, ETH]),
      (program) => program.unWatchOrderBookForSymbols([BTC, ETH]),
    ),
  unWatchTrades: (t) =>
    ends(
      t,
      (program) => program.watchTrades(BTC),
      (program) => program.unWatchTrades(BTC),
    ),
  unWatchTradesForSymbols: (t) =>
    ends(
      t,
      (program) => program.watchTradesForSymbols([BTC, ETH]),
      (program) => program.unWatchTradesForSymbols([BTC, ETH]),
    ),
  unWatchTicker: (t) =>
    ends(
      t,
      (program) => program.watchTicker(BTC),
      (program) => program.unWatchTicker(BTC),
    ),
  unWatchTickers: (t) =>
    ends(
      t,
      (program) => program.watchTickers(),
      (program) => program.unWatchTickers(),
    ),
  unWatchBidsAsks: (t) =>
    ends(
      t,
      (program) => program.watchBidsAsks([BTC]),
      (program) => program.unWatchBidsAsks([BTC]),
    ),
  unWatchOHLCV: (t) =>
    ends(
      t,
      (program) => program.watchOHLCV(BTC, "1d"),
      (program) => program.unWatchOHLCV(BTC, "1d"),
    ),
  unWatchOHLCVForSymbols: (t) =>
    ends(
      t,
      (program) => program.watchOHLCVForSymbols([[BTC, "1d"]]),
      (program) => program.unWatchOHLCVForSymbols([[BTC, "1d"]]),
    ),
  unWatchMarkPrice: (t) =>
    ends(
      t,
      (program) => program.watchMarkPrice(BTC),
      (program) => program.unWatchMarkPrice(BTC),
    ),
  unWatchMarkPrices: (t) =>
    ends(
      t,
      (program) => program.watchMarkPrices([BTC]),
      (program) => program.unWatchMarkPrices([BTC]),
    ),
  unWatchOrders: (t) =>
    ends(
      t,
      (program) => program.watchOrders(BTC),
      (program) => program.unWatchOrders(BTC),
    ),
  unWatchMyTrades: (t) =>
    ends(
      t,
      (program) => program.watchMyTrades(),
      (program) => program.unWatchMyTrades(),
    ),
  unWatchPositions: (t) =>
    ends(
      t,
      (program) => program.watchPositions([ETH]),
      (program) => program.unWatchPositions([ETH]),
    ),
  async watchTrades(t) {
    await take(0.01);
    const program = await open(t);
    const before = await program.watchTrades(BTC);
    check.checkList(before, (trade) => check.checkTrade(program, trade, BTC, false));
    const next = program.watchTrades(BTC);
    await take(0.02);
    assert.deepEqual(
      (await next).map(({ amount, side }) => [amount, side]),
      [[0.02, "buy"]],
    );
  },
  async watchOHLCV(t) {
    await take(0.01);
    const program = await open(t);
    check.checkCandles(await program.watchOHLCV(BTC, "1m"), 60_000);
    const next = program.watchOHLCV(BTC, "1m");
    await take(0.01);
    check.checkCandles(await next, 60_000);
  },
  async watchOHLCVForSymbols(t) {
    await take(0.01);
    const program = await open(t);
    const pairs = [
      [BTC, "1m"],
      [BTC, "1d"],
      [ETH, "1m"],
    ];
    const seen = new Set<string>();
    while (!seen.has("1m") || !seen.has("1d")) {
      const candles = await program.watchOHLCVForSymbols(pairs);
      for (const [timeframe, rows] of Object.entries(candles[BTC] ?? {})) {
        check.checkCandles(rows, timeframe === "1m" ? 60_000 : 86_400_000);
        seen.add(timeframe);
      }
    }
    const next = program.watchOHLCVForSymbols(pairs, undefined, 1);
    await take(0.01);
    assert.ok(Object.values((await next)[BTC] ?? {}).every(({ length }) => length === 1));
  },
  async watchOrdersForSymbols(t) {
    const program = await open(t);
    const told = program.watchOrdersForSymbols([BTC]);
    await subscribed(program);
    const other = await program.createLimitBuyOrder(ETH, 0.1, 2900);
    const order = await program.createLimitBuyOrder(BTC, 0.1, 64000);
    const rows = await told;
    check.checkList(rows, (row) => check.checkOrder(program, row, BTC));
    assert.deepEqual(
      rows.map(({ id }) => id),
      [order.id],
    );
    for (const { id } of [order, other]) await program.cancelOrder(id as string);
  },
  async watchMyTradesForSymbols(t) {
    const program = await open(t);
    const told = program.watchMyTradesForSymbols([BTC, ETH]);
    await subscribed(program);
    const order = await take(0.02);
    assert.deepEqual(
      (await told).map(({ order: id, amount }) => [id, amount]),
      [[order.id, 0.02]],
    );
  },
  async watchPosition(t) {
    await take(0.01);
    const program = await open(t);
    const position = await program.watchPosition(BTC);
    check.checkPosition(program, position, BTC);
    const next = program.watchPosition(BTC, { type: "swap" });
    await take(0.02);
    assert.equal((await next).contracts, (await program.fetchPosition(BTC)).contracts);
  },
  async watchOrders(t) {
    const program = await open(t);
    const told = program.watchOrders(BTC, undefined, undefined, { type: "swap", trigger: false });
    await subscribed(program);
    const order = await program.createLimitBuyOrder(BTC, 0.1, 64000, { clientOrderId: `watch-${Date.now()}` });
    const [row] = await told;
    check.checkOrder(program, row as Dict, BTC);
    assert.deepEqual([row?.id, row?.status], [order.id, "open"]);
    const next = program.watchOrders(BTC);
    await program.cancelOrder(order.id as string);
    assert.deepEqual(
      (await next).map(({ id, status }) => [id, status]),
      [[order.id, "canceled"]],
    );
  },
  async watchMyTrades(t) {
    await take(0.01);
    const program = await open(t);
    const told = program.watchMyTrades();
    await subscribed(program);
    const order = await take(0.03);
    const trades = await told;
    check.checkList(trades, (trade) => check.checkTrade(program, trade, BTC, true));
    // What was traded before is no news.
    assert.deepEqual(
      trades.map(({ order: id, amount }) => [id, amount]),
      [[order.id, 0.03]],
    );
  },
  async watchPositions(t) {
    await take(0.01);
    const program = await open(t);
    const [position] = await program.watchPositions([BTC]);
    check.checkPosition(program, position as Dict, BTC);
    assert.deepEqual(await program.watchPositions(), [position], "whoever asks in other words is told what there is");
    const next = program.watchPositions();
    await take(0.05);
    const [changed] = await next;
    assert.equal(changed?.contracts, (await program.fetchPosition(BTC)).contracts);
    const nothing = program.watchPositions([ETH]);
    nothing.catch(ignore);
  },
  async watchBalance(t) {
    const program = await open(t);
    check.checkBalance(program, await program.watchBalance());
    const next = program.watchBalance();
    await take(0.01);
    check.checkBalance(program, await next);
  },
};

/** An order over the WebSocket that waits for its price; it is canceled again. */
async function waits(t: TestContext, create: (program: perpd) => Promise<Order>, type: string): Promise<void> {
  const program = await open(t);
  const order = await create(program);
  check.checkOrder(program, order, BTC);
  assert.deepEqual([order.info.type, order.info.status], [type, "UNTRIGGERED"]);
  await program.cancelOrderWs(order.id as string, BTC);
}

type Doing = (program: perpd) => Promise<unknown>;

/** What is watched ends, whoever waits for it is told, and it can be watched again. */
async function ends(t: TestContext, watch: Doing, unwatch: Doing): Promise<void> {
  const program = await open(t);
  for (let times = 0; times < 2; times++) {
    // Until there is nothing new: what comes meanwhile is no mistake.
    let outcome = "";
    const wait = (): Promise<void> =>
      watch(program).then(wait, ({ name }: Error) => {
        outcome = name;
      });
    const waiting = wait();
    await subscribed(program);
    await unwatch(program);
    await waiting;
    assert.equal(outcome, "UnsubscribeError");
    assert.ok(Object.values(connectionOf(program).subscriptions).every((kept) => kept?.request === undefined));
  }
}

function tellLiquidation(program: perpd, symbol: string): void {
  const client = connectionOf(program);
  const prevSequence = client.subscriptions[`liquidations:${symbol}`]?.sequence ?? 0;
  const sequence = prevSequence + 1;
  const trade = { tradeId: "513", symbol, side: "SELL", price: "64032.5", quantity: "0.6", execType: "LIQUIDATION" };
  const data = [{ ...trade, time: Date.now(), sequence }];
  const message = { channel: "liquidations", symbol, type: "UPDATE", sequence, prevSequence, data };
  program.handleMessage(client, message as Parameters<perpd["handleMessage"]>[1]);
}

for (const [name, run] of Object.entries(METHODS)) test(name, run);

test("the description claims exactly the streams that are tested", () => {
  const claimed = Object.entries(actor.has as Dict)
    .filter(([name, has]) => has && /^(watch|unWatch)|Ws$/.test(name))
    .map(([name]) => name);
  assert.deepEqual(claimed.toSorted(), Object.keys(METHODS).toSorted());
});

test("with newUpdates: false each call returns everything", async (t) => {
  const program = await open(t, { options: { newUpdates: false } });
  const first = (await program.watchTrades(BTC)).length;
  const next = program.watchTrades(BTC);
  await take(0.02);
  assert.equal((await next).length, first + 1);
});

test("a missing message leads to a new snapshot, not to a wrong book", async (t) => {
  const program = await open(t);
  const book = await program.watchOrderBook(BTC);
  const client = connectionOf(program);
  const [hash] = Object.keys(client.subscriptions) as [string];
  const next = program.watchOrderBook(BTC);
  const sequence = (book.nonce as number) + 1000;
  const skipped = {
    channel: "orderbook",
    symbol: "BTC-PERP",
    depth: 100,
    type: "DELTA",
    sequence,
    checksum: 0,
    time: 1,
  };
  const bids = [["64999", "9"]];
  const message = { ...skipped, prevSequence: sequence - 1, bids, asks: [] };
  program.handleMessage(client, message as unknown as Parameters<perpd["handleMessage"]>[1]);
  assert.equal(client.subscriptions[hash]?.sequence, null);
  assert.deepEqual((await next).bids, book.bids);
});

test("a book with a wrong checksum is requested again", async (t) => {
  const program = await open(t);
  const book = await program.watchOrderBook(BTC);
  const next = program.watchOrderBook(BTC);
  const sequence = (book.nonce as number) + 1000;
  const head = { channel: "orderbook", symbol: "BTC-PERP", depth: 100, type: "DELTA", sequence, checksum: 0, time: 1 };
  const message = { ...head, prevSequence: book.nonce, bids: [["64999", "9"]], asks: [] };
  program.handleMessage(connectionOf(program), message as unknown as Parameters<perpd["handleMessage"]>[1]);
  assert.deepEqual((await next).bids, book.bids);
});

test("a lost connection rejects waiting calls, and fills from that time are delivered once", async (t) => {
  const program = await open(t);
  const told = program.watchMyTrades(BTC);
  await subscribed(program);
  await take(0.01);
  await told;
  const waiting = program.watchMyTrades(BTC);
  connectionOf(program).connection.terminate();
  await assert.rejects(waiting, { name: "NetworkError" });
  const missed = await take(0.04);
  const trades = await program.watchMyTrades(BTC);
  assert.deepEqual(
    trades.map(({ order, amount }) => [order, amount]),
    [[missed.id, 0.04]],
  );
});

test("a lost connection rejects pending orders, and the next order succeeds", async (t) => {
  const program = await open(t);
  await program.cancelAllOrdersWs(BTC);
  const client = connectionOf(program);
  // The answer is not read, however early it comes.
  client.connection.pause();
  const waiting = program.createOrderWs(BTC, "limit", "buy", 0.1, 63000, { timeInForce: "IOC" });
  await until("the request", () => Object.keys(client.subscriptions).some((name) => name.startsWith("request:")));
  client.connection.terminate();
  await assert.rejects(waiting, { name: "NetworkError" });
  const order = await program.createOrderWs(BTC, "limit", "buy", 0.1, 63000, { timeInForce: "IOC" });
  assert.equal(order.status, "expired");
});

/** A program that watches orders and has one open, when its connection is lost. */
async function loseConnection(t: TestContext) {
  const program = await open(t);
  const told = program.watchOrders(BTC);
  await subscribed(program);
  const order = await program.createLimitBuyOrder(BTC, 0.1, 64000);
  await told;
  connectionOf(program).connection.terminate();
  await assert.rejects(program.watchOrders(BTC), { name: "NetworkError" });
  return { program, order };
}

test("an order that ended during a lost connection is reported", async (t) => {
  const { program, order } = await loseConnection(t);
  await market.taker.exchange.cancelOrder(order.id as string, BTC);
  const [ended] = await program.watchOrders(BTC);
  check.checkOrder(program, ended as Dict, BTC);
  assert.deepEqual([ended?.id, ended?.status], [order.id, "canceled"]);
});

test("an order that was placed and ended during a lost connection is reported", async (t) => {
  const { program, order: known } = await loseConnection(t);
  const { exchange } = market.taker;
  const missed = await exchange.createLimitBuyOrder(BTC, 0.1, 64001);
  const elsewhere = await exchange.createLimitBuyOrder(ETH, 0.1, 2990);
  await exchange.cancelOrders([missed.id, elsewhere.id, known.id] as string[]);
  const ended: Order[] = [];
  while (ended.length < 2) ended.push(...(await program.watchOrders(BTC)));
  assert.deepEqual(
    ended.map(({ id, status }) => [id, status]),
    [
      [known.id, "canceled"],
      [missed.id, "canceled"],
    ],
  );
  // Once: the next call waits for what comes.
  const next = program.watchOrders(BTC);
  const placed = await take(0.01);
  assert.deepEqual(
    (await next).map(({ id }) => id),
    [placed.id],
  );
});

test("an order that was placed and ended between the first call and the connection is reported, but no earlier one", async (t) => {
  const { exchange } = market.taker;
  const place = async (): Promise<Order> => {
    const { id } = await exchange.createLimitBuyOrder(BTC, 0.1, 64001);
    return (await exchange.cancelOrder(id as string, BTC)) as Order;
  };
  const old = await place();
  const program = await open(t);
  // The first call is the millisecond after that by the exchange's clock, which need not be the program's.
  const calledAt = (old.lastUpdateTimestamp as number) + 1;
  program.milliseconds = () => calledAt;
  const { ws } = program.urls.api;
  program.urls.api.ws = "ws://127.0.0.1:2/v1/ws";
  await assert.rejects(program.watchOrders(BTC), { name: "NetworkError" });
  await until("a later time", async () => ((await exchange.fetchTime()) as number) > calledAt + 50);
  const missed = await place();
  program.urls.api.ws = ws;
  const told: Order[] = [];
  program.watchOrders(BTC).then((news) => told.push(...news), ignore);
  await until("news", () => told.length > 0);
  assert.deepEqual(
    told.map(({ id, status }) => [id, status]),
    [[missed.id, "canceled"]],
  );
});

test("orders whose look-up failed after a lost connection are reported by the next call", async (t) => {
  const { program, order } = await loseConnection(t);
  const { exchange } = market.taker;
  const missed = await exchange.createLimitBuyOrder(BTC, 0.1, 64001);
  await exchange.cancelOrders([order.id, missed.id] as string[]);
  // In the snapshot, and changed behind the two others.
  const resting = await exchange.createLimitBuyOrder(BTC, 0.1, 64002);
  t.after(() => exchange.cancelOrder(resting.id as string, BTC));
  const { fetchOrder } = program;
  program.fetchOrder = async () => {
    program.fetchOrder = fetchOrder;
    await program.sleep(10);
    throw new ExchangeNotAvailable("not yet");
  };
  const told: Record<string, unknown> = {};
  const tell = async (): Promise<void> => {
    for (const { id, status } of await program.watchOrders(BTC)) told[id as string] = status;
  };
  await assert.rejects(
    async () => {
      for (;;) await tell();
    },
    { name: "ExchangeNotAvailable" },
  );
  while (Object.keys(told).length < 3) await tell();
  const expected = {
    [order.id as string]: "canceled",
    [missed.id as string]: "canceled",
    [resting.id as string]: "open",
  };
  assert.deepEqual(told, expected);
});

test("orders placed during a lost connection are reported oldest first", async (t) => {
  const program = await open(t);
  const told = program.watchOrders(ETH);
  await subscribed(program);
  const { exchange } = market.taker;
  await exchange.cancelOrder((await exchange.createLimitBuyOrder(ETH, 0.1, 2900)).id as string);
  // Its end may come over the WebSocket behind the answer.
  for (let known = await told; known.at(-1)?.status !== "canceled"; ) known = await program.watchOrders(ETH);
  connectionOf(program).connection.terminate();
  await assert.rejects(program.watchOrders(ETH), { name: "NetworkError" });
  const order = { symbol: ETH, type: "limit", side: "buy", amount: 0.1 } as const;
  const placed = await exchange.createOrders([2901, 2902, 2903].map((price) => ({ ...order, price })));
  const ids = placed.map(({ id }) => id);
  const [last] = await program.watchOrders(ETH, undefined, 1);
  assert.equal(last?.id, ids[2]);
  // Also in a list, of one millisecond.
  const listed = await exchange.fetchOpenOrders(ETH);
  assert.deepEqual(
    listed.slice(-3).map(({ id }) => id),
    ids,
  );
  await exchange.cancelOrders(ids as string[], ETH);
});

test("messages of an abandoned connection are ignored", async (t) => {
  const program = await open(t);
  await take(0.01);
  const [position] = await program.watchPositions([BTC]);
  const old = connectionOf(program);
  t.after(() => old.connection.terminate());
  // As ccxt gives one up on which no pong comes: it is closed, but what comes over it until then is still handed on.
  old.onError(new RequestTimeout("no pong"));
  await market.taker.exchange.closePosition(BTC);
  const [closed] = await program.watchPositions([BTC]);
  assert.equal(closed?.contracts, 0);
  const { sequence } = old.subscriptions.positions as { sequence: number };
  const late = { channel: "positions", type: "UPDATE", sequence: sequence + 1, prevSequence: sequence } as const;
  program.handleMessage(old, { ...late, data: [position?.info] });
  const next = program.watchPositions([BTC]);
  await take(0.02);
  assert.deepEqual(
    (await next).map(({ contracts }) => contracts),
    [0.02],
  );
});

test("a position that was closed during a lost connection is reported with 0 contracts", async (t) => {
  const program = await open(t);
  await take(0.01);
  await program.watchPositions([BTC]);
  connectionOf(program).connection.terminate();
  await assert.rejects(program.watchPositions([BTC]), { name: "NetworkError" });
  await market.taker.exchange.closePosition(BTC);
  const [position] = await program.watchPositions([BTC]);
  assert.deepEqual([position?.symbol, position?.contracts, position?.side], [BTC, 0, undefined]);
  // And when nothing else has happened, once.
  const next = program.watchPositions([BTC]);
  await take(0.02);
  assert.deepEqual(
    (await next).map(({ contracts }) => contracts),
    [0.02],
  );
});

test("updates between two calls are returned at once", async (t) => {
  const program = await open(t);
  await program.watchBalance();
  await program.watchTicker(BTC);
  await program.watchOrderBook(BTC, 5);
  await market.taker.trader.deposit("1");
  await take(0.01);
  const { nonce } = await actor.fetchOrderBook(BTC);
  const client = connectionOf(program);
  const isCurrent = (hash: string) => (client.subscriptions[hash]?.sequence ?? 0) >= (nonce as number);
  await until("all of it", () => ["balance", "ticker:BTC-PERP:1000", "orderbook:BTC-PERP:5"].every(isCurrent));
  const [balance, ticker, book] = await Promise.all([
    program.watchBalance(),
    program.watchTicker(BTC),
    program.watchOrderBook(BTC, 5),
  ]);
  assert.equal(balance.USDC?.total, (await program.fetchBalance()).USDC?.total);
  assert.equal(ticker.info.lastPrice, (await program.fetchTicker(BTC)).info.lastPrice);
  assert.equal(book.nonce, nonce);
  // Once: the next calls wait for what comes.
  const waiting = [program.watchBalance(), program.watchTicker(BTC), program.watchOrderBook(BTC, 5)];
  const early = await Promise.race([...waiting, program.sleep(300).then(() => "none")]);
  assert.equal(early, "none");
  await take(0.01);
  await Promise.all(waiting);
});

test("after a lost connection the current state is returned, not an old one", async (t) => {
  const program = await open(t);
  await program.watchBalance();
  await program.watchOrderBook(BTC, 5);
  await take(0.01);
  const client = connectionOf(program);
  await until("news", async () => {
    const { nonce } = await actor.fetchOrderBook(BTC);
    return client.subscriptions["orderbook:BTC-PERP:5"]?.sequence === nonce;
  });
  client.connection.terminate();
  await until("it is lost", () => Object.keys(program.clients as Dict).length === 0);
  await take(0.01);
  const { nonce } = await actor.fetchOrderBook(BTC);
  assert.equal((await program.watchOrderBook(BTC, 5)).nonce, nonce);
  assert.equal((await program.watchBalance()).USDC?.total, (await program.fetchBalance()).USDC?.total);
});

test("refusals over the WebSocket raise the same exceptions as over REST", async (t) => {
  const program = await open(t);
  const orders: [price: number, amount: number, params: Dict][] = [
    [30000, 0.01, {}],
    [64000, 90, {}],
    [64000, 0.01, { timeInForce: "SOON" }],
    [64000, 0.01, { unheardOf: 1 }],
    [64000, 0.01, { reduceOnly: true }],
    [65010, 0.01, { postOnly: true }],
    [64000, 0.01, { timeInForce: "GTD", goodTillDate: 1 }],
  ];
  await program.closePosition(BTC).catch(ignore);
  for (const [price, amount, params] of orders) {
    const nameOf = ({ name }: Error) => name;
    const rest = await program.createOrder(BTC, "limit", "buy", amount, price, params).then(String, nameOf);
    const socket = await program.createOrderWs(BTC, "limit", "buy", amount, price, params).then(String, nameOf);
    assert.notEqual(rest, "ExchangeError");
    assert.equal(socket, rest, JSON.stringify(params));
  }
});

test("a refused subscription rejects with ccxt's exception and can be retried", async (t) => {
  const stranger = await open(t, { secret: "wrong" });
  await assert.rejects(stranger.watchBalance(), { name: "AuthenticationError" });
  await assert.rejects(stranger.watchBalance(), { name: "AuthenticationError" });
  await assert.rejects(stranger.watchOrderBook(BTC, 5, { depth: 7 }));
  check.checkOrderBook(stranger, await stranger.watchOrderBook(BTC, 5), BTC, 5);
});
