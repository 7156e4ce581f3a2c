import assert from "node:assert/strict";
import { test } from "node:test";
import { LEDGER } from "../../../../src/core/base/enums.ts";
import { ReadPosition } from "../../../../src/core/protocol/commands.ts";
import { Deposited, PriceUpdated } from "../../../../src/core/protocol/events.ts";
import type { MessageOf } from "../../../../src/core/protocol/message-schema.ts";
import { PositionView } from "../../../../src/core/protocol/replies.ts";
import type { Received, ScriptedClient } from "../../support/scripted-client.ts";
import { type Asked, make, type ScriptedEngine } from "../../support/scripted-engine.ts";
import { ALICE, alicesTrade, BOB, BTC, ETH, type Exchange, open, subscribe } from "../../support/scripted-exchange.ts";

type View = Partial<MessageOf<typeof PositionView>>;

/** Answers the oldest request with this position; without one the reply is empty. */
function answer(engine: ScriptedEngine, view: View | null = null): Asked {
  const [asked] = engine.asked;
  assert.equal(asked?.command.type, ReadPosition.code);
  engine.answer(() => (view === null ? [] : [make(PositionView, { accountId: ALICE, leverage: 10, ...view })]));
  return asked;
}

async function alicesPositions(more: object = {}): Promise<Exchange & { client: ScriptedClient }> {
  const exchange = await open();
  const client = exchange.connect();
  client.say({ op: "auth", token: "alice" });
  client.say(subscribe({ channel: "positions", ...more }));
  client.take();
  return { ...exchange, client };
}

test("positions: a snapshot once every symbol has answered, then every change", async () => {
  const { engine, client } = await alicesPositions();
  const first = answer(engine, { sizeLots: 1500, markTicks: 650000 });
  assert.deepEqual([first.actorId, first.command], [BTC, make(ReadPosition, { accountId: ALICE })]);
  assert.deepEqual(client.take(), []);
  assert.equal(answer(engine).actorId, ETH);
  const [snapshot] = client.take();
  const started = engine.sequence;
  assert.deepEqual(
    { ...snapshot, data: snapshot.data.map((each: Received) => [each.symbol, each.size, each.side]) },
    {
      channel: "positions",
      type: "SNAPSHOT",
      sequence: started,
      prevSequence: null,
      data: [["BTC-PERP", "1.5", "LONG"]],
    },
  );

  const traded = engine.transaction(BTC, alicesTrade());
  assert.equal(engine.asked.length, 0, "asked once the drain is over");
  engine.drain();
  answer(engine, { sizeLots: 2500, markTicks: 650000 });
  const [update] = client.take();
  assert.deepEqual([update.type, update.prevSequence, update.sequence], ["UPDATE", started, traded]);
  assert.equal(update.data[0].size, "2.5");

  const closed = engine.transaction(BTC, alicesTrade());
  engine.drain();
  answer(engine, { sizeLots: 0, markTicks: 650000 });
  const [gone] = client.take();
  assert.deepEqual([gone.prevSequence, gone.sequence, gone.data.length], [traded, closed, 1]);
  assert.deepEqual([gone.data[0].symbol, gone.data[0].size], ["BTC-PERP", "0"]);

  engine.transaction(BTC, alicesTrade());
  engine.drain();
  answer(engine, { sizeLots: 0, markTicks: 660000 });
  assert.deepEqual(client.take(), [], "no position, no news");
});

test("positions: a price concerns open positions only, and an unchanged position is not repeated", async () => {
  const { engine, client } = await alicesPositions();
  answer(engine, { sizeLots: 1500, markTicks: 650000 });
  answer(engine);
  client.take();
  engine.transaction(ETH, make(PriceUpdated, { markTicks: 5 }));
  engine.drain();
  assert.equal(engine.asked.length, 0);
  engine.transaction(BTC, make(PriceUpdated, { markTicks: 651000 }));
  engine.drain();
  answer(engine, { sizeLots: 1500, markTicks: 651000 });
  assert.equal(client.take()[0].data[0].markPrice, "65100");
  engine.transaction(BTC, make(PriceUpdated, { markTicks: 651000 }));
  engine.drain();
  answer(engine, { sizeLots: 1500, markTicks: 651000 });
  assert.deepEqual(client.take(), []);
  engine.transaction(LEDGER, make(Deposited, { accountId: ALICE }));
  engine.drain();
  assert.equal(answer(engine, { sizeLots: 1500, markTicks: 651000, liquidationTicks: 1 }).actorId, BTC);
  assert.equal(client.take()[0].data[0].liquidationPrice, "0.1", "a deposit moves what liquidates");
});

test("positions: a rank changed by other accounts is published with the next heartbeat", async () => {
  const { engine, channels, client } = await alicesPositions();
  answer(engine, { sizeLots: 1500, adlRank: 3 });
  answer(engine);
  client.take();
  engine.time += 4999;
  channels.tick();
  assert.equal(engine.asked.length, 0);
  engine.time += 1;
  channels.tick();
  assert.equal(answer(engine, { sizeLots: 1500, adlRank: 5 }).actorId, BTC);
  const told = client.take().filter(({ type }) => type === "UPDATE");
  assert.deepEqual(
    told.map(({ data }) => data[0].adlRank),
    [5],
  );
  assert.equal(engine.asked.length, 0, "where there is no position there is no rank");
});

test("positions: one request at a time, and another after an event meanwhile", async () => {
  const { engine, client } = await alicesPositions({ symbol: "BTC-PERP" });
  answer(engine, { sizeLots: 1 });
  assert.equal(client.take()[0].symbol, "BTC-PERP");
  for (let i = 0; i < 3; i++) {
    engine.transaction(BTC, alicesTrade());
    engine.transaction(ETH, alicesTrade());
    engine.drain();
  }
  assert.equal(engine.asked.length, 1);
  answer(engine, { sizeLots: 2 });
  assert.equal(engine.asked.length, 1);
  answer(engine, { sizeLots: 3 });
  assert.equal(engine.asked.length, 0);
  assert.deepEqual(
    client.take().map((message) => message.data[0].size),
    ["0.002", "0.003"],
  );
});

test("positions: a subscriber that comes during a request waits for the next one", async () => {
  const { engine, client: early, connect } = await alicesPositions({ symbol: "BTC-PERP" });
  answer(engine, { sizeLots: 1 });
  engine.transaction(BTC, alicesTrade());
  engine.drain();
  const late = connect();
  late.say({ op: "auth", token: "alice" });
  late.say(subscribe({ channel: "positions", symbol: "BTC-PERP" }));
  late.take();
  answer(engine, { sizeLots: 2 });
  assert.deepEqual(late.take(), []);
  answer(engine, { sizeLots: 3 });
  const [snapshot, ...more] = late.take();
  assert.deepEqual([snapshot.type, snapshot.data[0].size, more], ["SNAPSHOT", "0.003", []]);
  assert.deepEqual(
    early.take().map((message) => message.data[0].size),
    ["0.001", "0.002", "0.003"],
  );
});

test("positions: a full ring delays a request, but nothing is lost", async () => {
  const { engine, channels, client } = await alicesPositions({ symbol: "BTC-PERP" });
  answer(engine, { sizeLots: 1 });
  client.take();
  engine.full = true;
  engine.transaction(BTC, alicesTrade());
  engine.drain();
  engine.full = false;
  channels.tick();
  answer(engine, { sizeLots: 2 });
  assert.equal(client.take()[0].data[0].size, "0.002");
});

test("positions: a request lost with its symbol's thread is sent again, also for waiting subscribers", async () => {
  const { engine, channels, client: early, connect } = await alicesPositions({ symbol: "BTC-PERP" });
  engine.lose();
  assert.deepEqual(early.take(), []);
  engine.down = true;
  channels.tick();
  engine.down = false;
  channels.tick();
  const late = connect();
  late.say({ op: "auth", token: "alice" });
  late.say(subscribe({ channel: "positions", symbol: "BTC-PERP" }));
  late.take();
  assert.equal(engine.asked.length, 1);
  engine.lose();
  channels.tick();
  answer(engine, { sizeLots: 1 });
  for (const client of [early, late]) {
    const [snapshot, ...more] = client.take();
    assert.deepEqual([snapshot.type, snapshot.data[0].size, more], ["SNAPSHOT", "0.001", []]);
  }
  assert.equal(engine.asked.length, 0);
});

test("positions: sequences never decrease, though symbols reply with different ones", async () => {
  const { engine, client } = await alicesPositions();
  answer(engine, { sizeLots: 1 });
  answer(engine, { sizeLots: 1 });
  client.take();
  const later = engine.sequence;
  engine.transaction(BTC, alicesTrade());
  engine.transaction(ETH, alicesTrade());
  engine.drain();
  answer(engine, { sizeLots: 2 });
  const newest = engine.sequence;
  engine.sequence = later;
  answer(engine, { sizeLots: 2 });
  assert.deepEqual(
    client.take().map(({ prevSequence, sequence }) => [prevSequence, sequence]),
    [
      [later, newest],
      [newest, newest],
    ],
  );
});

test("positions: no account gets another's, and nothing is requested after unsubscribing", async () => {
  const { engine, hub, client, connect } = await alicesPositions({ symbol: "BTC-PERP" });
  const bob = connect();
  bob.say({ op: "auth", token: "bob" });
  bob.say(subscribe({ channel: "positions", symbol: "BTC-PERP" }));
  answer(engine, { sizeLots: 1 });
  const [asked] = engine.asked;
  assert.deepEqual(asked.command, make(ReadPosition, { accountId: BOB }));
  bob.take();
  client.hangUp();
  bob.hangUp();
  answer(engine, { sizeLots: 5 });
  assert.deepEqual(bob.take(), []);
  engine.transaction(BTC, alicesTrade());
  engine.drain();
  assert.equal(engine.asked.length, 0);
  assert.ok(hub.published.every(({ topic }) => topic.startsWith(`positions/${ALICE}/`)));
});
