import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import * as fs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { crc32 } from "node:zlib";
import { blank } from "../../../src/core/protocol/message-schema.ts";
import { openDatabase } from "../../../src/store/database/database.ts";
import { OrderRecord, SnapshotRecord } from "../../../src/store/database/history-schema.ts";
import { WriteBatch } from "../../../src/store/database/write-batch.ts";
import { DatabaseCorruptError } from "../../../src/store/files/genesis.ts";
import { encodeMessage, maxMessageBytes } from "../../../src/wire/codec.ts";
import { viewOf } from "../../../src/wire/record.ts";

const root = fs.mkdtempSync(join(tmpdir(), "perpd-database-"));
after(() => fs.rmSync(root, { recursive: true }));

const READER = new URL("../support/reader-child.js", import.meta.url);
let folders = 0;
const newDir = (): string => join(root, String(folders++));
const dataFile = (dir: string): string => join(dir, "database", "data.mdb");
/** In LMDB's lock file: the latest commit. */
const AT_LATEST = 8;
/** Found in the data file wherever an order of fill() is stored. */
const MARK = "mark-of-an-order";

/** An exchange whose database holds `count` orders, and as many rows of a snapshot. */
async function fill(dir: string, count: number): Promise<void> {
  const database = openDatabase(dir);
  const batch = new WriteBatch();
  for (let orderId = 1; orderId <= count; orderId++) {
    const order = Object.assign(blank(OrderRecord), { orderId, clientOrderId: MARK });
    batch.put(database.orders, orderId, order);
    batch.put(database.snapshotRows, [1, "orders", orderId], order);
  }
  database.commit(batch);
  await database.close();
}

/** Changes the file's bytes around every place where MARK stands. */
function damage(file: string, change: (bytes: Buffer, at: number) => void): void {
  const bytes = fs.readFileSync(file);
  for (let at = bytes.indexOf(MARK); at >= 0; at = bytes.indexOf(MARK, at + 1)) change(bytes, at);
  fs.writeFileSync(file, bytes);
}

const refuses = (dir: string, message: RegExp): void =>
  assert.throws(
    () => openDatabase(dir),
    (error: Error) => error instanceof DatabaseCorruptError && message.test(error.message),
  );

test("committed rows and the exchange's identity are there after closing and opening", async () => {
  const dir = newDir();
  await fill(dir, 3);
  const database = openDatabase(dir);
  assert.equal(database.orders.get(3)?.clientOrderId, MARK);
  assert.equal(database.orders.get(4), undefined);
  const { exchangeId } = JSON.parse(fs.readFileSync(join(dir, "genesis.json"), "utf8"));
  assert.equal(database.genesis.exchangeId, exchangeId);
  await database.close();
});

test("a second opening in the process reads what the first commits, and cannot write", async () => {
  const dir = newDir();
  const writer = openDatabase(dir);
  const reader = openDatabase(dir, { readOnly: true });
  const batch = new WriteBatch();
  for (const sequence of [7, 8]) {
    batch.put(writer.snapshotHeads, 1, { type: SnapshotRecord.code, sequence, time: 1 });
    writer.commit(batch);
    reader.refresh();
    assert.equal(reader.snapshotHeads.get(1)?.sequence, sequence);
  }
  batch.put(reader.snapshotHeads, 1, { type: SnapshotRecord.code, sequence: 9, time: 1 });
  assert.throws(() => reader.commit(batch));
  await reader.close();
  await writer.close();
});

test("a batch that cannot be written leaves no trace", async () => {
  const database = openDatabase(newDir());
  const batch = new WriteBatch();
  batch.put(database.snapshotHeads, 1, { type: SnapshotRecord.code, sequence: 1, time: 1 });
  batch.put(database.snapshotRows, [1, "x".repeat(5000), 1], blank(OrderRecord)); // LMDB takes no such key
  assert.throws(() => database.commit(batch), { name: "DatabaseWriteError" });
  assert.equal(database.snapshotHeads.get(1), undefined);
  await database.close();
});

/**
 * What LMDB does in a process that opens the database: it says which commit it has read, though another one may have come since.
 * Returns what was said before. In a process of its own: closing the file would end this process's locks.
 */
function sayLatest(dir: string, transactionId: string | null): string {
  const script = `
    const { openSync, readSync, writeSync } = require("node:fs");
    const file = openSync(${JSON.stringify(join(dir, "database", "lock.mdb"))}, "r+");
    const bytes = Buffer.alloc(8);
    readSync(file, bytes, 0, 8, ${AT_LATEST});
    const said = bytes.readBigUInt64LE();
    process.stdout.write(String(said));
    bytes.writeBigUInt64LE(BigInt(${JSON.stringify(transactionId)} ?? said));
    writeSync(file, bytes, 0, 8, ${AT_LATEST});`;
  return spawnSync(process.execPath, ["-e", script], { encoding: "utf8" }).stdout;
}

test("a commit is not lost although another process that opens the database has not seen it", async () => {
  const dir = newDir();
  const database = openDatabase(dir);
  const batch = new WriteBatch();
  const commit = (actorId: number): void => {
    batch.put(database.snapshotHeads, actorId, { type: SnapshotRecord.code, sequence: 1, time: 1 });
    database.commit(batch);
  };
  commit(1);
  const first = sayLatest(dir, null);
  commit(2);
  sayLatest(dir, first);
  database.refresh();
  assert.equal(database.snapshotHeads.get(2), undefined);
  database.requireLatest();
  assert.equal(database.snapshotHeads.get(2)?.sequence, 1);
  commit(3);
  sayLatest(dir, first);
  commit(4);
  const fourth = sayLatest(dir, null);
  commit(5);
  sayLatest(dir, fourth);
  commit(6);
  await database.close();
  const again = openDatabase(dir);
  assert.deepEqual(
    [1, 2, 3, 4, 5, 6].map((actorId) => again.snapshotHeads.get(actorId)?.sequence ?? 0),
    [1, 1, 1, 1, 1, 1],
  );
  await again.close();
});

test("a reader that was killed does not make the file grow", async () => {
  const dir = newDir();
  await fill(dir, 100);
  const database = openDatabase(dir);
  /** As large as the whole database, again and again. */
  const rewrite = (times: number): void => {
    const batch = new WriteBatch();
    for (let i = 0; i < times; i++) {
      for (let orderId = 1; orderId <= 100; orderId++)
        batch.put(database.orders, orderId, Object.assign(blank(OrderRecord), { orderId, clientOrderId: MARK }));
      database.commit(batch);
    }
  };
  rewrite(10);
  const { signal } = spawnSync(process.execPath, [fileURLToPath(READER), dir]);
  assert.equal(signal, "SIGKILL");
  const before = fs.statSync(dataFile(dir)).size;
  rewrite(100);
  assert.ok(fs.statSync(dataFile(dir)).size < 2 * before);
  await database.close();
});

test("a missing database cannot be opened for reading", () => {
  assert.throws(() => openDatabase(newDir(), { readOnly: true }), DatabaseCorruptError);
});

test("an exchange whose database is missing, empty or replaced is refused", async () => {
  const dir = newDir();
  await fill(dir, 3);
  fs.truncateSync(dataFile(dir), 0);
  refuses(dir, /missing or empty/);
  fs.rmSync(dataFile(dir));
  refuses(dir, /missing or empty/);

  const other = newDir();
  await fill(other, 3);
  fs.copyFileSync(dataFile(other), dataFile(dir));
  refuses(dir, /belongs to the exchange/);

  fs.rmSync(join(other, "genesis.json"));
  refuses(other, /genesis/);
  fs.rmSync(join(other, "initialised.json"));
  refuses(other, /has no genesis/);
});

test("a database without its marker is refused, even if it looks sound", async () => {
  const dir = newDir();
  await fill(dir, 3);
  const database = openDatabase(dir);
  const batch = new WriteBatch();
  batch.remove(database.genesisRecords, "genesis");
  database.commit(batch);
  await database.close();
  refuses(dir, /empty, but the exchange was initialised/);
});

test("the creation of an exchange can be interrupted and repeated", async () => {
  const dir = newDir();
  await fill(dir, 3);
  fs.rmSync(join(dir, "initialised.json"));
  await openDatabase(dir).close();
  assert.ok(fs.existsSync(join(dir, "initialised.json")));
  fs.rmSync(join(dir, "initialised.json"));
  fs.rmSync(join(dir, "database"), { recursive: true });
  await openDatabase(dir).close();
  assert.ok(fs.existsSync(join(dir, "initialised.json")));
});

test("a flipped bit in a value names its table and key", async () => {
  const dir = newDir();
  await fill(dir, 3);
  damage(dataFile(dir), (bytes, at) => {
    bytes[at] = bytes.readUInt8(at) ^ 1;
  });
  refuses(dir, /table snapshotRows, key \[1,"orders",1\]: wrong checksum/);
  const database = openDatabase(dir, { probe: false });
  assert.throws(() => database.orders.get(2), /table orders, key 2: wrong checksum/);
  assert.throws(() => database.orders.each({}, () => {}), DatabaseCorruptError);
  await database.close();
});

test("a row under a wrong key or in a wrong table is noticed", async () => {
  const dir = newDir();
  await fill(dir, 3);
  const database = openDatabase(dir);
  const value = database.orders.lmdb.getBinary(2) as Buffer;
  database.orders.lmdb.putSync(9, value);
  database.transfers.lmdb.putSync(2, value);
  database.refresh();
  assert.throws(() => database.orders.get(9), /table orders, key 9: wrong checksum/);
  assert.throws(() => database.transfers.get(2), /table transfers, key 2: wrong checksum/);
  assert.equal(database.orders.get(2)?.orderId, 2);
  await database.close();
});

test("a flipped bit in LMDB's search keys does not hide rows", async () => {
  const dir = newDir();
  const rows = 3000;
  await fill(dir, rows);
  const sound = fs.readFileSync(dataFile(dir));
  let noticed = 0;
  for (const { at, length } of keysOfBranches(sound))
    for (const place of [at + length - 1, at + length - 2]) {
      const bytes = Buffer.from(sound);
      bytes.writeUInt8(bytes.readUInt8(place) ^ 0x10, place);
      fs.writeFileSync(dataFile(dir), bytes);
      const database = openDatabase(dir, { probe: false });
      try {
        database.snapshotRows.verify();
        database.orders.verify();
        for (let orderId = 1; orderId <= rows; orderId++) {
          assert.ok(database.orders.get(orderId) !== undefined, `order ${orderId} is hidden by byte ${place}`);
          assert.ok(database.snapshotRows.get([1, "orders", orderId]) !== undefined, `row ${orderId}, byte ${place}`);
        }
      } catch (error) {
        assert.match((error as Error).message, /is not found by its key|rows can be found/);
        noticed++;
      } finally {
        await database.close();
      }
    }
  assert.ok(noticed > 0);
});

test("a flipped bit in a table's name does not lead to an empty table", async () => {
  const dir = newDir();
  await fill(dir, 50);
  const sound = fs.readFileSync(dataFile(dir));
  for (const name of ["orders", "snapshotRows", "fundMovements", "genesis"])
    for (let byte = 0; byte < name.length; byte++) {
      const bytes = Buffer.from(sound);
      for (let at = bytes.indexOf(name); at >= 0; at = bytes.indexOf(name, at + 1)) {
        const place = at + byte;
        bytes.writeUInt8(bytes.readUInt8(place) ^ (1 << (byte % 5)), place);
      }
      fs.writeFileSync(dataFile(dir), bytes);
      assert.throws(() => openDatabase(dir, { probe: false }), DatabaseCorruptError, `${name}, byte ${byte}`);
      assert.throws(() => openDatabase(dir, { readOnly: true }), /tables/, `${name}, byte ${byte}`);
    }
  fs.writeFileSync(dataFile(dir), sound);
  await openDatabase(dir).close();
});

test("a row that stands twice, in place of another, is noticed", async () => {
  const dir = newDir();
  await fill(dir, 200);
  const bytes = fs.readFileSync(dataFile(dir));
  for (let page = 0; page < bytes.length; page += 4096) {
    const isLeafOfOrders = bytes.readUInt16LE(page + 18) === 2 && bytes.subarray(page, page + 4096).includes(MARK);
    // One entry leads where its neighbour does.
    if (isLeafOfOrders) bytes.writeUInt16LE(bytes.readUInt16LE(page + 24 + 4), page + 24 + 2);
  }
  fs.writeFileSync(dataFile(dir), bytes);
  refuses(dir, /table snapshotRows, key .*: out of order/);
  const database = openDatabase(dir, { probe: false });
  assert.throws(() => database.orders.verify(), /table orders, key \d+: out of order/);
  await database.close();
});

/** Some of the keys in LMDB's branch pages: 24 bytes of header, flags at 18; the nodes' offsets count from behind it. */
function* keysOfBranches(bytes: Buffer): Generator<{ at: number; length: number }> {
  for (let page = 0; page < bytes.length; page += 4096) {
    if (bytes.readUInt16LE(page + 18) !== 1) continue;
    const nodes = bytes.readUInt16LE(page + 20) >> 1;
    for (let i = 1; i < nodes; i += 9) {
      const node = page + 24 + bytes.readUInt16LE(page + 24 + 2 * i);
      yield { at: node + 8, length: bytes.readUInt16LE(node + 6) };
    }
  }
}

test("values of older versions are read, and an error names one of a newer version", async () => {
  const dir = newDir();
  await fill(dir, 3);
  const database = openDatabase(dir);
  const order = database.orders.require(2);
  const old = Buffer.alloc(5 + maxMessageBytes(order));
  const end = encodeMessage(viewOf(old), old, 5, { ...order, priceTicks: 7 } as typeof order);
  const write = (version: number, checksumBefore: number): void => {
    const value = old.subarray(0, end);
    value.writeUInt8(version, 0);
    value.writeUInt32LE(crc32(value.subarray(5), checksumBefore), 1);
    database.orders.lmdb.putSync(2, value);
    database.refresh();
  };
  write(1, 0);
  assert.deepEqual(database.orders.get(2), { ...order, priceTicks: 7 });
  write(2, database.orders.crcOf(2));
  assert.deepEqual(database.orders.get(2), { ...order, priceTicks: 7 });
  write(2, 0);
  assert.throws(() => database.orders.get(2), /key 2: wrong checksum/);
  write(4, database.orders.crcOf(2));
  assert.throws(() => database.orders.get(2), /key 2: version 4, this program reads up to 3/);
  await database.close();
});

test("lost pages and a file that is no database are found without ending the process", async () => {
  const dir = newDir();
  await fill(dir, 2000);
  damage(dataFile(dir), (bytes, at) => {
    const page = at - (at % 4096);
    if (page % (7 * 4096) === 0) bytes.fill(0, page, page + 4096);
  });
  refuses(dir, /cannot be read/);
  fs.writeFileSync(dataFile(dir), Buffer.alloc(1 << 20, "no database "));
  refuses(dir, /cannot be read/);
  fs.writeFileSync(dataFile(dir), "short");
  refuses(dir, /cannot be read/);
});
