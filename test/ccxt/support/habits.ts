import assert from "node:assert/strict";
import type { Dict, Order } from "ccxt";
import { BTC, ETH, type Market, openMember, programOf } from "./market.ts";

/**
 * How public ccxt programs call an exchange, from ccxt's examples and its manual. Each names the requests that a call may
 * make: a call that makes more is refused by rate limits sooner or later.
 */
type Habit = (market: Market) => Promise<void>;
type Program = Market["taker"]["exchange"];

/** Runs the call and compares the requests that it made with these. */
async function asks<T>(exchange: Program, requests: readonly string[], call: () => Promise<T>): Promise<T> {
  const made: string[] = [];
  const { fetch } = exchange;
  exchange.fetch = (url, method = "GET", ...more) => {
    made.push(`${method} ${new URL(url).pathname.replace("/v1", "")}`);
    return fetch.call(exchange, url, method, ...more);
  };
  const result = await call().finally(() => {
    exchange.fetch = fetch;
  });
  assert.deepEqual(made.toSorted(), [...requests].toSorted());
  return result;
}

const times = (count: number, request: string): string[] => Array<string>(count).fill(request);
const idsOf = (orders: readonly Order[]) => orders.map(({ id }) => id);

/** One fill, then 2000 orders that end without one. */
async function tradeOnceThenCancel({ maker, taker }: Market): Promise<Order> {
  await maker.exchange.createLimitSellOrder(ETH, 1, 3001);
  const order = await taker.exchange.createMarketBuyOrder(ETH, 0.1);
  const item = { action: "PLACE", side: "BUY", type: "LIMIT", price: "2990", quantity: "0.1", timeInForce: "IOC" };
  const items = Array<object>(20).fill(item);
  for (let batch = 0; batch < 100; batch++)
    await taker.trader.request("POST", "/orders/batch", { symbol: "ETH-PERP", items });
  return order;
}

export const HABITS: Record<string, Habit> = {
  async "reads balance, ticker and book of a market type"({ server, taker }) {
    const exchange = await programOf(server, taker.trader, { options: { defaultType: "future" } });
    await asks(exchange, ["GET /market/symbols"], () => exchange.loadMarkets());
    for (const type of ["swap", "future"])
      await asks(exchange, ["GET /account/balance"], () => exchange.fetchBalance({ type, marginMode: "cross" }));
    await asks(exchange, ["GET /market/ticker"], () =>
      exchange.fetchTickers([BTC], { type: "swap", subType: "linear" }),
    );
    const book = await asks(exchange, ["GET /market/orderbook"], () => exchange.fetchOrderBook(BTC, 5000));
    assert.equal(book.symbol, BTC);
    for (const type of ["spot", "margin", "option"])
      await assert.rejects(
        asks(exchange, [], () => exchange.fetchBalance({ type })),
        { name: "NotSupported" },
      );
    await assert.rejects(exchange.fetchTickers([BTC], { subType: "inverse" }), { name: "NotSupported" });
  },

  async "polls its last filled orders behind thousands of canceled ones"(market) {
    const order = await tradeOnceThenCancel(market);
    const { exchange } = market.taker;
    const history = ["GET /orders/history"];
    for (const limit of [1, 50, undefined]) {
      const found = await asks(exchange, history, () => exchange.fetchClosedOrders(ETH, undefined, limit));
      assert.ok(idsOf(found).includes(order.id));
      const since = (order.timestamp as number) - 1;
      const later = await asks(exchange, history, () => exchange.fetchClosedOrders(ETH, since, limit));
      assert.equal(later[0]?.id, order.id);
    }
    const canceled = await asks(exchange, history, () => exchange.fetchCanceledOrders(ETH, undefined, 7));
    assert.equal(canceled.length, 7);
    assert.deepEqual(await asks(exchange, ["GET /account/trades"], () => exchange.fetchMyLiquidations(ETH)), []);
    const both = ["GET /orders", ...history];
    assert.equal((await asks(exchange, both, () => exchange.fetchOrders(ETH, undefined, 10))).length, 10);
    const paginated = { paginate: true, paginationCalls: 3 };
    const all = await asks(exchange, times(3, "GET /orders/history"), () =>
      exchange.fetchCanceledAndClosedOrders(ETH, undefined, undefined, paginated),
    );
    assert.ok(all.length >= 2001, String(all.length));
  },

  async "downloads fills and candles in steps from a time on"({ taker: { exchange } }) {
    const request = ["GET /account/trades"];
    const [first] = await exchange.fetchMyTrades(ETH, 1, 1);
    const since = first?.timestamp as number;
    const page = await asks(exchange, request, () => exchange.fetchMyTrades(ETH, since, 1, { until: since + 60_000 }));
    assert.equal(page[0]?.id, first?.id);
    assert.deepEqual(await asks(exchange, request, () => exchange.fetchMyTrades(ETH, Date.now() + 60_000, 1)), []);
    await asks(exchange, ["GET /market/trades"], () => exchange.fetchTrades(ETH, since, 1000));
    const klines = "GET /market/klines";
    await asks(exchange, [klines], () => exchange.fetchOHLCV(ETH, "1m", since - 60_000, 5000));
    const from = exchange.milliseconds() - 2500 * 60_000;
    const candles = await asks(exchange, times(3, klines), () =>
      exchange.fetchOHLCV(ETH, "1m", from, undefined, { paginate: true }),
    );
    assert.ok(candles.length > 0);
    await asks(exchange, ["GET /account/funding"], () => exchange.fetchFundingHistory(ETH, since, 10));
    await asks(exchange, ["GET /account/ledger"], () => exchange.fetchLedger("USDC", since, 10, { type: "swap" }));
    assert.deepEqual(await exchange.fetchLedger("USDC", since, 10, { type: "FUNDING" }), []);
    await asks(exchange, ["GET /positions/history"], () => exchange.fetchPositionsHistory([ETH], since, 10));
  },

  async "places stops by type, as for other futures exchanges"({ taker: { exchange } }) {
    const order = ["POST /orders"];
    await exchange.createMarketBuyOrder(BTC, 0.2);
    const kinds: [type: string, price: number | undefined, params: Dict, becomes: string][] = [
      ["STOP_MARKET", undefined, { stopPrice: 60000, reduceOnly: true }, "STOP_MARKET"],
      ["stop_market", undefined, { triggerPrice: 60000, closePosition: true }, "STOP_MARKET"],
      ["STOP_MARKET", undefined, { stopLossPrice: 60000 }, "STOP_MARKET"],
      ["TAKE_PROFIT_MARKET", undefined, { stopPrice: 70000, reduceOnly: true }, "TAKE_PROFIT_MARKET"],
      ["takeProfitMarket", undefined, { takeProfitPrice: 70000 }, "TAKE_PROFIT_MARKET"],
      ["STOP", 59900, { stopPrice: 60000 }, "STOP"],
      ["stop-limit", 59900, { triggerPrice: 60000 }, "STOP"],
      ["TAKE_PROFIT", 69900, { stopPrice: 70000 }, "TAKE_PROFIT"],
      ["TRAILING_STOP_MARKET", undefined, { trailingPercent: 1, reduceOnly: true }, "TRAILING_STOP_MARKET"],
      ["TRAILING_STOP_MARKET", undefined, { callbackRate: "0.01" }, "TRAILING_STOP_MARKET"],
      ["market", undefined, { stopLossPrice: 60000 }, "STOP_MARKET"],
      ["limit", 69900, { takeProfitPrice: 70000 }, "TAKE_PROFIT"],
    ];
    for (const [type, price, params, becomes] of kinds) {
      const placed = await asks(exchange, order, () => exchange.createOrder(BTC, type, "sell", 0.1, price, params));
      assert.equal(placed.info.type, becomes, type);
    }
    const conditional = await asks(exchange, ["GET /orders", "POST /orders/batch"], () =>
      exchange.cancelAllOrders(BTC, { trigger: true }),
    );
    assert.equal(conditional.length, kinds.length);
    const refused: [type: string, price: number | undefined, params: Dict, error: string][] = [
      ["STOP_MARKET", undefined, {}, "InvalidOrder"],
      ["STOP_MARKET", undefined, { takeProfitPrice: 70000 }, "InvalidOrder"],
      ["TAKE_PROFIT_MARKET", undefined, { stopLossPrice: 60000 }, "InvalidOrder"],
      ["STOP_MARKET", undefined, { triggerPrice: 70000, triggerDirection: "ascending" }, "InvalidOrder"],
      ["STOP", undefined, { triggerPrice: 60000 }, "InvalidOrder"],
      ["TAKE_PROFIT", undefined, { triggerPrice: 70000 }, "InvalidOrder"],
      ["limit", undefined, {}, "InvalidOrder"],
      ["TRAILING_STOP_MARKET", undefined, {}, "InvalidOrder"],
      ["TRAILING_STOP_MARKET", undefined, { triggerPrice: 60000 }, "InvalidOrder"],
      ["STOP_MARKET", undefined, { trailingPercent: 1 }, "InvalidOrder"],
      ["market", undefined, { trailingAmount: 100 }, "NotSupported"],
      ["stop_loss_or_so", undefined, { triggerPrice: 60000 }, "NotSupported"],
      ["constructor", undefined, {}, "NotSupported"],
      ["limit", 60000, { hedged: true }, "NotSupported"],
      ["limit", 60000, { type: "spot" }, "NotSupported"],
      ["limit", 66000, { stopLoss: { triggerPrice: 70000, type: "limit" } }, "InvalidOrder"],
      ["limit", 66000, { stopLoss: { triggerPrice: 70000, amount: 0.05 } }, "NotSupported"],
    ];
    for (const [type, price, params, name] of refused)
      await assert.rejects(
        asks(exchange, [], () => exchange.createOrder(BTC, type, "sell", 0.1, price, params)),
        { name },
        `${type} ${JSON.stringify(params)}`,
      );
    assert.deepEqual(await exchange.fetchOpenOrders(BTC), []);
    await exchange.closePosition(BTC);
  },

  async "passes unified params to an order"({ taker: { exchange } }) {
    const more = { type: "swap", hedged: false, postOnly: true, timeInForce: "GTC", clientOrderId: undefined };
    const order = await asks(exchange, ["POST /orders"], () =>
      exchange.createOrder(BTC, "limit", "buy", 0.1, 60000, more),
    );
    assert.deepEqual([order.info.type, order.postOnly], ["LIMIT", true]);
    const mode = ["GET /positions/BTC-PERP", "POST /orders"];
    const params = { marginMode: "cross", reduceOnly: false };
    const second = await asks(exchange, mode, () => exchange.createOrder(BTC, "limit", "buy", 0.1, 60000, params));
    await assert.rejects(
      asks(exchange, mode.slice(0, 1), () =>
        exchange.createOrder(BTC, "limit", "buy", 0.1, 60000, { marginMode: "isolated" }),
      ),
      { name: "InvalidOrder" },
    );
    const since = (order.timestamp as number) - 1;
    const until = order.timestamp;
    const list = ["GET /orders"];
    const open = await asks(exchange, list, () => exchange.fetchOpenOrders(BTC, since, 10, { until, type: "swap" }));
    assert.ok(idsOf(open).includes(order.id));
    await asks(exchange, ["DELETE /orders"], () => exchange.cancelAllOrders(BTC, { type: "swap", trigger: false }));
    const history = times(2, "GET /orders/history").slice(1);
    const placed = await asks(exchange, history, () => exchange.fetchCanceledOrders(BTC, since, 1, { until }));
    assert.deepEqual(idsOf(placed), [order.id]);
    assert.equal((await exchange.fetchOrder(second.id as string, BTC)).status, "canceled");
  },

  async "sets leverage, margin mode and position mode before it trades"({ maker: { exchange } }) {
    const at = "/positions/SOL-PERP";
    const SOL = "SOL/USDC:USDC";
    const both = [`POST ${at}/leverage`, `POST ${at}/margin-mode`];
    await asks(exchange, both, () => exchange.setMarginMode("isolated", SOL, { leverage: 5, type: "swap" }));
    await asks(exchange, both.slice(0, 1), () =>
      exchange.setLeverage(6, SOL, { marginMode: "isolated", hedged: false }),
    );
    await asks(exchange, [], () => exchange.setPositionMode(false, SOL));
    const { longLeverage, marginMode } = await asks(exchange, [`GET ${at}`], () => exchange.fetchLeverage(SOL));
    assert.deepEqual([longLeverage, marginMode], [6, "isolated"]);
    await exchange.setMarginMode("cross", SOL);
  },

  async "follows an order from its placing to its end"({ taker: { exchange } }) {
    const order = await asks(exchange, ["POST /orders"], () => exchange.createLimitBuyOrder(ETH, 0.1, 2900));
    const id = order.id as string;
    await asks(exchange, [`GET /orders/${id}`], () => exchange.fetchOrder(id, ETH));
    await asks(exchange, ["GET /orders"], () => exchange.fetchOpenOrders(ETH));
    await asks(exchange, [`PATCH /orders/${id}`], () => exchange.editOrder(id, ETH, "limit", "buy", 0.1, 2901));
    const orders = await asks(exchange, ["GET /orders", "GET /orders/history"], () =>
      exchange.fetchOrders(ETH, order.timestamp, 5),
    );
    assert.deepEqual([orders[0]?.id, orders[0]?.price], [id, 2901]);
    await asks(exchange, [`DELETE /orders/${id}`], () => exchange.cancelOrder(id, ETH));
    await asks(exchange, ["GET /account/trades"], () => exchange.fetchOrderTrades(id, ETH));
  },

  async "reads every market, one by one and at once"({ taker: { exchange } }) {
    const count = (exchange.symbols as string[]).length;
    const symbols = ["BTC-PERP", "ETH-PERP", "SOL-PERP"].map((id) => `GET /positions/${id}`);
    await asks(exchange, times(count, "GET /market/orderbook"), () => exchange.fetchOrderBooks(undefined, 5));
    await asks(exchange, symbols, () => exchange.fetchLeverages());
    await asks(exchange, symbols.slice(0, 1), () => exchange.fetchMarginModes([BTC]));
    await asks(exchange, ["GET /positions"], () =>
      exchange.fetchPositions(undefined, { type: "swap", settle: undefined }),
    );
    await asks(exchange, ["GET /market/symbols"], () => exchange.fetchTradingFees());
    await asks(exchange, [], () => exchange.fetchCurrencies());
    await asks(exchange, ["GET /market/ticker"], () => exchange.fetchFundingRates());
  },

  async "adjusts for the difference of the clocks"({ server, taker }) {
    const exchange = await programOf(server, taker.trader, { options: { adjustForTimeDifference: true } });
    const { milliseconds } = exchange;
    const LATE = 3_600_000;
    exchange.milliseconds = () => milliseconds.call(exchange) - LATE;
    await asks(exchange, ["GET /time", "GET /market/symbols"], () => exchange.loadMarkets());
    await asks(exchange, ["GET /account/balance"], () => exchange.fetchBalance());
    const other = await programOf(server, taker.trader);
    other.milliseconds = exchange.milliseconds;
    await assert.rejects(other.fetchBalance(), { name: "InvalidNonce" });
    const difference = (await other.loadTimeDifference()) as number;
    assert.ok(Math.abs(difference + LATE) < 60_000, String(difference));
    await other.fetchBalance();
  },

  async "asks for a sandbox or for demo trading"({ server }) {
    const { exchange } = await openMember(server);
    assert.throws(() => exchange.setSandboxMode(true), { name: "NotSupported" });
    assert.throws(() => exchange.enableDemoTrading(true), { name: "NotSupported" });
    exchange.setSandboxMode(false);
    exchange.enableDemoTrading(false);
    await asks(exchange, ["GET /market/symbols", "GET /account/balance"], () => exchange.fetchBalance());
  },
};
