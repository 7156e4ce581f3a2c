import assert from "node:assert/strict";
import { test } from "node:test";
import { ActorWorker, COMMAND_HEADER_BYTES, type WorkerOptions } from "../../../src/actor/threads/actor-worker.ts";
import { Control, STOP_ACTORS } from "../../../src/actor/threads/control.ts";
import { Follower } from "../../../src/actor/threads/follower.ts";
import type { Recovery } from "../../../src/actor/threads/recovery.ts";
import { SnapshotSchedule } from "../../../src/actor/threads/snapshot-schedule.ts";
import { CONTRIBUTION_FIELDS } from "../../../src/core/accounts/contribution.ts";
import { MarginTable } from "../../../src/core/accounts/margin-table.ts";
import type { Actor, Transaction } from "../../../src/core/protocol/actor.ts";
import { ReadOrders, Tick } from "../../../src/core/protocol/commands.ts";
import { LeverageSet } from "../../../src/core/protocol/events.ts";
import type { Message } from "../../../src/core/protocol/message-schema.ts";
import { Done } from "../../../src/core/protocol/replies.ts";
import { encodeMessage } from "../../../src/wire/codec.ts";
import {
  AT_KIND,
  AT_LOG_BYTES,
  AT_REQUEST_ID,
  AT_SEQUENCE,
  AT_TIME,
  KIND_REPLY,
  KIND_SNAPSHOT,
  KIND_TRANSACTION,
} from "../../../src/wire/record.ts";
import { allocateRing, Doorbell, RingConsumer, RingProducer } from "../../../src/wire/ring.ts";
import { make } from "../../core/support/exchange.ts";

const ACTOR_ID = 7;
const RING_BYTES = 1 << 20;
const NOW = 1_700_000_000_000;
const ACCOUNT = 16;
const NOTHING = { equity: 0, unrealized: 0, initial: 0, positionInitial: 0, maintenance: 0 };

/** An actor with something to do that no command waits for, and a note of the order in which it was called. */
class Worker implements Actor {
  readonly actorId = ACTOR_ID;
  readonly calls: string[] = [];
  /** Parts of background work that are left. Each emits an event if `emits` is set. */
  work = 0;
  emits = false;
  /** It does not reply. */
  isMute = false;
  settledAt: number[] = [];
  /** Where it throws next; "" = nowhere. */
  throwsIn: "" | "decide" | "settle" = "";
  /** The margin table that each command changes before it throws. */
  marginTable: MarginTable | null = null;
  readonly given = new Float64Array(CONTRIBUTION_FIELDS);

  decide(_command: { type: number }, transaction: Transaction): void {
    this.calls.push("command");
    this.marginTable?.setContribution(ACCOUNT, this.given, 0, {
      ...NOTHING,
      equity: this.given[0]! + 5,
      maintenance: 3,
    });
    if (this.throwsIn !== "") transaction.emit(make(LeverageSet, { accountId: ACCOUNT, leverage: 2 }));
    if (this.throwsIn === "decide") throw new Error("in decide");
    if (!this.isMute) transaction.reply({ type: Done.code });
  }
  /** Parts of a new mark's settlement that are left; how often it must wait for another thread before each. */
  unsettled = 0;
  waits = 0;
  get isSettlingMark(): boolean {
    return this.unsettled > 0;
  }
  settleMark(transaction: Transaction): boolean {
    if (this.waits > 0) {
      this.waits--;
      return false;
    }
    this.calls.push("settle");
    this.unsettled--;
    if (this.emits) transaction.emit(make(LeverageSet, { accountId: ACCOUNT, leverage: 2 }));
    return true;
  }
  runBackground(transaction: Transaction): boolean {
    if (this.work === 0) return false;
    this.calls.push("work");
    if (this.emits) transaction.emit(make(LeverageSet, { accountId: ACCOUNT, leverage: 2 }));
    return --this.work > 0;
  }
  /** Parts of due work that are left. */
  due = 0;
  get isFiring(): boolean {
    return this.due > 0;
  }
  fire(transaction: Transaction): void {
    this.calls.push("fire");
    this.due--;
    if (this.emits) transaction.emit(make(LeverageSet, { accountId: ACCOUNT, leverage: 2 }));
  }
  settle(sequence: number): void {
    if (this.throwsIn === "settle") throw new Error("in settle");
    this.settledAt.push(sequence);
  }
  apply(): void {}
  read(_command: { type: number }, transaction: Transaction): void {
    this.calls.push("read");
    transaction.reply({ type: Done.code });
  }
  settleFollowed(): void {}
  followMark(): boolean {
    return false;
  }
  snapshots = 0;
  snapshot(): boolean {
    this.snapshots++;
    return true;
  }
  storedSnapshots = 0;
  snapshotStored(): void {
    this.storedSnapshots++;
  }
  load(): void {}
  restored(): void {}
  contribute(sums: MarginTable): void {
    sums.addAll(ACCOUNT, this.given, 0);
  }
}

function start(joinTable?: SharedArrayBuffer, more: Partial<WorkerOptions> = {}) {
  const actor = new Worker();
  const control = new Control();
  const doorbell = new Doorbell();
  const commandRing = allocateRing(RING_BYTES);
  const outRing = allocateRing(RING_BYTES);
  const commands = new RingProducer(commandRing, doorbell);
  const out = new RingConsumer(outRing);
  const marginTable = MarginTable.allocate(32);
  const sums = MarginTable.allocate(32);
  const worker = new ActorWorker({
    worker: 0,
    actors: [actor],
    marginTable,
    sums,
    ...(joinTable === undefined ? {} : { joinTable }),
    control,
    commands: new RingConsumer(commandRing),
    doorbell,
    out: new RingProducer(outRing, new Doorbell()),
    snapshotIntervalMs: 1e9,
    clock: () => NOW,
    monotonic: () => 0,
    notBefore: 0,
    ...more,
  });
  const send = (requestId: number): void => write(commands, requestId, { type: Tick.code });
  return { actor, worker, send, out, marginTable, sums, control };
}

function write(commands: RingProducer, requestId: number, command: Message): void {
  const at = commands.reserve(64);
  commands.view.setUint32(at, requestId, true);
  commands.view.setUint32(at + 4, ACTOR_ID, true);
  const end = encodeMessage(commands.view, commands.bytes, at + COMMAND_HEADER_BYTES, command);
  commands.commit(end - at);
}

test("a follower's replies and snapshots say what it has applied, and it decides nothing", async () => {
  const actor = new Worker();
  actor.work = 1;
  actor.unsettled = 1;
  const control = new Control();
  control.startAt(5);
  // More was delivered, and is not on disk yet.
  control.follow(9);
  control.isFollowing = true;
  const recovery = { through: 5, time: NOW, timeOf: () => NOW, restore() {}, catchUp: () => false };
  const doorbell = new Doorbell();
  const [commandRing, outRing] = [allocateRing(RING_BYTES), allocateRing(RING_BYTES)];
  const commands = new RingProducer(commandRing, doorbell);
  const common = {
    ...{ actors: [actor], control, doorbell },
    out: new RingProducer(outRing, new Doorbell()),
    snapshotIntervalMs: 1e9,
    monotonic: () => 0,
  };
  const follower = new Follower({
    ...{ ...common, worker: 1, marginTable: MarginTable.allocate(32), clock: () => NOW },
    commands: new RingConsumer(commandRing),
    recovery: recovery as unknown as Recovery,
    snapshots: new SnapshotSchedule(common),
  });
  assert.equal(control.appliedBy(1), 5);
  write(commands, 3, make(ReadOrders, { accountId: ACCOUNT }));
  write(commands, 4, { type: Tick.code });
  write(commands, 5, make(ReadOrders, { accountId: ACCOUNT }));
  assert.equal(follower.step(), true);
  assert.equal(follower.step(), false);
  control.phase = STOP_ACTORS;
  assert.equal(await follower.run(), false);
  assert.deepEqual(actor.calls, ["read"]);
  const out = new RingConsumer(outRing);
  const written: number[][] = [];
  for (let at = out.peek(); at >= 0; at = out.peek()) {
    const { view } = out;
    written.push([view.getUint8(at + AT_KIND), view.getFloat64(at + AT_SEQUENCE, true)]);
    out.next();
  }
  assert.deepEqual(written, [
    [KIND_REPLY, 5],
    [KIND_SNAPSHOT, 5],
  ]);
});

test("a mark is settled before the next command, before background work, and before orders fire", () => {
  const { actor, worker, send } = start();
  actor.unsettled = 3;
  actor.work = 1;
  send(0);
  worker.step();
  assert.deepEqual(actor.calls, ["settle", "settle", "settle", "command", "work"]);
  actor.unsettled = 2;
  actor.due = 1;
  worker.step();
  assert.deepEqual(actor.calls.slice(5), ["settle", "settle", "fire"]);
});

test("a settlement that another thread blocks keeps its command in the ring and lets the thread go on", () => {
  const { actor, worker, send } = start();
  actor.unsettled = 1;
  actor.waits = 50_000;
  send(0);
  for (let steps = 0; steps < 20 && actor.calls.length === 0; steps++) worker.step();
  worker.step();
  assert.deepEqual(actor.calls, ["settle", "command"]);
});

test("background work goes on between commands, and when no command comes", () => {
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

test("an endless stream of commands does not stop background work, nor the other way round", () => {
  const { actor, worker, send } = start();
  actor.work = 1000;
  for (let i = 0; i < 640; i++) send(0);
  for (let i = 0; i < 10; i++) worker.step();
  const runs = actor.calls.join(" ").split("work");
  assert.equal(runs.length - 1, 10, "after every 64 commands");
  for (const run of runs) assert.ok(run.trim().split(" ").length <= 64);
  assert.equal(actor.calls.filter((call) => call === "command").length, 640);
});

test("time advances during an endless stream of commands", () => {
  let now = NOW;
  const { worker, send, out } = start(undefined, { clock: () => now++ });
  const MOST = 1000;
  for (let requestId = 1; requestId <= MOST; requestId++) send(requestId);
  while (worker.step());
  const times: number[] = [];
  for (let at = out.peek(); at >= 0; at = out.peek()) {
    times.push(out.view.getFloat64(at + AT_TIME, true));
    out.next();
  }
  assert.equal(times.length, MOST);
  for (let i = 64; i < MOST; i++) assert.ok(times[i]! > times[i - 64]!, `turn ${i} bears the time of turn ${i - 64}`);
});

test("due work fires after each command, one part at a time", () => {
  const { actor, worker, send, out } = start();
  actor.due = 3;
  actor.emits = true;
  for (const requestId of [1, 2, 3, 4]) send(requestId);
  worker.step();
  assert.deepEqual(actor.calls.join(" "), "command fire command fire command fire command");
  assert.deepEqual(actor.settledAt, [1, 2, 3]);
  const requests: number[] = [];
  for (let at = out.peek(); at >= 0; at = out.peek()) {
    if (out.view.getUint32(at + AT_LOG_BYTES, true) !== 0) requests.push(out.view.getUint32(at + AT_REQUEST_ID, true));
    out.next();
  }
  assert.deepEqual(requests, [0, 0, 0], "each answers nobody");
});

/** The first command, which has no trace: before it a worker does nothing of its own. */
function begin(started: ReturnType<typeof start>): ReturnType<typeof start> {
  const { actor, worker, send, out } = started;
  actor.isMute = true;
  send(0);
  worker.step();
  actor.isMute = false;
  actor.calls.length = 0;
  while (out.peek() >= 0) out.next();
  return started;
}

test("before the first command a worker settles nothing: others may not have recovered, and accounts lack their money", () => {
  const { actor, worker, send } = start();
  actor.unsettled = 1;
  actor.work = 1;
  actor.due = 1;
  while (worker.step());
  assert.deepEqual(actor.calls, []);
  send(1);
  while (worker.step());
  assert.deepEqual(actor.calls.slice(0, 2), ["settle", "command"]);
});

test("work that background work makes due fires right after it, before the next command", () => {
  const { actor, worker, send } = begin(start());
  actor.work = 2;
  actor.due = 2;
  worker.step();
  send(1);
  worker.step();
  assert.deepEqual(actor.calls, ["work", "fire", "command", "fire", "work"]);
});

test("a tick without events reports the actor's time, after everything that the actor did before", () => {
  const { actor, worker, send, out, control } = begin(start());
  actor.work = 1;
  actor.emits = true;
  worker.step();
  actor.isMute = true;
  send(0);
  worker.step();
  const transactions: number[][] = [];
  for (let at = out.peek(); at >= 0; at = out.peek()) {
    transactions.push([
      out.view.getUint8(at + AT_KIND),
      out.view.getUint32(at + AT_REQUEST_ID, true),
      out.view.getFloat64(at + AT_TIME, true),
    ]);
    out.next();
  }
  assert.deepEqual(transactions, [
    [KIND_TRANSACTION, 0, NOW],
    [KIND_REPLY, 0, NOW],
  ]);
  assert.equal(control.lastSequence, 1, "it has no sequence of its own");
});

test("background work that has events is a logged transaction without a request", () => {
  const { actor, worker, out } = begin(start());
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

test("snapshots are made at their interval, even while the machine's clock is behind the log", () => {
  let passedMs = 0;
  const setBack = { notBefore: NOW + 3_600_000, snapshotIntervalMs: 5000, monotonic: () => passedMs };
  const { actor, worker, send } = start(undefined, setBack);
  actor.emits = true;
  const snapshotsAt = (ms: number): number => {
    passedMs = ms;
    actor.work = 1;
    send(0);
    while (worker.step());
    return actor.snapshots;
  };
  assert.deepEqual([0, 4999].map(snapshotsAt), [0, 0]);
  assert.ok(snapshotsAt(5000) > 0);
});

test("time goes on while the machine's clock is behind the log, in the transactions and for the actors", () => {
  let passedMs = 0;
  const setBack = { notBefore: NOW + 3_600_000, clock: () => NOW + passedMs, monotonic: () => passedMs };
  const { worker, send, out } = start(undefined, setBack);
  const timeAfter = (ms: number): number => {
    passedMs += ms;
    send(1);
    while (worker.step());
    const time = out.view.getFloat64(out.peek() + AT_TIME, true);
    out.next();
    return time - setBack.notBefore;
  };
  assert.deepEqual([0, 500, 60_000].map(timeAfter), [0, 250, 30_250]);
});

test("a snapshot is made only after the last one is stored and something has happened since", () => {
  let passedMs = 0;
  const { actor, worker, send, control } = start(undefined, { snapshotIntervalMs: 5000, monotonic: () => passedMs });
  const isMade = (happens: boolean): boolean => {
    passedMs += 5000;
    actor.emits = happens;
    actor.work = 1;
    send(0);
    const before = actor.snapshots;
    while (worker.step());
    return actor.snapshots > before;
  };
  assert.equal(isMade(true), false, "the first interval has just begun");
  assert.equal(isMade(true), true);
  assert.equal(isMade(true), false, "it is on its way");
  control.setStoredSnapshotOf(ACTOR_ID, control.lastSequence);
  assert.equal(isMade(true), true);
  control.setStoredSnapshotOf(ACTOR_ID, control.lastSequence);
  assert.equal(isMade(false), false, "nothing has happened since");
  assert.equal(isMade(true), true);
});

test("a transaction that throws leaves no trace, and earlier ones are complete", () => {
  const { actor, worker, send, out, marginTable, control } = start();
  actor.marginTable = marginTable;
  send(1);
  actor.throwsIn = "settle";
  assert.throws(() => worker.step(), /in settle/);
  assert.equal(control.lastSequence, 1, "it has its sequence");
  const at = out.peek();
  assert.equal(out.view.getFloat64(at + AT_SEQUENCE, true), 1);
  assert.equal(out.view.getUint32(at + AT_REQUEST_ID, true), 1);
  out.next();
  assert.deepEqual([marginTable.equity(ACCOUNT), marginTable.maintenance(ACCOUNT)], [5, 3]);
  send(2);
  actor.throwsIn = "decide";
  assert.throws(() => worker.step(), /in decide/);
  assert.equal(control.lastSequence, 1);
  assert.equal(out.peek(), -1);
  assert.deepEqual([marginTable.equity(ACCOUNT), marginTable.maintenance(ACCOUNT)], [5, 3]);
});

test("a sequence that was taken is always written, whatever is thrown afterwards", () => {
  const { actor, worker, send, out, marginTable, control } = start();
  actor.marginTable = marginTable;
  marginTable.commit = () => {
    throw new RangeError();
  };
  actor.throwsIn = "settle";
  send(1);
  assert.throws(() => worker.step(), RangeError);
  assert.equal(control.lastSequence, 1);
  assert.equal(out.view.getFloat64(out.peek() + AT_SEQUENCE, true), 1);
});

test("in a recount a worker adds up its contributions and stands still until it is over", () => {
  const { actor, worker, send, marginTable, sums, control } = start();
  actor.marginTable = marginTable;
  send(0);
  worker.step();
  control.recountRound = 1;
  send(0);
  for (let i = 0; i < 3; i++) assert.equal(worker.step(), false);
  assert.equal(control.recountedBy(0), 1);
  assert.deepEqual([sums.equity(ACCOUNT), sums.maintenance(ACCOUNT)], [5, 3], "once");
  assert.deepEqual(actor.calls, ["command"]);
  control.recountRound = 0;
  worker.step();
  assert.deepEqual(actor.calls, ["command", "command"]);
});

test("a replacement worker does nothing before a recount has included it", () => {
  const shared = MarginTable.allocate(32);
  const { actor, worker, send, marginTable, control } = start(shared.buffer);
  actor.marginTable = marginTable;
  send(0);
  worker.step();
  control.recountRound = 1;
  worker.step();
  control.recountRound = 0;
  worker.step();
  assert.deepEqual(actor.calls, [], "the recount was not applied");
  control.recountRound = 2;
  worker.step();
  control.appliedRecount = 2;
  control.recountRound = 0;
  worker.step();
  assert.deepEqual(actor.calls, ["command"]);
  assert.deepEqual([shared.equity(ACCOUNT), shared.maintenance(ACCOUNT)], [5, 3]);
});

test("a replacement worker that was included has joined, even if another recount begins or the exchange stops at once", async () => {
  for (const then of ["recount", "stop"]) {
    const shared = MarginTable.allocate(32);
    const { actor, worker, send, marginTable, control } = start(shared.buffer);
    actor.marginTable = marginTable;
    control.recountRound = 1;
    worker.step();
    control.appliedRecount = 1;
    control.recountRound = 0;
    send(0);
    if (then === "stop") {
      control.phase = STOP_ACTORS;
      await worker.run();
    } else {
      control.recountRound = 2;
      worker.step();
      // It was not applied, because another worker has died.
      control.recountRound = 0;
      worker.step();
    }
    assert.deepEqual(actor.calls, ["command"], then);
    assert.deepEqual([shared.equity(ACCOUNT), shared.maintenance(ACCOUNT)], [5, 3], then);
  }
});

test("the thread's event loop gets turns, busy or idle", async () => {
  for (const work of [0, 2000]) {
    let looks = 0;
    const monotonic = (): number => {
      // Without turns the run ends here, not in the callback.
      if (++looks > work + 50) control.phase = STOP_ACTORS;
      return looks * 1000;
    };
    const { actor, worker, send, control } = start(undefined, { monotonic });
    send(0);
    actor.work = work;
    let turns = 0;
    const turn = (): void => {
      if (++turns === 3) control.phase = STOP_ACTORS;
      else setImmediate(turn);
    };
    setImmediate(turn);
    await worker.run();
    assert.equal(turns, 3, `with ${work} parts of work`);
  }
});
