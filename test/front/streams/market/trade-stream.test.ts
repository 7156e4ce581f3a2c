import assert from "node:assert/strict";
import { test } from "node:test";
import { BUY, EXEC_LIQUIDATION, SELL } from "../../../../src/core/base/enums.ts";
import { Traded } from "../../../../src/core/protocol/events.ts";
import type { Message } from "../../../../src/core/protocol/message-schema.ts";
import type { Received } from "../../support/scripted-client.ts";
import { make, START } from "../../support/scripted-engine.ts";
import { BTC, ETH, open, subscribe } from "../../support/scripted-exchange.ts";

test("trades: earlier ones in the snapshot, then each once, in order", async () => {
  const { engine, connect } = await open({ [BTC]: { bids: [[100, 1e6]] } });
  const trade = (tradeId: number): Message =>
    make(Traded, { tradeId, takerSide: SELL, priceTicks: 100, quantityLots: 1000 });
  for (let i = 1; i <= 120; i++) engine.transaction(BTC, trade(i));
  engine.drain();
  const early = connect();
  const [, snapshot] = early.ask(subscribe({ channel: "trades", symbol: "BTC-PERP" }));
  assert.equal(snapshot.type, "SNAPSHOT");
  assert.equal(snapshot.sequence, engine.sequence);
  assert.deepEqual(
    snapshot.data.map((each: Received) => each.tradeId),
    Array.from({ length: 100 }, (_, i) => String(i + 21)),
  );
  const before = engine.sequence;
  const first = engine.transaction(BTC, trade(121), trade(122));
  const late = connect();
  const [, lateSnapshot] = late.ask(subscribe({ channel: "trades", symbol: "BTC-PERP" }));
  assert.deepEqual(
    lateSnapshot.data.map((each: Received) => each.tradeId),
    Array.from({ length: 100 }, (_, i) => String(i + 23)),
  );
  const second = engine.transaction(BTC, trade(123));
  engine.transaction(ETH, make(Traded, { tradeId: 9, takerSide: BUY, priceTicks: 0, quantityLots: 0 }));
  engine.drain();
  assert.deepEqual(
    early
      .take()
      .map(({ sequence, prevSequence, data }) => [prevSequence, sequence, data.map((d: Received) => d.tradeId)]),
    [
      [before, first, ["121", "122"]],
      [first, second, ["123"]],
    ],
  );
  assert.deepEqual(late.take(), [
    {
      channel: "trades",
      symbol: "BTC-PERP",
      type: "UPDATE",
      sequence: second,
      prevSequence: first,
      data: [
        {
          tradeId: "123",
          symbol: "BTC-PERP",
          side: "SELL",
          price: "10",
          quantity: "1",
          time: START,
          execType: "TRADE",
          sequence: second,
        },
      ],
    },
  ]);
});

test("trades and liquidations of all symbols: together in the order of the log, printed once for all subscribers", async () => {
  const { engine, hub, connect } = await open();
  const trade = (tradeId: number, execType = 0): Message =>
    make(Traded, { tradeId, takerSide: BUY, priceTicks: 100, quantityLots: 0, execType });
  for (let i = 1; i <= 120; i++) engine.transaction(i % 3 === 0 ? ETH : BTC, trade(i));
  engine.drain();
  const client = connect();
  const [subscribed, snapshot] = client.ask(subscribe({ channel: "trades" }));
  assert.deepEqual(subscribed.channels, [{ channel: "trades" }]);
  assert.deepEqual([snapshot.symbol, snapshot.sequence], [undefined, engine.sequence]);
  const named = (rows: Received[]): string[] => rows.map(({ symbol, tradeId }) => `${symbol} ${tradeId}`);
  assert.deepEqual(
    named(snapshot.data),
    Array.from({ length: 100 }, (_, i) => `${(i + 21) % 3 === 0 ? "ETH" : "BTC"}-PERP ${i + 21}`),
  );
  const others = [connect(), connect()];
  for (const other of others) other.ask(subscribe({ channel: "trades" }, { channel: "liquidations" }));
  const publishedBefore = hub.published.length;
  const before = engine.sequence;
  engine.transaction(ETH, trade(121));
  const last = engine.transaction(BTC, trade(122, EXEC_LIQUIDATION));
  engine.drain();
  const [update] = client.take();
  assert.deepEqual(
    [update.prevSequence, update.sequence, ...named(update.data)],
    [before, last, "ETH-PERP 121", "BTC-PERP 122"],
  );
  for (const other of others)
    assert.deepEqual(
      other.take().map(({ channel, data }) => [channel, ...named(data)]),
      [
        ["trades", "ETH-PERP 121", "BTC-PERP 122"],
        ["liquidations", "BTC-PERP 122"],
      ],
    );
  assert.equal(hub.published.length - publishedBefore, 2);
  const [, missed] = connect().ask(subscribe({ channel: "trades", resume: before }));
  assert.deepEqual([missed.type, ...named(missed.data)], ["UPDATE", "ETH-PERP 121", "BTC-PERP 122"]);
  const [, unknown] = connect().ask(subscribe({ channel: "trades", resume: 1 }));
  assert.equal(unknown.type, "SNAPSHOT");
});
