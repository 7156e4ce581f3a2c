import assert from "node:assert/strict";
import { test } from "node:test";
import { SharedReads } from "../../../src/front/routing/shared-reads.ts";
import { nextTurn } from "../support/scripted-exchange.ts";

/** Reads that end when the test says so, with the time at which they began. */
class ManualReads {
  readonly shared = new SharedReads<number>();
  readonly ends: ((error?: Error) => void)[] = [];
  readonly groups: { readonly done: boolean }[] = [];
  readonly doneAtBegin: boolean[] = [];
  nowMs = 0;

  ask(key: string, answer = { done: false }): Promise<number> {
    return this.shared.share(key, answer, (group) => {
      // Before anything is awaited: the group of one who waits is not done.
      this.doneAtBegin.push(group.done);
      this.groups.push(group);
      const beganAtMs = this.nowMs;
      return new Promise((resolve, reject) =>
        this.ends.push((error) => (error === undefined ? resolve(beganAtMs) : reject(error))),
      );
    });
  }
}

test("those who come while a read runs share the next one, and get nothing from before they came", async () => {
  const reads = new ManualReads();
  const first = reads.ask("a");
  assert.equal(reads.ends.length, 1, "one who comes alone does not wait");
  reads.nowMs = 1;
  const second = [reads.ask("a"), reads.ask("a")];
  reads.nowMs = 2;
  const late = reads.ask("a");
  await nextTurn();
  assert.equal(reads.ends.length, 1, "one read at a time");
  reads.ends[0]();
  assert.equal(await first, 0);
  assert.deepEqual([reads.ends.length, reads.nowMs], [2, 2]);
  reads.nowMs = 3;
  const third = reads.ask("a");
  reads.ends[1]();
  assert.deepEqual(await Promise.all([...second, late]), [2, 2, 2]);
  reads.ends[2]();
  assert.equal(await third, 3);
  await nextTurn();
  void reads.ask("a");
  assert.equal(reads.ends.length, 4, "afterwards a read begins at once again");
  assert.deepEqual(reads.doneAtBegin, [false, false, false, false]);
});

test("reads of other keys do not wait, and one that fails fails for its group only", async () => {
  const reads = new ManualReads();
  const failing = [reads.ask("a"), reads.ask("b")];
  const next = reads.ask("a");
  assert.equal(reads.ends.length, 2);
  reads.ends[0](new Error("no"));
  await assert.rejects(failing[0], /no/);
  reads.ends[1]();
  await failing[1];
  reads.ends[2]();
  assert.equal(await next, 0);
});

test("a group is done when all of it are", () => {
  const reads = new ManualReads();
  const answers = [{ done: false }, { done: false }, { done: false }];
  void reads.ask("a", answers[0]);
  assert.equal(reads.groups[0].done, false);
  answers[0].done = true;
  assert.equal(reads.groups[0].done, true);
  void reads.ask("a", answers[1]);
  void reads.ask("a", answers[2]);
  reads.ends[0]();
  return nextTurn().then(() => {
    assert.equal(reads.groups[1].done, false);
    answers[1].done = true;
    assert.equal(reads.groups[1].done, false);
    answers[2].done = true;
    assert.equal(reads.groups[1].done, true);
  });
});

test("a crowd that shares a read gets its result over several event-loop iterations", async () => {
  const CROWD = 100;
  const reads = new ManualReads();
  void reads.ask("a");
  let answered = 0;
  const crowd = Array.from({ length: CROWD }, () => reads.ask("a").then(() => answered++));
  reads.ends[0]();
  await nextTurn();
  reads.ends[1]();
  for (let turns = 0; answered < CROWD; turns++) {
    const before = answered;
    await nextTurn();
    // Two iterations may pass before the test looks.
    assert.ok(answered - before <= 16, `${answered - before} in one turn`);
    assert.ok(turns < CROWD, "they get on");
  }
  await Promise.all(crowd);
  assert.equal(reads.ends.length, 2);
});
