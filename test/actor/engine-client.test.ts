import assert from "node:assert/strict";
import { test } from "node:test";
import { MAX_PENDING, RingRoad } from "../../src/actor/engine/engine-client.ts";
import { Control } from "../../src/actor/threads/control.ts";
import { AccountCells } from "../../src/core/accounts/margin-table.ts";
import type { Message } from "../../src/core/protocol/message-schema.ts";
import { AmendOrder, CancelOrder, OrderBatch, PlaceOrder } from "../../src/core/protocol/messages.ts";
import { AT_REQUEST_ID, RECORD_HEADER_BYTES } from "../../src/wire/record.ts";
import { allocateRing, Bell, RingConsumer, RingProducer } from "../../src/wire/ring.ts";
import { make } from "../core/support/exchange.ts";

const ACTOR_ID = 1;
const RING_BYTES = 1 << 20;

function openRoad(maxInFlight: number, lookMs = 0) {
  const frontBell = new Bell();
  const frontRing = allocateRing(RING_BYTES);
  const control = new Control();
  const road = new RingRoad({
    instruments: [],
    cells: AccountCells.allocate(32),
    control,
    front: new RingConsumer(frontRing),
    frontBell,
    indexBell: new Bell(),
    storeBell: new Bell(),
    maxInFlight,
    lookMs,
  });
  road.addLane(new RingProducer(allocateRing(RING_BYTES), new Bell()), [ACTOR_ID]);
  let answers = 0;
  let knocks = 0;
  const journal = new RingProducer(frontRing, new Bell(frontBell.buffer, () => knocks++));
  return {
    road,
    control,
    frontBell,
    ask: (command: Message): boolean => road.ask(ACTOR_ID, command, () => answers++),
    count: () => ({ answers, knocks }),
    /** As the journal does. */
    answer(requestId: number): void {
      const at = journal.reserve(RECORD_HEADER_BYTES);
      journal.bytes.fill(0, at, at + RECORD_HEADER_BYTES);
      journal.view.setUint32(at + AT_REQUEST_ID, requestId, true);
      journal.commit(RECORD_HEADER_BYTES);
      journal.ring();
    },
  };
}

const turns = async (count: number): Promise<void> => {
  for (let i = 0; i < count; i++) await new Promise((resolve) => setImmediate(resolve));
};

test("when the numbers of requests are used up they begin anew, past the one that stands for nobody", () => {
  const { road, ask, answer, count } = openRoad(64);
  road.startAt(0);
  (road as unknown as { nextRequestId: number }).nextRequestId = 0xffff_ffff;
  for (let i = 0; i < 3; i++) assert.ok(ask(make(CancelOrder)));
  for (const requestId of [0xffff_ffff, 1, 2]) answer(requestId);
  road.drain();
  assert.deepEqual([count().answers, road.inFlight], [3, 0]);
});

test("past maxInFlight new orders are turned away, be it in a batch, and cancels are not", () => {
  const { ask } = openRoad(2);
  const placing = make(OrderBatch, { items: [make(CancelOrder), make(PlaceOrder)] });
  const canceling = make(OrderBatch, { items: [make(CancelOrder)] });
  assert.deepEqual([ask(make(PlaceOrder)), ask(placing)], [true, true]);
  assert.deepEqual([ask(make(PlaceOrder)), ask(placing)], [false, false]);
  assert.deepEqual([ask(make(CancelOrder)), ask(canceling)], [true, true]);
});

test("batches leave room in the ring for cancels and ticks, however few of them are on their way", () => {
  const { road, ask } = openRoad(MAX_PENDING);
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
  assert.equal(road.inFlight, batches + 2000);
});

test("without room on the disk amendments are turned away, too, be it in a batch, and cancels are not", () => {
  const { road, ask } = openRoad(64);
  road.hasDiskRoom = false;
  const amending = make(OrderBatch, { items: [make(CancelOrder), make(AmendOrder)] });
  assert.deepEqual([ask(make(AmendOrder)), ask(amending)], [false, false]);
  assert.equal(ask(make(OrderBatch, { items: [make(CancelOrder)] })), true);
});

test("the history's lag is the turns that were handed out and that it does not hold yet", () => {
  const { road, control } = openRoad(1);
  road.startAt(7);
  control.indexed = 5;
  assert.equal(road.historyLag, 2);
  // It may be ahead of the front.
  control.indexed = 8;
  assert.equal(road.historyLag, 0);
});

test("the front looks for answers by itself at first, while there is more than one to come", async () => {
  const { road, frontBell, ask, answer, count } = openRoad(64, 60_000);
  road.startAt(0);
  for (const round of [0, 1]) {
    const requestId = 2 * round + 1;
    ask(make(CancelOrder));
    ask(make(CancelOrder));
    await turns(1);
    assert.ok(!frontBell.isAwaited);
    answer(requestId);
    await turns(2);
    assert.deepEqual(count(), { answers: requestId, knocks: round });
    assert.ok(frontBell.isAwaited, "whoever answers the other one wakes it");
    answer(requestId + 1);
    road.drain();
    assert.deepEqual(count(), { answers: requestId + 1, knocks: round + 1 });
  }
});

test("for a single answer it does not look", async () => {
  const { road, frontBell, ask } = openRoad(64, 60_000);
  road.startAt(0);
  ask(make(CancelOrder));
  await turns(2);
  assert.ok(frontBell.isAwaited);
});

test("the front that has looked for long enough is woken", async () => {
  const { road, frontBell, ask, answer, count } = openRoad(64, 0.01);
  road.startAt(0);
  ask(make(CancelOrder));
  ask(make(CancelOrder));
  await turns(1);
  do await turns(1);
  while (!frontBell.isAwaited);
  answer(1);
  assert.deepEqual(count(), { answers: 0, knocks: 1 });
  road.drain();
  assert.deepEqual(count(), { answers: 1, knocks: 1 });
});

test("with very many requests on their way it does not look: there is always something to do", async () => {
  const { road, frontBell, ask } = openRoad(1000, 60_000);
  road.startAt(0);
  for (let i = 0; i < 65; i++) ask(make(CancelOrder));
  await turns(2);
  assert.ok(frontBell.isAwaited);
});

test("a request that waits for a thread that hangs keeps nobody else out", () => {
  const { road, ask, answer, count } = openRoad(64);
  road.startAt(0);
  const [other, commands] = [2, allocateRing(RING_BYTES)];
  road.addLane(new RingProducer(commands, new Bell()), [other]);
  assert.ok(ask(make(CancelOrder)));
  const taken = new RingConsumer(commands);
  let answers = 0;
  for (let i = 0; i < MAX_PENDING + 10; i++) {
    assert.ok(
      road.ask(other, make(CancelOrder), () => answers++),
      `request ${i}`,
    );
    answer(taken.view.getUint32(taken.peek(), true));
    taken.next();
    taken.release();
    road.drain();
  }
  assert.deepEqual([answers, count().answers, road.inFlight], [MAX_PENDING + 10, 0, 1]);
});

test("very much that is released at once is handed out in several turns of the event loop, with room for others between", async () => {
  const { road, ask, answer, count, frontBell } = openRoad(1);
  frontBell.announce();
  ask(make(CancelOrder));
  for (let i = 0; i < 20_000; i++) answer(0);
  answer(1);
  let parts = 0;
  road.onDrained(() => parts++);
  road.drain();
  assert.deepEqual([parts, count().answers], [1, 0]);
  const { knocks } = count();
  await turns(1);
  assert.deepEqual([parts, count().answers], [2, 0]);
  await turns(4);
  assert.equal(count().answers, 1);
  // It was awake all the while, and sleeps now.
  answer(0);
  assert.equal(count().knocks, knocks + 1);
});
