import assert from "node:assert/strict";
import { test } from "node:test";
import { SELL, STATUS_CANCELED } from "../../../../src/core/base/enums.ts";
import { ReadOrders } from "../../../../src/core/protocol/commands.ts";
import { OrderClosed, OrderPlaced, OrderReduced, Traded } from "../../../../src/core/protocol/events.ts";
import type { Message, MessageOf } from "../../../../src/core/protocol/message-schema.ts";
import { Done, OrderView } from "../../../../src/core/protocol/replies.ts";
import type { Received } from "../../support/scripted-client.ts";
import { make } from "../../support/scripted-engine.ts";
import { ALICE, BOB, BTC, ETH, open, subscribe } from "../../support/scripted-exchange.ts";

const view = (orderId: number, more: Partial<MessageOf<typeof OrderView>> = {}): Message =>
  make(OrderView, { orderId, quantityLots: 10, remainingLots: 10, priceTicks: 100, sequence: 50, ...more });

test("orders: a request lost with its symbol's thread is sent again", async () => {
  const { engine, channels, connect } = await open({}, ["BTC-PERP"]);
  const client = connect();
  client.say({ op: "auth", token: "alice" });
  client.say(subscribe({ channel: "orders" }));
  client.take();
  engine.lose();
  assert.deepEqual(client.take(), []);
  channels.tick();
  engine.answer(() => [view(257), make(Done)]);
  const [snapshot] = client.take();
  assert.deepEqual([snapshot.type, snapshot.data.length], ["SNAPSHOT", 1]);
});

test("orders: read once, then tracked by events; events before the reply are in it", async () => {
  const { engine, channels, connect } = await open({ [BTC]: { asks: [[100, 9]] } });
  const client = connect();
  client.say({ op: "auth", token: "alice" });
  engine.full = true;
  client.say(subscribe({ channel: "orders" }));
  engine.full = false;
  assert.equal(engine.asked.length, 0);
  channels.tick();
  assert.deepEqual(
    engine.asked.map(({ actorId, command }) => [actorId, command]),
    [BTC, ETH].map((actorId) => [actorId, make(ReadOrders, { accountId: ALICE })]),
  );
  client.take();
  engine.answer(() => [view(257), view(513), make(Done)]);
  // ETH has not replied, so its reply has this order. BTC has, and its order is closed before the snapshot.
  engine.transaction(ETH, make(OrderPlaced, { accountId: ALICE, orderId: 258, quantityLots: 1, rests: 1 }));
  engine.transaction(BTC, make(OrderClosed, { accountId: ALICE, orderId: 513, status: STATUS_CANCELED, reason: 1 }));
  engine.drain();
  assert.deepEqual(client.take(), []);
  engine.answer(() => [view(258, { createdAt: 7 }), make(Done)]);
  const [snapshot] = client.take();
  assert.deepEqual(
    [snapshot.type, snapshot.sequence, snapshot.data.map((order: Received) => order.orderId)],
    ["SNAPSHOT", engine.sequence, ["258", "257"]],
  );
  const before = engine.sequence;
  engine.transaction(BTC, make(OrderPlaced, { accountId: BOB, orderId: 769, quantityLots: 1, rests: 1 }));
  const traded = engine.transaction(
    BTC,
    make(OrderPlaced, { accountId: ALICE, orderId: 1025, quantityLots: 4, priceTicks: 100 }),
    make(Traded, { takerAccountId: ALICE, takerOrderId: 1025, makerOrderId: 769, priceTicks: 100, quantityLots: 4 }),
    make(OrderReduced, { accountId: ALICE, orderId: 257, byLots: 3 }),
  );
  const closed = engine.transaction(
    BTC,
    make(OrderClosed, { accountId: ALICE, orderId: 257, status: STATUS_CANCELED, reason: 1 }),
  );
  engine.drain();
  const brief = client
    .take()
    .map(({ prevSequence, sequence, data }) => [
      prevSequence,
      sequence,
      data.map((order: Received) => `${order.orderId} ${order.status} ${order.remainingQuantity} ${order.sequence}`),
    ]);
  assert.deepEqual(brief, [
    [before, traded, [`1025 FILLED 0 ${traded}`, `257 NEW 0.007 ${traded}`]],
    [traded, closed, [`257 CANCELED 0 ${closed}`]],
  ]);
  assert.equal(engine.asked.length, 0);
  const late = connect();
  late.say({ op: "auth", token: "alice" });
  const joined = late.ask(subscribe({ channel: "orders" }));
  assert.deepEqual(
    joined.at(-1).data.map((order: Received) => order.orderId),
    ["258"],
  );
  for (const each of [client, late]) each.hangUp();
  engine.transaction(BTC, make(OrderClosed, { accountId: ALICE, orderId: 99 * 256 + BTC }));
  engine.drain();
});

test("orders: the fill of a maker's order is published to subscribers of its symbol only", async () => {
  const { engine, connect } = await open({ [BTC]: { asks: [[100, 9]] } });
  const [all, eth] = [connect(), connect()];
  for (const client of [all, eth]) client.say({ op: "auth", token: "alice" });
  all.say(subscribe({ channel: "orders" }));
  eth.say(subscribe({ channel: "orders", symbol: "ETH-PERP" }));
  for (const client of [all, eth]) client.take();
  engine.answer(() => [view(257, { side: SELL }), make(Done)]);
  engine.answer(() => [make(Done)]);
  assert.deepEqual(
    [all, eth].map((client) => client.take().map(({ data }) => data.map((order: Received) => order.orderId))),
    [[["257"]], [[]]],
  );
  const maker = { makerAccountId: ALICE, makerOrderId: 257 };
  engine.transaction(
    BTC,
    make(Traded, { ...maker, takerAccountId: BOB, takerOrderId: 513, priceTicks: 100, quantityLots: 4 }),
  );
  engine.drain();
  const [update] = all.take();
  assert.deepEqual(
    update.data.map((order: Received) => [order.orderId, order.status, order.remainingQuantity]),
    [["257", "PARTIALLY_FILLED", "0.006"]],
  );
  assert.deepEqual(eth.take(), []);
});
