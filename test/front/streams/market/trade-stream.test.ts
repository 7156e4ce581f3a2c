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
  assert.deepEqual(subscribed.channels, [{ channel: "trades", updateMs: 0 }]);
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

test("a longer updateMs gathers trades, and whoever joins or comes back meanwhile gets each trade once", async () => {
  const { engine, channels, connect } = await open({ [BTC]: { bids: [[100, 1e6]] } });
  const trade = (tradeId: number): Message =>
    make(Traded, { tradeId, takerSide: SELL, priceTicks: 100, quantityLots: 1 });
  const paced = { channel: "trades", symbol: "BTC-PERP", updateMs: 100 };
  const ids = (message: Received | undefined): string[] => message?.data.map((each: Received) => each.tradeId);
  const earlier = engine.transaction(BTC, trade(0));
  engine.drain();
  const [client, immediate, all] = [connect(), connect(), connect()];
  const [answer, snapshot] = client.ask(subscribe(paced));
  assert.deepEqual([answer.channels, snapshot.updateMs, ids(snapshot)], [[paced], 100, ["0"]]);
  immediate.ask(subscribe({ channel: "trades", symbol: "BTC-PERP" }));
  all.ask(subscribe({ channel: "trades", updateMs: 500 }));
  const first = engine.transaction(BTC, trade(1));
  engine.drain();
  // The first one after a quiet time does not wait.
  const [sent] = client.take();
  assert.deepEqual([sent.updateMs, sent.sequence, ids(sent)], [100, first, ["1"]]);
  assert.deepEqual([ids(immediate.take()[0]), ids(all.take()[0])], [["1"], ["1"]]);
  for (let i = 2; i <= 4; i++) {
    engine.time += 30;
    engine.transaction(BTC, trade(i));
    engine.drain();
    channels.tick();
    assert.deepEqual(immediate.take().map(ids), [[String(i)]]);
  }
  assert.deepEqual(client.take(), []);
  const [late, back] = [connect(), connect()];
  const [, joined] = late.ask(subscribe(paced));
  assert.deepEqual([joined.sequence, ids(joined)], [first, ["0", "1"]]);
  const [, older] = connect().ask(subscribe({ ...paced, resume: earlier }));
  assert.deepEqual([older.sequence, ids(older)], [first, ["1"]]);
  const [, resumed] = back.ask(subscribe({ ...paced, resume: first }));
  assert.deepEqual([resumed.type, resumed.sequence], ["HEARTBEAT", first]);
  const last = engine.sequence;
  engine.time += 10;
  channels.tick();
  for (const each of [client, late, back]) {
    const [update, ...more] = each.take();
    assert.deepEqual([update.prevSequence, update.sequence, ids(update), more], [first, last, ["2", "3", "4"], []]);
  }
  assert.deepEqual(immediate.take(), []);
  const [, missed] = connect().ask(subscribe({ ...paced, resume: first }));
  assert.deepEqual([missed.type, missed.sequence, ids(missed)], ["UPDATE", last, ["2", "3", "4"]]);
  assert.deepEqual(all.take(), []);
  // A thousand do not wait.
  engine.transaction(BTC, ...Array.from({ length: 1000 }, (_, i) => trade(i + 5)));
  engine.drain();
  assert.deepEqual(
    [client.take(), all.take()].map(([message]) => message.data.length),
    [1000, 1003],
  );
  // One pace ends, the others go on.
  for (const each of [client, late, back]) each.hangUp();
  engine.transaction(BTC, trade(2000));
  engine.drain();
  assert.deepEqual(immediate.take().map(ids).at(-1), ["2000"]);
});
