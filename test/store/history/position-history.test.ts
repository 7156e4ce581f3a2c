import assert from "node:assert/strict";
import * as fs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import * as enums from "../../../src/core/base/enums.ts";
import {
  AccountOpened,
  type Event,
  FundingPaid,
  LeverageSet,
  MarginModeSet,
  PositionTransferred,
  Traded,
} from "../../../src/core/protocol/events.ts";
import type { Instrument } from "../../../src/core/protocol/instrument.ts";
import { blank, type Message, type MessageOf } from "../../../src/core/protocol/message-schema.ts";
import { Random } from "../../../src/sandbox/random.ts";
import { type Database, openDatabase } from "../../../src/store/database/database.ts";
import { type ClosedPositionRecord, IndexRecord } from "../../../src/store/database/history-schema.ts";
import { BadCursorError } from "../../../src/store/database/pages.ts";
import { WriteBatch } from "../../../src/store/database/write-batch.ts";
import { History } from "../../../src/store/history/history.ts";
import { HistoryFold } from "../../../src/store/history/history-fold.ts";
import { PositionFold } from "../../../src/store/history/position-fold.ts";
import { Markets, randomStep } from "../../core/support/random-markets.ts";
import { takeSeed } from "../../core/support/seed.ts";
import { allPages } from "../support/history-checks.ts";
import { event, type LoggedTransaction } from "../support/history-model.ts";
import { closedPositionsOf, type NaivePosition } from "../support/naive-positions.ts";

const seed = takeSeed("position-history.test");

const root = fs.mkdtempSync(join(tmpdir(), "perpd-position-history-"));
after(() => fs.rmSync(root, { recursive: true }));
let folders = 0;
const newDir = (): string => join(root, String(folders++));

const ALICE = 16;
const BOB = 17;
const FUND = enums.INSURANCE_ACCOUNT;
const BTC = 1;
const ETH = 7;
const { BUY, SELL } = enums;
const QUANTA_PER_TICK_LOT = 100;
const INSTRUMENTS = [BTC, ETH].map((id) => ({
  ...{ id, quantaPerTickLot: QUANTA_PER_TICK_LOT, defaultLeverage: 10 },
})) as Instrument[];

/** Events of one symbol that agree with one another about sizes. */
class Sizes {
  private readonly sizes = new Map<number, number>();
  private serial = 0;

  trade(
    taker: number,
    side: number,
    lots: number,
    ticks: number,
    more: Partial<MessageOf<typeof Traded>> = {},
  ): Message {
    const makerAccountId = more.makerAccountId ?? FUND;
    return event(Traded, {
      ...{ tradeId: enums.serialToId(++this.serial, BTC), takerAccountId: taker, makerAccountId, takerSide: side },
      ...{ quantityLots: lots, priceTicks: ticks, takerSizeLots: this.move(taker, side, lots) },
      ...{ makerSizeLots: this.move(makerAccountId, enums.otherSide(side), lots), ...more },
    });
  }

  transfer(from: number, to: number, side: number, lots: number, more: object): Message {
    return event(PositionTransferred, {
      ...{ tradeId: enums.serialToId(++this.serial, BTC), accountId: from, counterpartyId: to, side },
      ...{ quantityLots: lots, accountSizeLots: this.move(from, side, lots) },
      ...{ counterpartySizeLots: this.move(to, enums.otherSide(side), lots), ...more },
    });
  }

  funding(accountId: number, amountQuanta: number): Message {
    return event(FundingPaid, { accountId, amountQuanta, sizeLots: this.sizes.get(accountId) ?? 0 });
  }

  private move(accountId: number, side: number, lots: number): number {
    const size = (this.sizes.get(accountId) ?? 0) + (side === BUY ? lots : -lots);
    this.sizes.set(accountId, size);
    return size;
  }
}

/** Each list is a transaction of BTC, a second apart, and a batch of a process of its own: sums must come from the disk. */
async function withPositions(
  lists: readonly Message[][],
  check: (history: History, database: Database) => void,
  firstTrackedAccount = ALICE,
): Promise<void> {
  const database = openDatabase(newDir());
  const index = { ...blank(IndexRecord), firstTrackedAccount };
  for (const [i, events] of lists.entries()) {
    const fold = new PositionFold(database, new Map(INSTRUMENTS.map((each) => [each.id, each])), index);
    const batch = new WriteBatch();
    const time = (i + 1) * 1000;
    for (const message of events) fold.apply(batch, message as Event, BTC, { clock: time, sequence: i + 1 }, time);
    fold.flush(batch);
    database.commit(batch);
  }
  check(new History(database), database);
  await database.close();
}

const everything = { limit: 1_000_000 };
const only = (history: History, accountId: number): ClosedPositionRecord => {
  const { data } = history.closedPositionsOf(accountId, everything);
  assert.equal(data.length, 1);
  return data[0] as ClosedPositionRecord;
};
const stored = (database: Database): number[] => {
  const accounts: number[] = [];
  const range = { start: ["POSITION"], end: ["POSITION", Number.MAX_SAFE_INTEGER] };
  database.positionStates.each(range, (_key, { accountId }) => accounts.push(accountId));
  return accounts;
};

test("a position that grew, shrank and was closed has one record with all of its sums", async () => {
  const btc = new Sizes();
  const lists = [
    [btc.trade(ALICE, BUY, 4, 100, { takerFeeQuanta: 20 })],
    [btc.funding(ALICE, -7), btc.trade(ALICE, BUY, 2, 130, { takerFeeQuanta: 13 })],
    // Cost 66000 for 6 lots: half of it leaves.
    [btc.trade(ALICE, SELL, 3, 120, { takerFeeQuanta: 18, takerRealizedQuanta: 36_000 - 33_000 })],
    [btc.funding(ALICE, 2), event(LeverageSet, { accountId: ALICE, leverage: 25 })],
    [btc.trade(BOB, BUY, 3, 105, { makerAccountId: ALICE, makerFeeQuanta: -6, makerRealizedQuanta: 31_500 - 33_000 })],
  ];
  await withPositions(lists, (history, database) => {
    assert.deepEqual(only(history, ALICE), {
      ...{ type: 267, instrumentId: BTC, tradeId: enums.serialToId(4, BTC), side: BUY, leverage: 25, marginMode: 0 },
      ...{ time: 5000, sequence: 5, openedAt: 1000, maxLots: 6, closedLots: 6, liquidatedLots: 0, deleveragedLots: 0 },
      ...{ realizedQuanta: 1500, feeQuanta: 45, liquidationFeeQuanta: 0, fundingQuanta: -5, exitQuanta: "67500" },
    });
    assert.deepEqual(history.closedPositionsOf(BOB, everything).data, []);
    // Alice's leverage is not the default, and Bob has a position.
    assert.deepEqual(stored(database), [ALICE, BOB]);
  });
});

test("a flip closes one position and opens the next, and its fee is divided by lots", async () => {
  const btc = new Sizes();
  const lists = [
    [btc.trade(ALICE, SELL, 3, 100, { takerFeeQuanta: 10 })],
    [btc.trade(ALICE, BUY, 10, 90, { takerFeeQuanta: 101, takerRealizedQuanta: 3000 })],
    [btc.funding(ALICE, -1), btc.trade(ALICE, SELL, 7, 95, { takerFeeQuanta: 5, takerRealizedQuanta: 3500 })],
  ];
  await withPositions(lists, (history, database) => {
    const [second, first] = history.closedPositionsOf(ALICE, everything).data;
    assert.deepEqual(
      [first, second].map((position) => [
        ...[position?.side, position?.openedAt, position?.time, position?.maxLots, position?.closedLots],
        ...[position?.feeQuanta, position?.fundingQuanta, position?.exitQuanta],
      ]),
      [
        [SELL, 1000, 2000, 3, 3, 10 + 30, 0, "27000"],
        [BUY, 2000, 3000, 7, 7, 71 + 5, -1, "66500"],
      ],
    );
    assert.deepEqual(stored(database), [], "a flat account with the initial settings needs no row");
  });
});

test("records name liquidation and deleveraging, and the maker of a liquidation only traded", async () => {
  const btc = new Sizes();
  const [CAROL, DAVE] = [18, 19];
  const forced = { execType: enums.EXEC_LIQUIDATION, takerFeeQuanta: 9, makerFeeQuanta: 2 };
  const lists = [
    [btc.trade(ALICE, BUY, 6, 100, { makerAccountId: BOB }), btc.trade(ALICE, BUY, 2, 100, { makerAccountId: CAROL })],
    [btc.trade(DAVE, BUY, 1, 100, { makerAccountId: CAROL })],
    // In the book against Bob, to the fund, and against Carol.
    [btc.trade(ALICE, SELL, 5, 90, { ...forced, makerAccountId: BOB })],
    [btc.transfer(ALICE, FUND, SELL, 1, { quanta: 8_500, execType: enums.EXEC_LIQUIDATION })],
    [btc.transfer(ALICE, CAROL, SELL, 2, { quanta: -17, execType: enums.EXEC_ADL })],
    [btc.trade(BOB, BUY, 1, 91), btc.trade(CAROL, BUY, 1, 91), btc.trade(DAVE, SELL, 1, 91)],
  ];
  await withPositions(lists, (history) => {
    const parts = (accountId: number) => {
      const { closedLots, liquidatedLots, deleveragedLots, ...sums } = only(history, accountId);
      return [closedLots, liquidatedLots, deleveragedLots, sums.feeQuanta, sums.liquidationFeeQuanta, sums.exitQuanta];
    };
    assert.deepEqual(parts(ALICE), [8, 8, 0, 0, 9, String(45_000 + 8500 - 17)]);
    assert.deepEqual(parts(BOB), [6, 0, 0, 2, 0, String(45_000 + 9100)]);
    assert.deepEqual(parts(CAROL), [3, 0, 2, 0, 0, String(-17 + 9100)]);
    assert.deepEqual(parts(DAVE), [1, 0, 0, 0, 0, "9100"]);
    assert.deepEqual(history.closedPositionsOf(FUND, everything).data, [], "the fund's positions are not listed");
  });
});

test("a record has the settings at the closing, which stay for the next position", async () => {
  const btc = new Sizes();
  const mode = (marginMode: number) => event(MarginModeSet, { accountId: ALICE, marginMode });
  const round = (ticks: number) => [btc.trade(ALICE, BUY, 1, ticks), btc.trade(ALICE, SELL, 1, ticks)];
  const lists = [
    round(100),
    [mode(enums.ISOLATED), event(LeverageSet, { accountId: ALICE, leverage: 3 })],
    round(101),
    round(102),
    [mode(enums.CROSS), event(LeverageSet, { accountId: ALICE, leverage: 10 })],
    round(103),
  ];
  await withPositions(lists, (history, database) => {
    assert.deepEqual(
      history.closedPositionsOf(ALICE, everything).data.map(({ leverage, marginMode }) => [leverage, marginMode]),
      [
        [10, enums.CROSS],
        [3, enums.ISOLATED],
        [3, enums.ISOLATED],
        [10, enums.CROSS],
      ],
    );
    assert.deepEqual(stored(database), []);
  });
});

test("a position older than the records has no opening and no settings, and counts from its first event on", async () => {
  const btc = new Sizes();
  btc.trade(ALICE, BUY, 9, 100, { makerAccountId: BOB }); // not in the log any more
  const CAROL = 18;
  const lists = [
    [btc.funding(ALICE, -5)],
    [event(AccountOpened, { accountId: CAROL })],
    [btc.trade(ALICE, SELL, 9, 110, { takerFeeQuanta: 4, takerRealizedQuanta: 9000 })],
    [btc.trade(ALICE, BUY, 1, 100), btc.trade(ALICE, SELL, 1, 100)],
    [event(LeverageSet, { accountId: BOB, leverage: 7 }), event(MarginModeSet, { accountId: BOB, marginMode: 1 })],
    [btc.trade(BOB, BUY, 9, 110), btc.trade(CAROL, BUY, 1, 100), btc.trade(CAROL, SELL, 1, 100)],
  ];
  const check = (history: History): void => {
    const [later, older] = history.closedPositionsOf(ALICE, everything).data;
    const { type: _, tradeId: __, ...known } = older as ClosedPositionRecord;
    assert.deepEqual(known, {
      ...{ instrumentId: BTC, side: BUY, leverage: 0, marginMode: -1, time: 3000, sequence: 3, openedAt: 0 },
      ...{ maxLots: 9, closedLots: 9, liquidatedLots: 0, deleveragedLots: 0, realizedQuanta: 9000, feeQuanta: 4 },
      ...{ liquidationFeeQuanta: 0, fundingQuanta: -5, exitQuanta: "99000" },
    });
    assert.deepEqual([later?.openedAt, later?.leverage, later?.marginMode], [4000, 0, -1]);
    const bobs = only(history, BOB);
    assert.deepEqual([bobs.openedAt, bobs.leverage, bobs.marginMode, bobs.maxLots], [0, 7, 1, 9]);
    const carols = only(history, CAROL);
    assert.deepEqual([carols.openedAt, carols.leverage, carols.marginMode], [6000, 10, 0], "her account is newer");
  };
  await withPositions(lists, check, 0);
});

test("sums beyond 2^53 stay exact", async () => {
  const btc = new Sizes();
  const lots = 9_000_000;
  const ticks = 10_000_001;
  const lists = [[btc.trade(ALICE, BUY, 1, 1)]];
  for (let i = 0; i < 4; i++) lists.push([btc.trade(ALICE, BUY, lots, ticks), btc.trade(ALICE, SELL, lots, ticks)]);
  lists.push([btc.trade(ALICE, SELL, 1, 3)]);
  await withPositions(lists, (history) => {
    const { exitQuanta, closedLots } = only(history, ALICE);
    assert.equal(exitQuanta, String(4n * BigInt(lots * QUANTA_PER_TICK_LOT) * BigInt(ticks) + 300n));
    assert.equal(closedLots, 4 * lots + 1);
  });
});

// ---- random days ----

/** Folds the log in batches of random sizes, some by another process. */
async function foldLog(markets: Markets, random: Random | null): Promise<Database> {
  const instruments = markets.symbols.map(({ state }) => state.instrument);
  const dir = newDir();
  let database = openDatabase(dir);
  let fold = new HistoryFold(database, instruments);
  for (const { sequence, time, actorId, events } of markets.log) {
    fold.transaction(sequence, time, actorId);
    for (const message of events) fold.apply(message as Event);
    if (random === null || random.uniform() > 0.02) continue;
    fold.commit();
    if (random.uniform() > 0.1) continue;
    await database.close();
    database = openDatabase(dir, { probe: false });
    fold = new HistoryFold(database, instruments);
  }
  fold.commit();
  return database;
}

const asNaive = (position: ClosedPositionRecord): NaivePosition => {
  const { type: _, exitQuanta, ...known } = position;
  const realized = BigInt(position.side === BUY ? position.realizedQuanta : -position.realizedQuanta);
  return { ...known, exitQuanta: BigInt(exitQuanta), entryQuanta: BigInt(exitQuanta) - realized };
};

/** Of the positions that the random days closed. */
const ways = new Set<string>();

for (const round of [0, 1, 2])
  test(`over a random day every record is what a naive list of fills gives (${round})`, async () => {
    const random = new Random(seed + round, "position-history");
    const markets = new Markets();
    if (round % 2 === 0) markets.fund(50_000);
    const accounts = Array.from({ length: 10 }, () => markets.open(500 + Math.floor(random.uniform() * 20_000)));
    const index = [650_000, 320_000];
    markets.symbols.forEach((symbol, i) => void markets.price(symbol, index[i] as number));
    for (let step = 0; step < 3000; step++) randomStep(markets, random, accounts, index);

    const database = await foldLog(markets, random);
    const rebuilt = await foldLog(markets, null);
    const [history, history2] = [new History(database), new History(rebuilt)];
    const instruments = markets.symbols.map(({ state }) => state.instrument);
    let count = 0;
    for (const accountId of accounts) {
      const naive = closedPositionsOf(accountId, markets.log as LoggedTransaction[], instruments);
      count += naive.length;
      const records = allPages(1 + Math.floor(random.uniform() * 20), (page) =>
        history.closedPositionsOf(accountId, page),
      );
      assert.deepEqual(records.map(asNaive), naive.toReversed(), `account ${accountId}`);
      assert.deepEqual(
        history2.closedPositionsOf(accountId, everything).data,
        records,
        "an index rebuilt from the log",
      );
      checkFilters(history, accountId, records, random);
      for (const position of records) {
        ways.add(`${enums.MARGIN_MODES[position.marginMode]} ${position.liquidatedLots > 0 ? "LIQUIDATION" : "TRADE"}`);
        if (position.deleveragedLots > 0) ways.add("ADL");
        if (position.fundingQuanta !== 0) ways.add("FUNDING");
      }
    }
    assert.ok(count > 50, `only ${count} positions were closed`);
    await database.close();
    await rebuilt.close();
  });

test("the random days closed positions of both margin modes in every way", () => {
  const all = ["ADL", "CROSS LIQUIDATION", "CROSS TRADE", "FUNDING", "ISOLATED LIQUIDATION", "ISOLATED TRADE"];
  assert.deepEqual([...ways].sort(), all);
});

function checkFilters(history: History, accountId: number, records: ClosedPositionRecord[], random: Random): void {
  const any = () => records[Math.floor(random.uniform() * records.length)];
  const [startTime = 0, endTime = 0] = [any()?.time ?? 0, any()?.time ?? 0].sort((a, b) => a - b);
  const throughSequence = any()?.sequence ?? 0;
  for (const filter of [{ instrumentId: BTC }, { startTime, endTime }, { throughSequence }])
    assert.deepEqual(
      allPages(3, (page) => history.closedPositionsOf(accountId, { ...page, ...filter })),
      records.filter(
        ({ instrumentId, time, sequence }) =>
          (filter.instrumentId ?? instrumentId) === instrumentId &&
          time >= (filter.startTime ?? 0) &&
          time <= (filter.endTime ?? Number.POSITIVE_INFINITY) &&
          sequence <= (filter.throughSequence ?? Number.POSITIVE_INFINITY),
      ),
    );
  assert.throws(() => history.closedPositionsOf(accountId, { limit: 5, cursor: "1.2" }), BadCursorError);
}

test("the index forgets cached positions and orders when they are too many", async () => {
  const database = openDatabase(newDir());
  const fold = new HistoryFold(database, []);
  const { positions, orders } = fold as unknown as {
    positions: { states: Map<number, unknown>; trimCache(): void };
    orders: { openOrders: Map<number, unknown>; trimCache(): void };
  };
  let sequence = 0;
  const fill = (cache: Map<number, unknown>, size: number) => {
    for (let i = cache.size; i < size; i++) cache.set(i, null);
  };
  for (const [cache, most, owner] of [
    [positions.states, 50_000, positions],
    [orders.openOrders, 200_000, orders],
  ] as const) {
    fill(cache, most);
    owner.trimCache();
    assert.equal(cache.size, most);
    fill(cache, most + 1);
    fold.transaction(++sequence, 1, BTC);
    fold.commit();
    assert.equal(cache.size, 0);
  }
  await database.close();
});
