import assert from "node:assert/strict";
import { test } from "node:test";
import { STATUS_CANCELED } from "../../../src/core/base/enums.ts";
import { OrderClosed } from "../../../src/core/protocol/events.ts";
import { Done, OrderView } from "../../../src/core/protocol/replies.ts";
import type { ScriptedClient } from "../support/scripted-client.ts";
import { make } from "../support/scripted-engine.ts";
import { BTC, bid, book, type Exchange, nextTurn, open, subscribe } from "../support/scripted-exchange.ts";

/** About 300 kB as JSON. */
const ORDERS = 520;
const SLOW_CONSUMER = { code: 1013, reason: "SLOW_CONSUMER" };
const LOOKS_IN_FIVE_SECONDS = 100;

const ids = Array.from({ length: ORDERS }, (_, i) => 256 * (i + 1) + BTC);
const views = ids.map((orderId) => make(OrderView, { orderId, quantityLots: 10, remainingLots: 10, priceTicks: 100 }));

/** Subscribes to orders, and has not read a large snapshot yet: its line is slow. */
async function followMany(): Promise<Exchange & { client: ScriptedClient }> {
  const exchange = await open({}, ["BTC-PERP"]);
  const client = exchange.connect();
  client.isReading = false;
  client.say({ op: "auth", token: "alice" });
  client.say(subscribe({ channel: "orders" }));
  exchange.engine.answer(() => [...views, make(Done)]);
  assert.ok(client.buffered > 250_000, `${client.buffered} bytes`);
  return { ...exchange, client };
}

/** The number of ticks before it is closed. */
function looksUntilDropped({ channels }: Exchange, client: ScriptedClient): number {
  for (let looks = 0; looks < 1000; looks++) {
    if (client.closedWith !== null) return looks;
    channels.tick();
  }
  return Number.POSITIVE_INFINITY;
}

test("a snapshot larger than the backlog limit does not close a client that reads, whatever small messages follow", async () => {
  const { channels, client } = await followMany();
  for (let i = 0; i < LOOKS_IN_FIVE_SECONDS / 2; i++) {
    client.say({ op: "ping" });
    channels.tick();
  }
  assert.equal(client.closedWith, null);
  client.read();
  const [snapshot] = client.take().filter(({ type }) => type === "SNAPSHOT");
  assert.equal(snapshot.data.length, ORDERS);
});

test("a large update, answer or resumed message does not close a client that reads", async () => {
  const { engine, channels, connect, client, trades } = await followMany();
  engine.transaction(
    BTC,
    ...ids.map((orderId) => make(OrderClosed, { accountId: 17, orderId, status: STATUS_CANCELED })),
  );
  engine.drain();
  channels.tick();

  const trader = connect();
  trader.isReading = false;
  trader.say({ op: "auth", token: "alice-trader" });
  for (let id = 1; id <= 2; id++) trader.say({ op: "order.cancelAll", id });
  trades[0]?.answer.reply(200, JSON.stringify({ data: "x".repeat(1_100_000) }));
  trades[1]?.answer.reply(200, "{}");
  await nextTurn();
  channels.tick();

  const [watcher, back] = [connect(), connect()];
  watcher.say(subscribe(book({ depth: 1000 })));
  const seen = watcher.take().at(-1).sequence;
  for (let i = 0; i < 200; i++) {
    engine.transaction(BTC, ...Array.from({ length: 60 }, (_, level) => bid(1000 + level, 1 + ((i + level) % 7))));
    engine.drain();
  }
  back.isReading = false;
  back.say(subscribe(book({ depth: 1000, resume: seen })));
  channels.tick();

  for (const each of [client, trader, back]) {
    assert.ok(each.buffered > 1 << 17, `${each.buffered} bytes`);
    assert.equal(each.closedWith, null);
    each.read();
  }
  const [update] = client.take().filter(({ type }) => type === "UPDATE");
  assert.equal(update.data.length, ORDERS);
  assert.deepEqual(
    trader
      .take()
      .map(({ id }) => id)
      .slice(1),
    [1, 2],
  );
  assert.equal(back.take().filter(({ type }) => type === "DELTA").length, 200);
});

test("a client that does not read a large message is closed after five seconds", async () => {
  const exchange = await followMany();
  const looks = looksUntilDropped(exchange, exchange.client);
  assert.ok(Math.abs(looks - LOOKS_IN_FIVE_SECONDS) <= 1, `${looks} looks`);
  assert.deepEqual(exchange.client.closedWith, SLOW_CONSUMER);
});

test("backlog after a large message counts; after that message is read, the next large one has its own time", async () => {
  const exchange = await followMany();
  const { client, connect } = exchange;
  const ping = { op: "ping", id: "x".repeat(32) };
  for (let i = 0; i < 3000; i++) client.say(ping);
  assert.deepEqual(client.closedWith, SLOW_CONSUMER);

  const other = connect();
  other.isReading = false;
  other.buffered = 1 << 17;
  other.say(ping);
  assert.deepEqual(other.closedWith, SLOW_CONSUMER, "small messages alone are given no time");

  const again = await followMany();
  for (let i = 0; i < LOOKS_IN_FIVE_SECONDS - 1; i++) again.channels.tick();
  again.client.read();
  again.channels.tick();
  again.client.say(subscribe({ channel: "orders" }));
  assert.ok(again.client.buffered > 250_000, "another snapshot");
  assert.ok(looksUntilDropped(again, again.client) >= LOOKS_IN_FIVE_SECONDS);
});
