import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { blank, type Message } from "../../src/core/protocol/message-schema.ts";
import { AccountRow, LedgerRow } from "../../src/core/protocol/snapshot-schema.ts";
import { decodeMessage } from "../../src/wire/codec.ts";
import { AT_KIND, AT_LOG_BYTES, KIND_SNAPSHOT } from "../../src/wire/record.ts";
import { eachSnapshotEntry, readSnapshotPart, type SnapshotPart, SnapshotPartWriter } from "../../src/wire/snapshot.ts";
import { takeSeed } from "../core/support/seed.ts";

const seed = takeSeed("snapshot.test");

interface Entry {
  op: "put" | "remove";
  table: string;
  key: number | string;
  row: Message | null;
}

/** The receiver's result. Each part is read from its own memory, which ends with the part. */
class Received {
  readonly parts: SnapshotPart[] = [];
  readonly entries: Entry[] = [];

  take(record: Uint8Array, shared: boolean): void {
    const copy = new Uint8Array(shared ? new SharedArrayBuffer(record.length) : new ArrayBuffer(record.length));
    copy.set(record);
    const view = new DataView(copy.buffer);
    assert.equal(view.getUint8(AT_KIND), KIND_SNAPSHOT);
    assert.equal(view.getUint32(AT_LOG_BYTES, true), 0, "a snapshot is not logged");
    assert.equal(record.length % 8, 0);
    this.parts.push(readSnapshotPart(copy));
    eachSnapshotEntry(copy, {
      put: (table, key, row) => {
        const bytes = row.slice();
        this.entries.push({ op: "put", table, key, row: decodeMessage(new DataView(bytes.buffer), bytes, 0) });
      },
      remove: (table, key) => this.entries.push({ op: "remove", table, key, row: null }),
    });
  }
}

const key = fc.oneof(
  fc.maxSafeInteger(),
  fc.string({ unit: "grapheme", maxLength: 40 }),
  fc.constantFrom("", "\uFEFF", "\uFEFFkey", "é".repeat(20)),
);
const row = fc.oneof(
  fc
    .record({ accountId: fc.nat(), address: fc.string({ unit: "grapheme" }), balanceQuanta: fc.maxSafeInteger() })
    .map((fields) => Object.assign(blank(AccountRow), fields) as Message),
  fc.bigInt().map((quanta) => Object.assign(blank(LedgerRow), { depositedQuanta: String(quanta) }) as Message),
);
const entry: fc.Arbitrary<Entry> = fc.record(
  {
    op: fc.constantFrom("put", "remove"),
    table: fc.constantFrom("accounts", "a", "ledger", "tablé"),
    key,
    row,
  },
  { noNullPrototype: true },
);

test("the rows of a snapshot arrive in order, over any number of parts", () => {
  fc.assert(
    fc.property(
      fc.array(fc.array(entry, { maxLength: 40, size: "max" }), { minLength: 1, maxLength: 3 }),
      fc.constantFrom(512, 1024, 65_536),
      fc.boolean(),
      (snapshots, partBytes, shared) => {
        let received = new Received();
        let largest = 0;
        const emit = (record: Uint8Array): void => {
          largest = Math.max(largest, record.length);
          received.take(record, shared);
        };
        const writer = new SnapshotPartWriter(7, emit, partBytes);
        for (const [i, entries] of snapshots.entries()) {
          received = new Received();
          writer.stamp(1000 + i, 5);
          for (const { op, table, key, row } of entries)
            if (op === "put") writer.put(table, key, row as Message);
            else writer.remove(table, key);
          writer.end();
          const expected = entries.map((entry) => (entry.op === "put" ? entry : { ...entry, row: null }));
          assert.deepEqual(received.entries, expected);
          const count = received.parts.length;
          assert.deepEqual(
            received.parts,
            Array.from({ length: count }, (_, part) => ({
              actorId: 7,
              sequence: 1000 + i,
              time: 5,
              part,
              last: part === count - 1,
            })),
          );
        }
        assert.ok(largest <= partBytes);
      },
    ),
    { seed, numRuns: 400, includeErrorInReport: true },
  );
});

test("an empty snapshot is one part, because it carries the sequence", () => {
  const received = new Received();
  const writer = new SnapshotPartWriter(3, (record) => received.take(record, false));
  writer.stamp(42, 5);
  writer.end();
  assert.deepEqual(received.parts, [{ actorId: 3, sequence: 42, time: 5, part: 0, last: true }]);
  assert.deepEqual(received.entries, []);
});

test("a row larger than a part is refused, and so is a truncated part", () => {
  const parts: Uint8Array[] = [];
  const writer = new SnapshotPartWriter(3, (record) => parts.push(record.slice()), 512);
  writer.stamp(1, 5);
  const large = Object.assign(blank(AccountRow), { address: "x".repeat(600) });
  assert.throws(() => writer.put("accounts", 1, large), /a row of accounts is larger than a part/);
  writer.stamp(1, 5);
  writer.put("accounts", 1, blank(AccountRow));
  writer.end();
  const part = parts[parts.length - 1];
  const ignore = { put: () => {}, remove: () => {} };
  assert.throws(() => eachSnapshotEntry(part.slice(0, -8), ignore), /shorter than its header says/);
});
