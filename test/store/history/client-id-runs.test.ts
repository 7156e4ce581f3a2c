import assert from "node:assert/strict";
import * as fs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import * as enums from "../../../src/core/base/enums.ts";
import { type Event, OrderPlaced } from "../../../src/core/protocol/events.ts";
import { blank, type Message } from "../../../src/core/protocol/message-schema.ts";
import { readEverything } from "../../../src/operate/database-check.ts";
import { type Database, openDatabase } from "../../../src/store/database/database.ts";
import {
  ClientIdRecord,
  type ClientIdRun,
  ClientOrderRecord,
  IndexRecord,
  OrderRecord,
} from "../../../src/store/database/history-schema.ts";
import { WriteBatch } from "../../../src/store/database/write-batch.ts";
import { History } from "../../../src/store/history/history.ts";
import { HistoryFold, readIndex } from "../../../src/store/history/history-fold.ts";
import { takeSeed } from "../../core/support/seed.ts";
import { countReads } from "../support/count-reads.ts";
import { event, INSTRUMENTS, random } from "../support/history-model.ts";

const seed = takeSeed("client-id-runs.test");
const root = fs.mkdtempSync(join(tmpdir(), "perpd-client-ids-"));
after(() => fs.rmSync(root, { recursive: true }));
let folders = 0;
const newDir = (): string => join(root, String(folders++));

const ALICE = 16;

const placed = (serial: number, accountId: number, clientOrderId: string): Message =>
  event(OrderPlaced, { orderId: enums.serialToId(serial, 1), accountId, clientOrderId, quantityLots: 5, rests: 1 });

/** One commit: a transaction with these events. */
function commit(fold: HistoryFold, events: readonly Message[]): void {
  const sequence = fold.indexedSequence + 1;
  fold.transaction(sequence, 1000 + sequence, 1);
  for (const message of events) fold.apply(message as Event);
  fold.commit();
}

/** The id of the order that a whole search finds; 0 = none. */
function search(history: History, accountId: number, clientOrderId: string): number {
  let { order, olderThan } = history.orderByClientId(accountId, clientOrderId);
  while (order === undefined && olderThan !== null)
    ({ order, olderThan } = history.orderByClientId(accountId, clientOrderId, olderThan));
  return order?.orderId ?? 0;
}

/** An index as an earlier program wrote it: `generations`, the oldest first, lead from client order ids to serials. */
function writeGenerations(database: Database, newest: number, generations: Map<number, Record<string, number>>): void {
  const batch = new WriteBatch();
  for (const [generation, ids] of generations) {
    for (const [clientOrderId, serial] of Object.entries(ids)) {
      const orderId = enums.serialToId(serial, 1);
      const order = { ...blank(OrderRecord), orderId, accountId: ALICE, clientOrderId };
      batch.put(database.orders, orderId, order);
      batch.put(database.clientOrders, [generation, ALICE, clientOrderId], { type: ClientOrderRecord.code, orderId });
    }
  }
  batch.put(database.index, "history", { ...blank(IndexRecord), clientIdGeneration: newest });
  database.commit(batch);
}

test("one call reads few rows of 25,000 generations that an earlier program wrote, and the calls together read them all", async () => {
  const database = openDatabase(newDir());
  writeGenerations(
    database,
    25_000,
    new Map([
      [3, { old: 1, again: 2 }],
      [24_999, { again: 3 }],
    ]),
  );
  const history = new History(database);
  const readsOf = countReads(database);
  assert.ok(readsOf(() => history.orderByClientId(ALICE, "unknown")) < 200);
  assert.ok(readsOf(() => history.orderByClientId(ALICE, "unknown", 20_000)) < 200);
  assert.equal(search(history, ALICE, "unknown"), 0);
  assert.equal(search(history, ALICE, "old"), enums.serialToId(1, 1));
  assert.equal(search(history, ALICE, "again"), enums.serialToId(3, 1));
  await database.close();
});

test("commits turn the generations of an earlier program into runs, and the latest order of an id counts all the time", async () => {
  const dir = newDir();
  const database = openDatabase(dir);
  const generations = new Map<number, Record<string, number>>();
  for (let generation = 0; generation < 20; generation++) {
    const ids: Record<string, number> = { always: 1000 + generation };
    for (let i = 0; i < (generation === 7 ? 2500 : 3); i++)
      ids[`g${generation}-${i}`] = 100_000 + generation * 5000 + i;
    generations.set(generation, ids);
  }
  writeGenerations(database, 19, generations);
  const history = new History(database);
  const fold = new HistoryFold(database, INSTRUMENTS);
  for (let round = 0; round < 30; round++) {
    assert.equal(search(history, ALICE, "always"), enums.serialToId(round < 25 ? 1019 : 2000, 1));
    for (const generation of [0, 7, 19])
      assert.equal(search(history, ALICE, `g${generation}-2`), enums.serialToId(100_002 + generation * 5000, 1));
    // A search that began earlier must not miss what has moved meanwhile.
    const { order, olderThan } = history.orderByClientId(ALICE, "g0-1", 10);
    assert.deepEqual([order?.orderId, olderThan], [enums.serialToId(100_001, 1), null]);
    commit(fold, round === 24 ? [placed(2000, ALICE, "always")] : []);
    database.refresh();
  }
  assert.equal(readIndex(database).clientIdGeneration, -1);
  database.clientOrders.each({ end: ["A"] }, (key) => assert.fail(`left: ${key}`));
  assert.ok(readIndex(database).clientIdRuns.length < 12);
  await database.close();
  readEverything(dir);
});

test("commits turn the runs of an earlier program, which held the ids themselves, into runs of hashes", async () => {
  const dir = newDir();
  const database = openDatabase(dir);
  const batch = new WriteBatch();
  /** The newest first. The second was being merged into the first, which has its first ids already. */
  const runs = [
    { id: 9, level: 1, targetId: 0, last: null, ids: { again: 1, both: 3 } },
    { id: 4, level: 0, targetId: 9, last: null, ids: { again: 1, old: 2, yet: 5 } },
    { id: 2, level: 0, targetId: 9, last: null, ids: { both: 4, older: 6 } },
  ];
  for (const { id, ids } of runs) {
    const rows = Object.entries(ids).map(([clientOrderId, serial]) => {
      const orderId = enums.serialToId(serial, 1);
      batch.put(database.orders, orderId, { ...blank(OrderRecord), orderId, accountId: ALICE, clientOrderId });
      const row: ClientIdRecord = { type: ClientIdRecord.code, accountId: ALICE, orderId, clientOrderId };
      return batch.encodeRow(row);
    });
    batch.putRows(database.clientOrders, ["RUN", id, ALICE, Object.keys(ids)[0] as string], rows);
  }
  const clientIdRuns = runs.map(({ ids: _, ...run }) => run) as unknown as ClientIdRun[];
  const old = { ...blank(IndexRecord), clientIdGeneration: -1, lastClientIdRun: 9, clientIdRuns };
  batch.put(database.index, "history", old);
  database.commit(batch);
  const history = new History(database);
  const fold = new HistoryFold(database, INSTRUMENTS);
  for (let round = 0; round < 12; round++) {
    for (const [clientOrderId, serial] of Object.entries({ again: 1, both: 3, old: 2, older: 6, yet: 5, none: 0 }))
      assert.equal(
        search(history, ALICE, clientOrderId),
        serial === 0 ? 0 : enums.serialToId(serial, 1),
        clientOrderId,
      );
    commit(fold, [placed(100 + round, ALICE, `new-${round}`)]);
    database.refresh();
  }
  database.clientOrders.each({ start: ["RUN"], end: ["S"] }, (key) => assert.fail(`left: ${key}`));
  await database.close();
  readEverything(dir);
});

test("after hundreds of commits a look-up reads few rows, and finds the latest order of every id", async () => {
  const next = random(seed);
  const dir = newDir();
  let database = openDatabase(dir);
  let fold = new HistoryFold(database, INSTRUMENTS);
  const latest = new Map<string, number>();
  let serial = 0;
  let mostReads = 0;
  let readsOf = countReads(database);
  for (let round = 0; round < 160; round++) {
    const events: Message[] = [];
    const count = next() < 0.2 ? Math.floor(next() * 1500) : Math.floor(next() * 8);
    for (let i = 0; i < count; i++) {
      const accountId = ALICE + Math.floor(next() * 3);
      // Half of them come again later.
      const clientOrderId = next() < 0.5 ? `id-${Math.floor(next() * 2000)}` : `once-${serial}`;
      events.push(placed(++serial, accountId, clientOrderId));
      latest.set(`${accountId} ${clientOrderId}`, enums.serialToId(serial, 1));
    }
    commit(fold, events);
    database.refresh();
    if (round % 60 === 59) {
      await database.close();
      database = openDatabase(dir, { probe: false });
      fold = new HistoryFold(database, INSTRUMENTS);
      readsOf = countReads(database);
    }
    const history = new History(database);
    mostReads = Math.max(
      mostReads,
      readsOf(() => history.orderByClientId(ALICE, "unknown")),
    );
    if (round % 30 !== 0) continue;
    for (const [key, orderId] of latest) {
      const [accountId, clientOrderId] = key.split(" ") as [string, string];
      if (next() < 0.05) assert.equal(search(history, Number(accountId), clientOrderId), orderId, key);
    }
    assert.equal(search(history, ALICE + 9, "id-1"), 0);
  }
  // One level of runs has 15 at most, and each run takes two reads. 160 commits make three levels.
  assert.ok(mostReads <= 91, `${mostReads} reads`);
  await database.close();
  readEverything(dir);
});
