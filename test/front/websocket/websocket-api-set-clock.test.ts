import assert from "node:assert/strict";
import { test } from "node:test";
import { historyOf, traded } from "../support/candle-history.ts";
import { START } from "../support/scripted-engine.ts";
import { BTC, bid, book, limited, nextTurn, open, subscribe } from "../support/scripted-exchange.ts";

const HOUR_MS = 3_600_000;

test("streams keep their update interval when the clock is set back", async () => {
  const candles = [traded(START, 100)];
  const { engine, machine, channels, connect } = await open({}, undefined, null, historyOf(candles));
  const client = connect();
  const channel = (name: string) => ({ channel: name, symbol: "BTC-PERP" });
  client.say(subscribe(book({ updateMs: 100 }), channel("ticker"), { ...channel("klines"), interval: "1s" }));
  engine.transaction(BTC, bid(100, 1));
  engine.drain();
  channels.tick();
  await nextTurn();
  client.take();

  machine.setMs = -HOUR_MS;
  engine.transaction(BTC, bid(100, 1));
  engine.time += 1000;
  channels.tick();
  await nextTurn();
  assert.deepEqual(
    new Set(client.take().map((message) => message.channel)),
    new Set(["orderbook", "ticker", "klines"]),
  );
  const beats = (): number => client.take().filter(({ type }) => type === "HEARTBEAT").length;
  engine.time += 5000;
  channels.tick();
  engine.time += 5000;
  channels.tick();
  assert.ok(beats() > 0);
});

test("a socket's rate limit ignores a clock that is set back or ahead", async () => {
  const { engine, machine, connect } = await open({}, undefined, limited());
  const client = connect();
  client.ask({ op: "auth", token: "alice-trader" });
  const place = (): object[] => client.ask({ op: "order.place", id: 1, params: {} });
  for (let i = 0; i < 20; i++) assert.deepEqual(place(), []);
  machine.setMs = HOUR_MS;
  assert.equal(place().length, 1);
  machine.setMs = -HOUR_MS;
  engine.time += 50;
  assert.deepEqual(place(), []);
});
