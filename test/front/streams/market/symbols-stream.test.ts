import assert from "node:assert/strict";
import { test } from "node:test";
import { BUY, HALT_REASON, MODE_REDUCE_ONLY, MODE_TRADING } from "../../../../src/core/base/enums.ts";
import {
  IndexJumpHeld,
  IndexWentStale,
  PriceUpdated,
  Traded,
  TradingHalted,
} from "../../../../src/core/protocol/events.ts";
import type { Levels } from "../../../../src/core/protocol/payloads.ts";
import type { Received, ScriptedClient } from "../../support/scripted-client.ts";
import { make } from "../../support/scripted-engine.ts";
import { BTC, ETH, open, subscribe } from "../../support/scripted-exchange.ts";

const PRICES = {
  [BTC]: { indexTicks: 650_000, markTicks: 650_000, asks: [[650_000, 1000]] satisfies Levels },
  [ETH]: { indexTicks: 30_000, markTicks: 30_000 },
};

const rowsOf = (client: ScriptedClient): unknown[] =>
  client
    .take()
    .filter(({ type }) => type === "SNAPSHOT" || type === "UPDATE")
    .flatMap(({ data }) => data)
    .map(({ symbol, status, statusReason, statusUntil, pendingIndexPrice }: Received) =>
      [symbol, status, statusReason, statusUntil, pendingIndexPrice].filter((each) => each !== null).join(" "),
    );

test("symbols: all instruments, then each one whose status has changed", async () => {
  const { engine, channels, connect } = await open(PRICES);
  const client = connect();
  client.say(subscribe({ channel: "symbols" }));
  assert.deepEqual(rowsOf(client), ["BTC-PERP TRADING", "ETH-PERP TRADING"]);
  const told = (): unknown[] => {
    engine.drain();
    channels.tick();
    return rowsOf(client);
  };
  const until = engine.time + 60_000;
  engine.transaction(BTC, make(IndexJumpHeld, { indexTicks: 800_000, count: 1 }));
  assert.deepEqual(told(), ["BTC-PERP REDUCE_ONLY PRICE_PENDING 80000"]);
  engine.transaction(BTC, make(IndexJumpHeld, { indexTicks: 800_000, count: 2 }));
  assert.deepEqual(told(), [], "the same state");
  engine.transaction(ETH, make(IndexWentStale));
  engine.transaction(BTC, make(PriceUpdated, { indexTicks: 800_000, markTicks: 800_000 }));
  assert.deepEqual(told(), ["BTC-PERP TRADING", "ETH-PERP REDUCE_ONLY STALE_INDEX"]);
  engine.transaction(BTC, make(TradingHalted, { mode: MODE_REDUCE_ONLY, reason: HALT_REASON.PRICE_JUMP, until }));
  assert.deepEqual(told(), [`BTC-PERP REDUCE_ONLY PRICE_JUMP ${until}`]);
  engine.transaction(BTC, make(TradingHalted, { mode: MODE_TRADING }));
  assert.deepEqual(told(), ["BTC-PERP TRADING"]);
});

test("symbols: one symbol; its open interest at most once in a second, also for a later subscriber", async () => {
  const { engine, channels, connect } = await open(PRICES);
  const client = connect();
  const [, snapshot] = client.ask(subscribe({ channel: "symbols", symbol: "BTC-PERP" }));
  assert.deepEqual([snapshot.symbol, snapshot.data.length, snapshot.data[0].openInterest], ["BTC-PERP", 1, "0"]);
  const trade = (lots: number): number =>
    engine.transaction(
      BTC,
      make(Traded, {
        takerSide: BUY,
        priceTicks: 650_000,
        quantityLots: lots,
        takerSizeLots: lots,
        makerSizeLots: -lots,
      }),
    );
  trade(1000);
  engine.drain();
  channels.tick();
  assert.deepEqual(client.take(), []);
  const late = connect();
  const [, joined] = late.ask(subscribe({ channel: "symbols", symbol: "BTC-PERP" }));
  assert.deepEqual(joined, snapshot);
  engine.transaction(ETH, make(IndexWentStale));
  engine.time += 1000;
  channels.tick();
  for (const each of [client, late]) {
    const [update, ...more] = each.take();
    assert.deepEqual([update.prevSequence, update.data[0].openInterest, more], [snapshot.sequence, "1", []]);
  }
});
