import assert from "node:assert/strict";
import { test } from "node:test";
import { crc32 } from "node:zlib";
import type { Static } from "typebox";
import { Compile } from "typebox/compile";
import { BUY, SELL } from "../../../src/core/base/enums.ts";
import type { Candle } from "../../../src/core/market-data/candles.ts";
import { type PublicTrade, toPublicTrade } from "../../../src/core/market-data/public-trades.ts";
import type { Describe } from "../../../src/core/protocol/commands.ts";
import {
  FundingSettled,
  OrderClosed,
  OrderPlaced,
  OrderRested,
  PriceUpdated,
  Traded,
} from "../../../src/core/protocol/events.ts";
import type { MessageOf } from "../../../src/core/protocol/message-schema.ts";
import type { SymbolSummary } from "../../../src/core/protocol/payloads.ts";
import { SymbolDescription } from "../../../src/core/protocol/replies.ts";
import { MarketData } from "../../../src/front/exchange/market.ts";
import type { SymbolPast } from "../../../src/front/exchange/symbol-market.ts";
import { bookChecksum, LevelPrinter, publicTradeJson } from "../../../src/front/json/market-json.ts";

import { FundingRateRecord } from "../../../src/store/database/history-schema.ts";
import { SparklineList } from "../../../src/wire/schema/market.ts";
import { EMPTY_STATE, instrument, make, ScriptedEngine, START } from "../support/scripted-engine.ts";
import { nextTurn } from "../support/scripted-exchange.ts";

const BTC = 1;
const ETH = 2;
const NOTHING: SymbolPast = { minuteCandles: [], trades: [], liquidations: [], fundingRates: [] };

async function openMarket(
  states: Record<number, Partial<SymbolSummary>> = {},
  past: Record<number, SymbolPast> = {},
): Promise<{ engine: ScriptedEngine; market: MarketData }> {
  const engine = new ScriptedEngine();
  const opening = MarketData.open(
    engine,
    (id) => past[id] ?? NOTHING,
    () => engine.time,
  );
  engine.describe(states);
  return { engine, market: await opening };
}

const read = (bytes: Buffer): Record<string, unknown> => JSON.parse(bytes.toString());

test("the checksum of the documented example", () => {
  const printer = new LevelPrinter(instrument(1, "BTC-PERP"));
  const bids = [printer.print(650005, 1200), printer.print(650000, 3000)];
  const asks = [printer.print(650010, 500)];
  assert.equal(bookChecksum(bids, asks), 842467022);
  assert.equal(bookChecksum(asks, bids), crc32("65001:0.5:65000.5:1.2:65000:3"));
  assert.equal(bookChecksum([], []), 0);
  const many = Array.from({ length: 30 }, (_, i) => printer.print(100 + i, 1000));
  assert.equal(bookChecksum(many, []), bookChecksum(many.slice(0, 25), []), "levels past the 25th do not count");
  assert.notEqual(bookChecksum(many, []), bookChecksum(many.slice(0, 24), []));
});

test("the cached text of a level follows its quantity", () => {
  const printer = new LevelPrinter(instrument(1, "BTC-PERP"));
  assert.equal(printer.print(650005, 1200).json, '["65000.5","1.2"]');
  assert.equal(printer.print(650005, 1).json, '["65000.5","0.001"]');
  for (let tick = 1; tick < 20_000; tick++) printer.print(tick, 1);
  assert.equal(printer.print(650005, 1200).json, '["65000.5","1.2"]');
});

test("the cache of levels has a bound", () => {
  const printer = new LevelPrinter(instrument(1, "BTC-PERP"));
  const { texts } = printer as unknown as { texts: Map<number, unknown> };
  let most = 0;
  for (let tick = 1; tick <= 20_000; tick++) {
    printer.print(tick, 1);
    most = Math.max(most, texts.size);
  }
  assert.equal(most, 8192);
});

test("a symbol without a price is halted, and its missing values are null", async () => {
  const { engine, market } = await openMarket();
  assert.deepEqual(read(market.tickerJson(BTC)), {
    symbol: "BTC-PERP",
    status: "HALTED",
    statusReason: "NO_PRICE",
    lastPrice: null,
    markPrice: null,
    indexPrice: null,
    bidPrice: null,
    bidSize: "0",
    askPrice: null,
    askSize: "0",
    openPrice24h: null,
    highPrice24h: null,
    lowPrice24h: null,
    priceChange24h: "0",
    priceChangePercent24h: "0",
    volume24h: "0",
    turnover24h: "0",
    openInterest: "0",
    fundingRate: "0",
    nextFundingTime: Date.parse("2024-03-01T16:00:00Z"),
    fundingIntervalHours: 8,
    time: START,
  });
  assert.deepEqual(read(market.symbol(BTC).orderBookJson(10)), {
    symbol: "BTC-PERP",
    sequence: engine.sequence,
    time: START,
    checksum: 0,
    bids: [],
    asks: [],
  });
});

test("a book is read again when an event comes between two pages", async () => {
  const engine = new ScriptedEngine(["BTC-PERP"]);
  const opening = MarketData.open(
    engine,
    () => NOTHING,
    () => engine.time,
  );
  const asked: number[] = [];
  const tell = (state: Partial<SymbolSummary>): boolean =>
    engine.answer(({ command }) => {
      asked.push((command as MessageOf<typeof Describe>).from);
      return [make(SymbolDescription, { state: { ...EMPTY_STATE, ...state } })];
    });
  tell({ bids: [[649990, 10]], asks: [[650010, 2000]], next: 1 });
  engine.transaction(BTC, make(OrderClosed, { side: BUY, priceTicks: 649990, restingLots: 10 }));
  tell({ bids: [], asks: [[650030, 5]], next: null });
  tell({ bids: [[649980, 7]], asks: [[650010, 2000]], next: 1 });
  tell({ bids: [], asks: [[650030, 5]], next: null });
  const market = await opening;
  assert.deepEqual(asked, [0, 1, 0, 1]);
  engine.transaction(BTC, make(OrderClosed, { side: SELL, priceTicks: 650010, restingLots: 1500 }));
  const { bids, asks } = read(market.symbol(BTC).orderBookJson(10));
  assert.deepEqual(bids, [["64998", "0.007"]]);
  assert.deepEqual(asks, [
    ["65001", "0.5"],
    ["65003", "0.005"],
  ]);
});

test("a ticker folds the described state, the past and every event since", async () => {
  const candle: Candle = {
    openTime: START - 3_600_000 - (START % 60_000),
    openTicks: 640000,
    highTicks: 660000,
    lowTicks: 630000,
    closeTicks: 645000,
    volumeLots: 2500,
    turnoverQuanta: 160_000_000_000n,
    trades: 4,
    takerBuyLots: 0,
    takerBuyQuanta: 0n,
  };
  const state = { indexTicks: 648000, markTicks: 648500, lastTicks: 645000, openInterestLots: 700 };
  const levels: Pick<SymbolSummary, "bids" | "asks"> = { bids: [[649990, 10]], asks: [[650010, 2000]] };
  const { engine, market } = await openMarket(
    { [BTC]: { ...state, ...levels } },
    { [BTC]: { minuteCandles: [candle], trades: [], liquidations: [], fundingRates: [] } },
  );
  engine.time += 1000;
  engine.transaction(
    BTC,
    make(OrderPlaced, { orderId: 257, side: BUY, priceTicks: 650010, quantityLots: 2500 }),
    make(Traded, {
      tradeId: 513,
      takerSide: BUY,
      priceTicks: 650010,
      quantityLots: 2000,
      takerSizeLots: 1500, // was short 500: opens 1500
      makerSizeLots: -2000,
    }),
    make(OrderRested, { orderId: 257, side: BUY, priceTicks: 650010, restingLots: 500 }),
    make(PriceUpdated, { indexTicks: 649000, markTicks: 649100 }),
  );
  const ticker = read(market.tickerJson(BTC));
  assert.deepEqual(ticker, {
    symbol: "BTC-PERP",
    status: "TRADING",
    statusReason: null,
    lastPrice: "65001",
    markPrice: "64910",
    indexPrice: "64900",
    bidPrice: "65001",
    bidSize: "0.5",
    askPrice: null,
    askSize: "0",
    openPrice24h: "64000",
    highPrice24h: "66000",
    lowPrice24h: "63000",
    priceChange24h: "1001",
    priceChangePercent24h: "1.564",
    volume24h: "4.5",
    turnover24h: String(160_000 + 65001 * 2),
    openInterest: "2.2",
    fundingRate: "0",
    nextFundingTime: Date.parse("2024-03-01T16:00:00Z"),
    fundingIntervalHours: 8,
    time: START + 1000,
  });
  const all = read(market.allTickersJson()) as { data: { symbol: string }[]; nextCursor: null };
  assert.deepEqual(all.data[0], ticker);
  assert.deepEqual(
    all.data.map((each) => each.symbol),
    ["BTC-PERP", "ETH-PERP"],
  );
  assert.equal(all.nextCursor, null);
  assert.equal(read(market.tickerJson(ETH)).lastPrice, null, "another symbol's events are not ours");
  const printed = market.sparklinesJson();
  const sparklines = read(printed) as Static<typeof SparklineList>;
  assert.ok(Compile(SparklineList).Check(sparklines));
  assert.deepEqual(sparklines.data[0], {
    symbol: "BTC-PERP",
    interval: "30m",
    startTime: Date.parse("2024-02-29T10:30:00Z"),
    lastPrice: "65001",
    priceChange24h: "1001",
    priceChangePercent24h: "1.564",
    prices: [...Array<string>(45).fill("64000"), "64500", "64500", "65001"],
  });
  assert.deepEqual([sparklines.data[1]?.lastPrice, sparklines.data[1]?.prices], [null, []]);
  engine.time += 999;
  engine.transaction(ETH, make(Traded, { takerSide: BUY, priceTicks: 30_000, quantityLots: 0 }));
  assert.equal(market.sparklinesJson(), printed, "printed once in a second");
  engine.time += 1;
  const later = read(market.sparklinesJson()) as typeof sparklines;
  assert.deepEqual([later.data[1]?.lastPrice, later.data[1]?.prices.at(-1)], ["3000", "3000"]);
});

test("answers are cached until something changes, and the 24 hours roll on without events", async () => {
  const { engine, market } = await openMarket({ [BTC]: { bids: [[10, 5]], lastTicks: 10 } });
  engine.transaction(BTC, make(Traded, { takerSide: SELL, priceTicks: 10, quantityLots: 1 }));
  const ticker = market.tickerJson(BTC);
  const book = market.symbol(BTC).orderBookJson(5);
  assert.equal(market.tickerJson(BTC), ticker);
  assert.equal(market.symbol(BTC).orderBookJson(5), book);
  engine.transaction(ETH, make(PriceUpdated, { indexTicks: 5, markTicks: 5 }));
  assert.equal(market.tickerJson(BTC), ticker);

  engine.transaction(BTC, make(PriceUpdated, { indexTicks: 11, markTicks: 11 }));
  assert.equal(read(market.tickerJson(BTC)).markPrice, "1.1");
  assert.equal(market.symbol(BTC).orderBookJson(5), book, "a mark price leaves the book alone");

  const lastChange = engine.time;
  engine.time += 24 * 3_600_000 + 60_000;
  const later = read(market.tickerJson(BTC));
  assert.equal(later.volume24h, "0");
  assert.equal(later.openPrice24h, "1", "the price has stood where it was");
  assert.equal(later.nextFundingTime, Date.parse("2024-03-02T16:00:00Z"));
  assert.equal(later.time, lastChange, "nothing has happened since");
});

test("after a funding interval the ticker is the same as after a restart", async () => {
  const fundingRatePpb = 12_345;
  const { engine, market } = await openMarket({ [BTC]: { fundingRatePpb, nextFundingTime: START } });
  assert.equal(read(market.tickerJson(BTC)).fundingRate, "0.000012345");
  const nextFundingTime = START + 8 * 3_600_000;
  engine.transaction(BTC, make(FundingSettled, { fundingTime: START, nextFundingTime, ratePpb: fundingRatePpb }));
  // No premium yet, and interest.
  assert.equal(read(market.tickerJson(BTC)).fundingRate, "0.0001");
  assert.equal(read(market.tickerJson(BTC)).nextFundingTime, nextFundingTime);
});

test("an order book has the requested depth and the sequence of its last change", async () => {
  const { engine, market } = await openMarket({
    [BTC]: {
      bids: [
        [100, 1],
        [90, 2],
        [80, 3],
      ],
      asks: [[110, 4]],
    },
  });
  const closed = engine.transaction(BTC, make(OrderClosed, { side: BUY, priceTicks: 90, restingLots: 2 }));
  engine.transaction(BTC, make(PriceUpdated, { indexTicks: 100, markTicks: 100 }));
  const book = read(market.symbol(BTC).orderBookJson(2));
  assert.deepEqual(book.bids, [
    ["10", "0.001"],
    ["8", "0.003"],
  ]);
  assert.deepEqual(book.asks, [["11", "0.004"]]);
  assert.equal(book.sequence, closed);
  assert.equal(book.checksum, crc32("10:0.001:11:0.004:8:0.003"));
  assert.deepEqual(read(market.symbol(BTC).orderBookJson(1)).bids, [["10", "0.001"]]);
  assert.equal(read(market.symbol(BTC).orderBookJson(1)).checksum, crc32("10:0.001:11:0.004"));
});

test("recent trades: the last thousand of the past and the live ones, newest first", async () => {
  const past = (tradeId: number): PublicTrade => ({
    tradeId,
    priceTicks: 650000,
    quantityLots: 1,
    takerSide: BUY,
    execType: 0,
    time: START - 1,
    sequence: 50 + tradeId,
  });
  const { engine, market } = await openMarket(
    { [BTC]: { bids: [[5, 1e6]] } },
    { [BTC]: { minuteCandles: [], trades: [past(1), past(2)], liquidations: [], fundingRates: [] } },
  );
  const sequence = engine.transaction(
    BTC,
    make(Traded, { tradeId: 3, takerSide: SELL, priceTicks: 5, quantityLots: 1500 }),
  );
  const trades = market.symbol(BTC).recentTrades(2);
  assert.deepEqual(
    trades.map((trade) => trade.tradeId),
    [3, 2],
  );
  assert.deepEqual(JSON.parse(publicTradeJson(engine.instruments[0], trades[0])), {
    tradeId: "3",
    symbol: "BTC-PERP",
    side: "SELL",
    price: "0.5",
    quantity: "1.5",
    time: START,
    execType: "TRADE",
    sequence,
  });
  for (let i = 0; i < 1200; i++)
    engine.transaction(BTC, make(Traded, { tradeId: 10 + i, takerSide: SELL, priceTicks: 5, quantityLots: 1 }));
  const all = market.symbol(BTC).recentTrades(5000);
  assert.equal(all.length, 1000);
  assert.equal(all[0].tradeId, 1209);
  assert.equal(all[999].tradeId, 210);
});

test("an event before a symbol's state was read is part of the state", async () => {
  const engine = new ScriptedEngine();
  const opening = MarketData.open(
    engine,
    () => NOTHING,
    () => engine.time,
  );
  const placed = make(OrderPlaced, { side: BUY, priceTicks: 100, quantityLots: 7, rests: 1 });
  engine.transaction(BTC, placed);
  engine.describe({ [BTC]: { bids: [[100, 7]] } });
  const market = await opening;
  assert.deepEqual(read(market.symbol(BTC).orderBookJson(5)).bids, [["10", "0.007"]]);
  engine.transaction(BTC, placed);
  assert.deepEqual(read(market.symbol(BTC).orderBookJson(5)).bids, [["10", "0.014"]]);
});

test("an event while a symbol's state is read is in the past that is read after it", async () => {
  const engine = new ScriptedEngine(["BTC-PERP"]);
  const fundingRates: FundingRateRecord[] = [];
  const settle = (fundingTime: number): void => {
    fundingRates.splice(0, 1, make(FundingRateRecord, { fundingTime }));
    engine.transaction(BTC, make(FundingSettled, { fundingTime }));
  };
  const opening = MarketData.open(
    engine,
    () => ({ ...NOTHING, fundingRates }),
    () => engine.time,
  );
  settle(START);
  engine.describe();
  // While it waits for the history.
  settle(START + 1);
  await nextTurn();
  assert.equal(engine.asked.length, 1, "told anew");
  settle(START + 2);
  engine.describe();
  const { fundingTime } = (await opening).symbol(BTC).fundingRateAt(START + 2);
  assert.equal(fundingTime, START + 2);
});

test("a trade that is in the history before its release counts once", async () => {
  const engine = new ScriptedEngine(["BTC-PERP"]);
  const trade = { tradeId: 1, takerSide: SELL, priceTicks: 5, quantityLots: 1500 };
  const trades = [toPublicTrade(make(Traded, trade), START, engine.sequence + 1)];
  const opening = MarketData.open(
    engine,
    () => ({ ...NOTHING, trades }),
    () => engine.time,
  );
  engine.describe();
  await nextTurn();
  engine.transaction(BTC, make(Traded, trade));
  engine.describe();
  const market = await opening;
  assert.deepEqual(market.symbol(BTC).recentTrades(5), trades);
});

test("an exchange does not start when a symbol takes no command", async () => {
  const engine = new ScriptedEngine();
  engine.full = true;
  await assert.rejects(
    MarketData.open(
      engine,
      () => NOTHING,
      () => engine.time,
    ),
    /the state of BTC-PERP cannot be read/,
  );
});
