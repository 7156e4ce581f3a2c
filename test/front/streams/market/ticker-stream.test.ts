import assert from "node:assert/strict";
import { test } from "node:test";
import { BUY } from "../../../../src/core/base/enums.ts";
import { Traded } from "../../../../src/core/protocol/events.ts";
import { make } from "../../support/scripted-engine.ts";
import { BTC, open, subscribe } from "../../support/scripted-exchange.ts";

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
