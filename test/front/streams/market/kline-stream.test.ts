import assert from "node:assert/strict";
import { test } from "node:test";
import { type Candle, openTimeOf } from "../../../../src/core/market-data/candles.ts";
import { Traded } from "../../../../src/core/protocol/events.ts";
import { until } from "../../../e2e/support/wait.ts";
import { historyOf, traded } from "../../support/candle-history.ts";
import type { Received, ScriptedClient } from "../../support/scripted-client.ts";
import { make, START } from "../../support/scripted-engine.ts";
import { BTC, type Exchange, nextTurn, open, subscribe } from "../../support/scripted-exchange.ts";

const SECOND = 1000;

async function follow(candles: Candle[]): Promise<Exchange & { client: ScriptedClient }> {
  const exchange = await open({ [BTC]: { asks: [[100, 999]] } }, ["BTC-PERP"], null, historyOf(candles));
  const client = exchange.connect();
  client.say(subscribe({ channel: "klines", symbol: "BTC-PERP", interval: "1s" }));
  await nextTurn();
  return { ...exchange, client };
}

/** The candles since the last call, `second:trades` each, with a bar after closed ones. */
async function shown({
  channels,
  client,
}: {
  channels: Exchange["channels"];
  client: ScriptedClient;
}): Promise<string> {
  channels.tick();
  await nextTurn();
  return client
    .take()
    .flatMap(({ data = [] }) => data)
    .map(({ openTime, trades, closed }) => `${(openTime - START) / SECOND}:${trades}${closed ? "|" : ""}`)
    .join(" ");
}

/** A trade at this time, which the history stores. */
function trade({ engine }: Exchange, candles: Candle[], time: number): void {
  const openTime = openTimeOf("1s", time);
  const last = candles.at(-1);
  if (last?.openTime === openTime) last.trades++;
  else candles.push(traded(openTime, 100));
  engine.transaction(BTC, make(Traded, { tradeId: 256 * engine.sequence + BTC, priceTicks: 100, quantityLots: 1 }));
}

test("klines: a candle is closed when all trades of its time have been released, whatever the clock says", async () => {
  const candles: Candle[] = [];
  const exchange = await follow(candles);
  const { engine } = exchange;
  assert.equal(await shown(exchange), "");
  trade(exchange, candles, START);
  engine.time += 900;
  assert.equal(await shown(exchange), "0:1");
  // The second is over, but its last trade is not released yet.
  engine.time = START + 1300;
  engine.lagMs = 400;
  assert.equal(await shown(exchange), "");
  trade(exchange, candles, START + 999);
  engine.time += 250;
  engine.lagMs = 551;
  assert.equal(await shown(exchange), "0:2");
  engine.time += 250;
  engine.lagMs = 400;
  assert.equal(await shown(exchange), "0:2| 1:0");
});

test("klines: by the log's time, also where it is ahead of the clock", async () => {
  const candles: Candle[] = [traded(START, 100)];
  const exchange = await follow(candles);
  const { engine } = exchange;
  assert.equal(await shown(exchange), "0:1");
  engine.lagMs = -5 * SECOND;
  engine.time += 250;
  assert.equal(await shown(exchange), "0:1| 1:0| 2:0| 3:0| 4:0| 5:0");
});

test("klines: all candles that have ended since the last published one, however many", async () => {
  const candles: Candle[] = [];
  const exchange = await follow(candles);
  const { engine } = exchange;
  engine.time += 250;
  trade(exchange, candles, START);
  for (const second of [0, 2, 3]) trade(exchange, candles, START + second * SECOND);
  engine.time = START + 4500;
  assert.equal(await shown(exchange), "0:2| 1:0| 2:1| 3:1| 4:0", "the first trade of all included");
  const last = 4 + 2500;
  engine.time = START + last * SECOND;
  let seconds: string[] = [];
  do {
    const next = await shown(exchange);
    engine.time += 250;
    seconds = [...seconds, ...next.split(" ")];
  } while (seconds.at(-1) !== `${last}:0`);
  assert.deepEqual(
    seconds.slice(1, -1),
    Array.from({ length: 2499 }, (_, i) => `${5 + i}:0|`),
  );
});

test("klines: after a clock set ahead by weeks, the stream continues with the current candle", async () => {
  const candles = [traded(START, 100)];
  const exchange = await follow(candles);
  const { engine } = exchange;
  assert.equal(await shown(exchange), "0:1");
  const weeks = 5 * 7 * 86_400;
  engine.time = START + weeks * SECOND;
  assert.equal(await shown(exchange), `0:1| ${weeks}:0`);
  engine.time += SECOND;
  assert.equal(await shown(exchange), `${weeks}:0| ${weeks + 1}:0`);
});

test("klines: a new subscriber gets the candle published last, and does not speed up the others", async () => {
  const candles = [traded(START, 100)];
  const exchange = await follow(candles);
  const { engine, connect, client } = exchange;
  assert.equal(await shown(exchange), "0:1");
  trade(exchange, candles, START);
  engine.time += 249;
  const late = connect();
  late.say(subscribe({ channel: "klines", symbol: "BTC-PERP", interval: "1s" }));
  await nextTurn();
  const { data } = late.take().at(-1) as Received;
  assert.deepEqual([data[0].trades, client.take()], [1, []]);
  engine.time += 1;
  assert.equal(await shown(exchange), "0:2");
  assert.equal(await shown({ ...exchange, client: late }), "0:2");
});

test("klines: when too many wait for the history, a stream retries", async () => {
  const candles = [traded(START, 100)];
  const exchange = await open({ [BTC]: { asks: [[100, 999]] } }, ["BTC-PERP"], null, historyOf(candles));
  const client = exchange.connect();
  exchange.engine.crowded = true;
  client.ask(subscribe({ channel: "klines", symbol: "BTC-PERP", interval: "1s" }));
  await nextTurn();
  assert.deepEqual(client.take(), []);
  exchange.engine.crowded = false;
  const [snapshot] = await until("the snapshot", async () => {
    const messages = client.take();
    return messages.length > 0 ? messages : undefined;
  });
  assert.equal(snapshot.type, "SNAPSHOT");
});

test("klines: while the history stands still, a stream waits for it once", async () => {
  const candles = [traded(START, 100)];
  const exchange = await follow(candles);
  const { engine, connect } = exchange;
  assert.equal(await shown(exchange), "0:1");
  engine.historyStalls = true;
  const before = engine.historyAsked;
  for (let second = 1; second < 20; second++) {
    engine.time += SECOND;
    trade(exchange, candles, engine.time);
    assert.equal(await shown(exchange), "");
  }
  assert.equal(engine.historyAsked, before + 1);
  const late = connect();
  late.say(subscribe({ channel: "klines", symbol: "BTC-PERP", interval: "1s" }));
  await nextTurn();
  assert.deepEqual((late.take().at(-1) as Received).data[0].trades, 1);
});

test("klines: each message has the time up to which its candles are complete", async () => {
  const candles = [traded(START, 100)];
  const exchange = await follow(candles);
  const { engine, channels, client, connect } = exchange;
  const told = async () => {
    channels.tick();
    await nextTurn();
    const { type, time } = client.take().at(-1) as Received;
    return [type, time];
  };
  assert.deepEqual(await told(), ["SNAPSHOT", START]);
  engine.time = START + 700;
  trade(exchange, candles, engine.time);
  assert.deepEqual(await told(), ["UPDATE", START + 700]);
  const late = connect();
  late.say(subscribe({ channel: "klines", symbol: "BTC-PERP", interval: "1s" }));
  const last = late.take().at(-1) as Received;
  assert.deepEqual([last.type, last.time], ["SNAPSHOT", START + 700]);
});
