import assert from "node:assert/strict";
import { test } from "node:test";
import { traded } from "./candle-history.ts";
import { BTC, nextTurn, open, subscribe } from "./scripted-exchange.ts";
import { START } from "./scripted-road.ts";

const KLINES = { channel: "klines", symbol: "BTC-PERP", interval: "1s" };

test("a history that cannot be read ends the sockets that asked for it, and nobody else's", async () => {
  let isDamaged = true;
  const read = <T>(sound: T): T => {
    if (isDamaged) throw new Error("wrong checksum");
    return sound;
  };
  const history = {
    candles: () => read([traded(START, 100)]),
    fillsOf: () => read({ data: [], nextCursor: null }),
  };
  const { connect, road, logged } = await open({ [BTC]: { asks: [[100, 999]] } }, ["BTC-PERP"], null, history);
  const [watcher, trader, other] = [connect(), connect(), connect()];
  other.say(subscribe({ channel: "trades", symbol: "BTC-PERP" }));
  watcher.say(subscribe(KLINES));
  trader.say({ op: "auth", token: "alice" });
  trader.say(subscribe({ channel: "fills" }));
  assert.ok(road.answer(() => []));
  await nextTurn();
  for (const client of [watcher, trader]) assert.deepEqual(client.closedWith, { code: 1011, reason: "INTERNAL" });
  assert.equal(other.closedWith, null);
  assert.equal(logged.length, 2);

  isDamaged = false;
  const again = connect();
  again.say(subscribe(KLINES));
  await nextTurn();
  assert.equal(again.take().at(-1).type, "SNAPSHOT");
});
