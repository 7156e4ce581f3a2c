import assert from "node:assert/strict";
import { test } from "node:test";
import { Traded } from "../../src/core/messages.ts";
import { BUY } from "../../src/core/words.ts";
import { BTC, open, subscribe } from "./scripted-exchange.ts";
import { make } from "./scripted-road.ts";

test("ticker: a snapshot, then at most one message in updateMs, and none when nothing has moved", async () => {
  const { road, channels, connect } = await open({
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
  const at = (price: number) => road.turn(BTC, make(Traded, { takerSide: BUY, priceTicks: price, quantityLots: 1 }));
  at(100);
  const second = at(110);
  road.drain();
  channels.tick();
  assert.deepEqual(client.take(), []);
  road.time += 100;
  channels.tick();
  const [update, ...more] = client.take();
  assert.deepEqual(more, []);
  assert.deepEqual(
    [update.type, update.prevSequence, update.sequence, update.data.lastPrice],
    ["UPDATE", snapshot.sequence, second, "11"],
  );
  road.time += 1000;
  channels.tick();
  assert.deepEqual(client.take(), []);
});
