import assert from "node:assert/strict";
import * as fs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import fc from "fast-check";
import { blank, type Message } from "../../../src/core/protocol/message-schema.ts";
import { AccountRow, KeyRow } from "../../../src/core/protocol/snapshot-schema.ts";
import { type Database, openDatabase } from "../../../src/store/database/database.ts";
import { Snapshots } from "../../../src/store/database/snapshots.ts";
import { AT_KIND, AT_LOG_BYTES, AT_TIME, KIND_SNAPSHOT } from "../../../src/wire/record.ts";
import { readSnapshotPart, SnapshotPartWriter } from "../../../src/wire/snapshot.ts";
import { takeSeed } from "../../core/support/seed.ts";

const seed = takeSeed("snapshots.test");

const root = fs.mkdtempSync(join(tmpdir(), "perpd-snapshots-"));
after(() => fs.rmSync(root, { recursive: true }));
let folders = 0;
const newDatabase = (): Database => openDatabase(join(root, String(folders++)));

interface Change {
  table: string;
  key: number | string;
  /** Null = removed. */
  row: Message | null;
}

const account = (accountId: number, address: string): Message =>
  Object.assign(blank(AccountRow), { accountId, address, balanceQuanta: -5 });
const apiKey = (label: string): Message => ({
  type: KeyRow.code,
  ...{ accountId: 16, apiKey: "k", record: { label, permissions: ["READ"], allowedIps: [] } },
});

/** The parts of one snapshot, each as it would come out of a ring: memory that is used again afterwards. */
function partsOf(actorId: number, sequence: number, changes: Change[], partBytes?: number): Uint8Array[] {
  const parts: Uint8Array[] = [];
  const writer = new SnapshotPartWriter(actorId, (record) => parts.push(record.slice()), partBytes);
  writer.stamp(sequence, 1000 + sequence);
  for (const { table, key, row } of changes) {
    if (row === null) writer.remove(table, key);
    else writer.put(table, key, row);
  }
  writer.end();
  return parts;
}

function load(database: Database, actorId: number): { sequence: number; rows: Map<string, Message> } {
  const rows = new Map<string, Message>();
  const sequence = new Snapshots(database).load(actorId, (table, key, row) => {
    rows.set(JSON.stringify([table, key]), row);
  });
  return { sequence, rows };
}

test("tables whose names begin with ~ are not loaded, and their rows are read one by one as of the last commit", async () => {
  const database = newDatabase();
  const snapshots = new Snapshots(database);
  const reader = snapshots.readerOf(3);
  assert.equal(reader.find("~left", "a"), undefined);
  const rows: Change[] = ["accounts", "~left", "ключи"].map((table) => ({ table, key: "a", row: account(1, table) }));
  snapshots.apply(3, 1, partsOf(3, 1, rows));
  assert.deepEqual([...load(database, 3).rows.keys()], ['["accounts","a"]', '["ключи","a"]']);
  assert.deepEqual(reader.find("~left", "a"), account(1, "~left"));
  assert.equal(reader.find("~left", "b"), undefined);
  assert.equal(snapshots.readerOf(2).find("~left", "a"), undefined, "that is another actor's");
  snapshots.apply(3, 2, partsOf(3, 2, [{ table: "~left", key: "a", row: null }]));
  assert.equal(reader.find("~left", "a"), undefined);
  await database.close();
});

test("an actor without a snapshot starts from nothing", async () => {
  const database = newDatabase();
  assert.deepEqual(load(database, 3), { sequence: 0, rows: new Map() });
  await database.close();
});

test("many snapshots in parts of any size give the same rows as the changes one by one", async () => {
  const database = newDatabase();
  const snapshots = new Snapshots(database);
  const model = new Map<number, Map<string, Message>>();
  let sequence = 0;
  const change = fc.record({
    table: fc.constantFrom("accounts", "keys", "ключи"),
    key: fc.oneof(
      fc.integer({ min: -3, max: 40 }),
      fc.constantFrom("a", "ab", "é", "x".repeat(300)),
      fc.constant(2 ** 50),
    ),
    row: fc.oneof(
      fc.constant(null),
      fc.tuple(fc.nat(), fc.string({ maxLength: 300, unit: "binary" })).map(([id, text]) => account(id, text)),
      fc.string().map(apiKey),
    ),
  });
  const snapshot = fc.tuple(
    fc.constantFrom(0, 1, 255),
    fc.array(change, { maxLength: 40 }),
    fc.constantFrom(2048, 5000),
  );
  fc.assert(
    fc.property(snapshot, ([actorId, changes, partBytes]) => {
      sequence += 3;
      const parts = partsOf(actorId, sequence, changes, partBytes);
      assert.ok(parts.every((part) => part.length <= partBytes));
      snapshots.apply(actorId, sequence, parts);
      const rows = model.get(actorId) ?? new Map<string, Message>();
      model.set(actorId, rows);
      for (const { table, key, row } of changes) {
        if (row === null) rows.delete(JSON.stringify([table, key]));
        else rows.set(JSON.stringify([table, key]), row);
      }
      assert.deepEqual(load(database, actorId), { sequence, rows });
    }),
    { seed, numRuns: 60 },
  );
  for (const [actorId, rows] of model) assert.deepEqual(load(database, actorId).rows, rows);
  await database.close();
});

test("a snapshot larger than a part is written in several parts", async () => {
  const database = newDatabase();
  const changes = Array.from({ length: 5000 }, (_, i) => ({
    table: "accounts",
    key: i,
    row: account(i, `0x${String(i).padStart(40, "0")}`),
  }));
  const parts = partsOf(0, 9, changes);
  assert.ok(parts.length >= 2);
  const heads = parts.map(readSnapshotPart);
  assert.deepEqual(
    heads.map(({ part, last }) => [part, last]),
    parts.map((_, i) => [i, i === parts.length - 1]),
  );
  assert.ok(heads.every(({ actorId, sequence }) => actorId === 0 && sequence === 9));
  new Snapshots(database).apply(0, 9, parts);
  const { rows } = load(database, 0);
  assert.equal(rows.size, 5000);
  assert.deepEqual(rows.get('["accounts",4321]'), changes[4321]?.row);
  await database.close();
});

test("the log refuses a snapshot part", () => {
  const [part] = partsOf(7, 12, []) as [Uint8Array];
  const view = new DataView(part.buffer);
  assert.equal(view.getUint32(AT_LOG_BYTES, true), 0);
  assert.equal(view.getUint8(AT_KIND), KIND_SNAPSHOT);
  assert.equal(view.getFloat64(AT_TIME, true), 1012);
  assert.deepEqual(readSnapshotPart(part), { actorId: 7, sequence: 12, time: 1012, part: 0, last: true });
});

test("the writer refuses a row that is larger than a part", () => {
  assert.throws(
    () => partsOf(1, 1, [{ table: "t", key: 1, row: account(1, "x".repeat(3000)) }], 2048),
    /larger than a part/,
  );
});

test("a snapshot without changes moves the sequence", async () => {
  const database = newDatabase();
  const snapshots = new Snapshots(database);
  snapshots.apply(5, 10, partsOf(5, 10, [{ table: "accounts", key: 1, row: account(1, "a") }]));
  snapshots.apply(5, 20, partsOf(5, 20, []));
  assert.equal(snapshots.sequenceOf(5), 20);
  assert.equal(load(database, 5).rows.size, 1);
  await database.close();
});

test("a snapshot whose rows were written ahead has the sequence of its end", async () => {
  const database = newDatabase();
  const snapshots = new Snapshots(database);
  const parts: Uint8Array[] = [];
  const writer = new SnapshotPartWriter(5, (record) => parts.push(record.slice()), 256);
  writer.stamp(10, 1000);
  for (let key = 1; key <= 10; key++) writer.put("accounts", key, account(key, "early"));
  writer.stamp(20, 2000);
  writer.end();
  assert.ok(parts.length > 1);
  snapshots.apply(5, 20, parts);
  assert.deepEqual([snapshots.sequenceOf(5), snapshots.timeOf(5), load(database, 5).rows.size], [20, 2000, 10]);
  await database.close();
});

test("another thread's load sees one state while snapshots go on", async () => {
  const dir = join(root, String(folders++));
  const writer = openDatabase(dir);
  const reader = openDatabase(dir, { readOnly: true });
  const snapshots = new Snapshots(writer);
  const state = (n: number): Change[] =>
    Array.from({ length: 50 }, (_, key) => ({ table: "t", key, row: account(n, "") }));
  snapshots.apply(1, 1, partsOf(1, 1, state(1)));
  const seen = new Set<number>();
  const sequence = new Snapshots(reader).load(1, (_table, key, row) => {
    if (key === 10) snapshots.apply(1, 2, partsOf(1, 2, state(2)));
    seen.add((row as unknown as { accountId: number }).accountId);
  });
  assert.equal(sequence, 1);
  assert.deepEqual([...seen], [1]);
  assert.equal(load(reader, 1).sequence, 2);
  await reader.close();
  await writer.close();
});
