import assert from "node:assert/strict";
import { test } from "node:test";
import { EngineClient } from "../../../src/actor/engine/engine-client.ts";
import { MAX_PENDING } from "../../../src/actor/engine/request-table.ts";
import { Control } from "../../../src/actor/threads/control.ts";
import { MarginTable } from "../../../src/core/accounts/margin-table.ts";
import { AmendOrder, CancelOrder, OrderBatch, PlaceOrder } from "../../../src/core/protocol/commands.ts";
import type { Message } from "../../../src/core/protocol/message-schema.ts";
import { AT_REQUEST_ID, RECORD_HEADER_BYTES } from "../../../src/wire/record.ts";
import { allocateRing, Doorbell, RingConsumer, RingProducer } from "../../../src/wire/ring.ts";
import { make } from "../../core/support/exchange.ts";

const ACTOR_ID = 1;
const RING_BYTES = 1 << 20;

function openEngine(maxInFlight: number) {
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
  });
  engine.addWorker(new RingProducer(allocateRing(RING_BYTES), new Doorbell()), [ACTOR_ID]);
  let answers = 0;
  let wakes = 0;
  const journal = new RingProducer(frontRing, new Doorbell(frontDoorbell.buffer, () => wakes++));
  return {
    engine,
    control,
    frontDoorbell,
    ask: (command: Message): boolean => engine.request(ACTOR_ID, command, () => answers++),
    count: () => ({ answers, wakes }),
    /** Releases a reply, as the journal does. */
    answer(requestId: number): void {
      const at = journal.reserve(RECORD_HEADER_BYTES);
      journal.bytes.fill(0, at, at + RECORD_HEADER_BYTES);
      journal.view.setUint32(at + AT_REQUEST_ID, requestId, true);
      journal.commit(RECORD_HEADER_BYTES);
      journal.wake();
    },
  };
}

const iterations = async (count: number): Promise<void> => {
  for (let i = 0; i < count; i++) await new Promise((resolve) => setImmediate(resolve));
};

test("request ids start again at 1 after the last one, and skip 0", () => {
  const { engine, ask, answer, count } = openEngine(64);
  engine.startAt(0);
  (engine as unknown as { requests: { nextId: number } }).requests.nextId = 0xffff_ffff;
  for (let i = 0; i < 3; i++) assert.ok(ask(make(CancelOrder)));
  for (const requestId of [0xffff_ffff, 1, 2]) answer(requestId);
  engine.drain();
  assert.deepEqual([count().answers, engine.inFlight], [3, 0]);
});

test("past maxInFlight new orders are refused, alone or in a batch, and cancels are not", () => {
  const { ask } = openEngine(2);
  const placing = make(OrderBatch, { items: [make(CancelOrder), make(PlaceOrder)] });
  const canceling = make(OrderBatch, { items: [make(CancelOrder)] });
  assert.deepEqual([ask(make(PlaceOrder)), ask(placing)], [true, true]);
  assert.deepEqual([ask(make(PlaceOrder)), ask(placing)], [false, false]);
  assert.deepEqual([ask(make(CancelOrder)), ask(canceling)], [true, true]);
});

test("batches leave room in the ring for cancels and ticks, even if only few are on their way", () => {
  const { engine, ask } = openEngine(MAX_PENDING);
  const items = Array.from({ length: 20 }, (_, i) => make(PlaceOrder, { clientOrderId: `of-a-batch-${i}` }));
  const placing = make(OrderBatch, { items });
  let batches = 0;
  while (ask(placing)) batches++;
  assert.ok(batches > 100 && batches < 1000);
  assert.equal(ask(make(PlaceOrder)), false, "a single order is refused too");
  for (let i = 0; i < 1000; i++) {
    assert.ok(ask(make(CancelOrder)), `cancel ${i}`);
    assert.ok(ask(make(OrderBatch, { items: [make(CancelOrder)] })), `canceling batch ${i}`);
  }
  assert.equal(engine.inFlight, batches + 2000);
});

test("when the disk is nearly full amendments are refused, alone or in a batch, and cancels are not", () => {
  const { engine, ask } = openEngine(64);
  engine.hasDiskRoom = false;
  const amending = make(OrderBatch, { items: [make(CancelOrder), make(AmendOrder)] });
  assert.deepEqual([ask(make(AmendOrder)), ask(amending)], [false, false]);
  assert.equal(ask(make(OrderBatch, { items: [make(CancelOrder)] })), true);
});

test("the history lag is the number of released transactions that the index does not hold yet", () => {
  const { engine, control } = openEngine(1);
  engine.startAt(7);
  control.indexed = 5;
  assert.equal(engine.historyLag, 2);
  // The index may be ahead of the gateway.
  control.indexed = 8;
  assert.equal(engine.historyLag, 0);
});

test("the gateway is woken for what is released while it sleeps, once until it has read it", () => {
  const { engine, frontDoorbell, ask, answer, count } = openEngine(64);
  engine.startAt(0);
  for (let i = 0; i < 3; i++) ask(make(CancelOrder));
  assert.ok(frontDoorbell.isSleeping);
  answer(1);
  answer(2);
  assert.deepEqual(count(), { answers: 0, wakes: 1 });
  engine.drain();
  assert.ok(frontDoorbell.isSleeping);
  answer(3);
  engine.drain();
  assert.deepEqual(count(), { answers: 3, wakes: 2 });
});

test("a request to a hung thread does not block other requests", () => {
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

test("a large backlog is handed out over several event-loop iterations", async () => {
  const { engine, ask, answer, count, frontDoorbell } = openEngine(1);
  frontDoorbell.prepareSleep();
  ask(make(CancelOrder));
  for (let i = 0; i < 20_000; i++) answer(0);
  answer(1);
  let parts = 0;
  engine.onDrained(() => parts++);
  engine.drain();
  assert.deepEqual([parts, count().answers], [1, 0]);
  const { wakes } = count();
  await iterations(1);
  assert.deepEqual([parts, count().answers], [2, 0]);
  await iterations(4);
  assert.equal(count().answers, 1);
  // It was awake all the time and sleeps now.
  answer(0);
  assert.equal(count().wakes, wakes + 1);
});
