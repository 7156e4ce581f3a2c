import assert from "node:assert/strict";
import { test } from "node:test";
import { SIZE } from "../../../src/core/base/columns.ts";
import { BUY, EXEC_ADL, EXEC_LIQUIDATION, INSURANCE_ACCOUNT, LIMIT, SELL } from "../../../src/core/base/enums.ts";
import { QUANTA_PER_USDC } from "../../../src/core/base/units.ts";
import {
  CancelAll,
  Deposit,
  HaltSymbol,
  OpenSession,
  PlaceOrder,
  SetIndexPrice,
  SetLeverage,
} from "../../../src/core/protocol/commands.ts";
import { PositionTransferred, Traded } from "../../../src/core/protocol/events.ts";
import type { InstrumentConfig } from "../../../src/core/protocol/instrument.ts";
import type { MessageOf } from "../../../src/core/protocol/message-schema.ts";
import type { SessionView } from "../../../src/core/protocol/replies.ts";
import { Random } from "../../../src/sandbox/random.ts";
import { make } from "../support/exchange.ts";
import { FINE, instrument } from "../support/instruments.ts";
import { takeSeed } from "../support/seed.ts";
import { Workers } from "../support/workers.ts";

/*
 * Which position of a cross account is closed first: it must follow from the account, the books and the marks. Ids of symbols,
 * the number of workers, and which thread runs when, must not matter.
 */

/** One liquidation step: symbol, kind, lots closed, ticks. */
type Closing = readonly [symbol: string, kind: "book" | "fund" | "deleveraged", lots: number, ticks: number];

/** One account, alice, and others with more money than they need. */
class Market {
  readonly workers: Workers;
  readonly alice: number;
  private readonly others: number[];

  constructor(configs: readonly InstrumentConfig[], workers: number, random: Random, aliceUsdc: number) {
    this.workers = new Workers(
      configs.map((config) => instrument(config)),
      workers,
      random,
    );
    this.workers.do("ledger", make(Deposit, { accountId: INSURANCE_ACCOUNT, amountQuanta: 1e6 * QUANTA_PER_USDC }));
    this.alice = this.open(aliceUsdc);
    this.others = [this.open(1e9), this.open(1e9)];
  }

  private open(usdc: number): number {
    const tokenHash = `t${this.workers.events.length}`;
    const [opened] = this.workers.do(
      "ledger",
      make(OpenSession, { address: `0x${tokenHash}`, tokenHash, expiresAt: 2 ** 50 }),
    ) as MessageOf<typeof SessionView>[];
    const { accountId } = opened;
    this.workers.do("ledger", make(Deposit, { accountId, amountQuanta: Math.round(usdc * QUANTA_PER_USDC) }));
    return accountId;
  }

  index(symbol: string, ticks: number): void {
    this.workers.do(symbol, make(SetIndexPrice, { indexTicks: ticks }));
  }

  mark(symbol: string): number {
    return this.workers.symbol(symbol).state.markTicks;
  }

  /** Opens a position of alice at the mark. Negative lots: short. */
  position(symbol: string, lots: number): void {
    const side = lots > 0 ? BUY : SELL;
    this.workers.do(symbol, make(SetLeverage, { accountId: this.alice, leverage: 99 }));
    this.order(symbol, this.others[0], 1 - side, this.mark(symbol), Math.abs(lots));
    this.order(symbol, this.alice, side, this.mark(symbol), Math.abs(lots));
    assert.equal(this.size(symbol), lots);
  }

  /** Somebody offers or bids lots at a distance from the mark, in ticks. */
  quote(symbol: string, side: number, ticksAway: number, lots: number): void {
    const ticks = this.mark(symbol) + (side === BUY ? -ticksAway : ticksAway);
    this.order(symbol, this.others[1], side, ticks, lots);
  }

  order(symbol: string, accountId: number, side: number, priceTicks: number, quantityLots: number): void {
    this.workers.do(symbol, make(PlaceOrder, { accountId, side, orderType: LIMIT, priceTicks, quantityLots }));
  }

  cancelQuotes(symbol: string): void {
    this.workers.do(symbol, make(CancelAll, { accountId: this.others[1], side: -1 }));
  }

  size(symbol: string): number {
    const { positions } = this.workers.symbol(symbol).state;
    const row = positions.find(this.alice);
    return row < 0 ? 0 : positions.numbers[row + SIZE];
  }

  get equity(): number {
    return this.workers.marginTable.equity(this.alice);
  }

  get maintenance(): number {
    return this.workers.marginTable.maintenance(this.alice);
  }

  /** Moves one index a ten-thousandth at a time, until alice has less than a part of her maintenance margin. */
  sink(symbol: string, sign: number, part = 1): void {
    for (let i = 0; this.equity >= this.maintenance * part; i++) {
      assert.ok(i < 10_000);
      const { indexTicks } = this.workers.symbol(symbol).state;
      this.index(symbol, Math.round(indexTicks * (1 + sign * 1e-4)));
      this.workers.symbol(symbol).state.contributions.refreshAll();
      this.workers.marginTable.commit();
    }
    assert.ok(this.equity >= 0, String(this.equity));
  }

  /** Ticks until no position of alice is closed any more. Returns what was closed, in order. */
  liquidate(ticks = 60): Closing[] {
    const from = this.workers.events.length;
    for (let i = 0; i < ticks; i++) this.workers.tick();
    return this.workers.events.slice(from).flatMap(({ symbol, event }): Closing[] => {
      if (event.type === Traded.code) {
        const trade = event as MessageOf<typeof Traded>;
        if (trade.execType !== EXEC_LIQUIDATION || trade.takerAccountId !== this.alice) return [];
        return [[symbol, "book", trade.quantityLots, trade.priceTicks]];
      }
      if (event.type !== PositionTransferred.code) return [];
      const transfer = event as MessageOf<typeof PositionTransferred>;
      if (transfer.accountId !== this.alice) return [];
      const kind = transfer.execType === EXEC_ADL ? "deleveraged" : "fund";
      return [[symbol, kind, transfer.quantityLots, transfer.priceTicks]];
    });
  }
}

const NAMES = ["AVAX-PERP", "BTC-PERP", "ETH-PERP", "SOL-PERP"] as const;
const BASE = {
  "AVAX-PERP": { mark: 40_000, maintenanceMarginRate: "0.01" },
  "BTC-PERP": { mark: 650_000, maintenanceMarginRate: "0.004" },
  "ETH-PERP": { mark: 320_000, maintenanceMarginRate: "0.005" },
  "SOL-PERP": { mark: 150_000, maintenanceMarginRate: "0.008" },
};

/** Instruments with these ids, in the order of the ids. */
function configsOf(names: readonly (keyof typeof BASE)[], ids: readonly number[], fee = "0.001"): InstrumentConfig[] {
  return names
    .map((symbol, i) => ({
      ...FINE,
      id: ids[i],
      symbol,
      maxQuantity: "1000",
      breakerLimit: "0",
      liquidationFeeRate: fee,
      riskTiers: [
        { maxNotional: "100000000", maxLeverage: 99, maintenanceMarginRate: BASE[symbol].maintenanceMarginRate },
      ],
    }))
    .sort((a, b) => a.id - b.id);
}

/** Runs the same on 1 to 3 workers, with different ids and orders of threads. Returns the one result of all. */
function alike(
  names: readonly (keyof typeof BASE)[],
  seed: number,
  run: (configs: InstrumentConfig[], workers: number, random: Random) => Closing[],
  fee?: string,
): Closing[] {
  const random = new Random(seed, "ids");
  let first: Closing[] | null = null;
  for (const workers of [1, 2, 3])
    for (let i = 0; i < 3; i++) {
      const ids = names.map((_, at) => at + 1).sort(() => random.uniform() - 0.5);
      const closings = run(configsOf(names, ids, fee), workers, new Random(seed * 100 + i, `threads ${workers}`));
      first ??= closings;
      assert.deepEqual(closings, first, `seed ${seed}, ids ${ids} of ${names}, ${workers} workers`);
    }
  return first ?? [];
}

/** A healthy long of BTC and a losing short of ETH, below maintenance margin. `prepare` fills the books. */
const twoPositions = (prepare: (market: Market) => void, fee?: string): Closing[] =>
  alike(
    ["BTC-PERP", "ETH-PERP"],
    1,
    (configs, workers, random) => {
      const market = new Market(configs, workers, random, 2000);
      market.index("BTC-PERP", 640_000);
      market.index("ETH-PERP", 320_000);
      market.position("BTC-PERP", 500);
      market.position("ETH-PERP", -1000);
      market.index("BTC-PERP", 650_000);
      market.sink("ETH-PERP", 1);
      prepare(market);
      return market.liquidate();
    },
    fee,
  );

test("a losing short that the book can take is closed, and a healthy long without bids is left alone", () => {
  const closings = twoPositions((market) => market.quote("ETH-PERP", SELL, 10, 5000), "0.005");
  assert.ok(closings.length > 0);
  assert.equal(closings[0][0], "ETH-PERP");
  const inBook = closings.filter(([symbol]) => symbol === "ETH-PERP");
  assert.equal(
    inBook.reduce((sum, [, , lots]) => sum + lots, 0),
    1000,
  );
  // A fee that takes all that the price leaves above bankruptcy: nothing restores the account, and the fund comes last.
  assert.deepEqual(closings.slice(0, inBook.length), inBook);
  assert.ok(inBook.every(([, kind]) => kind === "book"));
});

test("with a fee that leaves something, a part of the losing position is enough", () => {
  const closings = twoPositions((market) => market.quote("ETH-PERP", SELL, 10, 5000));
  assert.equal(closings.length, 1);
  const [[symbol, kind, lots]] = closings;
  assert.deepEqual([symbol, kind], ["ETH-PERP", "book"]);
  assert.ok(lots > 0 && lots < 500, String(lots));
});

test("between two books the one that costs less for the margin that it frees comes first", () => {
  // 300 ticks are 0.047 % of BTC, a tenth of its maintenance margin.
  const [first] = twoPositions((market) => {
    market.quote("BTC-PERP", BUY, 1, 5000);
    market.quote("ETH-PERP", SELL, 1000, 5000);
  });
  assert.equal(first[0], "BTC-PERP");
  const [other] = twoPositions((market) => {
    market.quote("BTC-PERP", BUY, 2000, 5000);
    market.quote("ETH-PERP", SELL, 1, 5000);
  });
  assert.equal(other[0], "ETH-PERP");
});

test("if no book takes anything, the fund takes the position with the greatest loss first", () => {
  const closings = twoPositions(() => {});
  assert.deepEqual(
    closings.map(([symbol, kind]) => [symbol, kind]),
    [
      ["ETH-PERP", "fund"],
      ["BTC-PERP", "fund"],
    ],
  );
});

test("a book with a few lots does not keep the fund away, and what it has is taken first", () => {
  const closings = twoPositions((market) => market.quote("ETH-PERP", SELL, 10, 3));
  assert.deepEqual(
    closings.map(([symbol, kind, lots]) => [symbol, kind, lots]),
    [
      ["ETH-PERP", "book", 3],
      ["ETH-PERP", "fund", 997],
      ["BTC-PERP", "fund", 500],
    ],
  );
});

test("a symbol that may not liquidate is not waited for", () => {
  const closings = twoPositions((market) => {
    market.quote("BTC-PERP", BUY, 1, 5000);
    market.quote("ETH-PERP", SELL, 1, 5000);
    market.workers.do("ETH-PERP", make(HaltSymbol, { mode: 2 }));
  });
  assert.ok(closings.length > 0);
  assert.ok(closings.every(([symbol, kind]) => symbol === "BTC-PERP" && kind === "book"));
});

test("an account whose equity is at maintenance margin is left alone", () => {
  alike(["BTC-PERP", "ETH-PERP"], 2, (configs, workers, random) => {
    const market = new Market(configs, workers, random, 2000);
    for (const name of ["BTC-PERP", "ETH-PERP"] as const) {
      market.index(name, BASE[name].mark);
      market.position(name, 500);
    }
    assert.deepEqual(market.liquidate(), []);
    return [];
  });
});

/** What the random runs have met. */
const seen = { steps: 0, inBook: 0, byFund: 0, symbolsOfOneAccount: 0, partOfAPosition: 0 };
const firstSeed = takeSeed("liquidation-order.test");
for (let seed = firstSeed; seed < firstSeed + 40; seed++)
  test(`random positions and books, any ids, any number of workers: the same closings in the same order: seed ${seed}`, () => {
    // With the higher fee nothing is left to an account that is closed in the book.
    const run = (configs: InstrumentConfig[], workers: number, threads: Random): Closing[] =>
      randomAccount(configs, workers, threads, seed);
    const closings = alike(NAMES, seed, run, seed % 4 === 0 ? "0.005" : "0.0005");
    assert.ok(closings.length > 0);
    const kinds = closings.map(([, kind]) => kind);
    seen.steps += closings.length;
    if (kinds.includes("book")) seen.inBook++;
    if (kinds.includes("fund")) seen.byFund++;
    if (new Set(closings.map(([symbol]) => symbol)).size > 1) seen.symbolsOfOneAccount++;
  });

test("the random runs have met closings in books and by the fund, in several symbols of one account, and of parts", () => {
  assert.ok(
    Object.values(seen).every((count) => count >= 5),
    JSON.stringify(seen),
  );
});

/** Everything but ids and threads follows from the seed. */
function randomAccount(configs: InstrumentConfig[], workers: number, threads: Random, seed: number): Closing[] {
  const random = new Random(seed, "account");
  // 10,000 to 400,000 USDC of notional: some are closed in one step, some a fifth at a time.
  const positions = NAMES.filter((_, i) => i < 2 || random.uniform() < 0.7).map((name) => {
    const usdc = 10_000 * 40 ** random.uniform();
    const lots = Math.max(1, Math.round(usdc / ((BASE[name].mark / 10) * 0.001)));
    return { name, usdc, lots: random.uniform() < 0.5 ? lots : -lots };
  });
  const market = new Market(configs, workers, threads, 0.05 * positions.reduce((sum, { usdc }) => sum + usdc, 0));
  for (const { name, lots } of positions) {
    market.index(name, BASE[name].mark);
    market.position(name, lots);
  }
  for (const { name } of positions)
    market.index(name, Math.round(BASE[name].mark * (1 + (random.uniform() - 0.5) * 0.002)));
  const largest = positions.reduce((most, each) => (each.usdc > most.usdc ? each : most));
  market.sink(largest.name, largest.lots > 0 ? -1 : 1, 0.2 + 0.8 * random.uniform());
  for (const { name, lots } of positions) {
    const levels = Math.floor(random.uniform() * 4);
    for (let level = 0; level < levels; level++) {
      const away = 1 + Math.floor(random.uniform() * market.mark(name) * 0.004);
      const share = 0.6 * random.uniform() ** 2;
      market.quote(name, lots > 0 ? BUY : SELL, away, 1 + Math.floor(Math.abs(lots) * share));
    }
  }
  const closings = market.liquidate();
  assert.ok(market.equity >= market.maintenance, `${market.equity} < ${market.maintenance}`);
  if (positions.some(({ name, lots }) => market.size(name) !== 0 && market.size(name) !== lots)) seen.partOfAPosition++;
  return closings;
}
