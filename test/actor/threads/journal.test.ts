import assert from "node:assert/strict";
import * as fs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { Control, RUNNING, STOP_JOURNAL } from "../../../src/actor/threads/control.ts";
import { Journal, type JournalOptions, type LeaderSide } from "../../../src/actor/threads/journal.ts";
import { Linger } from "../../../src/actor/threads/linger.ts";
import { TransactionWriter } from "../../../src/actor/threads/transaction.ts";
import { MarginTable } from "../../../src/core/accounts/margin-table.ts";
import { LeverageSet } from "../../../src/core/protocol/events.ts";
import { openLog } from "../../../src/store/log/log.ts";
import { AT_REQUEST_ID, AT_SEQUENCE } from "../../../src/wire/record.ts";
import { allocateRing, Doorbell, RingConsumer, RingProducer } from "../../../src/wire/ring.ts";
import { SequenceBell } from "../../../src/wire/sequence-bell.ts";
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

/** It never blocks: while the journal waits, `onWait` runs. */
class UnblockingBell extends SequenceBell {
  waits = 0;
  onWait = (): void => {};
  private readonly shared: SharedArrayBuffer;

  constructor(shared = new SharedArrayBuffer(SequenceBell.BYTES)) {
    super(shared);
    this.shared = shared;
  }

  get isAwaited(): boolean {
    return new Int32Array(this.shared)[0] === 1;
  }

  override wait(): void {
    this.waits++;
    this.onWait();
  }
}

class LingerControl extends Control {
  override readonly lingerBell = new UnblockingBell();
}

/** A journal with this many workers, and the ring to the gateway. */
function open(
  t: TestContext,
  control: Control,
  workers: number,
  { leader = null, linger = null }: Pick<JournalOptions, "leader" | "linger"> = {},
) {
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
    linger,
  });
  const writers = inputs.map((input) => new RingProducer(input, doorbell));
  return { journal, writers, released: new RingConsumer(front) };
}

/** Writes a transaction with so many events, or one that only replies. `control` gives out the sequence. */
function push(control: Control, out: RingProducer, requestId: number, events: number, known?: number): number {
  const transaction = new TransactionWriter(control, MarginTable.allocate(32), out, new Doorbell());
  transaction.begin(1);
  for (let i = 0; i < events; i++) transaction.emit(make(LeverageSet, { accountId: 16, leverage: 2 }));
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
  assert.equal(push(control, answering, 7, 0), sequence);
  assert.equal(journal.step(), false);
  assert.deepEqual([released.peek(), control.durable], [-1, 0], "the transaction that it depends on is not in the log");
  // Another control gives out the same sequence.
  assert.equal(push(new Control(), atWork, 8, 1), sequence);
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
      if (++asked === 1) push(control, writers[1], 3, 0, 2);
      if (asked === 2) push(control, writers[0], 1, 0, 0);
      if (asked === 3) push(control, writers[0], 4, 0, 2);
      return asked >= 3;
    },
  };
  const { journal, writers, released } = open(t, control, 2, { leader });
  push(control, fromLeader, 20, 1);
  push(control, fromLeader, 21, 1);
  push(control, writers[0], 0, 0, 0);
  assert.equal(journal.step(), true);
  assert.deepEqual(requestsIn(released), [0, 1, 20, 21]);
  assert.equal(journal.step(), true);
  assert.deepEqual(requestsIn(released), [4, 3]);
  assert.equal(journal.step(), false);
});

test("a batch that lingers takes what comes meanwhile, in the order of sequences, and replies alone do not linger", (t) => {
  const control = new LingerControl();
  const bell = control.lingerBell;
  const { journal, writers, released } = open(t, control, 2, { linger: new Linger({ maxMs: 3, bell }) });
  for (let id = 1; id <= 4; id++) push(control, writers[0], id, 1);
  assert.equal(journal.step(), true);
  assert.deepEqual([requestsIn(released), bell.waits], [[1, 2, 3, 4], 0]);
  // Three of four are enough.
  bell.onWait = () => {
    push(control, writers[1], 6, 1);
    assert.equal(bell.isAwaited, true);
    push(control, writers[0], 7, 1);
    assert.equal(bell.isAwaited, false, "the third one ends the wait");
    push(control, writers[0], 8, 0, 7);
  };
  push(control, writers[0], 5, 1);
  assert.equal(journal.step(), true);
  assert.deepEqual([requestsIn(released), bell.waits, control.durable], [[5, 6, 7, 8], 1, 7]);
  push(control, writers[1], 9, 0, 7);
  assert.equal(journal.step(), true);
  assert.deepEqual([requestsIn(released), bell.waits], [[9], 1]);
});

test("a short record does not wait because longer ones came before", (t) => {
  const control = new Control();
  const bell = new UnblockingBell();
  bell.onWait = () => assert.fail("it waited");
  const linger = new Linger({ maxMs: 1, bell });
  const { journal, writers, released } = open(t, control, 1, { linger });
  for (const [id, events] of [9, 1, 9, 1].entries()) {
    push(control, writers[0], id, events);
    assert.equal(journal.step(), true);
  }
  assert.deepEqual(requestsIn(released), [0, 1, 2, 3]);
});

test("the last records of an actor thread are journaled and released at a stop", (t) => {
  const control = new EndingControl();
  const { journal, writers, released } = open(t, control, 1);
  control.onRead = () => {
    control.onRead = () => {};
    push(control, writers[0], 0, 1);
    assert.equal(control.phase, RUNNING);
    control.phase = STOP_JOURNAL;
  };
  journal.run();
  assert.equal(control.durable, 1);
  assert.equal(released.view.getFloat64(released.peek() + AT_SEQUENCE, true), 1);
});
