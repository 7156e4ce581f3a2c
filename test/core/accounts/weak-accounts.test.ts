import assert from "node:assert/strict";
import { test } from "node:test";
import { WeakAccountReader, WeakAccounts } from "../../../src/core/accounts/weak-accounts.ts";

const WORKERS = 3;

function open() {
  const buffer = WeakAccounts.allocate(WORKERS);
  const workers = Array.from({ length: WORKERS }, (_, worker) => new WeakAccounts(buffer, WORKERS, worker));
  const readers = workers.map((accounts) => new WeakAccountReader(accounts));
  return { buffer, workers, readers };
}

/** The accounts that were noted since; null = too many. */
function readAll(reader: WeakAccountReader): number[] | null {
  const accounts: number[] = [];
  return reader.read((accountId) => void accounts.push(accountId)) ? accounts : null;
}

test("every reader gets each note of every worker once", () => {
  const { workers, readers } = open();
  assert.deepEqual(
    readers.map(({ hasUnread }) => hasUnread),
    [false, false, false],
  );
  workers[0]!.note(7);
  workers[2]!.note(9);
  workers[0]!.note(8);
  for (const reader of readers) {
    assert.equal(reader.hasUnread, true);
    assert.deepEqual(readAll(reader), [7, 8, 9]);
    assert.equal(reader.hasUnread, false);
    assert.deepEqual(readAll(reader), []);
  }
});

test("a reader begins with the next note", () => {
  const { workers } = open();
  workers[0]!.note(7);
  const reader = new WeakAccountReader(workers[1]!);
  assert.equal(reader.hasUnread, false);
  workers[1]!.note(8);
  assert.deepEqual(readAll(reader), [8]);
  workers[1]!.note(9);
  reader.skipAll();
  assert.deepEqual([reader.hasUnread, readAll(reader)], [false, []]);
});

test("a note that comes while others are read is read now or next time", () => {
  const { workers, readers } = open();
  workers[0]!.note(1);
  const seen: number[] = [];
  readers[0]!.read((accountId) => {
    seen.push(accountId);
    if (accountId === 1) for (const worker of workers) worker.note(10);
  });
  assert.equal(readers[0]!.hasUnread, true);
  seen.push(...(readAll(readers[0]!) ?? []));
  assert.deepEqual(seen, [1, 10, 10, 10]);
  assert.equal(readers[0]!.hasUnread, false);
});

test("a reader that has missed notes is told so, and goes on with the next one", () => {
  const { workers, readers } = open();
  for (let account = 0; account < 16_383; account++) workers[1]!.note(account);
  assert.equal(readAll(readers[0]!)?.length, 16_383);
  workers[1]!.note(0);
  assert.equal(readAll(readers[1]!), null);
  assert.equal(readers[1]!.hasUnread, false);
  workers[1]!.note(5);
  assert.deepEqual([readAll(readers[0]!), readAll(readers[1]!)], [[0, 5], [5]]);
});

test("the counts may wrap around", () => {
  const { buffer, workers } = open();
  new Int32Array(buffer).forEach((_, i, words) => {
    if (i === 0 || i === 16) words[i] = 2 ** 31 - 2;
  });
  const reader = new WeakAccountReader(workers[1]!);
  for (let account = 1; account <= 5; account++) workers[0]!.note(account);
  assert.equal(reader.hasUnread, true);
  assert.deepEqual(readAll(reader), [1, 2, 3, 4, 5]);
});
