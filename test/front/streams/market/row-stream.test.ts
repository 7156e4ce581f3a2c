import assert from "node:assert/strict";
import { test } from "node:test";
import { BUY } from "../../../../src/core/base/enums.ts";
import { FundingSettled, PriceUpdated, Traded } from "../../../../src/core/protocol/events.ts";
import type { Received } from "../../support/scripted-client.ts";
import { make, START } from "../../support/scripted-engine.ts";
import { BTC, ETH, open, subscribe } from "../../support/scripted-exchange.ts";

test("ticker: a snapshot, then at most one message in updateMs, and none without a change", async () => {
  const { engine, channels, connect } = await open({
    [BTC]: {
      asks: [
        [100, 9],
        [110, 9],
      ],
    },
  });
  const client = connect();
  const [subscribed, snapshot] = client.ask(subscribe({ channel: "ticker", symbol: "BTC-PERP", updateMs: 100 }));
  assert.deepEqual(subscribed.channels, [{ channel: "ticker", symbol: "BTC-PERP", updateMs: 100 }]);
  assert.deepEqual([snapshot.type, snapshot.data.lastPrice], ["SNAPSHOT", null]);
  const at = (price: number) =>
    engine.transaction(BTC, make(Traded, { takerSide: BUY, priceTicks: price, quantityLots: 1 }));
  at(100);
  const second = at(110);
  engine.drain();
  channels.tick();
  assert.deepEqual(client.take(), []);
  engine.time += 100;
  channels.tick();
  const [update, ...more] = client.take();
  assert.deepEqual(more, []);
  assert.deepEqual(
    [update.type, update.prevSequence, update.sequence, update.data.lastPrice],
    ["UPDATE", snapshot.sequence, second, "11"],
  );
  engine.time += 1000;
  channels.tick();
  assert.deepEqual(client.take(), []);
});

test("ticker: a new subscriber gets the ticker published last, and does not speed up the others", async () => {
  const { engine, channels, connect } = await open({ [BTC]: { asks: [[100, 9]] } });
  const channel = { channel: "ticker", symbol: "BTC-PERP", updateMs: 1000 };
  const client = connect();
  const [, snapshot] = client.ask(subscribe(channel));
  const traded = engine.transaction(BTC, make(Traded, { takerSide: BUY, priceTicks: 100, quantityLots: 1 }));
  engine.drain();
  engine.time += 999;
  const late = connect();
  const [, joined] = late.ask(subscribe(channel));
  assert.deepEqual(joined, snapshot);
  assert.deepEqual(client.take(), []);
  engine.time += 1;
  channels.tick();
  for (const { data, prevSequence, sequence } of [...client.take(), ...late.take()])
    assert.deepEqual([data.lastPrice, prevSequence, sequence], ["10", snapshot.sequence, traded]);
});

test("tickers: all symbols, then those that changed, printed once for all subscribers", async () => {
  const { engine, hub, channels, connect } = await open({ [BTC]: { asks: [[100, 9]] } });
  const clients = [connect(), connect()];
  for (const client of clients) {
    const [subscribed, snapshot] = client.ask(subscribe({ channel: "tickers", updateMs: 100 }));
    assert.deepEqual(subscribed.channels, [{ channel: "tickers", updateMs: 100 }]);
    assert.deepEqual(
      [snapshot.symbol, snapshot.updateMs, ...snapshot.data.map(({ symbol }: Received) => symbol)],
      [undefined, 100, "BTC-PERP", "ETH-PERP"],
    );
  }
  const traded = engine.transaction(BTC, make(Traded, { takerSide: BUY, priceTicks: 100, quantityLots: 1 }));
  engine.drain();
  channels.tick();
  assert.deepEqual(clients[0]?.take(), [], "at most once in updateMs");
  engine.time += 100;
  channels.tick();
  for (const client of clients)
    assert.deepEqual(
      client
        .take()
        .map(({ sequence, data }) => [sequence, ...data.map((row: Received) => [row.symbol, row.lastPrice])]),
      [[traded, ["BTC-PERP", "10"]]],
    );
  assert.equal(hub.published.length, 1);
});

test("mark-price: prices and funding of all symbols or of one, and no message for a trade", async () => {
  const { engine, channels, connect } = await open({ [ETH]: { indexTicks: 300, markTicks: 301, priceTime: 5 } });
  const [all, one] = [connect(), connect()];
  const [, snapshot] = all.ask(subscribe({ channel: "mark-price" }));
  const [, single] = one.ask(subscribe({ channel: "mark-price", symbol: "ETH-PERP" }));
  const nextFundingTime = Date.parse("2024-03-01T16:00:00Z");
  const none = { markPrice: null, indexPrice: null, fundingRate: "0", nextFundingTime, time: null };
  const eth = { ...none, symbol: "ETH-PERP", markPrice: "30.1", indexPrice: "30", time: 5 };
  assert.deepEqual([snapshot.symbol, snapshot.data], [undefined, [{ ...none, symbol: "BTC-PERP" }, eth]]);
  assert.deepEqual([single.symbol, single.data], ["ETH-PERP", [eth]]);
  const told = (): unknown[][] => {
    engine.time += 250;
    engine.drain();
    channels.tick();
    return [all, one].map((client) => client.take().flatMap(({ data }) => data));
  };
  engine.transaction(BTC, make(Traded, { takerSide: BUY, priceTicks: 100, quantityLots: 0 }));
  assert.deepEqual(told(), [[], []]);
  const at = engine.time;
  const prices = { indexTicks: 400, markTicks: 402, fundingRatePpb: 12_500, nextFundingTime };
  engine.transaction(ETH, make(PriceUpdated, prices));
  const row = { ...eth, markPrice: "40.2", indexPrice: "40", fundingRate: "0.0000125", time: at };
  assert.deepEqual(told(), [[row], [row]]);
  engine.transaction(ETH, make(FundingSettled, { nextFundingTime: nextFundingTime + 28_800_000 }));
  const [[settled]] = told() as Received[][];
  assert.equal(settled?.nextFundingTime, nextFundingTime + 28_800_000);
  assert.ok(at > START);
});
