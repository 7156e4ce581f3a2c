import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { HashFifo, NO_ROW } from "../../../src/core/base/hash-fifo.ts";
import { takeSeed } from "../support/seed.ts";

const seed = takeSeed("hashed-queue.test");
const WIDTH = 3;
const VALUE = 0;
/** A row has room for a text of 15 characters. */
const TEXT = 1;

interface ModelRow {
  hash: number;
  value: number;
  text: string;
}

test("rows are found by hash and removed in order, as in an array, through growth and shared buckets", () => {
  const step = fc.record({
    kind: fc.constantFrom("append", "append", "drop", "move"),
    times: fc.constantFrom(1, 3, 700, 1500),
    // All hashes different; a few hashes for all rows; hashes that differ only in their high bits.
    spread: fc.constantFrom(
      (n: number) => Math.imul(n, 0x9e3779b1),
      (n: number) => n % 7,
      (n: number) => n << 24,
    ),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 12, size: "max" }), (steps) => {
      const queue = new HashFifo(WIDTH);
      const model: ModelRow[] = [];
      for (const { kind, times, spread } of steps) {
        for (let i = 0; i < times; i++) {
          if (kind === "drop") {
            if (model.shift() !== undefined) queue.dropFirst();
            continue;
          }
          if (kind === "move") {
            const first = model.shift();
            if (first === undefined) continue;
            queue.moveFirst();
            model.push(first);
            continue;
          }
          const value = queue.end;
          const added = { hash: spread(value) >>> 0, value, text: "x".repeat(value % 15) + String(value % 10) };
          const row = queue.append(added.hash);
          queue.set(row, VALUE, value);
          queue.setText(row, TEXT, added.text);
          model.push(added);
        }
        assert.equal(queue.length, model.length);
        for (const [i, { value, text }] of model.entries()) {
          assert.equal(queue.get(queue.first + i, VALUE), value);
          assert.equal(queue.text(queue.first + i, TEXT), text);
          assert.ok(queue.hasText(queue.first + i, TEXT, text));
          assert.ok(!queue.hasText(queue.first + i, TEXT, `${text}y`) && !queue.hasText(queue.first + i, TEXT, "y"));
        }
        const hashes = new Set(model.map(({ hash }) => hash));
        for (const hash of [...hashes].slice(0, 300)) {
          const values = model.filter((row) => row.hash === hash).map(({ value }) => value);
          assert.deepEqual(
            found(queue, hash),
            values.sort((a, b) => a - b),
          );
        }
        assert.deepEqual(found(queue, 0xabcdef), []);
      }
    }),
    { seed, numRuns: 40, includeErrorInReport: true },
  );
});

function found(queue: HashFifo, hash: number): number[] {
  const values: number[] = [];
  for (let row = queue.find(hash); row !== NO_ROW; row = queue.findNext(row)) values.push(queue.get(row, VALUE));
  return values.sort((a, b) => a - b);
}
