import assert from "node:assert/strict";
import { test } from "node:test";
import { traded } from "../support/candle-history.ts";
import { START } from "../support/scripted-engine.ts";
import { BTC, nextTurn, open, subscribe } from "../support/scripted-exchange.ts";

const KLINES = { channel: "klines", symbol: "BTC-PERP", interval: "1s" };

test("an unreadable history closes the sockets that need it, and no others", async () => {
  let isDamaged = true;
  const read = <T>(sound: T): T => {
    if (isDamaged) throw new Error("wrong checksum");
    return sound;
  };
  const history = {
    candles: () => read([traded(START, 100)]),
    closedPositionsOf: () => read({ data: [], nextCursor: null }),
    fillsOf: () => read({ data: [], nextCursor: null }),
    fundingOf: () => read({ data: [], nextCursor: null }),
    transfersOf: () => read({ data: [], nextCursor: null }),
  };
  const { connect, engine, logged } = await open({ [BTC]: { asks: [[100, 999]] } }, ["BTC-PERP"], null, history);
  const [watcher, trader, payer, saver] = [connect(), connect(), connect(), connect()];
  const [closer, other] = [connect(), connect()];
  other.say(subscribe({ channel: "trades", symbol: "BTC-PERP" }));
  watcher.say(subscribe(KLINES));
  trader.say({ op: "auth", token: "alice" });
  trader.say(subscribe({ channel: "fills" }));
  payer.say({ op: "auth", token: "alice" });
  payer.say(subscribe({ channel: "funding" }));
  saver.say({ op: "auth", token: "alice" });
  saver.say(subscribe({ channel: "transfers" }));
  closer.say({ op: "auth", token: "alice" });
  closer.say(subscribe({ channel: "positions-history" }));
  assert.ok(engine.answer(() => []));
  for (let transactions = 0; transactions < 5; transactions++) await nextTurn();
  for (const client of [watcher, trader, payer, saver, closer])
    assert.deepEqual(client.closedWith, { code: 1011, reason: "INTERNAL" });
  assert.equal(other.closedWith, null);
  assert.equal(logged.length, 5);

  isDamaged = false;
  const again = connect();
  again.say(subscribe(KLINES));
  await nextTurn();
  assert.equal(again.take().at(-1).type, "SNAPSHOT");
});
