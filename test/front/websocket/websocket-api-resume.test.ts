import assert from "node:assert/strict";
import { test } from "node:test";
import { Traded } from "../../../src/core/protocol/events.ts";
import type { Received } from "../support/scripted-client.ts";
import { make } from "../support/scripted-engine.ts";
import { BTC, bid, book, ETH, open, subscribe } from "../support/scripted-exchange.ts";

/** "type prevSequence sequence" of each. */
const places = (messages: Received[]): string[] =>
  messages.map(({ op, type, prevSequence, sequence }) => op ?? `${type} ${prevSequence} ${sequence}`);

test("resume: a client that reconnects gets the missed messages, even as the only subscriber", async () => {
  const { engine, connect } = await open();
  const client = connect();
  client.say(subscribe(book()));
  engine.transaction(BTC, bid(100, 1));
  engine.drain();
  const seen = client.take().at(-1).sequence;
  client.hangUp();
  const missed = [engine.transaction(BTC, bid(101, 1))];
  engine.drain();
  missed.push(engine.transaction(BTC, bid(102, 1)));
  engine.drain();
  const back = connect();
  assert.deepEqual(places(back.ask(subscribe(book({ resume: seen })))), [
    "subscribed",
    `DELTA ${seen} ${missed[0]}`,
    `DELTA ${missed[0]} ${missed[1]}`,
  ]);
  const next = engine.transaction(BTC, bid(102, 2));
  engine.drain();
  assert.deepEqual(places(back.take()), [`DELTA ${missed[1]} ${next}`]);
  // Nothing missed; a missed message not published yet; an unknown sequence; the longest absence.
  const again = connect();
  assert.deepEqual(places(again.ask(subscribe(book({ resume: next })))), ["subscribed", `HEARTBEAT undefined ${next}`]);
  const pending = engine.transaction(BTC, bid(103, 1));
  assert.deepEqual(places(again.ask(subscribe(book({ resume: next })))).slice(-1), [`DELTA ${next} ${pending}`]);
  assert.deepEqual(places(connect().ask(subscribe(book({ resume: pending + 1 })))).slice(1), [
    `SNAPSHOT null ${pending}`,
  ]);
  assert.deepEqual(places(connect().ask(subscribe(book({ resume: 1 }))))[1], `SNAPSHOT null ${pending}`);
  for (const each of [back, again]) each.hangUp();
});

test("resume: after more messages than are kept, or more than 30 seconds, the client gets a snapshot", async () => {
  const { engine, channels, connect } = await open();
  const client = connect();
  client.say(subscribe(book()));
  const stay = connect();
  stay.say(subscribe(book()));
  const first = client.take().at(-1).sequence;
  for (let i = 0; i < 257; i++) {
    engine.transaction(BTC, bid(100 + i, 1));
    engine.drain();
  }
  const last = engine.sequence;
  assert.deepEqual(places(connect().ask(subscribe(book({ resume: first }))))[1], `SNAPSHOT null ${last}`);
  const kept = connect().ask(subscribe(book({ resume: first + 1 })));
  assert.equal(kept.length, 257);
  assert.deepEqual(places(kept).at(-1), `DELTA ${last - 1} ${last}`);

  const eth = { ...book({ symbol: "ETH-PERP" }), depth: 1 };
  const lost = connect();
  const { sequence } = lost.ask(subscribe(eth)).at(-1);
  lost.hangUp();
  engine.transaction(ETH, bid(100, 1));
  engine.drain();
  engine.time += 29_999;
  channels.tick();
  const early = connect();
  assert.equal(early.ask(subscribe({ ...eth, resume: sequence })).at(-1).type, "DELTA");
  engine.time += 1;
  channels.tick();
  early.take();
  engine.transaction(ETH, bid(101, 1));
  engine.drain();
  assert.equal(early.take().length, 1, "it has listeners again");
  early.hangUp();
  engine.time += 30_000;
  channels.tick();
  assert.equal(
    connect()
      .ask(subscribe({ ...eth, resume: sequence }))
      .at(-1).type,
    "SNAPSHOT",
  );
});

test("resume: trades after a sequence come in one message, also to a new client", async () => {
  const { engine, connect } = await open({ [BTC]: { asks: [[100, 9]] } });
  const trade = () =>
    engine.transaction(BTC, make(Traded, { tradeId: engine.sequence * 256 + BTC, priceTicks: 100, quantityLots: 1 }));
  const trades = { channel: "trades", symbol: "BTC-PERP" };
  const [first, second, third] = [trade(), trade(), trade()];
  const [, missed] = connect().ask(subscribe({ ...trades, resume: first }));
  assert.deepEqual(places([missed]), [`UPDATE ${first} ${third}`]);
  assert.deepEqual(
    missed.data.map((each: Received) => each.sequence),
    [second, third],
  );
  assert.equal(
    connect()
      .ask(subscribe({ ...trades, resume: first - 1 }))
      .at(-1).type,
    "SNAPSHOT",
    "older than all",
  );
  assert.equal(
    connect()
      .ask(subscribe({ ...trades, resume: third }))
      .at(-1).type,
    "HEARTBEAT",
  );
  assert.equal(
    connect()
      .ask(subscribe({ ...trades, resume: third + 1 }))
      .at(-1).type,
    "SNAPSHOT",
  );
});
