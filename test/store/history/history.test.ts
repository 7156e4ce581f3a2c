import assert from "node:assert/strict";
import * as fs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import * as enums from "../../../src/core/base/enums.ts";
import {
  type Event,
  OperatorActed,
  OrderClosed,
  OrderPlaced,
  OrderReduced,
  Traded,
} from "../../../src/core/protocol/events.ts";
import type { Message } from "../../../src/core/protocol/message-schema.ts";
import { type Database, openDatabase } from "../../../src/store/database/database.ts";
import { BadCursorError } from "../../../src/store/database/pages.ts";
import { History } from "../../../src/store/history/history.ts";
import { HistoryFold, readIndex } from "../../../src/store/history/history-fold.ts";
import { takeSeed } from "../../core/support/seed.ts";
import { countReads } from "../support/count-reads.ts";
import { allPages, assertEqual, pagesOf } from "../support/history-checks.ts";
import {
  event,
  HistoryModel,
  INSTRUMENTS,
  LogGenerator,
  type LoggedTransaction,
  random,
} from "../support/history-model.ts";

const seed = takeSeed("history.test");

const root = fs.mkdtempSync(join(tmpdir(), "perpd-history-"));
after(() => fs.rmSync(root, { recursive: true }));
let folders = 0;
const newDir = (): string => join(root, String(folders++));

const ALICE = 16;

function foldTransactions(fold: HistoryFold, transactions: readonly LoggedTransaction[]): void {
  for (const { sequence, time, actorId, events } of transactions) {
    fold.transaction(sequence, time, actorId);
    for (const message of events) fold.apply(message as Event);
  }
  fold.commit();
}

/** One event a turn, a millisecond apart from 1000 on unless `times` says otherwise. */
const transactionsOf = (events: Message[], times: number[] = []): LoggedTransaction[] =>
  events.map((one, i) => ({ sequence: i + 1, time: times[i] ?? 1000 + i, actorId: 1, events: [one] }));

const placed = (serial: number, fields: object = {}): Message =>
  event(OrderPlaced, {
    orderId: enums.serialToId(serial, 1),
    accountId: ALICE,
    quantityLots: 5,
    rests: 1,
    ...fields,
  });
const closed = (serial: number, accountId = ALICE): Message =>
  event(OrderClosed, {
    orderId: enums.serialToId(serial, 1),
    accountId,
    status: enums.STATUS_CANCELED,
    reason: enums.REASON_USER,
  });

async function withHistory(
  transactions: LoggedTransaction[],
  check: (history: History, database: Database) => void,
): Promise<void> {
  const database = openDatabase(newDir());
  foldTransactions(new HistoryFold(database, INSTRUMENTS), transactions);
  check(new History(database), database);
  await database.close();
}

for (const round of [0, 1, 2]) {
  test(`batches of any size, folded by one process or many, answer as a plain list would (${round})`, async () => {
    const next = random(seed + round);
    const generator = new LogGenerator(seed + round);
    const model = new HistoryModel();
    const dir = newDir();
    let database = openDatabase(dir);
    let fold = new HistoryFold(database, INSTRUMENTS);
    for (let batch = 0; batch < 24; batch++) {
      const transactions = generator.transactions(1 + Math.floor(next() * 80));
      transactions.forEach((transaction) => {
        model.apply(transaction);
      });
      foldTransactions(fold, transactions);
      database.refresh();
      assert.equal(readIndex(database).sequence, transactions.at(-1)?.sequence);
      if (next() < 0.3) {
        await database.close();
        database = openDatabase(dir, { probe: false });
        fold = new HistoryFold(database, INSTRUMENTS);
        assert.equal(fold.indexedSequence, transactions.at(-1)?.sequence);
      }
      if (batch % 6 === 5) assertEqual(new History(database), model, next);
    }
    assert.ok(model.fills.length > 100 && model.closed.length > 100, "the generator has grown lazy");
    await database.close();
  });
}

test("an order has its latest state; an open one is found by id but not listed", async () => {
  const transactions = transactionsOf([
    placed(1, { clientOrderId: "mine", priceTicks: 7, side: enums.SELL }),
    event(OrderReduced, { orderId: enums.serialToId(1, 1), accountId: ALICE, byLots: 2, resting: 1 }),
  ]);
  await withHistory(transactions, (history) => {
    const order = history.orderByClientId(ALICE, "mine").order;
    assert.equal(order?.orderId, 257);
    assert.deepEqual([order?.quantityLots, order?.remainingLots, order?.status], [5, 3, enums.STATUS_NEW]);
    assert.deepEqual([order?.createdAt, order?.updatedAt, order?.sequence], [1000, 1001, 2]);
    assert.deepEqual(history.ordersOf(ALICE, { limit: 10 }), { data: [], nextCursor: null });
    assert.equal(history.orderByClientId(ALICE + 1, "mine").order, undefined);
    assert.equal(history.orderById(258), undefined);
    assert.deepEqual([history.isOpen(257, 1000), history.isOpen(258, 1000)], [true, false]);
    assert.ok(history.isOpen(258, 5000), "the index does not reach it");
  });
  await withHistory([...transactions, ...transactionsOf([closed(1)])], (history) =>
    assert.equal(history.isOpen(257, 1000), false),
  );
});

test("house accounts leave public trades and candles, but no rows of their own", async () => {
  const house = enums.INSURANCE_ACCOUNT;
  const trade = event(Traded, {
    ...{ tradeId: 257, takerOrderId: 257, makerOrderId: 513, takerAccountId: house, makerAccountId: house },
    ...{ priceTicks: 3, quantityLots: 2 },
  });
  const transactions = transactionsOf([
    placed(1, { accountId: house, clientOrderId: "a" }),
    placed(2, { accountId: house }),
    trade,
    closed(2, house),
  ]);
  await withHistory(transactions, (history, database) => {
    assert.equal(history.tradesOf(1, { limit: 9 }).data.length, 1);
    assert.equal(
      history.candles({ instrumentId: 1, priceType: "LAST", interval: "1d" }, { limit: 9 })[0]?.volumeLots,
      2,
    );
    for (const table of [database.orders, database.closedOrders, database.clientOrders, database.fills]) {
      assert.equal(table.verify(), 0, table.name);
    }
  });
});

test("orders that end in the batch that places them are found by id and client id, and listed", async () => {
  const other = ALICE + 1;
  const brief = (serial: number) => [
    placed(serial, { accountId: serial % 3 === 0 ? other : ALICE, clientOrderId: `c${serial}`, rests: 0 }),
    closed(serial, serial % 3 === 0 ? other : ALICE),
  ];
  const transactions: LoggedTransaction[] = [];
  const add = (...events: Message[]): number =>
    transactions.push({ sequence: transactions.length + 1, time: 1000 + transactions.length, actorId: 1, events });
  for (let serial = 1; serial <= 300; serial++) if (serial % 50 !== 0) add(...brief(serial));
  // One turn: many, which end in another order than that of their ids.
  const many = Array.from({ length: 80 }, (_, i) => 400 + i);
  add(...many.map((serial) => placed(serial)), ...many.toReversed().map((serial) => closed(serial)));
  const database = openDatabase(newDir());
  const fold = new HistoryFold(database, INSTRUMENTS);
  foldTransactions(fold, transactions.slice(0, 100));
  foldTransactions(fold, transactions.slice(100));
  // Of a later batch, which leaves one of two open.
  const later = [[placed(600), placed(601)], [closed(600)]].map((events, i) => ({
    ...{ sequence: transactions.length + 1 + i, time: 5000 + i, actorId: 1, events },
  }));
  foldTransactions(fold, later);
  const history = new History(database);
  for (let serial = 0; serial <= 500; serial++) {
    const order = history.orderById(enums.serialToId(serial, 1));
    const isThere = (serial >= 1 && serial <= 300 && serial % 50 !== 0) || many.includes(serial);
    assert.equal(order?.orderId, isThere ? enums.serialToId(serial, 1) : undefined, `serial ${serial}`);
    if (isThere) assert.equal(order?.status, enums.STATUS_CANCELED);
  }
  assert.equal(history.orderById(enums.serialToId(7, 7)), undefined);
  assert.equal(history.orderByClientId(other, "c33").order?.orderId, enums.serialToId(33, 1));
  const listed = allPages(30, (query) => history.ordersOf(ALICE, query)).map(({ orderId }) => (orderId - 1) / 256);
  assert.deepEqual(listed.slice(0, 81), [600, ...many]);
  assert.deepEqual(listed.slice(81, 85), [299, 298, 296, 295]);
  assert.equal(history.orderById(enums.serialToId(601, 1))?.status, enums.STATUS_NEW);
  assert.equal(database.orders.verify(), 1);
  await database.close();
});

test("orders of many batches share chunks, and a cursor from before its chunk grew still leads to the same orders", async () => {
  const database = openDatabase(newDir());
  const fold = new HistoryFold(database, INSTRUMENTS);
  const history = new History(database);
  let cursor: string | undefined;
  for (let serial = 1; serial <= 40; serial++) {
    fold.transaction(serial, 1000 + serial, 1);
    fold.apply(placed(serial) as Event);
    fold.apply(closed(serial) as Event);
    fold.commit();
    if (serial === 20) cursor = history.ordersOf(ALICE, { limit: 1 }).nextCursor ?? undefined;
  }
  assert.ok(database.closedOrders.verify() <= 4, "values");
  const serials = (from?: string) =>
    pagesOf(7, "DESC", ({ limit, cursor = from }) => history.ordersOf(ALICE, { limit, cursor })).map(
      ({ orderId }) => (orderId - 1) / 256,
    );
  assert.deepEqual(
    serials(),
    Array.from({ length: 40 }, (_, i) => 40 - i),
  );
  assert.deepEqual(
    serials(cursor),
    Array.from({ length: 19 }, (_, i) => 19 - i),
  );
  await database.close();
});

test("an event about an unknown order stops the fold", async () => {
  await assert.rejects(
    withHistory(transactionsOf([closed(1)]), () => {}),
    /missing: order 257/,
  );
});

test("a cursor of another list is refused", async () => {
  const transactions = transactionsOf([placed(1), placed(2), closed(1), closed(2)]);
  await withHistory(transactions, (history) => {
    const { nextCursor } = history.ordersOf(ALICE, { limit: 1 });
    assert.ok(nextCursor !== null);
    assert.equal(history.ordersOf(ALICE, { limit: 1, cursor: nextCursor }).data[0]?.orderId, enums.serialToId(1, 1));
    const bad = ["", "x", "1.2.3", "1.2.3.4.5", "-1.2.3.4", "1.2.3.4.", "1e3.2.3.4", "9007199254740993.1.1.1"];
    for (const cursor of [...bad, `${nextCursor} `]) {
      assert.throws(() => history.ordersOf(ALICE, { limit: 1, cursor }), BadCursorError, cursor);
    }
    // Made up, but well formed: it leads nowhere else than into the same list.
    assert.deepEqual(history.ordersOf(ALICE, { limit: 1, cursor: "1.1.1.1" }).data, []);
    assert.equal(history.ordersOf(ALICE, { limit: 9, cursor: nextCursor.replace(/\d+$/, "99") }).data.length, 2);
  });
});

test("a page ends exactly where the list does", async () => {
  const transactions = transactionsOf([placed(1), placed(2), closed(1), closed(2)]);
  await withHistory(transactions, (history) => {
    assert.equal(history.ordersOf(ALICE, { limit: 2 }).nextCursor, null);
    assert.equal(history.ordersOf(ALICE, { limit: 2, startTime: 1003 }).data.length, 1);
    assert.equal(history.ordersOf(ALICE, { limit: 2, startTime: 1003, endTime: 1003 }).data.length, 1);
    assert.equal(history.ordersOf(ALICE, { limit: 2, startTime: 1004 }).data.length, 0);
    assert.equal(history.ordersOf(ALICE, { limit: 2, endTime: 1002 }).data.length, 1);
  });
});

test("a transaction with hundreds of fills is read page by page", async () => {
  const bob = ALICE + 1;
  const makers = Array.from({ length: 300 }, (_, i) => placed(i + 1, { accountId: bob, quantityLots: 1 }));
  const sweep = makers.map((_, i) =>
    event(Traded, {
      ...{
        tradeId: enums.serialToId(i + 1, 1),
        takerOrderId: enums.serialToId(500, 1),
        makerOrderId: enums.serialToId(i + 1, 1),
      },
      ...{ takerAccountId: ALICE, makerAccountId: bob, quantityLots: 1, priceTicks: 1 },
    }),
  );
  const transactions = transactionsOf(makers);
  const taker = placed(500, { quantityLots: 300, rests: 0 });
  transactions.push({ sequence: 301, time: 9000, actorId: 1, events: [taker, ...sweep] });
  await withHistory(transactions, (history) => {
    const expected = sweep.map((_, i) => enums.serialToId(i + 1, 1)).reverse();
    for (const limit of [1, 7, 24, 299, 300, 1000]) {
      const fills = allPages(limit, (query) => history.fillsOf(ALICE, query));
      assert.deepEqual(
        fills.map(({ tradeId }) => tradeId),
        expected,
      );
      const orders = allPages(limit, (query) => history.ordersOf(bob, query));
      assert.deepEqual(
        orders.map(({ orderId }) => orderId),
        expected,
      );
    }
    assert.equal(history.ordersOf(ALICE, { limit: 9 }).data[0]?.filledLots, 300);
    assert.deepEqual(history.tradesOf(1, { limit: 2 }).data.length, 2);
  });
});

test("an order's fills are found before thousands of later ones of its account", async () => {
  const bob = ALICE + 1;
  const trade = (serial: number, takerSerial: number): Message =>
    event(Traded, {
      ...{
        tradeId: enums.serialToId(serial, 1),
        takerOrderId: enums.serialToId(takerSerial, 1),
        quantityLots: 1,
        priceTicks: 1,
      },
      ...{ makerOrderId: enums.serialToId(1, 1), takerAccountId: ALICE, makerAccountId: bob },
    });
  const events = [placed(1, { accountId: bob, quantityLots: 6000 }), placed(2, { quantityLots: 1 }), trade(1, 2)];
  events.push(placed(3, { quantityLots: 6000 }));
  for (let serial = 2; serial <= 5001; serial++) events.push(trade(serial, 3));
  const database = openDatabase(newDir());
  const fold = new HistoryFold(database, INSTRUMENTS);
  const transactions = transactionsOf(events);
  foldTransactions(fold, transactions.slice(0, 4));
  foldTransactions(fold, transactions.slice(4));
  const history = new History(database);
  const first = history.orderById(enums.serialToId(2, 1));
  assert.ok(first !== undefined);
  assert.deepEqual(
    history.fillsOfOrder(first, { limit: 10 }).data.map(({ tradeId }) => tradeId),
    [enums.serialToId(1, 1)],
  );
  await database.close();
});

test("a list is read through an early sequence without reading what came after it", async () => {
  const { reads, fills } = { reads: [] as number[], fills: [] as number[][] };
  const database = openDatabase(newDir());
  const fold = new HistoryFold(database, INSTRUMENTS);
  const bob = ALICE + 1;
  const events = [placed(1, { quantityLots: 9000 }), placed(2, { accountId: bob, quantityLots: 9000 })];
  for (let serial = 1; serial <= 4000; serial++) {
    const makers = { makerOrderId: enums.serialToId(1, 1), makerAccountId: ALICE };
    const takers = { takerOrderId: enums.serialToId(2, 1), takerAccountId: bob };
    events.push(
      event(Traded, { tradeId: enums.serialToId(serial, 1), ...makers, ...takers, quantityLots: 1, priceTicks: 1 }),
    );
  }
  // All within the ten seconds that times of actors may differ by: many at one time, and then many times.
  const times = events.map((_, i) => (i < 2000 ? 5000 : 5000 + i));
  const transactions = transactionsOf(events, times);
  foldTransactions(fold, transactions.slice(0, 2));
  for (let at = 2; at < transactions.length; at += 2) foldTransactions(fold, transactions.slice(at, at + 2));
  const history = new History(database);
  const readsOf = countReads(database);
  for (const throughSequence of [2, 3, 4, 999, 2001, 2002, 3500, 4002, 5000])
    reads.push(
      readsOf(() => {
        const { data } = history.fillsOf(ALICE, { limit: 2, throughSequence });
        fills.push(data.map(({ sequence }) => sequence));
      }),
    );
  assert.deepEqual(fills, [
    [],
    [3],
    [4, 3],
    [999, 998],
    [2001, 2000],
    [2002, 2001],
    [3500, 3499],
    [4002, 4001],
    [4002, 4001],
  ]);
  assert.ok(Math.max(...reads) < 120, String(reads));
  await database.close();
});

test("when actors' times differ from the log's order, lists keep the order and time windows find every row", async () => {
  const times = [5000, 5000, 5000, 5000, 5000, 4990, 5010, 4980];
  const transactions = transactionsOf(
    [...[1, 2, 3, 4].map((n) => placed(n)), ...[1, 2, 3, 4].map((n) => closed(n))],
    times,
  );
  const database = openDatabase(newDir());
  for (const transaction of transactions) foldTransactions(new HistoryFold(database, INSTRUMENTS), [transaction]);
  const closedBetween = (startTime?: number, endTime?: number): number[] =>
    new History(database).ordersOf(ALICE, { limit: 9, startTime, endTime }).data.map(({ updatedAt }) => updatedAt);
  assert.deepEqual(closedBetween(), [4980, 5010, 4990, 5000]);
  assert.deepEqual(closedBetween(4980, 4990), [4980, 4990]);
  assert.deepEqual(closedBetween(5000), [5010, 5000]);
  assert.deepEqual(closedBetween(undefined, 5000), [4980, 4990, 5000]);
  await database.close();
});

test("a filter that rejects almost everything searches in steps and finds its rows", async () => {
  const other = event(OrderPlaced, { orderId: enums.serialToId(9, 7), accountId: ALICE, quantityLots: 1 });
  const otherClosed = event(OrderClosed, {
    orderId: enums.serialToId(9, 7),
    accountId: ALICE,
    status: enums.STATUS_EXPIRED,
  });
  const events = [other, otherClosed];
  for (let serial = 10; serial < 12_010; serial++) events.push(placed(serial), closed(serial));
  await withHistory(transactionsOf(events), (history) => {
    let pages = 0;
    const found = allPages(100, (query) => {
      pages++;
      return history.ordersOf(ALICE, { ...query, instrumentId: 7 });
    });
    assert.deepEqual(
      found.map(({ orderId }) => orderId),
      [enums.serialToId(9, 7)],
    );
    assert.equal(pages, 2 * 4, "four from each end");
  });
});

test("a client order id is found among many later ones, and the latest wins", async () => {
  const events: Message[] = [];
  for (let serial = 1; serial <= 40_000; serial++) events.push(placed(serial, { clientOrderId: `id-${serial}` }));
  events.push(placed(40_001, { clientOrderId: "id-2" }));
  const database = openDatabase(newDir());
  const fold = new HistoryFold(database, INSTRUMENTS);
  const transactions = transactionsOf(events);
  for (let at = 0; at < transactions.length; at += 1000) foldTransactions(fold, transactions.slice(at, at + 1000));
  const history = new History(database);
  for (const serial of [1, 3, 16_384, 16_385, 40_000]) {
    assert.equal(history.orderByClientId(ALICE, `id-${serial}`).order?.orderId, enums.serialToId(serial, 1));
  }
  assert.equal(history.orderByClientId(ALICE, "id-2").order?.orderId, enums.serialToId(40_001, 1));
  assert.equal(history.orderByClientId(ALICE, "id-0").order, undefined);
  assert.ok(readIndex(database).clientIdRuns.length > 1);
  await database.close();
});

test("candles lose no trade when the clock is set back", async () => {
  const times = [3_600_000, 3_601_000, 1000, 2000, 3_600_500, 3_661_000, 500];
  const trades = times.map((_, i) =>
    event(Traded, { tradeId: enums.serialToId(i + 1, 1), priceTicks: 5, quantityLots: 1 }),
  );
  const transactions = transactionsOf(trades, times);
  const database = openDatabase(newDir());
  for (const transaction of transactions) foldTransactions(new HistoryFold(database, INSTRUMENTS), [transaction]);
  const together = openDatabase(newDir());
  const fold = new HistoryFold(together, INSTRUMENTS);
  for (const transaction of transactions) foldTransactions(fold, [transaction]);
  for (const one of [database, together]) {
    const hours = new History(one).candles({ instrumentId: 1, priceType: "LAST", interval: "1h" }, { limit: 9 });
    assert.deepEqual(
      hours.map((candle) => [candle.openTime, candle.trades]),
      [
        [0, 3],
        [3_600_000, 4],
      ],
    );
    await one.close();
  }
});

test("a reader sees each commit at once, even within one event-loop iteration", async () => {
  const dir = newDir();
  const writer = openDatabase(dir);
  const reader = openDatabase(dir, { readOnly: true });
  const fold = new HistoryFold(writer, INSTRUMENTS);
  const history = new History(reader);
  for (const transaction of transactionsOf([placed(1), placed(2), closed(1), closed(2)])) {
    foldTransactions(fold, [transaction]);
    assert.equal(
      history.orderById(enums.serialToId(transaction.sequence, 1))?.sequence,
      transaction.sequence <= 2 ? transaction.sequence : undefined,
    );
    assert.equal(history.ordersOf(ALICE, { limit: 9 }).data.length, Math.max(0, transaction.sequence - 2));
  }
  await reader.close();
  await writer.close();
});

test("one filled order behind 2000 canceled ones is on the first page, and its search reads no canceled order", async () => {
  const bob = ALICE + 1;
  const events = [placed(1), placed(2, { accountId: bob })];
  const sides = { takerOrderId: enums.serialToId(2, 1), takerAccountId: bob, makerOrderId: enums.serialToId(1, 1) };
  events.push(event(Traded, { tradeId: 257, ...sides, makerAccountId: ALICE, quantityLots: 5, priceTicks: 1 }));
  const serials = Array.from({ length: 2000 }, (_, i) => i + 3);
  for (const serial of serials) events.push(placed(serial));
  for (const serial of serials) events.push(closed(serial));
  const transactions = transactionsOf(events);
  const database = openDatabase(newDir());
  const fold = new HistoryFold(database, INSTRUMENTS);
  // No order ends in the batch that placed it, so each is a row of its own.
  foldTransactions(fold, transactions.slice(0, 2003));
  foldTransactions(fold, transactions.slice(2003));
  const history = new History(database);
  const query = { limit: 1, statuses: [enums.STATUS_FILLED] };
  const found: (number | undefined)[] = [];
  const reads = countReads(database)(() => found.push(history.ordersOf(ALICE, query).data[0]?.orderId));
  assert.deepEqual(found, [257]);
  assert.ok(reads < 200, `${reads} reads`);
  await database.close();
});

test("rows that are added while a list is read from its beginning follow on the next pages", async () => {
  const transactions = transactionsOf([1, 2, 3, 4].flatMap((serial) => [placed(serial), closed(serial)]));
  const database = openDatabase(newDir());
  const fold = new HistoryFold(database, INSTRUMENTS);
  const history = new History(database);
  foldTransactions(fold, transactions.slice(0, 4));
  const first = history.ordersOf(ALICE, { limit: 1, sort: "ASC" });
  foldTransactions(fold, transactions.slice(4));
  const rest = history.ordersOf(ALICE, { limit: 9, sort: "ASC", cursor: first.nextCursor ?? "" });
  const serials = [...first.data, ...rest.data].map(({ orderId }) => (orderId - 1) / 256);
  assert.deepEqual([serials, rest.nextCursor], [[1, 2, 3, 4], null]);
  await database.close();
});

test("operators' acts are listed by time and symbol, and their prices do not stand between them", async () => {
  const acts = [0, 2, 2, 1, 2].map((act, i) => event(OperatorActed, { operator: `o${i}`, act, value: i }));
  const transactions = transactionsOf(acts, [1000, 2000, 3000, 4000, 5000]);
  transactions[3]!.actorId = 2;
  await withHistory(transactions, (history) => {
    const list = (isPrice: boolean, query: object = {}) =>
      allPages(1, (page) => history.operatorActs({ isPrice, ...page, ...query })).map(
        ({ operator, act, value, time, sequence, instrumentId }) =>
          [operator, act, value, time, sequence, instrumentId].join(" "),
      );
    const halt = "o0 0 0 1000 1 1";
    const resume = "o3 1 3 4000 4 2";
    assert.deepEqual(list(false), [resume, halt]);
    assert.deepEqual(list(false, { instrumentId: 1 }), [halt]);
    assert.deepEqual(list(true), ["o4 2 4 5000 5 1", "o2 2 2 3000 3 1", "o1 2 1 2000 2 1"]);
    assert.deepEqual(list(true, { startTime: 2500, endTime: 3500 }), ["o2 2 2 3000 3 1"]);
    assert.deepEqual(history.fundMovements({ limit: 9 }).data, []);
  });
});
