import assert from "node:assert/strict";
import { test } from "node:test";
import { EngineClient, MAX_PENDING } from "../../src/actor/engine/engine-client.ts";
import { Control } from "../../src/actor/threads/control.ts";
import { MarginTable } from "../../src/core/accounts/margin-table.ts";
import { AmendOrder, CancelOrder, OrderBatch, PlaceOrder } from "../../src/core/protocol/commands.ts";
import type { Message } from "../../src/core/protocol/message-schema.ts";
import { AT_REQUEST_ID, RECORD_HEADER_BYTES } from "../../src/wire/record.ts";
import { allocateRing, Doorbell, RingConsumer, RingProducer } from "../../src/wire/ring.ts";
import { make } from "../core/support/exchange.ts";

const ACTOR_ID = 1;
const RING_BYTES = 1 << 20;

function openEngine(maxInFlight: number, pollMs = 0) {
  const frontDoorbell = new Doorbell();
  const frontRing = allocateRing(RING_BYTES);
  const control = new Control();
  const engine = new EngineClient({
    instruments: [],
    marginTable: MarginTable.allocate(32),
    control,
    front: new RingConsumer(frontRing),
    frontDoorbell,
    indexDoorbell: new Doorbell(),
    storeDoorbell: new Doorbell(),
    maxInFlight,
    pollMs,
  });
  engine.addWorker(new RingProducer(allocateRing(RING_BYTES), new Doorbell()), [ACTOR_ID]);
  let answers = 0;
  let knocks = 0;
  const journal = new RingProducer(frontRing, new Doorbell(frontDoorbell.buffer, () => knocks++));
  return {
    engine,
    control,
    frontDoorbell,
    ask: (command: Message): boolean => engine.request(ACTOR_ID, command, () => answers++),
    count: () => ({ answers, knocks }),
    /** As the journal does. */
    answer(requestId: number): void {
      const at = journal.reserve(RECORD_HEADER_BYTES);
      journal.bytes.fill(0, at, at + RECORD_HEADER_BYTES);
      journal.view.setUint32(at + AT_REQUEST_ID, requestId, true);
      journal.commit(RECORD_HEADER_BYTES);
      journal.wake();
    },
  };
}

const transactions = async (count: number): Promise<void> => {
  for (let i = 0; i < count; i++) await new Promise((resolve) => setImmediate(resolve));
};

test("when the numbers of requests are used up they begin anew, past the one that stands for nobody", () => {
  const { engine, ask, answer, count } = openEngine(64);
  engine.startAt(0);
  (engine as unknown as { nextRequestId: number }).nextRequestId = 0xffff_ffff;
  for (let i = 0; i < 3; i++) assert.ok(ask(make(CancelOrder)));
  for (const requestId of [0xffff_ffff, 1, 2]) answer(requestId);
  engine.drain();
  assert.deepEqual([count().answers, engine.inFlight], [3, 0]);
});

test("past maxInFlight new orders are turned away, be it in a batch, and cancels are not", () => {
  const { ask } = openEngine(2);
  const placing = make(OrderBatch, { items: [make(CancelOrder), make(PlaceOrder)] });
  const canceling = make(OrderBatch, { items: [make(CancelOrder)] });
  assert.deepEqual([ask(make(PlaceOrder)), ask(placing)], [true, true]);
  assert.deepEqual([ask(make(PlaceOrder)), ask(placing)], [false, false]);
  assert.deepEqual([ask(make(CancelOrder)), ask(canceling)], [true, true]);
});

test("batches leave room in the ring for cancels and ticks, however few of them are on their way", () => {
  const { engine, ask } = openEngine(MAX_PENDING);
  const items = Array.from({ length: 20 }, (_, i) => make(PlaceOrder, { clientOrderId: `of-a-batch-${i}` }));
  const placing = make(OrderBatch, { items });
  let batches = 0;
  while (ask(placing)) batches++;
  assert.ok(batches > 100 && batches < 1000);
  assert.equal(ask(make(PlaceOrder)), false, "nor does an order take what is left");
  for (let i = 0; i < 1000; i++) {
    assert.ok(ask(make(CancelOrder)), `cancel ${i}`);
    assert.ok(ask(make(OrderBatch, { items: [make(CancelOrder)] })), `canceling batch ${i}`);
  }
  assert.equal(engine.inFlight, batches + 2000);
});

test("without room on the disk amendments are turned away, too, be it in a batch, and cancels are not", () => {
  const { engine, ask } = openEngine(64);
  engine.hasDiskRoom = false;
  const amending = make(OrderBatch, { items: [make(CancelOrder), make(AmendOrder)] });
  assert.deepEqual([ask(make(AmendOrder)), ask(amending)], [false, false]);
  assert.equal(ask(make(OrderBatch, { items: [make(CancelOrder)] })), true);
});

test("the history's lag is the turns that were handed out and that it does not hold yet", () => {
  const { engine, control } = openEngine(1);
  engine.startAt(7);
  control.indexed = 5;
  assert.equal(engine.historyLag, 2);
  // It may be ahead of the front.
  control.indexed = 8;
  assert.equal(engine.historyLag, 0);
});

test("the front looks for answers by itself at first, while there is more than one to come", async () => {
  const { engine, frontDoorbell, ask, answer, count } = openEngine(64, 60_000);
  engine.startAt(0);
  for (const round of [0, 1]) {
    const requestId = 2 * round + 1;
    ask(make(CancelOrder));
    ask(make(CancelOrder));
    await transactions(1);
    assert.ok(!frontDoorbell.isSleeping);
    answer(requestId);
    await transactions(2);
    assert.deepEqual(count(), { answers: requestId, knocks: round });
    assert.ok(frontDoorbell.isSleeping, "whoever answers the other one wakes it");
    answer(requestId + 1);
    engine.drain();
    assert.deepEqual(count(), { answers: requestId + 1, knocks: round + 1 });
  }
});

test("for a single answer it does not look", async () => {
  const { engine, frontDoorbell, ask } = openEngine(64, 60_000);
  engine.startAt(0);
  ask(make(CancelOrder));
  await transactions(2);
  assert.ok(frontDoorbell.isSleeping);
});

test("the front that has looked for long enough is woken", async () => {
  const { engine, frontDoorbell, ask, answer, count } = openEngine(64, 0.01);
  engine.startAt(0);
  ask(make(CancelOrder));
  ask(make(CancelOrder));
  await transactions(1);
  do await transactions(1);
  while (!frontDoorbell.isSleeping);
  answer(1);
  assert.deepEqual(count(), { answers: 0, knocks: 1 });
  engine.drain();
  assert.deepEqual(count(), { answers: 1, knocks: 1 });
});

test("with very many requests on their way it does not look: there is always something to do", async () => {
  const { engine, frontDoorbell, ask } = openEngine(1000, 60_000);
  engine.startAt(0);
  for (let i = 0; i < 65; i++) ask(make(CancelOrder));
  await transactions(2);
  assert.ok(frontDoorbell.isSleeping);
});

test("a request that waits for a thread that hangs keeps nobody else out", () => {
  const { engine, ask, answer, count } = openEngine(64);
  engine.startAt(0);
  const [other, commands] = [2, allocateRing(RING_BYTES)];
  engine.addWorker(new RingProducer(commands, new Doorbell()), [other]);
  assert.ok(ask(make(CancelOrder)));
  const taken = new RingConsumer(commands);
  let answers = 0;
  for (let i = 0; i < MAX_PENDING + 10; i++) {
    assert.ok(
      engine.request(other, make(CancelOrder), () => answers++),
      `request ${i}`,
    );
    answer(taken.view.getUint32(taken.peek(), true));
    taken.next();
    taken.release();
    engine.drain();
  }
  assert.deepEqual([answers, count().answers, engine.inFlight], [MAX_PENDING + 10, 0, 1]);
});

test("very much that is released at once is handed out in several turns of the event loop, with room for others between", async () => {
  const { engine, ask, answer, count, frontDoorbell } = openEngine(1);
  frontDoorbell.prepareSleep();
  ask(make(CancelOrder));
  for (let i = 0; i < 20_000; i++) answer(0);
  answer(1);
  let parts = 0;
  engine.onDrained(() => parts++);
  engine.drain();
  assert.deepEqual([parts, count().answers], [1, 0]);
  const { knocks } = count();
  await transactions(1);
  assert.deepEqual([parts, count().answers], [2, 0]);
  await transactions(4);
  assert.equal(count().answers, 1);
  // It was awake all the while, and sleeps now.
  answer(0);
  assert.equal(count().knocks, knocks + 1);
});
