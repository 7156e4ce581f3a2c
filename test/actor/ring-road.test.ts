import assert from "node:assert/strict";
import { test } from "node:test";
import { Control } from "../../src/actor/control.ts";
import { RingRoad } from "../../src/actor/ring-road.ts";
import { AccountCells } from "../../src/core/cells.ts";
import { AmendOrder, CancelOrder, OrderBatch, PlaceOrder } from "../../src/core/messages.ts";
import type { Message } from "../../src/core/shape.ts";
import { allocateRing, Bell, RingConsumer, RingProducer } from "../../src/wire/ring.ts";
import { make } from "../core/support/exchange.ts";

const ACTOR_ID = 1;
const RING_BYTES = 1 << 16;

function openRoad(maxInFlight: number) {
  const road = new RingRoad({
    instruments: [],
    cells: AccountCells.allocate(32),
    control: new Control(),
    front: new RingConsumer(allocateRing(RING_BYTES)),
    frontBell: new Bell(),
    indexBell: new Bell(),
    storeBell: new Bell(),
    maxInFlight,
  });
  road.addLane(new RingProducer(allocateRing(RING_BYTES), new Bell()), [ACTOR_ID]);
  return { road, ask: (command: Message): boolean => road.ask(ACTOR_ID, command, () => {}) };
}

test("past maxInFlight new orders are turned away, be it in a batch, and cancels are not", () => {
  const { ask } = openRoad(2);
  const placing = make(OrderBatch, { items: [make(CancelOrder), make(PlaceOrder)] });
  const canceling = make(OrderBatch, { items: [make(CancelOrder)] });
  assert.deepEqual([ask(make(PlaceOrder)), ask(placing)], [true, true]);
  assert.deepEqual([ask(make(PlaceOrder)), ask(placing)], [false, false]);
  assert.deepEqual([ask(make(CancelOrder)), ask(canceling)], [true, true]);
});

test("without room on the disk amendments are turned away, too, be it in a batch, and cancels are not", () => {
  const { road, ask } = openRoad(64);
  road.hasDiskRoom = false;
  const amending = make(OrderBatch, { items: [make(CancelOrder), make(AmendOrder)] });
  assert.deepEqual([ask(make(AmendOrder)), ask(amending)], [false, false]);
  assert.equal(ask(make(OrderBatch, { items: [make(CancelOrder)] })), true);
});
