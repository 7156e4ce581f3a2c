import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { NONE } from "../../../src/core/base/columns.ts";
import { OrderIndex } from "../../../src/core/base/order-index.ts";
import { OrderDetails } from "../../../src/core/state/order-details.ts";
import { Orders, packAttributes } from "../../../src/core/state/orders.ts";
import { takeSeed } from "../support/seed.ts";

const seed = takeSeed("orders.test");

test("orders are found by serial like in a Map, through growth, removal and reused slots", () => {
  const step = fc.record({
    kind: fc.constantFrom("add", "add", "add", "remove", "skip"),
    // Serials only grow; skipped ones spread them.
    by: fc.integer({ min: 1, max: 40 }),
    pick: fc.nat(),
  });
  fc.assert(
    fc.property(
      fc.constantFrom(2, 4, 64),
      fc.constantFrom(1, 2 ** 31 - 20, 2 ** 32 - 20, 2 ** 44),
      fc.array(step, { maxLength: 400, size: "max" }),
      (capacity, first, steps) => {
        const orders = new Orders(capacity);
        const slots = new Map<number, number>();
        let serial = first;
        for (const { kind, by, pick } of steps) {
          if (kind === "skip") serial += by;
          else if (kind === "add") {
            const slot = orders.add(serial, by, packAttributes(by % 2, 0, 0, 0, 0), by, by * 2, by);
            for (const other of slots.values()) assert.notEqual(slot, other);
            slots.set(serial++, slot);
          } else if (slots.size > 0) {
            const [gone, slot] = [...slots][pick % slots.size];
            orders.remove(slot);
            slots.delete(gone);
            assert.equal(orders.find(gone), NONE);
          }
          assert.equal(orders.count, slots.size);
          assert.equal(orders.find(serial), NONE);
        }
        for (const [serial, slot] of slots) {
          assert.equal(orders.find(serial), slot);
          assert.equal(orders.serial(slot), serial);
        }
        const seen: number[] = [];
        orders.each((slot) => seen.push(slot));
        assert.deepEqual(
          seen.sort((a, b) => a - b),
          [...slots.values()].sort((a, b) => a - b),
        );
      },
    ),
    { seed, numRuns: 200 },
  );
});

test("a hundred thousand orders, every third removed, are found", () => {
  const orders = new Orders();
  const slots: number[] = [];
  for (let serial = 1; serial <= 100_000; serial++) slots[serial] = orders.add(serial, 0, 0, serial, 1, 0);
  for (let serial = 3; serial <= 100_000; serial += 3) orders.remove(slots[serial]);
  for (let serial = 1; serial <= 100_000; serial++) {
    assert.equal(orders.find(serial), serial % 3 === 0 ? NONE : slots[serial]);
    if (serial % 3 !== 0) assert.equal(orders.priceTicks(slots[serial]), serial);
  }
  for (const strange of [0, -1, 1.5, Number.NaN, 2 ** 60, Number.POSITIVE_INFINITY])
    assert.equal(orders.find(strange), NONE);
});

test("an order keeps all its fields beside its neighbours and through growth", () => {
  const orders = new Orders(2);
  const slots = Array.from({ length: 50 }, (_, i) => {
    const slot = orders.add(
      1000 + i,
      i,
      packAttributes(i % 2, i % 8, i % 16, i * 5, i % 16),
      2 ** 24 - i,
      2 ** 52 + i,
      i + 7,
    );
    orders.setFilled(slot, i + 1, i + 2, i + 3, i + 4);
    orders.setMarginTerms(slot, i + 5, i + 6);
    orders.settle(slot, i + 9, i + 8);
    orders.setClientOrderId(slot, `order ${i}`);
    orders.setNext(slot, i);
    orders.setPrevious(slot, i - 1);
    orders.setAccountNext(slot, i * 3);
    orders.setAccountPrevious(slot, NONE);
    orders.setResting(slot, i % 3 === 0);
    return slot;
  });
  for (const [i, slot] of slots.entries())
    assert.deepEqual(
      [
        [orders.row(slot), orders.side(slot), orders.type(slot), orders.timeInForce(slot), orders.flags(slot)],
        [orders.selfTradePrevention(slot), orders.priceTicks(slot), orders.quantityLots(slot)],
        [orders.remainingLots(slot), orders.filledLots(slot), orders.filledQuanta(slot), orders.feeQuanta(slot)],
        [orders.marginPriceTicks(slot), orders.lossTicks(slot), orders.createdAt(slot), orders.updatedAt(slot)],
        [orders.sequence(slot), orders.clientOrderId(slot), orders.isResting(slot)],
        [orders.next(slot), orders.previous(slot), orders.accountNext(slot), orders.accountPrevious(slot)],
      ],
      [
        [i, i % 2, i % 8, i % 16, i * 5],
        [i % 16, 2 ** 24 - i, 2 ** 52 + i],
        [i + 1, i + 2, i + 3, i + 4],
        [i + 5, i + 6, i + 7, i + 8],
        [i + 9, `order ${i}`, i % 3 === 0],
        [i, i - 1, i * 3, NONE],
      ],
    );
  assert.equal(orders.fill(slots[1], 1, 70, 7), 1);
  assert.equal(orders.filledLots(slots[1]), 4);
  assert.equal(orders.filledQuanta(slots[1]), 74);
  assert.equal(orders.feeQuanta(slots[1]), 12);
  assert.equal(orders.reduce(slots[1], 1), 0);
});

test("a new order has its first values, and each change changes only its own fields", () => {
  const orders = new Orders(2);
  const made = { quantity: 8, remaining: 8, filled: 0, marginPrice: 5, loss: 0, createdAt: 7, updatedAt: 7 };
  for (const [i, [happen, changes]] of [
    [() => {}, {}],
    [(slot: number) => orders.settle(slot, 3, 7), {}],
    [(slot: number) => orders.settle(slot, 3, 9), { updatedAt: 9 }],
    [(slot: number) => orders.reduce(slot, 2), { remaining: 6 }],
    [(slot: number) => orders.fill(slot, 3, 30, 1), { remaining: 5, filled: 3 }],
    [(slot: number) => orders.setMarginTerms(slot, 5, 0), {}],
    [(slot: number) => orders.setMarginTerms(slot, 5, 2), { loss: 2 }],
    [(slot: number) => orders.setMarginTerms(slot, 6, 0), { marginPrice: 6 }],
    [(slot: number) => orders.amend(slot, 4, 8, 8), { marginPrice: 4 }],
    [(slot: number) => orders.amend(slot, 5, 9, 9), { quantity: 9, remaining: 9 }],
    [(slot: number) => orders.amend(slot, 5, 9, 4), { quantity: 9, remaining: 4 }],
    [(slot: number) => orders.setFilled(slot, 1, 6, 60, 1), { remaining: 1, filled: 6 }],
    [(slot: number) => orders.setFilled(slot, 6, 0, 0, 0), { remaining: 6 }],
  ].entries() as Iterable<[number, [(slot: number) => void, Partial<typeof made>]]>) {
    const slot = orders.add(1 + i, 0, 0, 5, 8, 7);
    happen(slot);
    assert.deepEqual(
      {
        quantity: orders.quantityLots(slot),
        remaining: orders.remainingLots(slot),
        filled: orders.filledLots(slot),
        marginPrice: orders.marginPriceTicks(slot),
        loss: orders.lossTicks(slot),
        createdAt: orders.createdAt(slot),
        updatedAt: orders.updatedAt(slot),
      },
      { ...made, ...changes },
      `${i}`,
    );
    if (i % 2 === 0) orders.remove(slot);
  }
});

test("serials with the same hash are found however far they are displaced", () => {
  const capacity = 2 ** 26;
  const serials = Array.from({ length: 100 }, (_, i) => 5 + i * 2 ** 32);
  const index = new OrderIndex(capacity, capacity, { serial: (slot) => serials[slot] as number });
  for (const [slot, serial] of serials.entries()) index.add(serial, slot);
  for (const [gone, serial] of serials.entries()) {
    index.remove(serial, gone);
    for (const [slot, serial] of serials.entries()) assert.equal(index.find(serial), slot <= gone ? NONE : slot);
  }
});

test("a reused slot keeps nothing of the order before", () => {
  const orders = new Orders(2);
  const slot = orders.add(1, 1, packAttributes(1, 1, 1, 1, 1), 1, 1, 1);
  orders.setClientOrderId(slot, "old");
  orders.setFilled(slot, 0, 1, 1, 1);
  orders.setMarginTerms(slot, 9, 9);
  orders.setResting(slot, true);
  orders.remove(slot);
  assert.equal(orders.add(2, 2, 0, 5, 6, 7), slot);
  assert.deepEqual(
    [orders.clientOrderId(slot), orders.filledLots(slot), orders.filledQuanta(slot), orders.feeQuanta(slot)],
    ["", 0, 0, 0],
  );
  assert.deepEqual([orders.marginPriceTicks(slot), orders.lossTicks(slot), orders.updatedAt(slot)], [5, 0, 7]);
  assert.equal(orders.isResting(slot), false);
  assert.equal(orders.remainingLots(slot), 6);
});

test("changes are handed over once: live orders, and persisted orders that are gone", () => {
  const orders = new Orders(2);
  const take = (): [number[], number[]] => {
    const changed: number[] = [];
    const removed: number[] = [];
    orders.takeChanges(
      (slot) => changed.push(orders.serial(slot)),
      (serial) => removed.push(serial),
    );
    return [changed.sort((a, b) => a - b), removed];
  };
  const first = orders.add(1, 0, 0, 1, 1, 1);
  const second = orders.add(2, 0, 0, 1, 1, 1);
  assert.deepEqual(take(), [[1, 2], []]);
  assert.deepEqual(take(), [[], []]);
  orders.touch(second);
  orders.touch(second);
  orders.remove(first);
  // Reuses the slot of the first, and is added and removed between two snapshots.
  orders.remove(orders.add(3, 0, 0, 1, 1, 1));
  orders.add(4, 0, 0, 1, 1, 1);
  assert.deepEqual(take(), [[2, 4], [1]]);
  const loaded = orders.add(5, 0, 0, 1, 1, 1);
  orders.markPersisted(loaded);
  assert.deepEqual(take(), [[], []]);
  orders.remove(loaded);
  assert.deepEqual(take(), [[], [5]]);
});

test("takeChanges goes on where it stopped, and only its last call says that it came to the end", () => {
  const orders = new Orders();
  for (let serial = 1; serial <= 100; serial++) orders.add(serial, 0, 0, 1, 1, 1);
  const shares: number[][] = [];
  const ends: boolean[] = [];
  do {
    const share: number[] = [];
    ends.push(
      orders.takeChanges(
        (slot) => share.push(orders.serial(slot)),
        () => assert.fail("none is gone"),
        32,
      ),
    );
    shares.push(share);
    // It changed after it was passed: the next round has it.
    orders.touch(orders.find(1));
  } while (!ends.at(-1) && ends.length < 10);
  assert.deepEqual(
    shares.flat(),
    Array.from({ length: 100 }, (_, i) => i + 1),
  );
  assert.ok(shares.length > 2 && shares.every((share) => share.length <= 32), `${shares.length} shares`);
  assert.deepEqual(ends.indexOf(true), ends.length - 1);
});

test("the details of a removed order make room for those of another", (t) => {
  const take = t.mock.method(OrderDetails.prototype, "take");
  const orders = new Orders(2);
  for (let serial = 1; serial <= 1000; serial++) {
    const slot = orders.add(serial, 0, 0, 1, 2, 1);
    orders.fill(slot, 1, 1, 0);
    orders.remove(slot);
  }
  const places = new Set(take.mock.calls.map(({ result }) => result));
  assert.deepEqual([take.mock.callCount(), places.size], [1000, 1]);
});
