import assert from "node:assert/strict";
import { test } from "node:test";
import { book, nextTurn, open, subscribe, unsubscribe } from "../support/scripted-exchange.ts";

const SYMBOLS = ["A-PERP", "B-PERP", "C-PERP", "D-PERP", "E-PERP"];
const ALL_BOOKS = SYMBOLS.flatMap((symbol) =>
  [1, 5, 10, 20, 25, 50, 100, 200, 500, 1000].flatMap((depth) =>
    [0, 100, 250, 500].map((updateMs) => book({ symbol, depth, updateMs })),
  ),
);

test("very many subscriptions are served over several event-loop iterations, round robin over the connections", async () => {
  const { connect } = await open({}, SYMBOLS);
  const [greedy, modest, gone, fickle] = [connect(), connect(), connect(), connect()];
  greedy.say(subscribe(...ALL_BOOKS));
  const atOnce = greedy.topics.size;
  assert.ok(atOnce > 0 && atOnce < 100, `${atOnce} in the first turn`);
  for (const client of [modest, gone, fickle]) client.say(subscribe({ channel: "trades", symbol: "A-PERP" }));
  fickle.say(unsubscribe({ channel: "trades", symbol: "A-PERP" }));
  gone.hangUp();
  await nextTurn();
  assert.equal(modest.topics.size, 1);
  assert.ok(greedy.topics.size < ALL_BOOKS.length, "it has not had all of the turn");
  while (greedy.topics.size < ALL_BOOKS.length) await nextTurn();
  assert.equal(greedy.take().filter(({ type }) => type === "SNAPSHOT").length, ALL_BOOKS.length);
  for (const client of [gone, fickle]) {
    assert.equal(client.topics.size, 0);
    assert.ok(client.take().every(({ type }) => type === undefined));
  }
});

test("a topic requested again before it was served is subscribed once", async () => {
  const { connect } = await open({}, SYMBOLS);
  const [greedy, client] = [connect(), connect()];
  greedy.say(subscribe(...ALL_BOOKS));
  const again = { channel: "trades", symbol: "A-PERP" };
  for (let i = 0; i < 3; i++) client.say(subscribe(again));
  while (client.topics.size === 0) await nextTurn();
  await nextTurn();
  const kinds = client.take().map(({ op, type }) => op ?? type);
  assert.deepEqual(kinds, ["subscribed", "subscribed", "subscribed", "SNAPSHOT"]);
});

test("a client that subscribes to many deep books gets them in order, as it reads", async () => {
  const levels = Array.from({ length: 1000 }, (_, i): [number, number] => [650_000 - i, 1000 + i]);
  const states = Object.fromEntries(SYMBOLS.map((_, i) => [i + 1, { bids: levels }]));
  const { channels, connect } = await open(states, SYMBOLS);
  const deep = ALL_BOOKS.filter(({ depth }) => depth === 1000);
  const [slow, fickle, gone] = [connect(), connect(), connect()];
  for (const client of [slow, fickle, gone]) {
    client.isReading = false;
    client.say(subscribe(...deep));
  }
  for (let i = 0; i < 50; i++) await nextTurn();
  channels.tick();
  for (const client of [slow, fickle, gone]) {
    assert.ok(client.topics.size > 0 && client.topics.size < 5, `${client.topics.size} snapshots wait to be read`);
    assert.equal(client.closedWith, null);
  }
  // Other connections are served meanwhile.
  assert.deepEqual(
    connect()
      .ask(subscribe(book({ symbol: "B-PERP" })))
      .map(({ op, type }) => op ?? type),
    ["subscribed", "SNAPSHOT"],
  );
  fickle.say(unsubscribe(...deep));
  gone.hangUp();
  const joined = gone.topics.size;
  while (slow.topics.size < deep.length) {
    slow.read();
    await nextTurn();
  }
  slow.read();
  fickle.read();
  await nextTurn();
  assert.equal(slow.closedWith, null);
  assert.deepEqual(
    slow
      .take()
      .filter(({ type }) => type === "SNAPSHOT")
      .map(({ symbol, bids, updateMs = 0 }) => ({ symbol, depth: bids.length, updateMs })),
    deep.map(({ symbol, depth, updateMs }) => ({ symbol, depth, updateMs })),
  );
  assert.deepEqual([fickle.topics.size, gone.topics.size], [0, joined], "nothing more is joined for them");
});
