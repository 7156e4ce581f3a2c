import assert from "node:assert/strict";
import { test } from "node:test";
import type { Engine, OnReply } from "../../../../src/actor/engine/engine.ts";
import type { Message } from "../../../../src/core/protocol/message-schema.ts";
import { PositionView } from "../../../../src/core/protocol/replies.ts";
import { PositionStream } from "../../../../src/front/streams/account/position-stream.ts";
import type { Subscriber } from "../../../../src/front/streams/base/stream.ts";
import { instrument, PLAIN } from "../../../core/support/instruments.ts";
import { make } from "../../support/scripted-engine.ts";

const SYMBOLS = 100;
const MEMBERS = 200;

class Listener implements Subscriber {
  readonly heard: (string | Uint8Array)[] = [];
  send(text: string | Uint8Array): void {
    this.heard.push(text);
  }
  sendAll(): void {}
  noteLargeMessage(): void {}
  subscribe(): void {}
  unsubscribe(): void {}
  fail(): void {}
}

test("for many subscribers at once, a reply is read once and the snapshot is printed once", (t) => {
  const instruments = Array.from({ length: SYMBOLS }, (_, i) =>
    instrument({ ...PLAIN, id: i + 1, symbol: `P${i}-PERP` }, {}),
  );
  const asked: OnReply[] = [];
  const request = (_actorId: number, _command: unknown, onReply: OnReply): boolean => asked.push(onReply) > 0;
  const engine = { releasedSequence: () => 5, request } as unknown as Engine;
  const stream = new PositionStream("positions/7/all", '"channel":"positions"', 7, instruments, engine, () => {});
  const listeners = Array.from({ length: MEMBERS }, () => new Listener());
  for (const listener of listeners) stream.subscribe(listener);

  // Not t.mock.method: it leaves Map without an iterator for the tests that follow.
  const iterator = Map.prototype[Symbol.iterator];
  let looks = 0;
  Map.prototype[Symbol.iterator] = function () {
    looks++;
    return iterator.call(this);
  };
  t.after(() => {
    Map.prototype[Symbol.iterator] = iterator;
  });
  // The first request was sent before all but the first had subscribed, so they need the second.
  for (const reached of [1, MEMBERS]) {
    const questions = asked.splice(0);
    assert.equal(questions.length, SYMBOLS);
    const messages = [make(PositionView, { sizeLots: 5, markTicks: 100, leverage: 10 })];
    for (const answer of questions) answer({ actorId: 1, sequence: 9, time: 1, eventCount: 0, messages });
    assert.equal(listeners.filter(({ heard }) => heard.length === 1).length, reached);
  }
  assert.ok(looks <= 2 * SYMBOLS, `${looks} looks`);
  const snapshots = new Set(listeners.slice(1).map(({ heard }) => heard[0]));
  assert.equal(snapshots.size, 1);
  const [first] = listeners;
  assert.equal(JSON.parse(String(first.heard[0])).data.length, SYMBOLS);
});

test("a change of leverage or margin mode without a position is published once", () => {
  const asked: OnReply[] = [];
  const request = (_actorId: number, _command: unknown, onReply: OnReply): boolean => asked.push(onReply) > 0;
  const engine = { releasedSequence: () => 5, request } as unknown as Engine;
  const published: string[] = [];
  const publish = (_topic: string, text: string | Uint8Array): void => {
    published.push(String(text));
  };
  const stream = new PositionStream(
    "positions/7/all",
    '"channel":"positions"',
    7,
    [instrument(PLAIN)],
    engine,
    publish,
  );
  stream.subscribe(new Listener());
  let sequence = 9;
  const answer = (...views: Message[]): void => {
    const [reply] = asked.splice(0) as [OnReply];
    reply({ actorId: PLAIN.id, sequence: sequence++, time: 1, eventCount: 0, messages: views });
  };
  const told = (...views: Message[]): unknown[] => {
    stream.markStale(PLAIN.id);
    stream.flush();
    answer(...views);
    return published.splice(0).map((text) => {
      const [{ size, leverage, marginMode }] = JSON.parse(text).data;
      return [size, leverage, marginMode];
    });
  };
  const { defaultLeverage: leverage } = instrument(PLAIN);
  // The account has no row yet, then one with the initial settings: nothing has changed.
  answer();
  assert.deepEqual(told(make(PositionView, { leverage })), []);
  assert.deepEqual(told(make(PositionView, { leverage: 3 })), [["0", 3, "CROSS"]]);
  assert.deepEqual(told(make(PositionView, { leverage: 3 })), []);
  assert.deepEqual(told(make(PositionView, { leverage: 3, marginMode: 1 })), [["0", 3, "ISOLATED"]]);
  const open = { sizeLots: 5, markTicks: 100, marginMode: 1 };
  assert.deepEqual(told(make(PositionView, { ...open, leverage: 3 })), [["5", 3, "ISOLATED"]]);
  assert.deepEqual(told(make(PositionView, { ...open, leverage: 4 })), [["5", 4, "ISOLATED"]]);
  assert.deepEqual(told(make(PositionView, { marginMode: 1, leverage: 4 })), [["0", 4, "ISOLATED"]]);
});
