import assert from "node:assert/strict";
import * as fs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { CASH, NONE, SIZE } from "../../../src/core/base/columns.ts";
import { LEDGER } from "../../../src/core/base/enums.ts";
import { EQUITY_INTERVALS, type EquityInterval } from "../../../src/core/market-data/candles.ts";
import type { Actor } from "../../../src/core/protocol/actor.ts";
import { AccountOpened, Deposited, type Event, WithdrawalRequested } from "../../../src/core/protocol/events.ts";
import type { Message } from "../../../src/core/protocol/message-schema.ts";
import { Random } from "../../../src/sandbox/random.ts";
import { type Database, openDatabase } from "../../../src/store/database/database.ts";
import { HISTORY_INDEX_KEY } from "../../../src/store/database/history-schema.ts";
import { BadCursorError } from "../../../src/store/database/pages.ts";
import { WriteBatch } from "../../../src/store/database/write-batch.ts";
import type { Equity, EquityQuery } from "../../../src/store/history/equity-history.ts";
import { History } from "../../../src/store/history/history.ts";
import { HistoryFold, readIndex } from "../../../src/store/history/history-fold.ts";
import { HistoryPruner, KEEP_ALL } from "../../../src/store/history/history-pruner.ts";
import { Markets, randomStep, setRandomTerms } from "../../core/support/random-markets.ts";
import { takeSeed } from "../../core/support/seed.ts";
import { allPages } from "../support/history-checks.ts";
import { event, INSTRUMENTS, type LoggedTransaction } from "../support/history-model.ts";

const seed = takeSeed("equity-fold.test");
const root = fs.mkdtempSync(join(tmpdir(), "perpd-equity-"));
after(() => fs.rmSync(root, { recursive: true }));
let folders = 0;
const newDatabase = (): Database => openDatabase(join(root, String(folders++)));

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const LENGTHS_MS: Record<EquityInterval, number> = {
  ...{ "1m": MINUTE, "5m": 5 * MINUTE, "15m": 15 * MINUTE, "1h": HOUR, "4h": 4 * HOUR, "1d": DAY },
};

function fold(into: HistoryFold, transactions: readonly LoggedTransaction[]): void {
  for (const { sequence, time, actorId, events } of transactions) {
    into.transaction(sequence, time, actorId);
    for (const message of events) into.apply(message as Event);
  }
  into.commit();
}

interface Sample {
  readonly time: number;
  /** By account: the equity, and the deposits less the withdrawals. */
  readonly figures: ReadonlyMap<number, readonly [equity: number, deposited: number]>;
}

/** Two real markets that note what each account is worth after each command. */
class SampledMarkets extends Markets {
  readonly samples: Sample[] = [];
  private readonly deposited = new Map<number, number>();
  private noted = 0;

  override run(actor: Actor, command: Message): Message[] {
    const said = super.run(actor, command);
    for (const { events } of this.log.slice(this.noted)) for (const message of events) this.note(message as Event);
    this.noted = this.log.length;
    const figures = new Map([...this.deposited].map(([id, quanta]) => [id, [this.equity(id), quanta] as const]));
    this.samples.push({ time: this.time, figures });
    return said;
  }

  private note(message: Event): void {
    if (message.type === AccountOpened.code) this.deposited.set(message.accountId, 0);
    const sign = message.type === Deposited.code ? 1 : message.type === WithdrawalRequested.code ? -1 : 0;
    if (sign === 0) return;
    const { accountId, amountQuanta } = message as { accountId: number; amountQuanta: number };
    this.deposited.set(accountId, (this.deposited.get(accountId) ?? 0) + sign * amountQuanta);
  }

  private equity(accountId: number): number {
    return this.symbols.reduce((sum, { state }) => {
      const { positions, markTicks, instrument } = state;
      const row = positions.find(accountId);
      if (row === NONE) return sum;
      return (
        sum + positions.numbers[row + CASH] + positions.numbers[row + SIZE] * markTicks * instrument.quantaPerTickLot
      );
    }, this.deposited.get(accountId) ?? 0);
  }
}

test("the equity of every account at every interval's end is that of the engine, in batches and pages of any size", async () => {
  const random = new Random(seed, "equity");
  const int = (below: number): number => Math.floor(random.uniform() * below);
  const markets = new SampledMarkets();
  markets.fund(50_000);
  const index = [650_000, 320_000];
  markets.symbols.forEach((symbol, i) => void markets.price(symbol, index[i] as number));
  const accounts = Array.from({ length: 6 }, () => markets.open(500 + int(20_000)));
  setRandomTerms(markets, random, accounts);
  for (let step = 0; step < 1200; step++) randomStep(markets, random, accounts, index);

  const instruments = markets.symbols.map(({ state }) => state.instrument);
  const instrumentOf = (id: number) => instruments.find((each) => each.id === id) ?? assert.fail();
  const [whole, cut] = [newDatabase(), newDatabase()];
  fold(new HistoryFold(whole, instruments), markets.log);
  // By a program that is killed now and then.
  let into = new HistoryFold(cut, instruments);
  for (let at = 0; at < markets.log.length; ) {
    const end = at + 1 + int(random.uniform() < 0.5 ? 5 : 500);
    fold(into, markets.log.slice(at, end));
    if (random.uniform() < 0.3) into = new HistoryFold(cut, instruments);
    at = end;
  }

  const { time: now } = markets.log.at(-1) ?? assert.fail();
  let unrealized = 0;
  for (const accountId of accounts)
    for (const interval of EQUITY_INTERVALS) {
      const expected = atEnds(markets.samples, accountId, interval, now);
      const read = (database: Database, query: Partial<EquityQuery> = {}): Equity[] =>
        allPages(1 + int(200), (page) =>
          new History(database).equityOf(accountId, { ...page, ...query, interval }, instrumentOf),
        );
      const rows = read(whole);
      const shown = rows.map(({ time, walletQuanta, unrealizedQuanta, depositedQuanta }) => {
        unrealized += Math.abs(unrealizedQuanta);
        return [time, walletQuanta + unrealizedQuanta, depositedQuanta];
      });
      assert.deepEqual(shown, expected, `${accountId} ${interval}`);
      assert.deepEqual(read(cut), rows);
      const [startTime = 0, endTime = 0] = [now - int(5 * HOUR), now - int(5 * HOUR)].sort((a, b) => a - b);
      const within = rows.filter(({ time }) => time >= startTime && time <= endTime);
      assert.deepEqual(read(whole, { startTime, endTime }), within);
    }
  assert.ok(unrealized > 0);
  await Promise.all([whole.close(), cut.close()]);
});

/** The last sample before each end, newest first. */
function atEnds(samples: readonly Sample[], accountId: number, interval: EquityInterval, now: number): number[][] {
  const length = LENGTHS_MS[interval];
  const keptSince = { "1m": DAY * (Math.floor(now / DAY) - 1), "1h": 30 * DAY * (Math.floor(now / (30 * DAY)) - 2) };
  const since = length < HOUR ? keptSince["1m"] : length < DAY ? keptSince["1h"] : 0;
  const known = samples.filter(({ figures }) => figures.has(accountId));
  const [{ time: first = 0 } = {}] = known;
  const rows: number[][] = [];
  let at = known.length - 1;
  for (let time = now; time > first && time > since; time = Math.ceil(time / length - 1) * length) {
    while (at > 0 && (known[at]?.time ?? 0) >= (time === now ? now + 1 : time)) at--;
    rows.push([time, ...(known[at]?.figures.get(accountId) ?? [])]);
  }
  return rows;
}

let sequence = 0;
const transaction = (time: number, accountId: number, quanta: number): LoggedTransaction => {
  const fields = { transferId: ++sequence, accountId, amountQuanta: quanta };
  return { sequence, time, actorId: LEDGER, events: [event(Deposited, fields)] };
};
const CAROL = 20;
const deposits = (database: Database, interval: EquityInterval, query: Partial<EquityQuery> = {}): number[][] =>
  new History(database)
    .equityOf(CAROL, { interval, limit: 1000, ...query }, () => assert.fail("there is no position"))
    .data.map(({ time, depositedQuanta }) => [time / MINUTE, depositedQuanta]);

test("minutes are kept for a day and longer, hours for months, and what an account had before stays known", async () => {
  const database = newDatabase();
  const into = new HistoryFold(database, INSTRUMENTS);
  const pruner = new HistoryPruner(database, INSTRUMENTS, { ...KEEP_ALL, keysPerStep: 2 });
  const countRows = () => [...database.equity.keys({ start: ["EQUITY 1d"], end: ["EQUITY 1n"] })].length;
  for (let minute = 0; minute < 10; minute++) fold(into, [transaction(DAY + minute * MINUTE, CAROL, 1)]);
  assert.equal(countRows(), 12);
  fold(into, [transaction(2 * DAY + 5 * MINUTE, CAROL, 100)]);
  while (pruner.step(into.clock) || countRows() > 15) await Promise.resolve();
  // What was removed stays removed; the last minutes of yesterday are those after its last change.
  fold(into, [transaction(3 * DAY + 2 * MINUTE + 1, CAROL, 1000)]);
  for (let step = 0; step < 20; step++) pruner.step(into.clock);
  assert.equal(countRows(), 3 + 3 + 2, "days, hours, and the minutes of two days");
  const since = 3 * DAY;
  const day = 3 * 1440;
  assert.deepEqual(deposits(database, "1m", { startTime: since }), [
    [day + 2 + 1 / MINUTE, 1110],
    [day + 2, 110],
    [day + 1, 110],
    [day, 110],
  ]);
  assert.deepEqual(deposits(database, "1m", { sort: "ASC", limit: 2 }), [
    [2 * 1440 + 1, 10],
    [2 * 1440 + 2, 10],
  ]);
  assert.deepEqual(deposits(database, "1h", { sort: "ASC", limit: 2 }), [
    [1440 + 60, 10],
    [1440 + 120, 10],
  ]);
  assert.deepEqual(deposits(database, "1d"), [
    [day + 2 + 1 / MINUTE, 1110],
    [day, 110],
    [2 * 1440, 10],
  ]);
  assert.throws(() => deposits(database, "1d", { cursor: "x" }), BadCursorError);
  await database.close();
});

test("ascending pages of any size give the same rows as one page, also if time passes between them", async () => {
  for (const interval of ["1m", "5m", "1h"] as const)
    for (const limit of [1, 2, 3, 4, 5, 7]) {
      const database = newDatabase();
      const into = new HistoryFold(database, INSTRUMENTS);
      let minute = 1440;
      // Whole intervals, and parts of one. The clock is often at the end of an interval, too.
      const advance = (): void => {
        minute += LENGTHS_MS[interval] / MINUTE / 4;
        fold(into, [transaction(minute * MINUTE, CAROL, 1)]);
      };
      for (let quarter = 0; quarter < 10; quarter++) advance();
      const stopsAt = minute + (2 * LENGTHS_MS[interval]) / MINUTE;
      const rows: number[][] = [];
      let cursor: string | undefined;
      do {
        const query = { interval, limit, sort: "ASC", cursor } as const;
        const page = new History(database).equityOf(CAROL, query, () => assert.fail("there is no position"));
        rows.push(...page.data.map(({ time, depositedQuanta }) => [time / MINUTE, depositedQuanta]));
        cursor = page.nextCursor ?? undefined;
        // Rows that are too many would let the clock run for ever.
        if (cursor !== undefined && minute < stopsAt) advance();
      } while (cursor !== undefined);
      assert.deepEqual(rows, deposits(database, interval, { sort: "ASC" }), `${interval} in pages of ${limit}`);
      await database.close();
    }
});

test("a folder of an older version follows the accounts that are opened from then on", async () => {
  const database = newDatabase();
  fold(new HistoryFold(database, INSTRUMENTS), [transaction(DAY, CAROL - 1, 5)]);
  const batch = new WriteBatch();
  batch.put(database.index, HISTORY_INDEX_KEY, { ...readIndex(database), firstEquityAccount: 0 });
  database.commit(batch);
  const into = new HistoryFold(database, INSTRUMENTS);
  fold(into, [transaction(DAY + 1, CAROL, 5)]);
  assert.deepEqual(deposits(database, "1d"), []);
  const opened = { ...transaction(DAY + 2, CAROL, 7) };
  fold(into, [{ ...opened, events: [event(AccountOpened, { accountId: CAROL, address: "0x0" }), ...opened.events] }]);
  assert.deepEqual(deposits(database, "1d"), [[(DAY + 2) / MINUTE, 7]]);
  await database.close();
});
