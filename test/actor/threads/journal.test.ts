import assert from "node:assert/strict";
import * as fs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { Control, RUNNING, STOP_JOURNAL } from "../../../src/actor/threads/control.ts";
import { Journal, type LeaderSide } from "../../../src/actor/threads/journal.ts";
import { TransactionWriter } from "../../../src/actor/threads/transaction.ts";
import { MarginTable } from "../../../src/core/accounts/margin-table.ts";
import { LeverageSet } from "../../../src/core/protocol/events.ts";
import { openLog } from "../../../src/store/log/log.ts";
import { AT_REQUEST_ID, AT_SEQUENCE } from "../../../src/wire/record.ts";
import { allocateRing, Doorbell, RingConsumer, RingProducer } from "../../../src/wire/ring.ts";
import { make } from "../../core/support/exchange.ts";

const RING_BYTES = 1 << 20;

/** An actor thread ends its last transaction, and the stop is signalled, just when the journal reads the phase. */
class EndingControl extends Control {
  onRead = (): void => {};

  override get phase(): number {
    this.onRead();
    return super.phase;
  }
  override set phase(phase: number) {
    super.phase = phase;
  }
}

/** A journal with this many workers, and the ring to the gateway. */
function open(t: TestContext, control: Control, workers: number, leader: LeaderSide | null = null) {
  const logDir = fs.mkdtempSync(join(tmpdir(), "perpd-journal-"));
  t.after(() => fs.rmSync(logDir, { recursive: true }));
  const inputs = Array.from({ length: workers }, () => allocateRing(RING_BYTES));
  const front = allocateRing(RING_BYTES);
  const doorbell = new Doorbell();
  const journal = new Journal({
    log: openLog(logDir, { segmentBytes: 65_536, protectedThrough: 0 }),
    control,
    inputs: inputs.map((input) => new RingConsumer(input)),
    doorbell,
    front: new RingProducer(front, new Doorbell()),
    store: new RingProducer(allocateRing(RING_BYTES), new Doorbell()),
    clock: () => 1,
    leader,
  });
  const writers = inputs.map((input) => new RingProducer(input, doorbell));
  return { journal, writers, released: new RingConsumer(front) };
}

/** Writes a transaction with an event, or one that only replies. `control` gives out the sequence. */
function push(control: Control, out: RingProducer, requestId: number, hasEvent: boolean, known?: number): number {
  const transaction = new TransactionWriter(control, MarginTable.allocate(32), out, new Doorbell());
  transaction.begin(1);
  if (hasEvent) transaction.emit(make(LeverageSet, { accountId: 16, leverage: 2 }));
  return transaction.push(1, requestId, known);
}

function requestsIn(released: RingConsumer): number[] {
  const requests: number[] = [];
  for (let at = released.peek(); at >= 0; at = released.peek()) {
    requests.push(released.view.getUint32(at + AT_REQUEST_ID, true));
    released.next();
  }
  return requests;
}

test("a reply waits for the last sequence that its actor could have known, even one that another thread has not written yet", (t) => {
  const control = new Control();
  const { journal, writers, released } = open(t, control, 2);
  const [answering, atWork] = writers;
  const sequence = control.nextSequence();
  assert.equal(push(control, answering, 7, false), sequence);
  assert.equal(journal.step(), false);
  assert.deepEqual([released.peek(), control.durable], [-1, 0], "the transaction that it depends on is not in the log");
  // Another control gives out the same sequence.
  assert.equal(push(new Control(), atWork, 8, true), sequence);
  assert.equal(journal.step(), true);
  assert.equal(control.durable, sequence);
  assert.deepEqual(requestsIn(released), [8, 7]);
  assert.equal(journal.step(), false);
});

test("a transaction of the leader comes after each reply that knows nothing of it, and before each that does", (t) => {
  const control = new Control();
  const ring = allocateRing(RING_BYTES);
  const fromLeader = new RingProducer(ring, new Doorbell());
  let asked = 0;
  const leader: LeaderSide = {
    input: new RingConsumer(ring),
    isLeading: () => true,
    wakeWorkers: () => assert.equal(control.durable, 2, "workers read it from the disk"),
    haveApplied(sequence) {
      assert.equal(sequence, 2);
      // The first worker answers before it has applied the transactions, and again after that. The second one is done first.
      if (++asked === 1) push(control, writers[1], 3, false, 2);
      if (asked === 2) push(control, writers[0], 1, false, 0);
      if (asked === 3) push(control, writers[0], 4, false, 2);
      return asked >= 3;
    },
  };
  const { journal, writers, released } = open(t, control, 2, leader);
  push(control, fromLeader, 20, true);
  push(control, fromLeader, 21, true);
  push(control, writers[0], 0, false, 0);
  assert.equal(journal.step(), true);
  assert.deepEqual(requestsIn(released), [0, 1, 20, 21]);
  assert.equal(journal.step(), true);
  assert.deepEqual(requestsIn(released), [4, 3]);
  assert.equal(journal.step(), false);
});

test("the last records of an actor thread are journaled and released at a stop", (t) => {
  const control = new EndingControl();
  const { journal, writers, released } = open(t, control, 1);
  control.onRead = () => {
    control.onRead = () => {};
    push(control, writers[0], 0, true);
    assert.equal(control.phase, RUNNING);
    control.phase = STOP_JOURNAL;
  };
  journal.run();
  assert.equal(control.durable, 1);
  assert.equal(released.view.getFloat64(released.peek() + AT_SEQUENCE, true), 1);
});
