import assert from "node:assert/strict";
import { test } from "node:test";
import { LeaseKeeper } from "../../src/replication/lease-keeper.ts";
import { LeaseWatch } from "../../src/replication/lease-watch.ts";
import { UnknownOutcomeError } from "../../src/replication/stream.ts";
import { leaseOf, MemoryLease } from "./support.ts";

const keeperOf = (store: MemoryLease, node: string, epoch: number): LeaseKeeper =>
  new LeaseKeeper(store, leaseOf(node, epoch), () => 7);

test("a lease lapses when its revision has stood still, by observations without a gap", () => {
  const watch = new LeaseWatch(1000);
  for (let ms = 0; ms < 1000; ms += 100) assert.equal(watch.observe(7, ms), false, `${ms}`);
  assert.equal(watch.observe(7, 1000), true);
  assert.equal(watch.ageMs, 1000);
  assert.equal(watch.observe(8, 1100), false);
  for (let ms = 1200; ms <= 2000; ms += 100) assert.equal(watch.observe(8, ms), false);
  // The watcher itself was stopped: it does not know what happened meanwhile.
  assert.equal(watch.observe(8, 7000), false);
  watch.observe(8, 7400);
  watch.observe(8, 7800);
  watch.reset();
  assert.equal(watch.observe(8, 8000), false);
  for (let ms = 8100; ms < 9000; ms += 100) assert.equal(watch.observe(8, ms), false);
  assert.equal(watch.observe(8, 9000), true);
});

test("a leader replaces the entry before, renews it and releases it", async () => {
  const store = new MemoryLease();
  const first = keeperOf(store, "a", 1);
  assert.equal(await first.take(), true);
  assert.equal(await first.renew(), true);
  const second = keeperOf(store, "b", 2);
  assert.equal(await second.take(), true);
  assert.equal(second.replaced, 2);
  assert.equal(await first.renew(), false);
  assert.equal(await first.take(), false);
  assert.equal(await second.release(), true);
  assert.deepEqual(store.entry, { ...leaseOf("b", 2), isReleased: true, sequence: 7 });
});

test("after a lost answer a renewal counts only when standbys can see a new revision", async () => {
  const store = new MemoryLease();
  const keeper = keeperOf(store, "a", 1);
  await keeper.take();
  store.losesAnswers = 1;
  await assert.rejects(keeper.renew(), UnknownOutcomeError);
  const before = store.revision;
  assert.equal(await keeper.renew(), true);
  assert.ok(store.revision > before);
});

test("a leader makes its entry again if somebody has deleted it, and not if another one leads", async () => {
  const store = new MemoryLease();
  const keeper = keeperOf(store, "a", 1);
  await keeper.take();
  await keeper.renew();
  store.delete();
  assert.equal(await keeper.renew(), true);
  assert.equal(store.entry?.node, "a");
  // Written by hand.
  store.entry = leaseOf("", 0);
  store.revision++;
  assert.equal(await keeper.renew(), true);
  assert.equal(store.entry?.node, "a");
  store.delete();
  assert.equal(await keeperOf(store, "b", 2).take(), true);
  assert.equal(await keeper.renew(), false);
  assert.equal(store.entry?.node, "b");
});
