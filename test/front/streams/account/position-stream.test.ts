import assert from "node:assert/strict";
import { test } from "node:test";
import type { Engine, OnReply } from "../../../../src/actor/engine/engine.ts";
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
