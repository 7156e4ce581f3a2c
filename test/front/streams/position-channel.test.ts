import assert from "node:assert/strict";
import { test } from "node:test";
import { LEDGER } from "../../../src/core/base/enums.ts";
import type { MessageOf } from "../../../src/core/protocol/message-schema.ts";
import { Deposited, PositionView, PriceUpdated, ReadPosition } from "../../../src/core/protocol/messages.ts";
import type { Received, ScriptedClient } from "../support/scripted-client.ts";
import { type Asked, make, type ScriptedRoad } from "../support/scripted-engine.ts";
import { ALICE, alicesTrade, BOB, BTC, ETH, type Exchange, open, subscribe } from "../support/scripted-exchange.ts";

type View = Partial<MessageOf<typeof PositionView>>;

/** Answers the oldest question with this position; an actor that knows none answers with nothing. */
function answer(road: ScriptedRoad, view: View | null = null): Asked {
  const [asked] = road.asked;
  assert.equal(asked?.command.type, ReadPosition.code);
  road.answer(() => (view === null ? [] : [make(PositionView, { accountId: ALICE, leverage: 10, ...view })]));
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
  const { road, client } = await alicesPositions();
  const first = answer(road, { sizeLots: 1500, markTicks: 650000 });
  assert.deepEqual([first.actorId, first.command], [BTC, make(ReadPosition, { accountId: ALICE })]);
  assert.deepEqual(client.take(), []);
  assert.equal(answer(road).actorId, ETH);
  const [snapshot] = client.take();
  const started = road.sequence;
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

  const traded = road.turn(BTC, alicesTrade());
  assert.equal(road.asked.length, 0, "asked once the drain is over");
  road.drain();
  answer(road, { sizeLots: 2500, markTicks: 650000 });
  const [update] = client.take();
  assert.deepEqual([update.type, update.prevSequence, update.sequence], ["UPDATE", started, traded]);
  assert.equal(update.data[0].size, "2.5");

  const closed = road.turn(BTC, alicesTrade());
  road.drain();
  answer(road, { sizeLots: 0, markTicks: 650000 });
  const [gone] = client.take();
  assert.deepEqual([gone.prevSequence, gone.sequence, gone.data.length], [traded, closed, 1]);
  assert.deepEqual([gone.data[0].symbol, gone.data[0].size], ["BTC-PERP", "0"]);

  road.turn(BTC, alicesTrade());
  road.drain();
  answer(road, { sizeLots: 0, markTicks: 660000 });
  assert.deepEqual(client.take(), [], "no position, no news");
});

test("positions: a price matters to open positions only, and what stayed the same is not repeated", async () => {
  const { road, client } = await alicesPositions();
  answer(road, { sizeLots: 1500, markTicks: 650000 });
  answer(road);
  client.take();
  road.turn(ETH, make(PriceUpdated, { markTicks: 5 }));
  road.drain();
  assert.equal(road.asked.length, 0);
  road.turn(BTC, make(PriceUpdated, { markTicks: 651000 }));
  road.drain();
  answer(road, { sizeLots: 1500, markTicks: 651000 });
  assert.equal(client.take()[0].data[0].markPrice, "65100");
  road.turn(BTC, make(PriceUpdated, { markTicks: 651000 }));
  road.drain();
  answer(road, { sizeLots: 1500, markTicks: 651000 });
  assert.deepEqual(client.take(), []);
  road.turn(LEDGER, make(Deposited, { accountId: ALICE }));
  road.drain();
  assert.equal(answer(road, { sizeLots: 1500, markTicks: 651000, liquidationTicks: 1 }).actorId, BTC);
  assert.equal(client.take()[0].data[0].liquidationPrice, "0.1", "a deposit moves what liquidates");
});

test("positions: a rank that only others have moved is told with the next heartbeat", async () => {
  const { road, channels, client } = await alicesPositions();
  answer(road, { sizeLots: 1500, adlRank: 3 });
  answer(road);
  client.take();
  road.time += 4999;
  channels.tick();
  assert.equal(road.asked.length, 0);
  road.time += 1;
  channels.tick();
  assert.equal(answer(road, { sizeLots: 1500, adlRank: 5 }).actorId, BTC);
  const told = client.take().filter(({ type }) => type === "UPDATE");
  assert.deepEqual(
    told.map(({ data }) => data[0].adlRank),
    [5],
  );
  assert.equal(road.asked.length, 0, "where there is no position there is no rank");
});

test("positions: one question at a time, and another when something happened meanwhile", async () => {
  const { road, client } = await alicesPositions({ symbol: "BTC-PERP" });
  answer(road, { sizeLots: 1 });
  assert.equal(client.take()[0].symbol, "BTC-PERP");
  for (let i = 0; i < 3; i++) {
    road.turn(BTC, alicesTrade());
    road.turn(ETH, alicesTrade());
    road.drain();
  }
  assert.equal(road.asked.length, 1);
  answer(road, { sizeLots: 2 });
  assert.equal(road.asked.length, 1);
  answer(road, { sizeLots: 3 });
  assert.equal(road.asked.length, 0);
  assert.deepEqual(
    client.take().map((message) => message.data[0].size),
    ["0.002", "0.003"],
  );
});

test("positions: who joins while a question is under way waits for a later one", async () => {
  const { road, client: early, connect } = await alicesPositions({ symbol: "BTC-PERP" });
  answer(road, { sizeLots: 1 });
  road.turn(BTC, alicesTrade());
  road.drain();
  const late = connect();
  late.say({ op: "auth", token: "alice" });
  late.say(subscribe({ channel: "positions", symbol: "BTC-PERP" }));
  late.take();
  answer(road, { sizeLots: 2 });
  assert.deepEqual(late.take(), []);
  answer(road, { sizeLots: 3 });
  const [snapshot, ...more] = late.take();
  assert.deepEqual([snapshot.type, snapshot.data[0].size, more], ["SNAPSHOT", "0.003", []]);
  assert.deepEqual(
    early.take().map((message) => message.data[0].size),
    ["0.001", "0.002", "0.003"],
  );
});

test("positions: a full ring delays, and loses nothing", async () => {
  const { road, channels, client } = await alicesPositions({ symbol: "BTC-PERP" });
  answer(road, { sizeLots: 1 });
  client.take();
  road.full = true;
  road.turn(BTC, alicesTrade());
  road.drain();
  road.full = false;
  channels.tick();
  answer(road, { sizeLots: 2 });
  assert.equal(client.take()[0].data[0].size, "0.002");
});

test("positions: a question that dies with its symbol's thread is asked again, for those who wait for it, too", async () => {
  const { road, channels, client: early, connect } = await alicesPositions({ symbol: "BTC-PERP" });
  road.lose();
  assert.deepEqual(early.take(), []);
  road.down = true;
  channels.tick();
  road.down = false;
  channels.tick();
  const late = connect();
  late.say({ op: "auth", token: "alice" });
  late.say(subscribe({ channel: "positions", symbol: "BTC-PERP" }));
  late.take();
  assert.equal(road.asked.length, 1);
  road.lose();
  channels.tick();
  answer(road, { sizeLots: 1 });
  for (const client of [early, late]) {
    const [snapshot, ...more] = client.take();
    assert.deepEqual([snapshot.type, snapshot.data[0].size, more], ["SNAPSHOT", "0.001", []]);
  }
  assert.equal(road.asked.length, 0);
});

test("positions: sequences never fall, though symbols rest on different ones", async () => {
  const { road, client } = await alicesPositions();
  answer(road, { sizeLots: 1 });
  answer(road, { sizeLots: 1 });
  client.take();
  const later = road.sequence;
  road.turn(BTC, alicesTrade());
  road.turn(ETH, alicesTrade());
  road.drain();
  answer(road, { sizeLots: 2 });
  const newest = road.sequence;
  road.sequence = later;
  answer(road, { sizeLots: 2 });
  assert.deepEqual(
    client.take().map(({ prevSequence, sequence }) => [prevSequence, sequence]),
    [
      [later, newest],
      [newest, newest],
    ],
  );
});

test("positions: nobody hears of another's, and nobody is asked for who has left", async () => {
  const { road, hub, client, connect } = await alicesPositions({ symbol: "BTC-PERP" });
  const bob = connect();
  bob.say({ op: "auth", token: "bob" });
  bob.say(subscribe({ channel: "positions", symbol: "BTC-PERP" }));
  answer(road, { sizeLots: 1 });
  const [asked] = road.asked;
  assert.deepEqual(asked.command, make(ReadPosition, { accountId: BOB }));
  bob.take();
  client.hangUp();
  bob.hangUp();
  answer(road, { sizeLots: 5 });
  assert.deepEqual(bob.take(), []);
  road.turn(BTC, alicesTrade());
  road.drain();
  assert.equal(road.asked.length, 0);
  assert.ok(hub.published.every(({ topic }) => topic.startsWith(`positions/${ALICE}/`)));
});
