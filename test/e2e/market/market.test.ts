import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { crc32 } from "node:zlib";
import type {
  InstrumentList,
  KlineList,
  KlinesQuery,
  Level,
  OrderBook,
  PublicTrade,
  PublicTradeList,
  Ticker,
  TickerList,
} from "../../../src/client/types.ts";
import { Api } from "../support/api.ts";
import { sum, times } from "../support/decimal.ts";
import { startServer, type TestServer } from "../support/server.ts";
import { Operator, openTrader, type Trader } from "../support/trader.ts";
import { pause } from "../support/wait.ts";

type Interval = KlinesQuery["interval"];
type Kline = KlineList["data"][number];

let server: TestServer;
let operator: Operator;
let nobody: Api;
let alice: Trader;
let bob: Trader;

before(async () => {
  server = await startServer();
  operator = new Operator(server);
  nobody = new Api(server.url);
  [alice, bob] = await Promise.all([openTrader(server, "1000000"), openTrader(server, "1000000")]);
});

after(async () => {
  await operator.soundAudit();
  await server.dispose();
});

const ticker = (symbol: string) => nobody.get<Ticker>(`/market/ticker?symbol=${symbol}`);
const orderBook = (symbol: string, more = "") => nobody.get<OrderBook>(`/market/orderbook?symbol=${symbol}${more}`);

test("instruments show every limit that an order must respect", async () => {
  const { data, nextCursor } = await nobody.get<InstrumentList>("/market/symbols");
  assert.equal(nextCursor, null);
  assert.deepEqual(
    data.map((instrument) => instrument.symbol),
    ["BTC-PERP", "ETH-PERP", "SOL-PERP"],
  );
  const [btc] = data;
  assert.ok(btc !== undefined);
  const { riskTiers, status: _, statusReason: __, openInterest, ...fields } = btc;
  assert.match(openInterest, /^\d/);
  assert.deepEqual(fields, {
    statusUntil: null,
    pendingIndexPrice: null,
    indexTime: null,
    openingMarginRate: "0.01",
    symbol: "BTC-PERP",
    baseAsset: "BTC",
    quoteAsset: "USDC",
    tickSize: "0.1",
    stepSize: "0.001",
    minQuantity: "0.001",
    maxQuantity: "100",
    minNotional: "5",
    maxPrice: "1000000",
    maxOpenOrders: 1000,
    maxLeverage: 100,
    makerFeeRate: "0.0002",
    takerFeeRate: "0.0005",
    liquidationFeeRate: "0.005",
    priceBand: "0.05",
    lastTriggerLimit: "0.01",
    markLimit: "0.002",
    indexJumpLimit: "0.0075",
    breakerLimit: "0.15",
    breakerMode: "REDUCE_ONLY",
    breakerSeconds: 60,
    maxMovePerSecond: "0.0008",
    transferMarginRate: "0.1",
    maxIndexAgeSeconds: 600, // by the price source of the tests
    openInterestCap: "1000000000",
    openInterestLowerCap: "500000000",
    fundingIntervalHours: 1,
    fundingRateCap: "0", // by the configuration of the tests
    impactNotionalRate: "0.01",
  });
  assert.deepEqual(riskTiers.slice(0, 2), [
    {
      maxNotional: "300000",
      maxLeverage: 100,
      initialMarginRate: "0.01",
      maintenanceMarginRate: "0.004",
      maintenanceDeduction: "0",
    },
    {
      maxNotional: "3000000",
      maxLeverage: 50,
      initialMarginRate: "0.02",
      maintenanceMarginRate: "0.01",
      maintenanceDeduction: "1800", // 300000 × (0.01 − 0.004)
    },
  ]);
  const one = await nobody.get<InstrumentList>("/market/symbols?symbol=SOL-PERP");
  assert.deepEqual(one, { data: [data[2]], nextCursor: null });
  await nobody.refused("UNKNOWN_SYMBOL", "GET", "/market/symbols?symbol=DOGE-PERP");
});

test("nothing trades before the first index price, and the ticker shows it", async () => {
  const before = await ticker("SOL-PERP");
  assert.deepEqual(
    [before.status, before.lastPrice, before.markPrice, before.indexPrice, before.bidPrice, before.askPrice],
    ["HALTED", null, null, null, null, null],
  );
  const order = { symbol: "SOL-PERP", side: "BUY", type: "LIMIT", price: "150", quantity: "1" };
  const error = await alice.refused("NO_MARK_PRICE", "POST", "/orders", order);
  assert.equal(error.retryable, true);
  assert.deepEqual(await operator.setIndex("SOL-PERP", "150.5"), { symbol: "SOL-PERP", indexPrice: "150.5" });
  const now = await ticker("SOL-PERP");
  assert.deepEqual([now.status, now.markPrice, now.indexPrice, now.lastPrice], ["TRADING", "150.5", "150.5", null]);
  await operator.refused("PRICE_NOT_ON_TICK", "PUT", "/operator/index/SOL-PERP", { price: "150.0001" });
  await operator.refused("BAD_VALUE", "PUT", "/operator/index/SOL-PERP", { price: "0" });
  await operator.refused("UNKNOWN_SYMBOL", "PUT", "/operator/index/DOGE-PERP", { price: "1" });
  assert.equal((await ticker("SOL-PERP")).indexPrice, "150.5");
});

test("the order book has levels, depth and a reproducible checksum", async () => {
  await operator.setIndex("ETH-PERP", "3000");
  const place = (trader: Trader, side: "BUY" | "SELL", price: string, quantity: string) =>
    trader.place({ symbol: "ETH-PERP", side, type: "LIMIT", price, quantity });
  const empty = await orderBook("ETH-PERP");
  assert.deepEqual([empty.bids, empty.asks, empty.checksum], [[], [], 0]);
  await place(alice, "BUY", "2999.5", "1.2");
  const lone = await orderBook("ETH-PERP");
  assert.deepEqual([lone.bids, lone.asks, lone.checksum], [[["2999.5", "1.2"]], [], crc32("2999.5:1.2")]);
  await place(bob, "BUY", "2999.5", "0.8");
  await place(alice, "BUY", "2999", "3");
  const last = await place(bob, "SELL", "3000.01", "0.5");
  const book = await orderBook("ETH-PERP");
  assert.deepEqual(book, {
    symbol: "ETH-PERP",
    sequence: last.sequence,
    time: last.updatedAt,
    checksum: crc32("2999.5:2:3000.01:0.5:2999:3"),
    bids: [
      ["2999.5", "2"],
      ["2999", "3"],
    ],
    asks: [["3000.01", "0.5"]],
  });
  const top = await orderBook("ETH-PERP", "&depth=1");
  assert.deepEqual([top.bids, top.asks], [[["2999.5", "2"]], [["3000.01", "0.5"]]]);

  // Thirty levels a side: the checksum covers the best 25.
  for (let i = 0; i < 30; i++) {
    await place(alice, "BUY", `${2900 - i}`, `${1 + i}`);
    await place(bob, "SELL", `${3100 + i}`, `${2 + i}`);
  }
  const deep = await orderBook("ETH-PERP", "&depth=1000");
  assert.deepEqual([deep.bids.length, deep.asks.length], [32, 31]);
  const isFalling = (levels: Level[]) =>
    levels.every(([price], i) => i === 0 || Number(price) < Number(levels[i - 1]?.[0]));
  assert.ok(isFalling(deep.bids) && isFalling([...deep.asks].reverse()));
  const parts = Array.from({ length: 25 }, (_, i) => [...(deep.bids[i] as Level), ...(deep.asks[i] as Level)]);
  assert.equal(deep.checksum, crc32(parts.flat().join(":")));
  for (const depth of ["0", "1001", "-1", "x", "1.5", "01", ""])
    assert.equal((await nobody.request("GET", `/market/orderbook?symbol=ETH-PERP&depth=${depth}`)).status, 400, depth);
  await Promise.all([alice.cancelAll(), bob.cancelAll()]);
});

test("trades, ticker and candles of all intervals agree", async () => {
  await operator.setIndex("BTC-PERP", "65000");
  const begin = Date.now();
  const script: ["BUY" | "SELL", string, string][] = [
    ["BUY", "65000", "0.1"],
    ["SELL", "65200.5", "0.3"],
    ["BUY", "64800", "0.002"],
    ["BUY", "65100", "0.05"],
    ["SELL", "65010.1", "0.4"],
  ];
  for (const [side, price, quantity] of script) {
    const [maker, taker] = side === "BUY" ? [bob.sell, alice.buy] : [bob.buy, alice.sell];
    await maker.call(bob, quantity, price);
    const order = await taker.call(alice, quantity, price);
    assert.equal(order.status, "FILLED");
    await pause(400); // over more than one second, and maybe into the next minute
  }
  await bob.buy("0.7", "64900");
  await bob.sell("0.9", "65300");

  const { data: trades } = await nobody.get<PublicTradeList>("/market/trades?symbol=BTC-PERP");
  assert.deepEqual(
    trades.map((trade) => [trade.side, trade.price, trade.quantity, trade.execType, trade.symbol]).reverse(),
    script.map(([side, price, quantity]) => [side, price, quantity, "TRADE", "BTC-PERP"]),
  );
  const tradeTimes = trades.map((trade) => trade.time);
  assert.deepEqual(
    tradeTimes,
    [...tradeTimes].sort((a, b) => b - a),
  );
  assert.equal(new Set(trades.map((trade) => trade.tradeId)).size, script.length);
  const latest = await nobody.get<PublicTradeList>("/market/trades?symbol=BTC-PERP&limit=2");
  assert.deepEqual(latest.data, trades.slice(0, 2));
  // All of them in pages, and those of a time.
  const pages: PublicTrade[][] = [];
  let cursor: string | null = null;
  do {
    const from: string = cursor === null ? "" : `&cursor=${cursor}`;
    const page = await nobody.get<PublicTradeList>(`/market/trades?symbol=BTC-PERP&limit=2${from}`);
    pages.push(page.data);
    cursor = page.nextCursor;
  } while (cursor !== null);
  assert.deepEqual(
    pages.map((page) => page.length),
    [2, 2, 1],
  );
  assert.deepEqual(pages.flat(), trades);
  const [, newer, , older] = trades;
  const within = `&startTime=${older?.time}&endTime=${newer?.time}`;
  const middle = await nobody.get<PublicTradeList>(`/market/trades?symbol=BTC-PERP${within}`);
  assert.deepEqual(middle, { data: trades.slice(1, 4), nextCursor: null });
  for (const bad of ["&cursor=x", `&startTime=2&endTime=1`]) {
    const refused = await nobody.request("GET", `/market/trades?symbol=BTC-PERP${bad}`);
    assert.equal(refused.status, 400, bad);
  }
  // The account's own fills are the same trades.
  const mine = (await alice.fills("?symbol=BTC-PERP")).data;
  assert.deepEqual(
    mine.map((fill) => fill.tradeId),
    trades.map((trade) => trade.tradeId),
  );

  const { time, nextFundingTime, ...shown } = await ticker("BTC-PERP");
  assert.deepEqual(shown, {
    symbol: "BTC-PERP",
    status: "TRADING",
    statusReason: null,
    lastPrice: "65010.1",
    markPrice: "65000",
    indexPrice: "65000",
    bidPrice: "64900",
    bidSize: "0.7",
    askPrice: "65300",
    askSize: "0.9",
    openPrice24h: "65000",
    highPrice24h: "65200.5",
    lowPrice24h: "64800",
    priceChange24h: "10.1",
    priceChangePercent24h: "0.0155", // 10.1 ÷ 65000 = 0.01553… %, cut
    volume24h: "0.852",
    turnover24h: sum(...script.map(([, price, quantity]) => times(price, quantity))),
    openInterest: "0.548", // +0.1 −0.3 +0.002 +0.05 −0.4 is −0.548
    fundingRate: "0",
    fundingIntervalHours: 1,
  });
  assert.ok(time >= begin);
  assert.equal((nextFundingTime ?? 0) % 3_600_000, 0);
  assert.ok((nextFundingTime ?? 0) > begin);
  const all = await nobody.get<TickerList>("/market/ticker");
  assert.deepEqual(
    all.data.map((each) => each.symbol),
    ["BTC-PERP", "ETH-PERP", "SOL-PERP"],
  );
  assert.deepEqual(all.data[0], await ticker("BTC-PERP"));

  for (const interval of INTERVALS) {
    const path = `/market/klines?symbol=BTC-PERP&interval=${interval}&limit=1000`;
    const { data: candles } = await nobody.get<KlineList>(path);
    checkCandles(interval, candles, [...trades].reverse());
  }
  const bad = await nobody.refused("BAD_VALUE", "GET", "/market/klines?symbol=BTC-PERP&interval=7m");
  assert.equal(bad.field, "interval");
});

const INTERVALS: Interval[] = [
  ...(["1s", "1m", "3m", "5m", "15m", "30m", "1h", "2h"] as const),
  ...(["4h", "6h", "8h", "12h", "1d", "3d", "1w", "1M"] as const),
];

/** Candles against the trades they are made of, put together in the plainest way. */
function checkCandles(interval: Interval, candles: Kline[], trades: PublicTrade[]): void {
  const what = (candle: Kline) => `${interval} ${new Date(candle.openTime).toISOString()}`;
  assert.ok(candles.length > 0, interval);
  let counted = 0;
  let close: string | null = null;
  for (const [i, candle] of candles.entries()) {
    const [openTime, nextTime] = boundsOf(interval, candle.openTime);
    assert.equal(candle.openTime, openTime, what(candle));
    assert.equal(candle.closeTime, nextTime - 1, what(candle));
    if (i > 0) assert.equal(candle.openTime, (candles[i - 1]?.closeTime ?? 0) + 1, `${what(candle)}: no gap`);
    const inside = trades.filter((trade) => trade.time >= openTime && trade.time < nextTime);
    const bought = inside.filter(({ side }) => side === "BUY");
    counted += inside.length;
    const prices = inside.map((trade) => trade.price).sort((a, b) => Number(a) - Number(b));
    const expected: Omit<Kline, "openTime" | "closeTime" | "closed"> = {
      open: inside[0]?.price ?? close ?? "",
      high: prices.at(-1) ?? close ?? "",
      low: prices[0] ?? close ?? "",
      close: inside.at(-1)?.price ?? close ?? "",
      volume: sum("0", ...inside.map((trade) => trade.quantity)),
      turnover: sum("0", ...inside.map((trade) => times(trade.price, trade.quantity))),
      trades: inside.length,
      takerBuyVolume: sum("0", ...bought.map((trade) => trade.quantity)),
      takerBuyTurnover: sum("0", ...bought.map((trade) => times(trade.price, trade.quantity))),
    };
    const { openTime: _, closeTime: __, closed, ...figures } = candle;
    assert.deepEqual(figures, expected, what(candle));
    close = candle.close;
    if (i < candles.length - 1) assert.equal(closed, true, what(candle));
  }
  assert.equal(counted, trades.length, `${interval}: every trade is in a candle`);
}

/** First millisecond of the interval that a time is in, and of the next one. Weeks begin on Monday. */
function boundsOf(interval: Interval, time: number): [number, number] {
  const date = new Date(time);
  if (interval === "1M")
    return [
      Date.UTC(date.getUTCFullYear(), date.getUTCMonth()),
      Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1),
    ];
  const day = Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate());
  if (interval === "1w") {
    const monday = day - ((date.getUTCDay() + 6) % 7) * 86_400_000;
    return [monday, monday + 7 * 86_400_000];
  }
  const unit = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }[interval.slice(-1) as "s" | "m" | "h" | "d"];
  const length = Number(interval.slice(0, -1)) * unit;
  const open = time - (time % length);
  return [open, open + length];
}

test("candles of a range are oldest first, and the current one is not closed", async () => {
  const now = Date.now();
  const hour = now - (now % 3_600_000);
  const path = `/market/klines?symbol=BTC-PERP&interval=1h&startTime=${hour}&endTime=${hour}`;
  const { data } = await nobody.get<KlineList>(path);
  assert.ok(data.length <= 1);
  const { data: latest } = await nobody.get<KlineList>("/market/klines?symbol=BTC-PERP&interval=1d&limit=1");
  assert.equal(latest.length, 1);
  assert.equal(latest[0]?.closed, false);
  // A symbol that has never traded has no candles.
  const none = await nobody.get<KlineList>("/market/klines?symbol=SOL-PERP&interval=1m");
  assert.deepEqual(none.data, []);
});

test("candles of mark and index prices have no volume, intervals from 1m, and survive a restart", async (t) => {
  const server = await startServer();
  t.after(() => server.dispose());
  let operator = new Operator(server);
  let nobody = new Api(server.url);
  const [alice, bob] = await Promise.all([openTrader(server, "1000000"), openTrader(server, "1000000")]);
  const symbol = "SOL-PERP";
  const klines = (priceType: string, more = "") =>
    nobody.get<KlineList>(`/market/klines?symbol=${symbol}&priceType=${priceType}&interval=1M${more}`);
  for (const price of ["150", "150.6", "149.7", "150.2"]) await operator.setIndex(symbol, price);
  const noTrades = { volume: "0", turnover: "0", trades: 0, takerBuyVolume: "0", takerBuyTurnover: "0" };
  const shown = { open: "150", high: "150.6", low: "149.7", close: "150.2", ...noTrades };
  const ofPrices = async (priceType: string, expected: object): Promise<void> => {
    const { data } = await klines(priceType);
    const { openTime, closeTime, ...figures } = data.at(-1) as Kline;
    assert.deepEqual([data.length, figures], [1, { ...expected, closed: false }], priceType);
    assert.deepEqual([openTime, closeTime + 1], boundsOf("1M", Date.now()));
  };
  await ofPrices("INDEX", shown);
  // Without a trade the mark price is the index.
  await ofPrices("MARK", shown);
  await ofPrices("PREMIUM", { open: "0", high: "0", low: "0", close: "0", ...noTrades });
  assert.deepEqual((await klines("LAST")).data, []);
  await alice.place({ symbol, side: "SELL", type: "LIMIT", price: "151", quantity: "1" });
  await bob.place({ symbol, side: "BUY", type: "LIMIT", price: "151", quantity: "1" });
  // A book above the index draws the mark price up.
  await alice.place({ symbol, side: "SELL", type: "LIMIT", price: "151.5", quantity: "1" });
  await bob.place({ symbol, side: "BUY", type: "LIMIT", price: "151", quantity: "1" });
  await operator.setIndex(symbol, "149.6");
  const { markPrice } = await nobody.get<Ticker>(`/market/ticker?symbol=${symbol}`);
  assert.notEqual(markPrice, "149.6");
  await ofPrices("INDEX", { ...shown, low: "149.6", close: "149.6" });
  const low = Number(markPrice) < 149.7 ? markPrice : "149.7";
  await ofPrices("MARK", { ...shown, low, close: markPrice });
  assert.equal((await klines("LAST")).data[0]?.close, "151");

  const short = await nobody.refused(
    "BAD_COMBINATION",
    "GET",
    `/market/klines?symbol=${symbol}&priceType=MARK&interval=1s`,
  );
  assert.equal(short.field, "interval");
  const other = await nobody.refused("BAD_VALUE", "GET", `/market/klines?symbol=${symbol}&priceType=MID&interval=1m`);
  assert.equal(other.field, "priceType");

  const before = await Promise.all(["MARK", "INDEX"].map((priceType) => klines(priceType)));
  await server.stop();
  await server.start();
  [operator, nobody] = [new Operator(server), new Api(server.url)];
  assert.deepEqual(await Promise.all(["MARK", "INDEX"].map((priceType) => klines(priceType))), before);
  await operator.setIndex(symbol, "149");
  await ofPrices("INDEX", { ...shown, low: "149", close: "149" });
});
