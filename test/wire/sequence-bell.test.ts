import assert from "node:assert/strict";
import { test } from "node:test";
import { Worker } from "node:worker_threads";
import { SequenceBell } from "../../src/wire/sequence-bell.ts";
import type { BellPeerReport, BellPeerTask } from "./support/sequence-bell-peer.ts";

const ROUNDS = 20_000;

test("it rings once, for the awaited sequence or a later one", () => {
  const buffer = new SharedArrayBuffer(SequenceBell.BYTES);
  const [owner, actor] = [new SequenceBell(buffer), new SequenceBell(buffer)];
  const waits = new Int32Array(buffer);
  const isAwaited = (): boolean => waits[0] === 1;
  actor.reached(5);
  assert.equal(isAwaited(), false, "nobody waits");
  owner.prepareWait(10);
  actor.reached(9);
  assert.equal(isAwaited(), true);
  actor.reached(10);
  assert.equal(isAwaited(), false);
  // It does not block: the ring came before it.
  owner.wait(Number.POSITIVE_INFINITY);
  owner.prepareWait(2 ** 40);
  actor.reached(2 ** 40 - 1);
  assert.equal(isAwaited(), true);
  actor.reached(2 ** 40 + 1);
  assert.equal(isAwaited(), false);
  owner.prepareWait(1);
  owner.cancelWait();
  assert.equal(isAwaited(), false);
});

test("no ring is lost between two threads, and none comes too early", async () => {
  const counters = new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT);
  const bells = [0, 1].map(() => new SharedArrayBuffer(SequenceBell.BYTES));
  const run = (index: 0 | 1): Promise<BellPeerReport> =>
    new Promise((resolve, reject) => {
      const workerData: BellPeerTask = { counters, bells, index, rounds: ROUNDS };
      const worker = new Worker(new URL("./support/sequence-bell-peer.js", import.meta.url), { workerData });
      worker.once("message", resolve);
      worker.once("error", reject);
    });
  for (const { waits, lost, early } of await Promise.all([run(0), run(1)])) {
    assert.deepEqual([lost, early], [0, 0]);
    assert.ok(waits > 0);
  }
});
