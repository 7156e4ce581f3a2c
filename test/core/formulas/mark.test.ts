import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { BUY, INSURANCE_ACCOUNT, SELL } from "../../../src/core/base/enums.ts";
import { BASIS_UNIT, markPrice, nextBasis1024 } from "../../../src/core/formulas/mark.ts";
import { CancelAll, SetIndexPrice, SetLeverage } from "../../../src/core/protocol/commands.ts";
import { PriceUpdated } from "../../../src/core/protocol/events.ts";
import type { MessageOf } from "../../../src/core/protocol/message-schema.ts";
import { Exchange, make, START } from "../support/exchange.ts";
import { instrument, PLAIN } from "../support/instruments.ts";
import { Markets } from "../support/random-markets.ts";
import { markOf } from "../support/reference/reference-formulas.ts";
import { takeSeed } from "../support/seed.ts";

const seed = takeSeed("mark.test");
const NONE = -1;

test("the mark is the median of index, index with basis, and last price", () => {
  for (const [index, basisTicks, last, expected] of [
    [100, 0, 0, 100], // nothing has traded
    [100, 7, 0, 100],
    [100, 0, 90, 100],
    [100, 5, 103, 103],
    [100, 5, 110, 105],
    [100, 5, 90, 100],
    [100, -5, 97, 97],
    [100, -5, 90, 95],
    [100, -5, 120, 100],
  ])
    assert.equal(markPrice(index, 0, basisTicks * BASIS_UNIT, last, 20), expected, `${index} ${basisTicks} ${last}`);
});

test("the mark is within its limit of the index, whatever funding, basis and last price are", () => {
  for (const [index, fundingTicks, basisTicks, last, limit, expected] of [
    [1000, 0, 50, 2000, 4, 1004],
    [1000, 0, -50, 1, 4, 996],
    [1000, 40, 50, 1045, 4, 1004], // a rate of funding from before there was a limit
    [1000, -40, -50, 999, 4, 996],
    [1000, 2, 50, 1003, 4, 1003], // one of the two may be beyond it, as long as the middle one is not
    [1000, 40, 50, 1045, 0, 1000],
    [3, 0, -50, 1, 2, 1], // never below the first tick
  ])
    assert.equal(
      markPrice(index, fundingTicks, basisTicks * BASIS_UNIT, last, limit),
      expected,
      `${index} ${fundingTicks} ${basisTicks} ${last} ${limit}`,
    );
});

test("the basis moves by a thirtieth towards mid − index, and fades without a two-sided book", () => {
  assert.equal(nextBasis1024(0, 100, 109, 111, 20), Math.trunc((10 * BASIS_UNIT) / 30));
  assert.equal(nextBasis1024(0, 100, 110, 111, 20), Math.trunc((10.5 * BASIS_UNIT) / 30));
  assert.equal(nextBasis1024(0, 100, 89, 91, 20), -Math.trunc((10 * BASIS_UNIT) / 30));
  for (const [bid, ask] of [
    [NONE, NONE],
    [90, NONE],
    [NONE, 110],
  ])
    assert.equal(nextBasis1024(3000, 100, bid, ask, 20), 2900);
  let basis = 0;
  for (let i = 0; i < 500; i++) basis = nextBasis1024(basis, 1000, 1099, 1101, 200);
  // Steps are whole thirtieths, so it stops less than 30/1024 before.
  assert.ok(basis > 100 * BASIS_UNIT - 30 && basis <= 100 * BASIS_UNIT, String(basis));
  for (let i = 0; i < 500; i++) basis = nextBasis1024(basis, 1000, NONE, NONE, 200);
  assert.ok(basis >= 0 && basis < 30, String(basis));
  assert.equal(markPrice(1000, 0, basis, 1001, 200), 1000);
});

test("bid and ask each count as at most the limit away from the index", () => {
  const limit = 4;
  const whole = (sampleTicks: number): number => Math.trunc((sampleTicks * BASIS_UNIT) / 30);
  for (const [bid, ask, sampleTicks] of [
    [1100, 2000, 4],
    [1, 900, -4],
    [1, 2000, 0], // so wide that it says nothing
    [1, 1002, -1],
    [998, 5000, 1],
    [999, 1003, 1],
  ])
    assert.equal(nextBasis1024(0, 1000, bid, ask, limit), whole(sampleTicks), `${bid} ${ask}`);
});

test("a basis from a time with a wider limit is within the new limit at the next price", () => {
  assert.equal(nextBasis1024(500 * BASIS_UNIT, 1000, 1500, 1502, 4), 4 * BASIS_UNIT);
  assert.equal(
    nextBasis1024(-500 * BASIS_UNIT, 1000, NONE, NONE, 4),
    -4 * BASIS_UNIT + Math.trunc((4 * BASIS_UNIT) / 30),
  );
  // With ticks coarser than the limit the mark is the index. Zero has no sign.
  assert.ok(Object.is(nextBasis1024(-500 * BASIS_UNIT, 100, 89, 91, 0), 0));
});

test("mark and basis are whole numbers in range, and equal the exact formula", () => {
  const price = fc.oneof(fc.integer({ min: 1, max: 2 ** 24 }), fc.integer({ min: 1, max: 200 }));
  const steps = fc.array(
    fc.record({
      index: price,
      book: fc.option(fc.tuple(price, price)),
      last: fc.oneof(fc.constant(0), price),
      limitPpm: fc.oneof(fc.constant(3750), fc.integer({ min: 0, max: 375_000 })),
    }),
    { maxLength: 40 },
  );
  fc.assert(
    fc.property(steps, (steps) => {
      let basis = 0;
      for (const { index, book, last, limitPpm } of steps) {
        const [bid, ask] = book === null ? [NONE, NONE] : [Math.min(...book), Math.max(...book)];
        const limit = Math.floor((index * limitPpm) / 1e6);
        const known = book === null ? [undefined, undefined] : [bid, ask];
        const expected = markOf(index, basis, known[0], known[1], last, limit);
        basis = nextBasis1024(basis, index, bid, ask, limit);
        const mark = markPrice(index, 0, basis, last, limit);
        assert.deepEqual({ markTicks: mark, basis1024: basis }, expected);
        assert.ok(Math.abs(basis) <= limit * BASIS_UNIT && Math.abs(mark - index) <= limit, `${basis} ${mark}`);
        assert.ok(Number.isSafeInteger(mark) && mark >= 1 && mark <= 2 ** 24, String(mark));
      }
    }),
    { seed, numRuns: 1000 },
  );
});

const INDEX = 650_000;
/** Half of the least maintenance margin of 0.4 %. */
const LIMIT_PPM = 2000;

/** A market in which one owner alone quotes, with several accounts, at a constant index. */
class LoneQuoter {
  readonly markets = new Markets();
  readonly btc = this.markets.symbols[0];
  readonly accounts: number[] = [];
  paidIn = 0;
  private readonly seller: number;
  private readonly buyer: number;

  constructor() {
    this.markets.fund(1_000_000);
    this.markets.price(this.btc, INDEX);
    this.seller = this.open(100_000, 10);
    this.buyer = this.open(100_000, 10);
  }

  open(usdc: number, leverage: number): number {
    const accountId = this.markets.open(usdc);
    this.accounts.push(accountId);
    this.paidIn += usdc * 1e6;
    this.markets.run(this.btc, make(SetLeverage, { accountId, leverage }));
    return accountId;
  }

  get equity(): number {
    return this.accounts.reduce((sum, accountId) => sum + this.markets.marginTable.equity(accountId), 0);
  }

  cancel(): void {
    for (const accountId of this.accounts) this.markets.run(this.btc, make(CancelAll, { accountId, side: -1 }));
  }

  /** A trade, a bid and an ask far from the mark, within the price band; then prices, each passed to `each`. */
  pull(direction: number, each: (price: MessageOf<typeof PriceUpdated>) => void): void {
    const { markets, btc } = this;
    for (let second = 0; second < 150; second++) {
      if (second % 10 === 0) {
        for (const accountId of [this.seller, this.buyer]) markets.run(btc, make(CancelAll, { accountId, side: -1 }));
        const away = Math.round(btc.state.markTicks * (1 + direction * 0.04));
        markets.order(btc, this.seller, SELL, away, 1);
        markets.order(btc, this.buyer, BUY, away, 1);
        markets.order(btc, this.seller, SELL, away + 1, 400);
        markets.order(btc, this.buyer, BUY, away - 1, 400);
      }
      for (let quarter = 0; quarter < 4; quarter++) markets.tick();
      const events = markets.price(btc, INDEX);
      each(events.find(({ type }) => type === PriceUpdated.code) as MessageOf<typeof PriceUpdated>);
    }
  }
}

test("mark, basis and premium stay within their limit of the index, whatever a lone quoter bids, asks and trades", () => {
  const quoter = new LoneQuoter();
  const limitTicks = Math.floor((INDEX * LIMIT_PPM) / 1e6);
  for (const direction of [1, -1]) {
    let furthest = 0;
    quoter.pull(direction, ({ markTicks, basis1024, premiumPpb }) => {
      furthest = Math.max(furthest, direction * (markTicks - INDEX));
      assert.ok(Math.abs(markTicks - INDEX) <= limitTicks, `mark ${markTicks}`);
      assert.ok(Math.abs(basis1024) <= limitTicks * BASIS_UNIT, `basis ${basis1024}`);
      assert.ok(Math.abs(premiumPpb) <= LIMIT_PPM * 1000, `premium ${premiumPpb}`);
    });
    assert.ok(furthest > 0.9 * limitTicks, `the mark follows the book as far as that: ${furthest}`);
  }
  quoter.markets.audit();
});

for (const direction of [1, -1])
  test(`swinging the mark ${direction > 0 ? "up" : "down"} by a lone quoter liquidates no position that was just opened`, () => {
    const quoter = new LoneQuoter();
    const { markets, btc } = quoter;
    const fund = markets.marginTable.equity(INSURANCE_ACCOUNT);
    const [winning, losing] = direction > 0 ? [BUY, SELL] : [SELL, BUY];
    const winner = quoter.open(3_000_000, 5);
    for (let round = 0; round < 2; round++) {
      quoter.pull(-direction, () => {});
      quoter.cancel();
      const losers = Array.from({ length: 5 }, () => quoter.open(3200, 100));
      const lots = Math.floor(290_000_000 / (btc.state.markTicks / 10));
      for (const loser of losers) {
        markets.order(btc, loser, losing, btc.state.markTicks, lots);
        markets.order(btc, winner, winning, btc.state.markTicks, lots);
        assert.equal(Math.abs(markets.size(btc, loser)), lots);
      }
      quoter.pull(direction, () => {});
      quoter.cancel();
      for (const loser of losers) assert.equal(Math.abs(markets.size(btc, loser)), lots);
    }
    assert.equal(markets.marginTable.equity(INSURANCE_ACCOUNT), fund);
    assert.ok(quoter.equity < quoter.paidIn, `${quoter.equity} of ${quoter.paidIn}`);
    markets.audit();
  });

test("a mark that is beyond the limit, from before there was one, is within it at the next price", () => {
  const exchange = new Exchange([instrument(PLAIN)]);
  const plain = exchange.symbol(PLAIN.id);
  const basis1024 = 4000 * BASIS_UNIT;
  plain.apply(make(PriceUpdated, { indexTicks: 4000, markTicks: 8000, basis1024, premiumPpb: 900_000_000 }), START);
  plain.settle(1, START);
  exchange.restored();
  assert.equal(plain.state.markTicks, 8000, "the log is not decided again");
  exchange.do(PLAIN.id, make(SetIndexPrice, { indexTicks: 4000 }));
  // 0.5 % of it, half of the maintenance margin, less a thirtieth.
  assert.equal(plain.state.basis1024, 20 * BASIS_UNIT - Math.trunc((20 * BASIS_UNIT) / 30));
  assert.equal(plain.state.markTicks, 4000);
});
