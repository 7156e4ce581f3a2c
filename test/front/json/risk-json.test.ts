import assert from "node:assert/strict";
import { test } from "node:test";
import type { TSchema } from "typebox";
import { Compile } from "typebox/compile";
import { BUY, EXEC_ADL, EXEC_LIQUIDATION, FUND_MOVEMENTS, SELL } from "../../../src/core/base/enums.ts";
import type { PublicTrade } from "../../../src/core/market-data/public-trades.ts";
import { PositionTransferred, PriceUpdated, Traded } from "../../../src/core/protocol/events.ts";
import type { MessageOf } from "../../../src/core/protocol/message-schema.ts";
import { PositionView } from "../../../src/core/protocol/replies.ts";
import { MarketData } from "../../../src/front/exchange/market.ts";
import { Transfers } from "../../../src/front/exchange/transfers.ts";
import { fillJson, positionJson } from "../../../src/front/json/json-writers.ts";
import {
  fundingJson,
  fundingPaymentJson,
  fundMovementJson,
  openInterestJson,
} from "../../../src/front/json/risk-json.ts";
import { WebSocketApi } from "../../../src/front/websocket/websocket-api.ts";
import {
  FillRecord,
  FundingPaymentRecord,
  FundingRateRecord,
  FundMovementRecord,
} from "../../../src/store/database/history-schema.ts";
import { Position } from "../../../src/wire/schema/account.ts";
import { PublicTrade as PublicTradeSchema } from "../../../src/wire/schema/market.ts";
import { Fill } from "../../../src/wire/schema/orders.ts";
import { Funding, FundingPayment, Insurance, OpenInterest } from "../../../src/wire/schema/risk.ts";
import { exampleOf } from "../support/examples.ts";
import { Hub, ScriptedClient } from "../support/scripted-client.ts";
import { EMPTY_HISTORY, instrument, make, ScriptedEngine } from "../support/scripted-engine.ts";

/** A tick times a lot is 100 quanta; funding every 8 hours. */
const BTC = instrument(1, "BTC-PERP");
const ETH = 2;

/** The parsed value. Fails unless it fits the schema. */
function read(schema: TSchema, text: string): Record<string, unknown> {
  const value = JSON.parse(text) as Record<string, unknown>;
  const validator = Compile(schema);
  if (!validator.Check(value)) assert.fail(`${text}: ${JSON.stringify(validator.Errors(value)[0])}`);
  return value;
}

const rate = make(FundingRateRecord, {
  fundingTime: 3_600_000,
  ratePpb: -12_500,
  premiumPpb: 1,
  indexTicks: 650_005,
  markTicks: 650_000,
});

test("funding rates have nine decimals, and a payment shows its rate", () => {
  const shown = {
    symbol: "BTC-PERP",
    fundingRate: "-0.0000125",
    fundingTime: 3_600_000,
    markPrice: "65000",
    indexPrice: "65000.5",
    premium: "0.000000001",
    fundingIntervalHours: 8,
  };
  assert.deepEqual(read(Funding, fundingJson(BTC, rate)), shown);
  const payment = make(FundingPaymentRecord, {
    instrumentId: 1,
    fundingTime: 3_600_000,
    sizeLots: -333,
    amountQuanta: -270_563,
    time: 3_600_250,
    sequence: 9,
  });
  assert.deepEqual(read(FundingPayment, fundingPaymentJson(BTC, { payment, rate })), {
    ...shown,
    ...{ positionSize: "-0.333", amount: "-0.270563", time: 3_600_250, sequence: 9 },
  });
});

test("the documented example of a payment is consistent", () => {
  const { positionSize, markPrice, fundingRate, amount } = exampleOf(FundingPayment);
  const exact = -Number(positionSize) * Number(markPrice) * Number(fundingRate);
  assert.equal(amount, (Math.floor(exact * 1e6) / 1e6).toFixed(6));
});

test("every kind of fund movement is printed, with a symbol or without", () => {
  for (const [kind, word] of FUND_MOVEMENTS.entries()) {
    const row = make(FundMovementRecord, { kind, amountQuanta: -1, time: 5, sequence: 6 });
    const rows = [fundMovementJson("BTC-PERP", row), fundMovementJson(null, row)];
    const fund = `{"asset":"USDC","balance":"0","unrealizedPnl":"-1","data":[${rows.join(",")}],"nextCursor":null}`;
    const shown = { time: 5, kind: word, amount: "-0.000001", sequence: 6 };
    assert.deepEqual(read(Insurance, fund).data, [
      { ...shown, symbol: "BTC-PERP" },
      { ...shown, symbol: null },
    ]);
  }
});

test("a transferred position is a fill without an order, for the exact amount", () => {
  const fill = make(FillRecord, {
    tradeId: 513,
    side: SELL,
    priceTicks: 640_325,
    quantityLots: 7,
    offPriceQuanta: -33,
    execType: EXEC_ADL,
    realizedQuanta: -1,
  });
  const shown = read(Fill, fillJson(BTC, fill));
  assert.deepEqual(
    [shown.orderId, shown.clientOrderId, shown.execType, shown.quoteQuantity, shown.fee, shown.feeRate],
    [null, null, "ADL", "448.227467", "0", "0"], // 64032.5 × 0.007 = 448.2275
  );
  // Transferred at a negative value: the price is 0, and the seller pays.
  const under = read(Fill, fillJson(BTC, { ...fill, priceTicks: 0, offPriceQuanta: -5_000_000 }));
  assert.deepEqual([under.price, under.quoteQuantity, under.feeRate], ["0", "-5", "0"]);
});

test("in a liquidation the maker pays the rate of the schedule, the taker what the price allowed", () => {
  const fill = make(FillRecord, { tradeId: 513, orderId: 257, priceTicks: 642_400, quantityLots: 400 });
  const liquidation = { ...fill, execType: EXEC_LIQUIDATION, feeQuanta: 83_000_000 };
  assert.equal(read(Fill, fillJson(BTC, liquidation)).feeRate, "0.00323");
  assert.equal(read(Fill, fillJson(BTC, { ...liquidation, maker: 1, feePpm: 200 })).feeRate, "0.0002");
});

test("a position has an adlRank, and null when nothing is open", () => {
  const view = make(PositionView, { sizeLots: 1, costQuanta: 100, markTicks: 1, leverage: 1, adlRank: 5 });
  assert.equal(read(Position, positionJson(BTC, view)).adlRank, 5);
  const flat = make(PositionView, { leverage: 1 });
  assert.equal(read(Position, positionJson(BTC, flat)).adlRank, null);
});

// ---- the channel ----------------------------------------------------------------------------------------------------

const past = (serial: number): PublicTrade => ({
  ...{ tradeId: serial * 256 + 1, priceTicks: 650_000, quantityLots: serial, takerSide: SELL },
  ...{ execType: EXEC_LIQUIDATION, time: serial, sequence: serial },
});
const traded = (fields: Partial<MessageOf<typeof Traded>> = {}) =>
  make(Traded, { tradeId: 1025, takerSide: SELL, priceTicks: 640_000, quantityLots: 5, ...fields });
const handedOver = (fields: Partial<MessageOf<typeof PositionTransferred>> = {}) =>
  make(PositionTransferred, { tradeId: 1281, side: BUY, priceTicks: 630_000, quantityLots: 6, ...fields });

async function open() {
  const engine = new ScriptedEngine();
  const now = () => engine.time;
  const opening = MarketData.open(
    engine,
    (id) => ({ minuteCandles: [], trades: [], liquidations: id === 1 ? [past(1), past(2)] : [], fundingRates: [] }),
    now,
  );
  // A resting order for the sellers to trade with.
  engine.describe({ 1: { bids: [[640_000, 100]] }, [ETH]: { bids: [[640_000, 100]] } });
  const market = await opening;
  const hub = new Hub();
  const publish = (topic: string, text: string): void => hub.publish(topic, text);
  const channels = new WebSocketApi({
    engine,
    market,
    publish,
    transfers: new Transfers(engine),
    history: EMPTY_HISTORY,
    auth: { socket: () => assert.fail("nobody logs in") },
    trade: assert.fail,
    now,
    monotonic: now,
    limits: null,
    log: { error: assert.fail },
  });
  return { engine, market, connect: () => new ScriptedClient(hub, channels) };
}

const subscribe = (...channels: string[]) => ({
  ...{ op: "subscribe", id: 1 },
  channels: channels.map((channel) => ({ channel, symbol: "BTC-PERP" })),
});

test("the liquidations channel sends the last hundred, then each new one, in the book or transferred", async () => {
  const { engine, connect } = await open();
  const client = connect();
  const [, snapshot] = client.ask(subscribe("liquidations"));
  assert.deepEqual([snapshot.channel, snapshot.type, snapshot.sequence], ["liquidations", "SNAPSHOT", 2]);
  assert.deepEqual(
    snapshot.data.map((row: { quantity: string }) => row.quantity),
    ["0.001", "0.002"],
  );

  engine.transaction(1, traded()); // an ordinary trade
  engine.transaction(ETH, traded({ execType: EXEC_LIQUIDATION }));
  engine.drain();
  assert.deepEqual(client.take(), []);

  const sequence = engine.transaction(
    1,
    traded({ execType: EXEC_LIQUIDATION }),
    handedOver({ execType: EXEC_LIQUIDATION }),
    handedOver({ execType: EXEC_ADL, side: SELL }),
  );
  engine.drain();
  const [update, ...more] = client.take();
  assert.deepEqual(more, []);
  assert.deepEqual([update.type, update.sequence, update.prevSequence], ["UPDATE", sequence, 2]);
  for (const row of update.data) read(PublicTradeSchema, JSON.stringify(row));
  assert.deepEqual(
    update.data.map((row: Record<string, unknown>) => [row.execType, row.side, row.price, row.quantity]),
    [
      ["LIQUIDATION", "SELL", "64000", "0.005"],
      ["LIQUIDATION", "BUY", "63000", "0.006"],
      ["ADL", "SELL", "63000", "0.006"],
    ],
  );
  const [, later] = connect().ask(subscribe("liquidations"));
  assert.equal(later.data.length, 5);
  assert.equal(later.sequence, sequence);
});

test("a liquidation in the book is a trade, a transferred position is not", async () => {
  const { engine, connect } = await open();
  const client = connect();
  client.ask(subscribe("trades", "liquidations"));
  engine.transaction(1, traded({ execType: EXEC_LIQUIDATION }), handedOver());
  engine.drain();
  const rows = client.take().map(({ channel, data }) => [channel, data.length]);
  assert.deepEqual(rows, [
    ["trades", 1],
    ["liquidations", 2],
  ]);
});

test("open interest follows trades and the mark price", async () => {
  const { engine, market } = await open();
  const shown = () => {
    const { openInterestLots, markTicks } = market.symbol(1);
    return read(OpenInterest, openInterestJson(BTC, { openInterestLots, markTicks, time: engine.time }));
  };
  assert.deepEqual(shown(), { symbol: "BTC-PERP", openInterest: "0", notional: null, time: engine.time });
  engine.transaction(1, make(PriceUpdated, { indexTicks: 650_000, markTicks: 650_000 }));
  engine.transaction(1, traded({ takerSizeLots: -5, makerSizeLots: 5 }));
  assert.deepEqual([shown().openInterest, shown().notional], ["0.005", "325"]);
});
