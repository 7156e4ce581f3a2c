import assert from "node:assert/strict";
import * as fs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import * as enums from "../../../src/core/base/enums.ts";
import { OPEN_INTEREST_INTERVALS, type OpenInterestInterval } from "../../../src/core/market-data/candles.ts";
import { type Event, PositionTransferred, PriceUpdated, Traded } from "../../../src/core/protocol/events.ts";
import type { Message, MessageOf } from "../../../src/core/protocol/message-schema.ts";
import { Random } from "../../../src/sandbox/random.ts";
import { type Database, openDatabase } from "../../../src/store/database/database.ts";
import { BadCursorError } from "../../../src/store/database/pages.ts";
import { WriteBatch } from "../../../src/store/database/write-batch.ts";
import { History, type OpenInterest, type OpenInterestQuery } from "../../../src/store/history/history.ts";
import { HistoryFold } from "../../../src/store/history/history-fold.ts";
import { Markets, randomStep } from "../../core/support/random-markets.ts";
import { takeSeed } from "../../core/support/seed.ts";
import { allPages } from "../support/history-checks.ts";
import { event, INSTRUMENTS, type LoggedTransaction } from "../support/history-model.ts";

const seed = takeSeed("history-open-interest.test");
const root = fs.mkdtempSync(join(tmpdir(), "perpd-open-interest-"));
after(() => fs.rmSync(root, { recursive: true }));
let folders = 0;
const newDatabase = (): Database => openDatabase(join(root, String(folders++)));

const LENGTHS_MINUTES: Record<OpenInterestInterval, number> = {
  ...{ "5m": 5, "15m": 15, "30m": 30, "1h": 60, "2h": 120, "4h": 240, "6h": 360, "12h": 720, "1d": 1440 },
};

function foldTransactions(fold: HistoryFold, transactions: readonly LoggedTransaction[]): void {
  for (const { sequence, time, actorId, events } of transactions) {
    fold.transaction(sequence, time, actorId);
    for (const message of events) fold.apply(message as Event);
  }
  fold.commit();
}

/** The plainest model: every position, and what was open behind each event. */
class Model {
  readonly seen = new Set<string>();
  private readonly sizes = new Map<number, number>();
  private readonly samples: OpenInterest[] = [];
  private openInterestLots = 0;
  private markTicks = 0;

  apply(message: Event, time: number): void {
    if (message.type === PriceUpdated.code) {
      this.markTicks = message.markTicks;
      assert.equal(message.openInterestLots, this.openInterestLots);
    } else if (message.type === Traded.code) {
      const { takerAccountId, makerAccountId, takerSide, quantityLots, execType } = message;
      assert.notEqual(takerAccountId, makerAccountId);
      if (execType === enums.EXEC_LIQUIDATION) this.seen.add("liquidation");
      this.move(takerAccountId, takerSide, quantityLots);
      this.move(makerAccountId, 1 - takerSide, quantityLots);
    } else if (message.type === PositionTransferred.code) {
      const { accountId, counterpartyId, side, quantityLots, execType } = message;
      this.seen.add(execType === enums.EXEC_ADL ? "ADL" : "takeover");
      this.move(accountId, side, quantityLots);
      this.move(counterpartyId, 1 - side, quantityLots);
    } else return;
    this.openInterestLots = [...this.sizes.values()].reduce((sum, lots) => sum + Math.max(0, lots), 0);
    this.samples.push({ time, openInterestLots: this.openInterestLots, markTicks: this.markTicks });
  }

  /** Newest first. */
  atEnds(interval: OpenInterestInterval, now: number): OpenInterest[] {
    const lengthMs = LENGTHS_MINUTES[interval] * 60_000;
    const last = new Map<number, OpenInterest>();
    for (const sample of this.samples) {
      const endTime = (Math.floor(sample.time / lengthMs) + 1) * lengthMs;
      last.set(endTime, { ...sample, time: Math.min(endTime, now) });
    }
    return [...last.values()].reverse();
  }

  private move(accountId: number, side: number, lots: number): void {
    const before = this.sizes.get(accountId) ?? 0;
    const after = before + (side === enums.BUY ? lots : -lots);
    if (before * after < 0) this.seen.add("flip");
    this.sizes.set(accountId, after);
  }
}

test("over days with market crashes open interest equals the sum of positions at every interval's end", async () => {
  const wanted = ["liquidation", "takeover", "ADL", "flip"];
  const seen = new Set<string>();
  // Most days are eventful enough, but nobody knows which.
  for (let day = 0; day < 8 && !(day > 0 && wanted.every((kind) => seen.has(kind))); day++)
    for (const kind of await dayOfCrashes(seed + day)) seen.add(kind);
  for (const kind of wanted) assert.ok(seen.has(kind), `no ${kind} in eight days`);
});

async function dayOfCrashes(seed: number): Promise<Set<string>> {
  const random = new Random(seed, "open-interest");
  const int = (below: number): number => Math.floor(random.uniform() * below);
  const markets = new Markets();
  if (seed % 2 === 0) markets.fund(50_000);
  const accounts = Array.from({ length: 10 }, () => markets.open(500 + int(20_000)));
  const index = [650_000, 320_000];
  markets.symbols.forEach((symbol, i) => void markets.price(symbol, index[i] as number));
  for (let step = 0; step < 3000; step++) randomStep(markets, random, accounts, index);

  // In batches of any size, by a program that is killed now and then.
  const instruments = markets.symbols.map(({ state }) => state.instrument);
  const database = newDatabase();
  let fold = new HistoryFold(database, instruments);
  for (let at = 0; at < markets.log.length; ) {
    const end = at + 1 + int(random.uniform() < 0.5 ? 5 : 2000);
    foldTransactions(fold, markets.log.slice(at, end));
    if (random.uniform() < 0.3) fold = new HistoryFold(database, instruments);
    at = end;
  }

  const history = new History(database);
  const seen = new Set<string>();
  for (const { state } of markets.symbols) {
    const { id } = state.instrument;
    const model = new Model();
    for (const { actorId, time, events } of markets.log)
      if (actorId === id) for (const message of events) model.apply(message as Event, time);
    for (const kind of model.seen) seen.add(kind);
    const now = markets.time;
    for (const interval of OPEN_INTEREST_INTERVALS) {
      const expected = model.atEnds(interval, now);
      const read = (query: Partial<OpenInterestQuery> = {}): OpenInterest[] =>
        allPages(1 + int(40), (page) => history.openInterestOf(id, { ...page, ...query, interval }, now));
      assert.deepEqual(read(), expected, interval);
      const { openInterestLots, markTicks } = state;
      assert.deepEqual(expected[0], { time: expected[0]?.time, openInterestLots, markTicks });
      const times = [expected[int(expected.length)], expected[int(expected.length)]].map((row) => row?.time ?? 0);
      const [startTime = 0, endTime = 0] = times.map((time) => time + int(3) - 1).sort((a, b) => a - b);
      const within = expected.filter(({ time }) => time >= startTime && time <= endTime);
      assert.deepEqual(read({ startTime, endTime }), within, `${interval} ${startTime} to ${endTime}`);
    }
  }
  await database.close();
  return seen;
}

const BTC = 1;
const ETH = 7;
const MINUTE = 60_000;
let sequence = 0;
const transaction = (time: number, actorId: number, ...events: Message[]): LoggedTransaction => ({
  ...{ sequence: ++sequence, time, actorId, events },
});
/** Two accounts of the house, whose orders nobody looks up: the first is long so many lots after it. */
const trade = (lots: number, sizeLots: number): Message =>
  event(Traded, {
    ...{ tradeId: enums.serialToId(++sequence, BTC), takerAccountId: 1, makerAccountId: 2, priceTicks: 9 },
    ...{ takerSide: lots > 0 ? enums.BUY : enums.SELL, quantityLots: Math.abs(lots) },
    ...{ takerSizeLots: sizeLots, makerSizeLots: -sizeLots },
  });
const price = (markTicks: number, openInterestLots = 0): Message =>
  event(PriceUpdated, { indexTicks: markTicks, markTicks, openInterestLots } satisfies Partial<
    MessageOf<typeof PriceUpdated>
  >);
/** As [minute, lots, mark]. */
const figures = (database: Database, instrumentId: number, now: number, query: Partial<OpenInterestQuery> = {}) =>
  new History(database)
    .openInterestOf(instrumentId, { interval: "5m", limit: 99, ...query }, now)
    .data.map(({ time, openInterestLots, markTicks }) => [time / MINUTE, openInterestLots, markTicks]);

test("entries hold the values at interval ends, or the current ones; quiet intervals have none", async () => {
  const database = newDatabase();
  const transactions = [
    ...[
      transaction(1 * MINUTE, BTC, price(10)),
      transaction(2 * MINUTE, BTC, trade(5, 5)),
      transaction(5 * MINUTE - 1, BTC, trade(-2, 3)),
    ],
    // To the millisecond in the next one; and from long to short.
    ...[transaction(5 * MINUTE, BTC, trade(-7, -4)), transaction(27 * MINUTE, BTC, price(11))],
  ];
  foldTransactions(new HistoryFold(database, INSTRUMENTS), transactions);
  const now = 28 * MINUTE;
  const all = [
    [28, 4, 11],
    [10, 4, 10],
    [5, 3, 10],
  ];
  assert.deepEqual(figures(database, BTC, now), all);
  assert.deepEqual(figures(database, BTC, 31 * MINUTE)[0], [30, 4, 11]);
  // What came behind `now` is not of then.
  assert.deepEqual(figures(database, BTC, 25 * MINUTE - 1), all.slice(1));
  assert.deepEqual(figures(database, BTC, now, { interval: "15m" }), [
    [28, 4, 11],
    [15, 4, 10],
  ]);
  assert.deepEqual(figures(database, BTC, now, { endTime: now }), all);
  assert.deepEqual(figures(database, BTC, now, { endTime: now - 1 }), all.slice(1));
  assert.deepEqual(figures(database, BTC, now, { endTime: 10 * MINUTE }), all.slice(1));
  assert.deepEqual(figures(database, BTC, now, { endTime: 10 * MINUTE - 1 }), all.slice(2));
  assert.deepEqual(figures(database, BTC, now, { startTime: 10 * MINUTE }), all.slice(0, 2));
  assert.deepEqual(figures(database, BTC, now, { startTime: 10 * MINUTE + 1 }), all.slice(0, 1));
  assert.deepEqual(figures(database, ETH, now), []);
  const page = new History(database).openInterestOf(BTC, { interval: "5m", limit: 3 }, now);
  assert.equal(page.nextCursor, null);
  assert.deepEqual(figures(database, BTC, now, { cursor: "0" }), []);
  for (const cursor of ["", "x", "1.2"]) assert.throws(() => figures(database, BTC, now, { cursor }), BadCursorError);
  await database.close();
});

test("the next price corrects for trades that an older version has indexed", async () => {
  const database = newDatabase();
  const fold = new HistoryFold(database, INSTRUMENTS);
  foldTransactions(fold, [transaction(1 * MINUTE, BTC, trade(5, 5)), transaction(2 * MINUTE, BTC, price(10, 5))]);
  foldTransactions(new HistoryFold(database, INSTRUMENTS), [transaction(8 * MINUTE, BTC, price(11, 7))]);
  assert.deepEqual(figures(database, BTC, 9 * MINUTE), [
    [9, 7, 11],
    [5, 5, 10],
  ]);
  await database.close();
});

test("an older folder begins with the first price that tells the open interest, or with 0 without trades", async () => {
  const database = newDatabase();
  foldTransactions(new HistoryFold(database, INSTRUMENTS), [
    ...[
      transaction(1 * MINUTE, BTC, price(10)),
      transaction(2 * MINUTE, BTC, trade(5, 5)),
      transaction(3 * MINUTE, ETH, price(20)),
    ],
  ]);
  // As an earlier version has left it.
  const batch = new WriteBatch();
  for (const { key } of database.openInterest.lmdb.getRange({ start: ["OPEN_INTEREST"], end: ["OPEN_INTEREST~"] }))
    batch.remove(database.openInterest, key);
  database.commit(batch);
  database.refresh();

  // What that had still to fold is in the log.
  const fold = new HistoryFold(database, INSTRUMENTS);
  foldTransactions(fold, [transaction(6 * MINUTE, BTC, price(12)), transaction(7 * MINUTE, BTC, trade(1, 6))]);
  foldTransactions(fold, [transaction(7 * MINUTE, ETH, price(21))]);
  assert.deepEqual(figures(database, BTC, 8 * MINUTE), []);
  assert.deepEqual(figures(database, ETH, 8 * MINUTE), [[8, 0, 21]]);

  foldTransactions(fold, [transaction(12 * MINUTE, BTC, price(13, 6)), transaction(13 * MINUTE, BTC, trade(-2, 4))]);
  foldTransactions(new HistoryFold(database, INSTRUMENTS), [transaction(16 * MINUTE, BTC, trade(-4, 0))]);
  assert.deepEqual(figures(database, BTC, 17 * MINUTE), [
    [17, 0, 13],
    [15, 4, 13],
  ]);
  await database.close();
});
