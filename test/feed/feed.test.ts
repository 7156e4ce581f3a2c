import assert from "node:assert/strict";
import { test } from "node:test";
import type { Engine, OnReply } from "../../src/actor/engine/engine.ts";
import { CONFIRMATIONS, countAgreeing, isJump } from "../../src/core/pricing/price-guards.ts";
import type { SetIndexPrice } from "../../src/core/protocol/commands.ts";
import { compileInstrument } from "../../src/core/protocol/instrument.ts";
import { blank, type Message, type MessageOf } from "../../src/core/protocol/message-schema.ts";
import { Refused } from "../../src/core/protocol/replies.ts";
import { Feed } from "../../src/feed/feed.ts";
import { PLAIN } from "../core/support/instruments.ts";

/** Only the test advances the time. */
const POLL_MS = 60_000;

/** An engine with one symbol that accepts index prices unless its queue is full. */
function engineOf(given: number[]) {
  const state = { indexTicks: 0, hasRoom: true, pendingIndexTicks: 0, pendingIndexCount: 0 };
  const request = (_actorId: number, command: Message, onReply: OnReply): boolean => {
    if (!state.hasRoom) return false;
    const { indexTicks } = command as MessageOf<typeof SetIndexPrice>;
    given.push(indexTicks);
    const agreeing = isJump(state.indexTicks, indexTicks, 100_000)
      ? countAgreeing(state.indexTicks, state, indexTicks, 100_000)
      : CONFIRMATIONS;
    const isAdmitted = agreeing >= CONFIRMATIONS;
    state.pendingIndexTicks = isAdmitted ? 0 : indexTicks;
    state.pendingIndexCount = isAdmitted ? 0 : agreeing;
    if (isAdmitted) state.indexTicks = indexTicks;
    const messages = isAdmitted ? [] : [{ ...blank(Refused), code: "PRICE_JUMP" }];
    onReply({ actorId: 1, sequence: 0, time: 0, eventCount: 0, messages });
    return true;
  };
  const engine = { instruments: [compileInstrument(PLAIN)], request } as unknown as Engine;
  return { state, engine };
}

async function start(given: number[]) {
  const source = { price: 1000 };
  const { state, engine } = engineOf(given);
  const log = { info() {}, warn() {} };
  const rules = { pollMs: POLL_MS, maxAgeMs: POLL_MS, maxDeviation: "0.01", minSources: 1 };
  const settings = { sources: [{ exchange: "other" }], ...rules };
  const open = async () => ({ fetchTicker: async () => ({ last: source.price }) });
  const feed = await Feed.open({ engine, settings, open, log, now: () => 0, monotonic: () => 0 });
  /** Polls a price and publishes the combined one. */
  const poll = async (): Promise<void> => {
    feed.start();
    await new Promise(setImmediate);
    feed.stop();
    feed.publish();
  };
  return { source, state, feed, poll };
}

test("a price jump is confirmed by a new quote of its source, not by sending the same quote again", async () => {
  const given: number[] = [];
  const { source, state, feed, poll } = await start(given);
  await poll();
  feed.publish();
  assert.deepEqual(given.splice(0), [1000, 1000], "what is accepted is as fresh as its quotes");
  source.price = 2000;
  await poll();
  for (let i = 0; i < 5; i++) feed.publish();
  assert.deepEqual([given.splice(0), state.indexTicks], [[2000], 1000]);
  source.price = 1001;
  await poll();
  assert.deepEqual([given.splice(0), state.indexTicks], [[1001], 1001]);
  source.price = 2000;
  for (let i = 0; i < 3; i++) await poll();
  assert.deepEqual([given.splice(0), state.indexTicks], [[2000, 2000, 2000], 2000]);
});

test("a price that the full queue refused is sent again", async () => {
  const given: number[] = [];
  const { state, feed, poll } = await start(given);
  state.hasRoom = false;
  await poll();
  state.hasRoom = true;
  feed.publish();
  assert.deepEqual(given, [1000]);
});
