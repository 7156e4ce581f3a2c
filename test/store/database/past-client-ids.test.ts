import assert from "node:assert/strict";
import * as fs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { serialToId } from "../../../src/core/base/enums.ts";
import { type Event, OrderPlaced } from "../../../src/core/protocol/events.ts";
import { blank } from "../../../src/core/protocol/message-schema.ts";
import { ClientIdRow } from "../../../src/core/protocol/snapshot-schema.ts";
import { ClientIdFilter } from "../../../src/store/database/client-id-filter.ts";
import { type Database, openDatabase } from "../../../src/store/database/database.ts";
import { IndexRecord, SnapshotRecord } from "../../../src/store/database/history-schema.ts";
import {
  clientIdKey,
  findPastIds,
  PastIdReader,
  type SharedPastIds,
} from "../../../src/store/database/past-client-ids.ts";
import { checkPastRows } from "../../../src/store/database/past-rows-check.ts";
import { Snapshots } from "../../../src/store/database/snapshots.ts";
import { WriteBatch } from "../../../src/store/database/write-batch.ts";
import { HistoryFold } from "../../../src/store/history/history-fold.ts";
import { countReads } from "../support/count-reads.ts";
import { event, INSTRUMENTS } from "../support/history-model.ts";

const root = fs.mkdtempSync(join(tmpdir(), "perpd-past-ids-"));
after(() => fs.rmSync(root, { recursive: true }));
const dir = join(root, "whole");
const file = (folder: string): string => join(folder, "database", "data.mdb");

const ALICE = 16;
const SYMBOL = 1;
const MANY = 4000;
/** The index is behind by these. */
const NOT_INDEXED = 10;
const T0 = 1e12;
const idOf = (serial: number): string => `id-${serial}`;
const orderIdOf = (serial: number): number => serialToId(serial, SYMBOL);

/** A snapshot with the ids of `count` orders, and an index with the first `indexed` of them. */
function fill(database: Database, count: number, indexed: number): void {
  const batch = new WriteBatch();
  batch.put(database.snapshotHeads, SYMBOL, { type: SnapshotRecord.code, sequence: 1, time: T0 });
  const row = { ...blank(ClientIdRow), accountId: ALICE, bodyHash: 7 };
  const fold = new HistoryFold(database, INSTRUMENTS);
  for (let serial = 1; serial <= count; serial++) {
    const [orderId, clientOrderId] = [orderIdOf(serial), idOf(serial)];
    Object.assign(row, { orderId, clientOrderId, time: T0 + serial });
    batch.put(database.pastRows, clientIdKey(SYMBOL, orderId), row);
    if (serial > indexed) continue;
    fold.transaction(serial, T0 + serial, SYMBOL);
    fold.apply(event(OrderPlaced, { orderId, accountId: ALICE, clientOrderId, quantityLots: 5, rests: 1 }) as Event);
    // As many runs, however many ids.
    if (serial % (count / 8) === 0) fold.commit();
  }
  fold.commit();
  database.commit(batch);
  database.refresh();
}

const shared = (database: Database): SharedPastIds => {
  const past = findPastIds(database, [SYMBOL]);
  return { ...past, filter: ClientIdFilter.allocate(past.count) };
};

const checked = (folder: string, past: SharedPastIds): Promise<Error | null> =>
  new Promise((resolve) => checkPastRows(folder, past, resolve));

let database: Database;
before(() => {
  database = openDatabase(dir);
  fill(database, MANY, MANY - NOT_INDEXED);
});
after(() => database.close());

test("a start loads the ids that the index does not find, and reads no more when ten times as many are left", async () => {
  const startOn = (of: Database): [loaded: number[], reads: number] => {
    const loaded: number[] = [];
    const reads = countReads(of)(() => {
      const { through } = findPastIds(of, [SYMBOL]);
      new Snapshots(of).load(SYMBOL, (_table, key) => loaded.push(key as number), through.get(SYMBOL));
    });
    return [loaded, reads];
  };
  const few = openDatabase(join(root, "few"));
  fill(few, MANY / 10, MANY / 10 - NOT_INDEXED);
  const [loaded, reads] = startOn(database);
  for (let serial = MANY - NOT_INDEXED + 1; serial <= MANY; serial++) assert.ok(loaded.includes(orderIdOf(serial)));
  assert.ok(loaded.length <= 2 * NOT_INDEXED, `${loaded.length} are loaded`);
  const [, readsOfFew] = startOn(few);
  assert.ok(reads <= readsOfFew + 10, `${reads} reads, and ${readsOfFew} with a tenth of the ids`);
  const batch = new WriteBatch();
  batch.put(few.index, "history", { ...blank(IndexRecord), clientIdGeneration: 3 });
  few.commit(batch);
  few.refresh();
  assert.equal(startOn(few)[0].length, MANY / 10, "an index of an older version finds them by long searches only");
  await few.close();
});

test("the ids that were left are found by text and by order, and expire in order", () => {
  const past = shared(database);
  const reader = new PastIdReader(database, past);
  const ofSymbol = reader.of(SYMBOL);
  const { type: _, ...found } = { type: 0, ...reader.find(ALICE, idOf(77)) };
  assert.deepEqual(
    { ...found },
    { accountId: ALICE, orderId: orderIdOf(77), bodyHash: 7, time: T0 + 77, clientOrderId: idOf(77) },
  );
  assert.equal(ofSymbol.find(ALICE, idOf(77))?.orderId, orderIdOf(77));
  assert.equal(reader.of(2).find(ALICE, idOf(77)), null, "that is another symbol's");
  assert.equal(reader.find(ALICE + 1, idOf(77)), null);
  assert.equal(reader.find(ALICE, "unknown"), null);
  assert.equal(reader.find(ALICE, idOf(MANY)), null, "it was loaded");
  assert.equal(ofSymbol.read(orderIdOf(3))?.clientOrderId, idOf(3));
  assert.equal(ofSymbol.read(orderIdOf(MANY)), null);
  const serials = (from: number, to: number) => Array.from({ length: to - from }, (__, i) => orderIdOf(from + i));
  assert.deepEqual(ofSymbol.takeExpired(T0 + 6, 3), serials(1, 4));
  assert.deepEqual(ofSymbol.takeExpired(T0 + 6, 3), serials(4, 6));
  assert.deepEqual(ofSymbol.takeExpired(T0 + 6, 3), []);
  const reads = countReads(database);
  assert.equal(
    reads(() => ofSymbol.takeExpired(T0 + 6, 3)),
    0,
    "nothing is read until the next id expires",
  );
  assert.deepEqual(ofSymbol.takeExpired(T0 + 7, 3), serials(6, 7));
});

test("a symbol finds its own use of an id that was used on another symbol later, also after their runs were merged", async () => {
  const two = openDatabase(join(root, "two"));
  const fold = new HistoryFold(two, INSTRUMENTS);
  const use = (serial: number, symbol: number, clientOrderId: string): number => {
    const orderId = serialToId(serial, symbol);
    fold.transaction(serial, T0 + serial, symbol);
    fold.apply(event(OrderPlaced, { orderId, accountId: ALICE, clientOrderId, quantityLots: 5, rests: 1 }) as Event);
    fold.commit();
    const batch = new WriteBatch();
    const row = { ...blank(ClientIdRow), accountId: ALICE, bodyHash: 7, orderId, clientOrderId, time: T0 + serial };
    batch.put(two.pastRows, clientIdKey(symbol, orderId), row);
    two.commit(batch);
    two.refresh();
    return orderId;
  };
  const [first, second] = [use(1, SYMBOL, "again"), use(2, 2, "again")];
  const check = (runs: number): void => {
    assert.equal(two.index.get("history")?.clientIdRuns?.length, runs);
    const past = findPastIds(two, [SYMBOL, 2]);
    const reader = new PastIdReader(two, { ...past, filter: ClientIdFilter.allocate(past.count) });
    assert.equal(reader.of(SYMBOL).find(ALICE, "again")?.orderId, first);
    assert.equal(reader.of(2).find(ALICE, "again")?.orderId, second);
    assert.equal(reader.find(ALICE, "again")?.orderId, second);
  };
  check(2);
  for (let serial = 3; serial <= 9; serial++) use(serial, serial % 2 === 0 ? 2 : SYMBOL, idOf(serial));
  check(2);
  await two.close();
});

test("after the check, unknown ids cost no read, and those that were left are found", async () => {
  const past = shared(database);
  const reader = new PastIdReader(database, past);
  const reads = countReads(database);
  assert.ok(reads(() => reader.find(ALICE, "unknown")) > 0);
  assert.equal(await checked(dir, past), null);
  const passed = Array.from({ length: 1000 }, (_, i) => reads(() => reader.find(ALICE, `unknown-${i}`)) > 0);
  assert.ok(passed.filter(Boolean).length < 20, `${passed.filter(Boolean).length} of 1000 unknown ids pass the filter`);
  for (let serial = 1; serial < 1000; serial++)
    assert.equal(reader.find(ALICE, idOf(serial))?.orderId, orderIdOf(serial));
});

test("damage in the rows that a start does not read is no obstacle to it, and the check names it", async () => {
  const damaged = join(root, "damaged");
  const trial = async (change: (bytes: Buffer, at: number) => void): Promise<Error | null> => {
    fs.rmSync(damaged, { recursive: true, force: true });
    fs.cpSync(dir, damaged, { recursive: true });
    const bytes = fs.readFileSync(file(damaged));
    // A row of the snapshot: behind its text stands none of another id.
    const clientOrderId = Buffer.from(`${idOf(1234)}`);
    for (let at = bytes.indexOf(clientOrderId); at >= 0; at = bytes.indexOf(clientOrderId, at + 1)) change(bytes, at);
    fs.writeFileSync(file(damaged), bytes);
    const database = openDatabase(damaged);
    const past = shared(database);
    await database.close();
    assert.ok(past.count > 0);
    return checked(damaged, past);
  };
  const flipped = await trial((bytes, at) => bytes.writeUInt8(bytes.readUInt8(at) ^ 1, at));
  assert.match(
    `${flipped}`,
    /DatabaseCorruptError: .*: the database cannot be read \(exit code 1\): table pastRows, key \[1,"clientIds",\d+\]: wrong checksum/,
  );
  const lost = await trial((bytes, at) => bytes.fill(0, at - (at % 4096), at - (at % 4096) + 4096));
  assert.match(`${lost}`, /DatabaseCorruptError: .*: the database cannot be read/);
});
