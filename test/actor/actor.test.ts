import assert from "node:assert/strict";
import { test } from "node:test";
import { ActorWorker, COMMAND_HEADER_BYTES } from "../../src/actor/actor.ts";
import { Control } from "../../src/actor/control.ts";
import { AccountCells } from "../../src/core/cells.ts";
import { type Actor, Done, LeverageSet, Tick, type Turn } from "../../src/core/messages.ts";
import { encodeMessage } from "../../src/wire/codec.ts";
import { AT_REQUEST_ID, AT_SEQUENCE } from "../../src/wire/record.ts";
import { allocateRing, Bell, RingConsumer, RingProducer } from "../../src/wire/ring.ts";
import { make } from "../core/support/exchange.ts";

const ACTOR_ID = 7;
const RING_BYTES = 1 << 20;

/** An actor with something to do that no command waits for, and a note of the order in which it was called. */
class Worker implements Actor {
  readonly actorId = ACTOR_ID;
  readonly calls: string[] = [];
  /** Shares of work that are left; each says something for the log if `emits`. */
  work = 0;
  emits = false;
  settledAt: number[] = [];

  decide(_command: { type: number }, turn: Turn): void {
    this.calls.push("command");
    turn.reply({ type: Done.code });
  }
  proceed(turn: Turn): boolean {
    if (this.work === 0) return false;
    this.calls.push("work");
    if (this.emits) turn.emit(make(LeverageSet, { accountId: 16, leverage: 2 }));
    return --this.work > 0;
  }
  settle(sequence: number): void {
    this.settledAt.push(sequence);
  }
  apply(): void {}
  snapshot(): void {}
  load(): void {}
  restored(): void {}
}

function start() {
  const actor = new Worker();
  const control = new Control();
  const bell = new Bell();
  const commandRing = allocateRing(RING_BYTES);
  const outRing = allocateRing(RING_BYTES);
  const commands = new RingProducer(commandRing, bell);
  const out = new RingConsumer(outRing);
  const worker = new ActorWorker({
    actors: [actor],
    cells: AccountCells.allocate(32),
    control,
    commands: new RingConsumer(commandRing),
    bell,
    out: new RingProducer(outRing, new Bell()),
    snapshotIntervalMs: 1e9,
    clock: () => 1_700_000_000_000,
    notBefore: 0,
  });
  const send = (requestId: number): void => {
    const at = commands.reserve(64);
    commands.view.setUint32(at, requestId, true);
    commands.view.setUint32(at + 4, ACTOR_ID, true);
    const end = encodeMessage(commands.view, commands.bytes, at + COMMAND_HEADER_BYTES, { type: Tick.code });
    commands.commit(end - at);
  };
  return { actor, worker, send, out };
}

test("what an actor has under way goes on between commands, and when none come", () => {
  const { actor, worker, send } = start();
  actor.work = 3;
  send(0);
  assert.equal(worker.step(), true);
  assert.deepEqual(actor.calls, ["command", "work"]);
  assert.equal(worker.step(), true, "there is more");
  worker.step();
  assert.deepEqual(actor.calls, ["command", "work", "work", "work"]);
  assert.equal(worker.step(), false);
});

test("commands that never end do not keep it waiting, nor it them", () => {
  const { actor, worker, send } = start();
  actor.work = 1000;
  for (let i = 0; i < 640; i++) send(0);
  worker.step();
  const runs = actor.calls.join(" ").split("work");
  assert.equal(runs.length - 1, 11, "after every 64 commands, and after the last");
  for (const run of runs) assert.ok(run.trim().split(" ").length <= 64);
});

test("a share that has events is a turn of the log that answers nobody", () => {
  const { actor, worker, out } = start();
  actor.work = 2;
  actor.emits = true;
  while (worker.step());
  assert.deepEqual(actor.settledAt, [1, 2]);
  for (const sequence of [1, 2]) {
    const at = out.peek();
    assert.ok(at >= 0);
    assert.equal(out.view.getFloat64(at + AT_SEQUENCE, true), sequence);
    assert.equal(out.view.getUint32(at + AT_REQUEST_ID, true), 0);
    out.next();
  }
  assert.equal(out.peek(), -1);
});
