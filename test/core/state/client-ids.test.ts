import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { NO_ROW } from "../../../src/core/base/hash-fifo.ts";
import { type ClientId, ClientIds, type PastClientIds } from "../../../src/core/state/client-ids.ts";
import { takeSeed } from "../support/seed.ts";

const seed = takeSeed("client-ids.test");
const RETENTION_MS = 1000;
const parameters = { seed, numRuns: 200, includeErrorInReport: true };

const step = fc.record({
  kind: fc.constantFrom("add", "add", "add", "wait", "expire", "save", "share", "restart", "leave"),
  accountId: fc.constantFrom(1, 2, 2 ** 32 - 1),
  times: fc.constantFrom(1, 40),
  isOpen: fc.boolean(),
  // Two of them may add up to exactly the time for which an id is kept.
  waitMs: fc.constantFrom(1, 400, 600, RETENTION_MS + 1),
});

test("ids are kept like in a Map for their time and while their orders are open, through snapshots and restarts", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60, size: "max" }), (steps) => {
      const model = new Map<string, ClientId>();
      const open = new Set<number>();
      const newIds = () => new ClientIds(RETENTION_MS, (id) => open.has(id));
      let ids = newIds();
      const saved = new Map<number, ClientId>();
      let left: ClientId[] = [];
      let [now, orderId] = [1e12, 0];
      const save = (most?: number): boolean =>
        ids.takeChanges(
          (id) => saved.set(id.orderId, id),
          // Removed twice if it was left on disk and found there.
          (id) => assert.ok(saved.delete(id) || left.some(({ orderId }) => orderId === id)),
          most,
        );
      for (const { kind, accountId, times, isOpen, waitMs } of steps) {
        for (let i = 0; i < times && kind === "add"; i++) {
          orderId++;
          const clientOrderId = `${"a".repeat(orderId % 30)}-${orderId}`;
          const id = { accountId, clientOrderId, orderId, bodyHash: orderId * 7, time: now };
          ids.add(accountId, clientOrderId, orderId, id.bodyHash, now);
          model.set(key(id), id);
          if (isOpen) open.add(orderId);
        }
        if (kind === "wait") {
          now += waitMs;
          open.clear();
        }
        if (kind === "expire") {
          // An open order's id goes to the end of the queue, and this expire() stops there.
          for (let i = 0; i <= open.size; i++) ids.expire(now);
          for (const [at, { time, orderId }] of model)
            if (time < now - RETENTION_MS && !open.has(orderId)) model.delete(at);
        }
        if (kind === "save") assert.ok(save());
        if (kind === "share" && save(times))
          ids.takeChanges(
            () => assert.fail("that was all"),
            () => assert.fail("that was all"),
          );
        if (kind === "restart" || kind === "leave") {
          save();
          ids = newIds();
          const all = [...saved.values()].sort((a, b) => a.orderId - b.orderId);
          left = kind === "leave" ? all.splice(0, Math.ceil(all.length * (isOpen ? 1 : 0.6))) : [];
          ids.past = leftOnDisk(left);
          for (const { orderId } of left) if (open.has(orderId)) ids.loadOpen(orderId);
          for (const id of all) ids.load(id);
          assert.ok(
            ids.takeChanges(
              () => assert.fail(),
              () => assert.fail(),
            ),
          );
        }
        for (const id of model.values()) {
          const row = ids.find(id.accountId, id.clientOrderId);
          assert.equal(ids.orderId(row), id.orderId);
          assert.equal(ids.bodyHash(row), id.bodyHash);
          assert.equal(ids.find(3, id.clientOrderId), NO_ROW);
        }
        const all = ids.page(0, 10_000);
        if (left.length === 0) assert.deepEqual(new Set(all.map(key)), new Set(model.keys()));
        assert.deepEqual(ids.page(5, 3), all.slice(5, 8));
      }
      save();
      // An order that is open when its id expires keeps its row until a start.
      if (left.length === 0) assert.deepEqual(new Set([...saved.values()].map(key)), new Set(model.keys()));
      for (const id of model.values()) assert.ok(saved.has(id.orderId));
    }),
    parameters,
  );
});

test("above the maximum the oldest ids go early, but not those of open orders", () => {
  const MOST = 100;
  const open = new Set([7, 8, 9, 500]);
  const ids = new ClientIds(RETENTION_MS, (id) => open.has(id), MOST);
  const saved = new Set<number>();
  for (let orderId = 1; orderId <= 1000; orderId++) {
    ids.add(16, `${orderId}`, orderId, 0, 1e12);
    if (orderId % 150 === 0)
      ids.takeChanges(
        (id) => saved.add(id.orderId),
        (id) => assert.ok(saved.delete(id)),
      );
    assert.ok(ids.page(0, 10_000).length <= MOST + open.size);
  }
  const isKnown = (orderId: number) => ids.find(16, `${orderId}`) !== NO_ROW;
  for (const orderId of open) assert.ok(isKnown(orderId), `${orderId} is open`);
  for (let orderId = 1000 - MOST + open.size + 1; orderId <= 1000; orderId++) assert.ok(isKnown(orderId), `${orderId}`);
  open.clear();
  for (let orderId = 1001; orderId <= 1000 + MOST; orderId++) ids.add(16, `${orderId}`, orderId, 0, 1e12);
  assert.equal(isKnown(7) || isKnown(500), false, "closed");
  ids.takeChanges(
    (id) => saved.add(id.orderId),
    (id) => assert.ok(saved.delete(id)),
  );
  const remembered = ids.page(0, 10_000).map(({ orderId }) => orderId);
  assert.deepEqual(saved, new Set(remembered));
  assert.ok(remembered.length <= MOST, `${remembered.length} are remembered`);

  const recovered = new ClientIds(RETENTION_MS, () => assert.fail("orders come later"), MOST);
  for (let orderId = 1; orderId <= 2 * MOST; orderId++)
    recovered.load({ accountId: 16, clientOrderId: `${orderId}`, orderId, bodyHash: 0, time: 1e12 });
  assert.equal(recovered.page(0, 10_000).length, 2 * MOST);
});

test("an id that was left on disk expires there, and is forgotten on time although a retry has found it", () => {
  const left = [1, 2, 3].map((orderId) => ({
    ...{ accountId: 16, clientOrderId: `${orderId}`, orderId, bodyHash: 7, time: 1e12 + orderId },
  }));
  const ids = new ClientIds(RETENTION_MS, () => false);
  ids.past = leftOnDisk(left);
  ids.add(16, "young", 4, 0, 1e12 + 4);
  assert.equal(ids.orderId(ids.find(16, "2")), 2);
  assert.equal(ids.find(17, "2"), NO_ROW);
  ids.expire(1e12 + RETENTION_MS + 3);
  assert.deepEqual(
    ["1", "2", "3", "young"].map((id) => ids.find(16, id) !== NO_ROW),
    [false, false, true, true],
  );
  const removed: number[] = [];
  const added: number[] = [];
  ids.takeChanges(
    ({ orderId }) => added.push(orderId),
    (orderId) => removed.push(orderId),
  );
  assert.deepEqual([added, removed.sort()], [[4], [1, 2]]);
});

/** The ids of a snapshot that a start has not loaded. */
function leftOnDisk(ids: readonly ClientId[]): PastClientIds {
  let expired = 0;
  const isOf = (accountId: number, clientOrderId: string) => (id: ClientId) =>
    id.accountId === accountId && id.clientOrderId === clientOrderId;
  return {
    find: (accountId, clientOrderId) => ids.findLast(isOf(accountId, clientOrderId)) ?? null,
    read: (orderId) => ids.find((id) => id.orderId === orderId) ?? null,
    takeExpired(before, most) {
      const some = ids.slice(expired, expired + most).filter(({ time }) => time < before);
      expired += some.length;
      return some.map(({ orderId }) => orderId);
    },
  };
}

const key = ({ accountId, clientOrderId }: ClientId): string => `${accountId}/${clientOrderId}`;
