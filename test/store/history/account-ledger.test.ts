import assert from "node:assert/strict";
import * as fs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { CASH, COST } from "../../../src/core/base/columns.ts";
import * as enums from "../../../src/core/base/enums.ts";
import {
  DeficitCovered,
  Deposited,
  type Event,
  FundingPaid,
  FundingSettled,
  OrderPlaced,
  PositionTransferred,
  Traded,
  WithdrawalRequested,
  WithdrawalSent,
} from "../../../src/core/protocol/events.ts";
import { Random } from "../../../src/sandbox/random.ts";
import { type Database, openDatabase } from "../../../src/store/database/database.ts";
import { BadCursorError } from "../../../src/store/database/pages.ts";
import { WriteBatch } from "../../../src/store/database/write-batch.ts";
import type { LedgerEntry } from "../../../src/store/history/account-ledger.ts";
import { History } from "../../../src/store/history/history.ts";
import { HistoryFold } from "../../../src/store/history/history-fold.ts";
import { Markets, randomStep } from "../../core/support/random-markets.ts";
import { takeSeed } from "../../core/support/seed.ts";
import { allPages } from "../support/history-checks.ts";
import { event, INSTRUMENTS, type LoggedTransaction } from "../support/history-model.ts";

const seed = takeSeed("history-risk.test");

const root = fs.mkdtempSync(join(tmpdir(), "perpd-history-risk-"));
after(() => fs.rmSync(root, { recursive: true }));
let folders = 0;

const ALICE = 16;
const BOB = 17;
const BTC = 1;
const OTHER = 7;

/** Folds the turns in batches of `batch`. */
async function withHistory(
  transactions: readonly LoggedTransaction[],
  check: (history: History, database: Database) => void,
  options: { batch?: number; instruments?: typeof INSTRUMENTS } = {},
): Promise<void> {
  const { batch = transactions.length, instruments = INSTRUMENTS } = options;
  const database = openDatabase(join(root, String(folders++)));
  const fold = new HistoryFold(database, instruments);
  for (const [i, { sequence, time, actorId, events }] of transactions.entries()) {
    fold.transaction(sequence, time, actorId);
    for (const message of events) fold.apply(message as Event);
    if ((i + 1) % batch === 0 || i === transactions.length - 1) fold.commit();
  }
  check(new History(database), database);
  await database.close();
}

const transaction = (
  sequence: number,
  time: number,
  actorId: number,
  ...events: LoggedTransaction["events"]
): LoggedTransaction => ({
  ...{ sequence, time, actorId, events },
});
const settled = (fundingTime: number, ratePpb: number) =>
  event(FundingSettled, { fundingTime, ratePpb, premiumPpb: 2 * ratePpb, indexTicks: 99, markTicks: 100 });
const paid = (accountId: number, fundingTime: number, amountQuanta: number) =>
  event(FundingPaid, { accountId, fundingTime, amountQuanta, sizeLots: amountQuanta < 0 ? 3 : -3 });

test("over a day with market crashes fills, funding, ledger and fund movements explain every quantum", async () => {
  // Most days are eventful enough, but nobody knows which.
  const kinds = new Set<string>();
  for (let day = 0; day < 8 && !(kinds.has("FUNDING") && kinds.size > 2); day++)
    for (const kind of await dayOfCrashes(seed + day)) kinds.add(kind);
  assert.ok(kinds.has("FUNDING") && kinds.size > 2, `the days were too quiet: ${[...kinds]}`);
});

/** Answers what has moved the fund's money. */
async function dayOfCrashes(seed: number): Promise<ReadonlySet<string>> {
  const kinds = new Set<string>();
  const random = new Random(seed, "history-risk");
  const markets = new Markets();
  if (seed % 2 === 0) markets.fund(50_000);
  const accounts = Array.from({ length: 10 }, () => markets.open(500 + Math.floor(random.uniform() * 20_000)));
  const index = [650_000, 320_000];
  markets.symbols.forEach((symbol, i) => void markets.price(symbol, index[i] as number));
  for (let step = 0; step < 3000; step++) randomStep(markets, random, accounts, index);

  const instruments = markets.symbols.map(({ state }) => state.instrument);
  const everything = { limit: 1_000_000 };
  const check = (history: History): void => {
    const { marginTable } = markets;
    const movements = allPages(50, (query) => history.fundMovements(query));
    const moved = movements.reduce((sum, { amountQuanta }) => sum + amountQuanta, 0);
    assert.equal(moved, marginTable.equity(enums.INSURANCE_ACCOUNT) - marginTable.unrealized(enums.INSURANCE_ACCOUNT));
    for (const { kind } of movements) kinds.add(enums.FUND_MOVEMENTS[kind] as string);

    for (const accountId of accounts) {
      const entries = checkedLedger(history, accountId, random);
      let wallet = markets.ledger.state.balance(accountId);
      for (const { state } of markets.symbols) {
        const row = state.positions.find(accountId);
        const n = state.positions.numbers;
        const realized = row < 0 ? 0 : n[row + CASH] + n[row + COST];
        const { id } = state.instrument;
        assert.equal(
          sumOf(entries.filter(({ instrumentId }) => instrumentId === id)),
          realized,
          `account ${accountId}`,
        );
        wallet += realized;
      }
      assert.equal(sumOf(entries), wallet, `account ${accountId}`);
    }

    for (const { state } of markets.symbols) {
      const { id, quantaPerTickLot } = state.instrument;
      const handedOver = markets.log.flatMap(({ actorId, events }) =>
        events.filter(({ type, ...fields }) => {
          if (actorId !== id) return false;
          const { execType } = fields as { execType?: number };
          return type === PositionTransferred.code || (type === Traded.code && execType === enums.EXEC_LIQUIDATION);
        }),
      ) as { tradeId?: number }[];
      assert.deepEqual(
        history.liquidationsOf(id, { limit: 1_000_000 }).data.map(({ tradeId }) => tradeId),
        handedOver.map(({ tradeId }) => tradeId).reverse(),
      );
      for (const accountId of accounts) {
        const { fills, payments, covered } = {
          fills: history.fillsOf(accountId, { ...everything, instrumentId: id }).data,
          payments: history.fundingOf(accountId, { ...everything, instrumentId: id }).data,
          covered: markets.log.flatMap(({ actorId, events }) => (actorId === id ? events : [])) as {
            type: number;
            accountId?: number;
            amountQuanta?: number;
          }[],
        };
        let cash = 0;
        for (const fill of fills) {
          const quanta = fill.priceTicks * fill.quantityLots * quantaPerTickLot + fill.offPriceQuanta;
          cash += (fill.side === enums.BUY ? -quanta : quanta) - fill.feeQuanta;
        }
        for (const { payment } of payments) cash += payment.amountQuanta;
        for (const { type, ...fields } of covered)
          if (type === DeficitCovered.code && fields.accountId === accountId) cash += fields.amountQuanta ?? 0;
        const row = state.positions.find(accountId);
        assert.equal(cash, row < 0 ? 0 : state.positions.numbers[row + CASH], `account ${accountId}, symbol ${id}`);
      }
    }
  };
  await withHistory(markets.log, check, { instruments, batch: 37 });
  return kinds;
}

const sumOf = (entries: readonly LedgerEntry[]): number =>
  entries.reduce((sum, { amountQuanta }) => sum + amountQuanta, 0);

/** The account's whole ledger, after a look at its order and at pages and filters of it. */
function checkedLedger(history: History, accountId: number, random: Random): LedgerEntry[] {
  const entries = history.ledgerOf(accountId, { limit: 1_000_000 }).data;
  const limit = 1 + Math.floor(random.uniform() * 60);
  assert.deepEqual(
    allPages(limit, (page) => history.ledgerOf(accountId, page)),
    entries,
  );
  const sequences = entries.map(({ sequence }) => sequence);
  assert.deepEqual(
    sequences,
    sequences.toSorted((a, b) => b - a),
  );
  assert.ok(entries.every(({ amountQuanta }) => amountQuanta !== 0));
  const type = enums.LEDGER_ENTRY_TYPES[Math.floor(random.uniform() * enums.LEDGER_ENTRY_TYPES.length)];
  const times = entries.map(({ time }) => time);
  const [startTime, endTime] = [times[Math.floor(times.length / 2)], times[Math.floor(times.length / 4)]];
  for (const filter of [{ type }, { instrumentId: BTC }, { startTime, endTime }, { type, startTime }])
    assert.deepEqual(
      allPages(limit, (page) => history.ledgerOf(accountId, { ...page, ...filter })),
      entries.filter(
        (entry) =>
          (filter.type === undefined || entry.type === filter.type) &&
          (filter.instrumentId === undefined || entry.instrumentId === filter.instrumentId) &&
          entry.time >= (filter.startTime ?? 0) &&
          entry.time <= (filter.endTime ?? Number.POSITIVE_INFINITY),
      ),
    );
  return entries;
}

test("an account's transfers as of a sequence are those requested by then", async () => {
  const transactions = [
    transaction(1, 1000, enums.LEDGER, event(Deposited, { transferId: 1, accountId: ALICE })),
    transaction(2, 1001, enums.LEDGER, event(WithdrawalRequested, { transferId: 2, accountId: ALICE })),
    transaction(3, 1002, enums.LEDGER, event(WithdrawalRequested, { transferId: 3, accountId: ALICE })),
    transaction(4, 1003, enums.LEDGER, event(WithdrawalSent, { transferId: 2, accountId: ALICE })),
  ];
  for (const batch of [1, 4])
    await withHistory(
      transactions,
      (history) => {
        const states = (throughSequence = 9) =>
          history
            .transfersOf(ALICE, "WITHDRAWAL", { limit: 9, throughSequence })
            .data.map(({ transferId, status }) => `${transferId} ${status}`);
        assert.deepEqual(states(), ["3 PENDING", "2 SENT"]);
        assert.deepEqual(states(2), ["2 SENT"]);
        assert.deepEqual(states(1), []);
      },
      { batch },
    );
});

test("a symbol's funding rates are listed by the interval's end, whenever it was settled", async () => {
  const hour = 3_600_000;
  const transactions = [
    transaction(1, hour, BTC, settled(hour, 12_500)),
    transaction(2, hour + 5, OTHER, settled(hour, -700)),
    transaction(3, 9 * hour, BTC, settled(2 * hour, 0)), // the exchange was down for a while
    transaction(4, 10 * hour, BTC, settled(10 * hour, 3)),
  ];
  await withHistory(transactions, (history) => {
    const times = (query: object) =>
      allPages(1, (page) => history.fundingRatesOf(BTC, { ...page, ...query })).map(({ fundingTime }) => fundingTime);
    assert.deepEqual(times({}), [10 * hour, 2 * hour, hour]);
    assert.deepEqual(times({ startTime: hour, endTime: 2 * hour }), [2 * hour, hour]);
    assert.deepEqual(times({ startTime: hour + 1, endTime: 2 * hour - 1 }), []);
    const { data, nextCursor } = history.fundingRatesOf(OTHER, { limit: 5 });
    assert.deepEqual(
      data.map(({ ratePpb, premiumPpb, indexTicks, markTicks }) => [ratePpb, premiumPpb, indexTicks, markTicks]),
      [[-700, -1400, 99, 100]],
    );
    assert.equal(nextCursor, null);
    assert.deepEqual(history.fundingRatesOf(BTC, { limit: 5, cursor: "1", startTime: hour }).data, []);
    assert.throws(() => history.fundingRatesOf(BTC, { limit: 5, cursor: "1.2" }), BadCursorError);
  });
});

test("a payment has its rate, and house accounts have no payments", async () => {
  const transactions = [
    transaction(
      1,
      1000,
      BTC,
      settled(900, 500),
      paid(ALICE, 900, -7),
      paid(enums.INSURANCE_ACCOUNT, 900, 3),
      paid(BOB, 900, 3),
    ),
    transaction(2, 1001, OTHER, settled(900, -400), paid(ALICE, 900, 5)),
    transaction(3, 5000, BTC, settled(4900, 0), paid(ALICE, 4900, 0)),
  ];
  await withHistory(transactions, (history) => {
    const rows = (accountId: number, query: object = {}) =>
      allPages(2, (page) => history.fundingOf(accountId, { ...page, ...query })).map(({ payment, rate }) => {
        assert.equal(payment.fundingTime, rate.fundingTime);
        return [payment.instrumentId, payment.amountQuanta, rate.ratePpb, payment.time, payment.sequence];
      });
    assert.deepEqual(rows(ALICE), [
      [BTC, 0, 0, 5000, 3],
      [OTHER, 5, -400, 1001, 2],
      [BTC, -7, 500, 1000, 1],
    ]);
    assert.deepEqual(rows(ALICE, { instrumentId: OTHER }), [[OTHER, 5, -400, 1001, 2]]);
    assert.deepEqual(rows(ALICE, { endTime: 1000 }), [[BTC, -7, 500, 1000, 1]]);
    assert.deepEqual(rows(enums.INSURANCE_ACCOUNT), []);
    assert.deepEqual(
      [1, 2, 3].map((throughSequence) => rows(ALICE, { throughSequence }).length),
      [1, 2, 3],
    );
  });
});

test("the fund's movements have one row for each transaction and kind, and none for zero funding", async () => {
  const trade = { takerAccountId: enums.INSURANCE_ACCOUNT, makerAccountId: enums.INSURANCE_ACCOUNT, priceTicks: 1 };
  const liquidated = { ...trade, execType: enums.EXEC_LIQUIDATION, takerFeeQuanta: 4, makerFeeQuanta: 0 };
  const handed = { tradeId: 256 + BTC, accountId: 3, counterpartyId: enums.INSURANCE_ACCOUNT, priceTicks: 1 };
  const transactions = [
    transaction(1, 10, enums.LEDGER, event(Deposited, { accountId: enums.INSURANCE_ACCOUNT, amountQuanta: 100 })),
    transaction(2, 11, enums.LEDGER, event(Deposited, { accountId: ALICE, amountQuanta: 999, transferId: 2 })),
    // In and out: nothing stays. Then a remainder of one.
    transaction(3, 12, BTC, settled(5, 1), paid(ALICE, 5, -7), paid(BOB, 5, 7)),
    transaction(4, 13, BTC, settled(6, 1), paid(ALICE, 6, -7), paid(BOB, 6, 4), paid(enums.INSURANCE_ACCOUNT, 6, 2)),
    transaction(5, 14, BTC, ...[1, 2].map(() => event(Traded, { ...liquidated, tradeId: 256 + BTC }))),
    transaction(6, 15, OTHER, event(PositionTransferred, { ...handed, tradeId: 256 + OTHER })),
    transaction(
      7,
      16,
      BTC,
      event(PositionTransferred, { ...handed, execType: enums.EXEC_ADL, counterpartyRealizedQuanta: -9 }),
    ),
    transaction(8, 17, BTC, event(DeficitCovered, { accountId: BOB, amountQuanta: 20 })),
  ];
  const expected: [sequence: number, actorId: number, kind: enums.FundMovement, quanta: number][] = [
    [1, enums.LEDGER, "DEPOSIT", 100],
    [4, BTC, "FUNDING", 3],
    [5, BTC, "LIQUIDATION_FEE", 8],
    [5, BTC, "TRADE", -8],
    [6, OTHER, "TAKEOVER", 0],
    [7, BTC, "ADL", -9],
    [8, BTC, "DEFICIT", -20],
  ];
  expected.reverse();
  for (const batch of [1, 3, 8]) {
    await withHistory(
      transactions,
      (history) => {
        const rows = (query: object) =>
          allPages(2, (page) => history.fundMovements({ ...page, ...query })).map((row) => [
            ...[row.sequence, row.actorId, enums.FUND_MOVEMENTS[row.kind], row.amountQuanta],
          ]);
        assert.deepEqual(rows({}), expected);
        assert.deepEqual(
          rows({ instrumentId: BTC, startTime: 14, endTime: 16 }),
          expected.filter(([sequence, actorId]) => actorId === BTC && sequence >= 5 && sequence <= 7),
        );
      },
      { batch },
    );
  }
});

test("the ledger lists a transaction's entries in their order, and no entry of zero", async () => {
  const trade = { takerAccountId: ALICE, makerAccountId: ALICE, priceTicks: 1, quantityLots: 1 };
  const [sell, buy] = [enums.serialToId(1, BTC), enums.serialToId(2, BTC)];
  const tradeId = enums.serialToId(1, BTC);
  const order = { accountId: ALICE, quantityLots: 1 };
  const transactions = [
    transaction(1, 10, enums.LEDGER, event(Deposited, { accountId: ALICE, amountQuanta: 100, transferId: 1 })),
    transaction(2, 10, enums.LEDGER, event(Deposited, { accountId: ALICE, amountQuanta: 50, transferId: 2 })),
    transaction(3, 10, enums.LEDGER, event(WithdrawalRequested, { accountId: ALICE, amountQuanta: 30, transferId: 3 })),
    transaction(4, 11, BTC, event(OrderPlaced, { ...order, orderId: sell, side: enums.SELL, rests: 1 })),
    transaction(
      5,
      12,
      BTC,
      settled(9, 500),
      paid(ALICE, 9, -7),
      event(OrderPlaced, { ...order, orderId: buy, side: enums.BUY }),
      event(Traded, {
        ...{ ...trade, tradeId, takerOrderId: buy, makerOrderId: sell, execType: enums.EXEC_LIQUIDATION },
        ...{ takerFeeQuanta: 3, makerFeeQuanta: -1, takerRealizedQuanta: -40, makerRealizedQuanta: 0 },
      }),
      event(DeficitCovered, { accountId: ALICE, amountQuanta: 8 }),
      event(DeficitCovered, { accountId: enums.INSURANCE_ACCOUNT, amountQuanta: 1 }),
    ),
    transaction(6, 13, enums.LEDGER, event(WithdrawalSent, { accountId: ALICE, transferId: 3, txHash: "0x1" })),
    transaction(7, 14, enums.LEDGER, event(Deposited, { accountId: ALICE, amountQuanta: 20, transferId: 4 })),
  ];
  const expected = [
    [7, "DEPOSIT", 20, 4],
    [5, "DEFICIT_COVERED", 8, 0],
    [5, "FEE", 1, tradeId],
    [5, "LIQUIDATION_FEE", -3, tradeId],
    [5, "REALIZED_PNL", -40, tradeId],
    [5, "FUNDING", -7, 9],
    [3, "WITHDRAWAL", -30, 3],
    [2, "DEPOSIT", 50, 2],
    [1, "DEPOSIT", 100, 1],
  ];
  for (const batch of [1, 3, 7])
    for (const limit of [1, 2, 5, 100])
      await withHistory(
        transactions,
        (history) => {
          const rows = allPages(limit, (page) => history.ledgerOf(ALICE, page));
          assert.deepEqual(
            rows.map(({ sequence, type, amountQuanta, tradeId, transferId, fundingTime }) => [
              ...[sequence, type, amountQuanta, tradeId || transferId || fundingTime],
            ]),
            expected,
          );
          assert.deepEqual(history.ledgerOf(enums.INSURANCE_ACCOUNT, { limit: 5, type: "DEFICIT_COVERED" }).data, []);
          assert.throws(() => history.ledgerOf(ALICE, { limit: 5, cursor: "1.2.3.4" }), BadCursorError);
        },
        { batch },
      );
});

test("transfers of older versions, without a sequence, keep their position", async () => {
  const deposited = (sequence: number, transferId: number): LoggedTransaction =>
    transaction(sequence, 10, enums.LEDGER, event(Deposited, { accountId: ALICE, amountQuanta: sequence, transferId }));
  await withHistory([deposited(3, 1), deposited(4, 2), deposited(9, 3)], (history, database) => {
    const batch = new WriteBatch();
    for (const id of [1, 2, 3]) batch.put(database.transfers, id, { ...database.transfers.require(id), sequence: 0 });
    database.commit(batch);
    const rows = allPages(1, (page) => history.ledgerOf(ALICE, page));
    // That of the first row that was written together with them.
    assert.deepEqual(
      rows.map(({ transferId, sequence }) => [transferId, sequence]),
      [
        [3, 3],
        [2, 3],
        [1, 3],
      ],
    );
  });
});
