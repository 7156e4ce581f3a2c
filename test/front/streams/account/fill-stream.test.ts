import assert from "node:assert/strict";
import { test } from "node:test";
import { OrderPlaced, PositionTransferred } from "../../../../src/core/protocol/events.ts";
import { Done } from "../../../../src/core/protocol/replies.ts";
import { FillRecord } from "../../../../src/store/database/history-schema.ts";
import type { Received } from "../../support/scripted-client.ts";
import { make, type ScriptedEngine } from "../../support/scripted-engine.ts";
import { ALICE, BOB, BTC, ETH, nextTurn, open, subscribe } from "../../support/scripted-exchange.ts";

const idsOf = ({ data }: Received): number[] => data.map(({ tradeId }: Received) => Number(tradeId));
const ids = (from: number, to: number, actorId = BTC): number[] =>
  Array.from({ length: to - from + 1 }, (_, i) => (from + i) * 256 + actorId);

const fill = (engine: ScriptedEngine, actorId: number, n: number): number =>
  engine.transaction(
    actorId,
    make(PositionTransferred, { tradeId: n * 256 + actorId, accountId: ALICE, counterpartyId: BOB }),
  );

/** Nobody has an open order. */
const answerAll = (engine: ScriptedEngine): void => {
  while (engine.answer(() => [make(Done)]));
};

test("fills: the last hundred from history and memory, oldest first, then those of each transaction", async () => {
  const asked: unknown[] = [];
  const { engine, connect } = await open({}, undefined, null, {
    fillsOf: (accountId, { limit, throughSequence, instrumentId }) => {
      asked.push([accountId, throughSequence, instrumentId]);
      const rows = ids(1, 120).map((tradeId) => make(FillRecord, { tradeId }));
      return { data: rows.reverse().slice(0, limit), nextCursor: null };
    },
  });
  const client = connect();
  client.say({ op: "auth", token: "alice" });
  client.say(subscribe({ channel: "fills" }, { channel: "fills", symbol: "BTC-PERP" }));
  client.take();
  answerAll(engine);
  const started = engine.sequence;
  // The history has not been read yet.
  fill(engine, BTC, 121);
  fill(engine, ETH, 122);
  engine.drain();
  assert.deepEqual(client.take(), []);
  await nextTurn();
  await nextTurn();
  assert.deepEqual(asked, [
    [ALICE, started, undefined],
    [ALICE, started, BTC],
  ]);
  assert.deepEqual(client.take().map(idsOf), [[...ids(23, 121), ...ids(122, 122, ETH)], ids(22, 121)]);
  const last = fill(engine, ETH, 123);
  engine.drain();
  const updates = client.take();
  assert.deepEqual(updates.map(idsOf), [ids(123, 123, ETH)]);
  assert.deepEqual([updates[0].type, updates[0].sequence], ["UPDATE", last]);
  engine.transaction(BTC, make(OrderPlaced, { accountId: ALICE, orderId: 257, quantityLots: 1, rests: 1 }));
  engine.drain();
  assert.deepEqual(client.take(), [], "an order that fills nothing is no news here");
});

test("fills: those of a symbol are found among many of other symbols, within a bound", async () => {
  let emptyPages = 39;
  const cursors: unknown[] = [];
  const { engine, connect } = await open({}, undefined, null, {
    fillsOf: (_, { limit, cursor }) => {
      cursors.push(cursor);
      if (cursors.length <= emptyPages) return { data: [], nextCursor: String(cursors.length) };
      const rows = ids(1, 60).map((tradeId) => make(FillRecord, { tradeId }));
      return { data: rows.reverse().slice(0, limit), nextCursor: String(cursors.length) };
    },
  });
  const snapshot = async (): Promise<Received> => {
    cursors.length = 0;
    const client = connect();
    client.say({ op: "auth", token: "alice" });
    client.say(subscribe({ channel: "fills", symbol: "BTC-PERP" }));
    client.take();
    answerAll(engine);
    for (let transactions = 0; transactions < 50; transactions++) await nextTurn();
    const [message] = client.take();
    client.hangUp();
    return message;
  };
  assert.deepEqual(idsOf(await snapshot()), ids(1, 60));
  assert.deepEqual(cursors, [undefined, ...Array.from({ length: 39 }, (_, i) => String(i + 1))]);
  emptyPages = 38;
  assert.equal(idsOf(await snapshot()).length, 100, "no more than a hundred, of two pages");
  emptyPages = 40;
  assert.deepEqual(idsOf(await snapshot()), []);
  assert.equal(cursors.length, 40);
});

test("orders and fills: an account without subscribers is dropped, and read again for the next one", async () => {
  const { engine, connect } = await open();
  const client = connect();
  client.say({ op: "auth", token: "alice" });
  for (const channel of ["orders", "fills"]) {
    client.say(subscribe({ channel }));
    assert.equal(engine.asked.length, 2, channel);
    answerAll(engine);
    client.say({ op: "unsubscribe", channels: [{ channel }] });
  }
});
