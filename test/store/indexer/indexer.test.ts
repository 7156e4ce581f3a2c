import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import * as fs from "node:fs";
import { tmpdir } from "node:os";
import { extname, join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { LEDGER, STATUS_CANCELED, serialToId } from "../../../src/core/base/enums.ts";
import { type Event, OrderClosed, OrderPlaced, Traded } from "../../../src/core/protocol/events.ts";
import { blank } from "../../../src/core/protocol/message-schema.ts";
import { AccountRow } from "../../../src/core/protocol/snapshot-schema.ts";
import { readEverything } from "../../../src/operate/database-check.ts";
import { type Database, openDatabase } from "../../../src/store/database/database.ts";
import { isOpen, OrderRecord } from "../../../src/store/database/history-schema.ts";
import { Snapshots } from "../../../src/store/database/snapshots.ts";
import { DISK } from "../../../src/store/files/files.ts";
import { History } from "../../../src/store/history/history.ts";
import { HistoryFold, readIndex } from "../../../src/store/history/history-fold.ts";
import { HistoryPruner } from "../../../src/store/history/history-pruner.ts";
import { Indexer } from "../../../src/store/indexer/indexer.ts";
import { listSegments } from "../../../src/store/log/log-segment.ts";
import { SnapshotPartWriter } from "../../../src/wire/snapshot.ts";
import { takeSeed } from "../../core/support/seed.ts";
import { assertEqual } from "../support/history-checks.ts";
import {
  ACCOUNTS,
  event,
  HistoryModel,
  INSTRUMENT_IDS,
  INSTRUMENTS,
  LogGenerator,
  type LoggedTransaction,
  random,
} from "../support/history-model.ts";
import { RETENTION, spreadOverDays, writeLog } from "../support/logged.ts";

const seed = takeSeed("keeper.test");

const root = fs.mkdtempSync(join(tmpdir(), "perpd-keeper-"));
after(() => fs.rmSync(root, { recursive: true }));
let folders = 0;
const newDir = (): string => join(root, String(folders++));
const logDir = (dir: string): string => join(dir, "log");

const SEGMENT_BYTES = 16_384;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const ACTOR_IDS = [LEDGER, ...INSTRUMENT_IDS];

type Stored = [actorId: number, sequence: number][];
const indexerOf = (database: Database, dir: string, stored: Stored = [], keepSegments = false): Indexer =>
  new Indexer({
    ...{ database, logDir: logDir(dir), instruments: INSTRUMENTS, actorIds: ACTOR_IDS, keepSegments },
    onSnapshotStored: (actorId, sequence) => stored.push([actorId, sequence]),
  });

function modelThrough(transactions: readonly LoggedTransaction[], sequence: number): HistoryModel {
  const model = new HistoryModel();
  for (const transaction of transactions) if (transaction.sequence <= sequence) model.apply(transaction);
  return model;
}

function snapshotOf(actorId: number, sequence: number, rows: number): Uint8Array[] {
  const parts: Uint8Array[] = [];
  const writer = new SnapshotPartWriter(actorId, (record) => parts.push(record.slice()), 4096);
  writer.stamp(sequence, 1);
  for (let accountId = 1; accountId <= rows; accountId++) {
    writer.put(
      "accounts",
      accountId,
      Object.assign({ type: AccountRow.code }, { accountId, address: "", balanceQuanta: 1 }),
    );
  }
  writer.end();
  return parts;
}

test("the parts of a snapshot may come long before its end, which sets its sequence", async () => {
  const dir = newDir();
  writeLog(logDir(dir), new LogGenerator(seed).transactions(3), SEGMENT_BYTES);
  const database = openDatabase(dir);
  const stored: Stored = [];
  const indexer = indexerOf(database, dir, stored);
  const parts: Uint8Array[] = [];
  const writer = new SnapshotPartWriter(LEDGER, (record) => parts.push(record.slice()), 512);
  const put = (key: number): void => writer.put("accounts", key, blank(AccountRow));
  writer.stamp(0, 1);
  for (let key = 1; key <= 30; key++) put(key);
  const early = parts.length;
  assert.ok(early > 1);
  writer.stamp(1, 2);
  put(31);
  writer.end();
  for (const part of parts.slice(0, early)) indexer.onSnapshotRecord(part);
  indexer.step(1);
  assert.deepEqual(stored, []);
  for (const part of parts.slice(early)) indexer.onSnapshotRecord(part);
  indexer.step(0);
  assert.deepEqual(stored, [], "the log does not hold yet what it rests on");
  indexer.step(1);
  assert.deepEqual(stored, [[LEDGER, 1]]);
  const rows: unknown[] = [];
  assert.equal(
    new Snapshots(database).load(LEDGER, (_, key) => rows.push(key)),
    1,
  );
  assert.deepEqual(
    rows,
    Array.from({ length: 31 }, (_, i) => i + 1),
  );
  indexer.close();
  await database.close();
});

test("endless snapshots do not stop the index, nor the other way round", async () => {
  const dir = newDir();
  const transactions = new LogGenerator(seed).transactions(60);
  writeLog(logDir(dir), transactions, SEGMENT_BYTES);
  const database = openDatabase(dir);
  const stored: Stored = [];
  const indexer = indexerOf(database, dir, stored);
  const hand = (): void => {
    for (const part of snapshotOf(LEDGER, 1, 1)) indexer.onSnapshotRecord(part);
  };
  for (let durable = 10; durable <= transactions.length; durable += 10) {
    for (let step = 0; step < 2; step++) {
      hand();
      assert.equal(indexer.step(durable), true);
    }
    assert.equal(indexer.indexedSequence, durable);
    assert.equal(stored.length, durable / 10);
  }
  while (indexer.step(transactions.length));
  assert.equal(stored.length, (2 * transactions.length) / 10, "and none is forgotten");
  indexer.close();
  await database.close();
});

test("the thread may yield at every transaction and every row", async () => {
  const dir = newDir();
  const transactions = new LogGenerator(seed).transactions(300);
  writeLog(logDir(dir), transactions, SEGMENT_BYTES);
  const database = openDatabase(dir);
  const options = { database, logDir: logDir(dir), instruments: INSTRUMENTS, actorIds: ACTOR_IDS };
  let breaths = 0;
  const indexer = new Indexer({ ...options, yieldNow: () => breaths++, onSnapshotStored: () => {} });
  while (indexer.step(transactions.length));
  const indexing = breaths;
  assert.ok(indexing > transactions.length, `${indexing} breaths`);
  for (const part of snapshotOf(LEDGER, transactions.length, 100)) indexer.onSnapshotRecord(part);
  indexer.step(transactions.length);
  assert.ok(breaths - indexing > 100, `${breaths - indexing} breaths`);
  indexer.close();
  await database.close();
});

test("the index follows a growing log, in steps and after a start", async () => {
  const dir = newDir();
  const transactions = new LogGenerator(seed).transactions(900);
  writeLog(logDir(dir), transactions.slice(0, 300), SEGMENT_BYTES);
  const database = openDatabase(dir);
  let indexer = indexerOf(database, dir);
  const follow = (through: number): void => {
    while (indexer.step(through)) assert.ok(indexer.indexedSequence < through);
    assert.equal(indexer.indexedSequence, through);
    assertEqual(new History(database), modelThrough(transactions, through), random(seed));
  };
  assert.equal(indexer.step(0), false);
  follow(1);
  follow(299); // 300 is in the log, but nobody has said that it is on disk
  writeLog(logDir(dir), transactions.slice(300, 600), SEGMENT_BYTES);
  follow(600);
  indexer.close();
  indexer = indexerOf(database, dir);
  assert.equal(indexer.indexedSequence, 600);
  assert.equal(indexer.step(600), false);
  writeLog(logDir(dir), transactions.slice(600), SEGMENT_BYTES);
  follow(900);
  indexer.close();
  await database.close();
});

test("a log that lacks the index's next transaction stops the indexer", async () => {
  const dir = newDir();
  writeLog(logDir(dir), new LogGenerator(seed).transactions(20), SEGMENT_BYTES);
  const database = openDatabase(dir);
  const indexer = indexerOf(database, dir);
  assert.throws(() => indexer.step(21), { name: "LogCorruptError" });
  await database.close();
});

/** Hands a snapshot over in memory that is used again at once, as a ring's is. */
function handOver(indexer: Indexer, actorId: number, sequence: number, rows: number): void {
  for (const part of snapshotOf(actorId, sequence, rows)) {
    indexer.onSnapshotRecord(part);
    part.fill(0xee);
  }
}

function rowsOf(database: Database, actorId: number): { sequence: number; rows: number } {
  let rows = 0;
  const sequence = new Snapshots(database).load(actorId, () => rows++);
  return { sequence, rows };
}

test("a snapshot is stored after its last part, and parts of several actors may interleave", async () => {
  const dir = newDir();
  writeLog(logDir(dir), new LogGenerator(seed).transactions(6), SEGMENT_BYTES);
  const database = openDatabase(dir);
  const stored: Stored = [];
  const indexer = indexerOf(database, dir, stored);
  const ledger = snapshotOf(LEDGER, 5, 500);
  const symbol = snapshotOf(1, 6, 300);
  assert.ok(ledger.length > symbol.length && symbol.length > 2);
  for (let i = 0; i < ledger.length; i++) {
    assert.equal(stored.length, i <= symbol.length - 1 ? 0 : 1);
    indexer.onSnapshotRecord(ledger[i] as Uint8Array);
    if (symbol[i] !== undefined) indexer.onSnapshotRecord(symbol[i] as Uint8Array);
    indexer.step(6);
  }
  while (indexer.step(6));
  assert.deepEqual(stored, [
    [1, 6],
    [LEDGER, 5],
  ]);
  assert.deepEqual(rowsOf(database, LEDGER), { sequence: 5, rows: 500 });
  assert.deepEqual(rowsOf(database, 1), { sequence: 6, rows: 300 });
  await database.close();
});

test("a snapshot waits until its sequence is durable", async () => {
  const dir = newDir();
  writeLog(logDir(dir), new LogGenerator(seed).transactions(6), SEGMENT_BYTES);
  const database = openDatabase(dir);
  const indexer = indexerOf(database, dir);
  handOver(indexer, 1, 5, 3);
  handOver(indexer, 1, 6, 3);
  while (indexer.step(4));
  assert.equal(rowsOf(database, 1).sequence, 0);
  while (indexer.step(5));
  assert.equal(rowsOf(database, 1).sequence, 5);
  while (indexer.step(6));
  assert.equal(rowsOf(database, 1).sequence, 6);
  handOver(indexer, 1, 5, 3);
  assert.throws(() => indexer.step(6), /snapshot of 5 after one of 6/);
  await database.close();
});

test("a part out of order stops the indexer, and a snapshot may start again", async () => {
  const dir = newDir();
  const database = openDatabase(dir);
  const indexer = indexerOf(database, dir);
  const [first, second, third] = snapshotOf(1, 5, 500) as [Uint8Array, Uint8Array, Uint8Array];
  assert.throws(() => indexer.onSnapshotRecord(second), /out of order/);
  indexer.onSnapshotRecord(first);
  assert.throws(() => indexer.onSnapshotRecord(third), /out of order/);
  assert.throws(() => indexer.onSnapshotRecord(snapshotOf(1, 4, 500)[1] as Uint8Array), /out of order/);
  handOver(indexer, 1, 0, 500);
  indexer.step(0);
  assert.equal(rowsOf(database, 1).rows, 500);
  await database.close();
});

test("segments are removed when the index and every actor's snapshot are past them", async () => {
  const dir = newDir();
  writeLog(logDir(dir), new LogGenerator(seed).transactions(600), SEGMENT_BYTES);
  const segments = listSegments(logDir(dir));
  assert.ok(segments.length >= 5);
  const database = openDatabase(dir);
  const indexer = indexerOf(database, dir);
  const store = (actorId: number, sequence: number): void => {
    handOver(indexer, actorId, sequence, 3);
    while (indexer.step(600));
  };
  store(LEDGER, 500);
  store(1, 600);
  assert.equal(indexer.neededFrom, 1);
  assert.deepEqual(listSegments(logDir(dir)), segments, "actor 7 has no snapshot yet");
  store(7, 300);
  assert.equal(indexer.neededFrom, 301);
  assert.deepEqual(
    listSegments(logDir(dir)),
    segments.filter((_, i) => (segments[i + 1] ?? Number.POSITIVE_INFINITY) > 301),
  );
  assert.equal(indexerOf(database, dir).neededFrom, 301);
  store(7, 600);
  store(LEDGER, 600);
  assert.equal(listSegments(logDir(dir)).length, 1);
  await database.close();
});

test("a segment that cannot be removed is told once and tried again, and the index goes on", async () => {
  const dir = newDir();
  writeLog(logDir(dir), new LogGenerator(seed).transactions(600), SEGMENT_BYTES);
  const segments = listSegments(logDir(dir));
  const database = openDatabase(dir);
  const told: string[] = [];
  let isHeld = true;
  const indexer = new Indexer({
    ...{ database, logDir: logDir(dir), instruments: INSTRUMENTS, actorIds: ACTOR_IDS },
    onSnapshotStored: () => {},
    onSegmentKept: ({ message }) => told.push(message),
    files: {
      ...DISK,
      unlinkSync(path) {
        if (isHeld) throw Object.assign(new Error(`EPERM: ${path}`), { code: "EPERM" });
        fs.unlinkSync(path);
      },
    },
  });
  const store = (sequence: number): void => {
    for (const actorId of ACTOR_IDS) handOver(indexer, actorId, sequence, 1);
    while (indexer.step(600));
  };
  for (let sequence = 300; sequence < 350; sequence++) store(sequence);
  assert.equal(indexer.indexedSequence, 600);
  assert.deepEqual(listSegments(logDir(dir)), segments);
  assert.equal(told.length, 1);
  assert.match(told[0] ?? "", /EPERM: .*log-0+1\.seg/);
  isHeld = false;
  for (let i = 0; i < 100; i++) indexer.step(600);
  assert.ok(listSegments(logDir(dir)).length < segments.length);
  isHeld = true;
  store(600);
  for (let i = 0; i < 100; i++) indexer.step(600);
  assert.equal(told.length, 2);
  await database.close();
});

test("segments stay while the index needs them, or with keepSegments", async () => {
  const dir = newDir();
  writeLog(logDir(dir), new LogGenerator(seed).transactions(300), SEGMENT_BYTES);
  const segments = listSegments(logDir(dir));
  const database = openDatabase(dir);
  const indexer = indexerOf(database, dir, [], true);
  for (const actorId of ACTOR_IDS) handOver(indexer, actorId, 300, 1);
  assert.equal(indexer.step(300), true);
  assert.equal(indexer.indexedSequence, 0);
  assert.equal(indexer.neededFrom, 1);
  assert.deepEqual(listSegments(logDir(dir)), segments);
  while (indexer.step(300));
  assert.equal(indexer.neededFrom, 301);
  assert.deepEqual(listSegments(logDir(dir)), segments);
  await database.close();
});

test("a commit on a full disk gives an error and leaves the index unchanged", async () => {
  const dir = newDir();
  const transactions = new LogGenerator(seed).transactions(3000);
  writeLog(logDir(dir), transactions, SEGMENT_BYTES);
  // A limit to the size of files, in blocks of 512 bytes: writes beyond it fail as they do on a full disk.
  const { reached, errors } = await runChild(dir, transactions.length, { shell: 'ulimit -f 1000; exec "$0" "$@"' });
  assert.match(errors, /DatabaseWriteError/);
  assert.ok(reached > 0 && reached < transactions.length);
  const database = openDatabase(dir);
  assert.equal(readIndex(database).sequence, reached);
  assertEqual(new History(database), modelThrough(transactions, reached), random(seed));
  await database.close();
});

test("a process killed ten times while it indexes and removes old history leaves whole batches and continues", async () => {
  const dir = newDir();
  const transactions = spreadOverDays(new LogGenerator(seed).transactions(3000), 40);
  const modelOf = (history: History, sequence: number): HistoryModel => {
    const model = modelThrough(transactions, sequence);
    model.keepSince(history.keptSince());
    return model;
  };
  const next = random(seed);
  writeLog(logDir(dir), transactions, 1 << 20);
  let reached = 0;
  for (let kill = 0; kill < 10; kill++) {
    const said = await runChild(dir, transactions.length, { killAfterCommits: 1 + Math.floor(next() * 40) });
    const database = openDatabase(dir, { probe: kill === 9 });
    const indexer = indexerOf(database, dir);
    assert.ok(indexer.indexedSequence >= Math.max(said.reached, reached), "what was committed is gone");
    assert.equal(said.errors, "");
    reached = indexer.indexedSequence;
    const history = new History(database);
    assertEqual(history, modelOf(history, reached), next);
    indexer.close();
    await database.close();
  }
  const database = openDatabase(dir);
  const indexer = indexerOf(database, dir);
  while (indexer.step(transactions.length));
  const history = new History(database);
  assert.ok(history.keptSince() > 0, "nothing was removed");
  assertEqual(history, modelOf(history, transactions.length), next);
  await database.close();
});

test("reads end where the kept history begins, at every moment of its removal, and only what is kept is left", async () => {
  const dir = newDir();
  const transactions = spreadOverDays(new LogGenerator(seed).transactions(900), 60);
  const next = random(seed);
  writeLog(logDir(dir), transactions, 1 << 20);
  const options = { logDir: logDir(dir), instruments: INSTRUMENTS, actorIds: ACTOR_IDS, onSnapshotStored: () => {} };
  let database = openDatabase(dir);
  let indexer = new Indexer({ database, ...options, retention: RETENTION });
  for (let step = 0; step < 400; step++) {
    indexer.step(Math.min(transactions.length, indexer.indexedSequence + Math.floor(next() * 12)));
    if (step % 20 !== 0) continue;
    const history = new History(database);
    const model = modelThrough(transactions, indexer.indexedSequence);
    model.keepSince(history.keptSince());
    assert.equal(indexer.historySince, history.keptSince());
    assertEqual(history, model, next);
    if (next() > 0.3) continue;
    indexer.close();
    await database.close();
    database = openDatabase(dir, { probe: false });
    indexer = new Indexer({ database, ...options, retention: RETENTION });
  }
  const { time: end = 0 } = transactions.at(-1) ?? {};
  const since = new History(database).keptSince();
  assert.equal(since, end - 5 * DAY_MS - ((end - 5 * DAY_MS) % HOUR_MS));
  const pruner = new HistoryPruner(database, INSTRUMENTS, RETENTION);
  while (pruner.step(end));
  const model = modelThrough(transactions, transactions.length);
  model.keepSince(since);
  const { shown, stored } = countOrders(database, since);
  assert.equal(shown, model.closed.length);
  // The chunk in which the kept part of a list begins has older rows, too.
  assert.ok(stored < shown + 16 * ACCOUNTS.length, `${stored} of ${shown}`);
  assert.ok(model.removed.length > stored, "the generator has grown lazy");
  indexer.close();
  await database.close();
  readEverything(dir);
});

/** Closed orders in the lists, and those of them that are shown. */
function countOrders(database: Database, since: number): { shown: number; stored: number } {
  let shown = 0;
  let stored = 0;
  for (const accountId of ACCOUNTS)
    database.closedOrders.read(accountId, { limit: 1e6 }, (entry) => {
      const time = entry.type === OrderRecord.code ? entry.updatedAt : entry.time;
      stored++;
      if (time >= since) shown++;
      return null;
    });
  let rows = 0;
  database.orders.each({}, (_key, order) => {
    if (!isOpen(order)) rows++;
  });
  assert.ok(rows <= stored, "rows of removed orders are left");
  return { shown, stored };
}

/** Folds orders of three customers in one commit: of every three one is canceled, and two trade with each other. */
function foldOrders(fold: HistoryFold, count: number, time: number): void {
  for (let i = 0; i < count; i += 3) {
    const sequence = fold.indexedSequence + 1 + i;
    const order = (n: number) => {
      const orderId = serialToId(3 * sequence + n, 1);
      return { orderId, accountId: 16 + n, clientOrderId: `order-${orderId}`, quantityLots: 5 };
    };
    const [canceled, taker, maker] = [order(0), order(1), order(2)];
    fold.transaction(sequence, time + i, 1);
    for (const placed of [canceled, taker, maker]) fold.apply(event(OrderPlaced, placed) as Event);
    fold.apply(event(OrderClosed, { ...canceled, status: STATUS_CANCELED }) as Event);
    const sides = { takerOrderId: taker.orderId, takerAccountId: 17, makerOrderId: maker.orderId, makerAccountId: 18 };
    fold.apply(event(Traded, { tradeId: taker.orderId, ...sides, priceTicks: 3, quantityLots: 5 }) as Event);
  }
  fold.commit();
}

test("a history of many days in which as much is removed as is added keeps the size of its file", async () => {
  const dir = newDir();
  const database = openDatabase(dir);
  const fold = new HistoryFold(database, INSTRUMENTS);
  const pruner = new HistoryPruner(database, INSTRUMENTS, { days: 2, maxBytes: 0 });
  const sizes: number[] = [];
  const ids: number[] = [];
  for (let day = 1; day <= 40; day++) {
    for (let commit = 0; commit < 6; commit++) {
      foldOrders(fold, 150, day * DAY_MS + commit * 4 * HOUR_MS);
      pruner.step(fold.clock);
    }
    while (pruner.step(fold.clock));
    // Candles of an hour and more stay.
    sizes.push(fs.statSync(join(dir, "database", "data.mdb")).size - database.candles.usedBytes());
    ids.push(database.clientOrders.usedBytes());
  }
  assert.ok((sizes[39] as number) <= 1.1 * (sizes[11] as number), sizes.join(" "));
  assert.ok((ids[39] as number) <= 1.5 * (ids[11] as number), ids.join(" "));
  const history = new History(database);
  const { data } = history.ordersOf(16, { limit: 1000 });
  const [newest, oldest] = [data.at(0), data.at(-1)] as [OrderRecord, OrderRecord];
  assert.equal(data.length, (6 + 6 + 1) * 50, "of two days, with the hour in which they begin");
  for (const { orderId, clientOrderId } of [newest, oldest])
    assert.equal(history.orderByClientId(16, clientOrderId).order?.orderId, orderId);
  assert.deepEqual(history.orderByClientId(16, `order-${serialToId(3, 1)}`), { order: undefined, olderThan: null });
  await database.close();
  readEverything(dir);
});

test("a history that is too large loses its oldest part, and never the last 25 hours", async () => {
  const database = openDatabase(newDir());
  const fold = new HistoryFold(database, INSTRUMENTS);
  const begin = Date.parse(database.genesis.createdAt);
  for (let hour = 0; hour < 60; hour++) foldOrders(fold, 120, begin + hour * HOUR_MS);
  const history = new History(database);
  const keptHours = (maxBytes: number): number => {
    const pruner = new HistoryPruner(database, INSTRUMENTS, { days: 0, maxBytes });
    for (let steps = 0; steps < 100; steps++) pruner.step(fold.clock);
    return (fold.clock - history.keptSince()) / HOUR_MS;
  };
  const { closedOrders, fills, trades, candles, shortLivedOrders } = database;
  const tables = [closedOrders, fills, trades, candles, shortLivedOrders];
  const bytes = (): number => tables.reduce((sum, table) => sum + table.usedBytes(), 0);
  const all = bytes();
  assert.equal(keptHours(1e9), fold.clock / HOUR_MS);
  const hours = keptHours(0.8 * all);
  assert.ok(hours > 25 && hours < 58, `${hours} hours`);
  assert.ok(bytes() < 0.8 * all, `${bytes()} of ${all} bytes`);
  const least = keptHours(1);
  assert.ok(least >= 25 && least < 26, `${least} hours`);
  await database.close();
});

const CHILD = fileURLToPath(new URL(`../support/indexer-child${extname(import.meta.url)}`, import.meta.url));

interface ChildOptions {
  /** A line of shell that ends by running the child. */
  shell?: string;
  killAfterCommits?: number;
}

/** Resolves, when the child has ended, with the last sequence that it said it had committed. */
function runChild(dir: string, last: number, options: ChildOptions): Promise<{ reached: number; errors: string }> {
  const { shell = 'exec "$0" "$@"', killAfterCommits = Number.POSITIVE_INFINITY } = options;
  const child = spawn("sh", ["-c", shell, process.execPath, CHILD, dir, String(last)]);
  let output = "";
  let errors = "";
  child.stderr.on("data", (chunk: Buffer) => {
    errors += chunk;
  });
  child.stdout.on("data", (chunk: Buffer) => {
    output += chunk;
    if (output.split("\n").length > killAfterCommits) child.kill("SIGKILL");
  });
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", () => {
      resolve({ reached: Math.max(0, ...output.split("\n").slice(0, -1).map(Number)), errors });
    });
  });
}
