import assert from "node:assert/strict";
import { test } from "node:test";
import { SharedBatch } from "../../src/wire/shared-batch.ts";

test("a reader finds the last batch by its first sequence, and no other one", () => {
  const buffer = SharedBatch.allocate(4);
  const [writer, reader] = [new SharedBatch(buffer), new SharedBatch(buffer)];
  assert.equal(reader.from(1), null);
  writer.put(5, 7, Uint8Array.of(1, 2, 3, 4));
  assert.deepEqual(reader.from(5), { first: 5, last: 7, bytes: Uint8Array.of(1, 2, 3, 4) });
  assert.deepEqual([reader.from(4), reader.from(6), reader.from(8)], [null, null, null]);
  writer.put(8, 8, Uint8Array.of(9));
  assert.equal(reader.from(5), null);
  assert.deepEqual(reader.from(8), { first: 8, last: 8, bytes: Uint8Array.of(9) });
});

test("a batch that does not fit is refused, and the one before stays", () => {
  const buffer = SharedBatch.allocate(2);
  const batch = new SharedBatch(buffer);
  batch.put(1, 1, Uint8Array.of(7, 8));
  assert.throws(() => batch.put(2, 2, new Uint8Array(3)), RangeError);
  assert.deepEqual(batch.from(1)?.bytes, Uint8Array.of(7, 8));
});
