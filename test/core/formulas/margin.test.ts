import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { DEFAULT_INSTRUMENTS } from "../../../src/config/instruments.ts";
import type { Contribution } from "../../../src/core/accounts/contribution.ts";
import {
  BUY_EXPOSURE,
  BUY_LOSS,
  BUY_LOTS,
  CASH,
  COST,
  LEVERAGE,
  ROW_STRIDE,
  SELL_EXPOSURE,
  SELL_LOSS,
  SELL_LOTS,
  SIZE,
} from "../../../src/core/base/columns.ts";
import {
  bankruptcyPrice,
  contribution,
  initialMargin,
  liquidationPrice,
  maintenanceMargin,
  tierOf,
} from "../../../src/core/formulas/margin.ts";
import { compileInstrument, type Instrument } from "../../../src/core/protocol/instrument.ts";
import { instrument, ODD, PLAIN } from "../support/instruments.ts";
import { dividedUp, initialMarginOf, maintenanceMarginOf } from "../support/reference/reference-formulas.ts";
import { takeSeed } from "../support/seed.ts";

const seed = takeSeed("margin.test");
const parameters = { seed, numRuns: 5000, includeErrorInReport: true };
const INSTRUMENTS = [instrument(PLAIN), instrument(ODD), ...DEFAULT_INSTRUMENTS.map(compileInstrument)];
const anyInstrument = fc.constantFrom(...INSTRUMENTS);

/** A notional up to beyond the last tier; the edges are more frequent than by chance. */
const notionalOf = (of: Instrument): fc.Arbitrary<number> => {
  const edges = of.riskTiers.map(({ maxNotionalQuanta }) => maxNotionalQuanta);
  return fc.oneof(
    fc.constantFrom(...edges.flatMap((edge) => [edge - 1, edge, edge + 1])),
    fc.integer({ min: 0, max: Math.min(edges[edges.length - 1] * 2, 2 ** 51) }),
    fc.integer({ min: 0, max: 1000 }),
  );
};
const withNotional = anyInstrument.chain((of) => fc.tuple(fc.constant(of), notionalOf(of)));

test("margins equal the exact formula to the quantum", () => {
  fc.assert(
    fc.property(withNotional, fc.nat(), ([of, notional], pick) => {
      const leverage = 1 + (pick % of.maxLeverage);
      assert.equal(initialMargin(of, notional, leverage), initialMarginOf(of, notional, leverage));
      assert.equal(maintenanceMargin(of, notional), maintenanceMarginOf(of, notional));
    }),
    parameters,
  );
});

test("no margin falls as the notional grows, and maintenance margin has no jumps", () => {
  fc.assert(
    fc.property(withNotional, fc.nat(5000), fc.nat(), ([of, notional], more, pick) => {
      const leverage = 1 + (pick % of.maxLeverage);
      assert.ok(initialMargin(of, notional + more, leverage) >= initialMargin(of, notional, leverage));
      const step = maintenanceMargin(of, notional + 1) - maintenanceMargin(of, notional);
      assert.ok(step === 0 || step === 1, `a step of ${step}`);
      assert.ok(maintenanceMargin(of, notional) <= initialMargin(of, notional, of.maxLeverage) || notional === 0);
    }),
    parameters,
  );
});

test("a tier includes its upper edge", () => {
  const of = instrument(PLAIN);
  const [first, second] = of.riskTiers;
  assert.equal(tierOf(of, 0), first);
  assert.equal(tierOf(of, first.maxNotionalQuanta), first);
  assert.equal(tierOf(of, first.maxNotionalQuanta + 1), second);
  assert.equal(tierOf(of, second.maxNotionalQuanta * 3), second);
});

/** A position with its order sums, up to the largest that the instrument allows. */
const rowOf = (of: Instrument) => {
  const lots = fc.oneof(fc.nat(20), fc.nat(of.maxPositionLots));
  const price = fc.integer({ min: 1, max: of.maxPriceTicks });
  const side = fc.record({ lots, price, loss: fc.nat(Math.floor(of.maxPriceTicks / 20)) });
  return fc.record({
    of: fc.constant(of),
    size: fc.tuple(lots, fc.constantFrom(-1, 0, 1)).map(([lots, sign]) => lots * sign || 0),
    cash: fc.integer({ min: -(2 ** 50), max: 2 ** 50 }),
    cost: fc.integer({ min: -(2 ** 50), max: 2 ** 50 }),
    leverage: fc.integer({ min: 1, max: of.maxLeverage }),
    mark: price,
    buy: side,
    sell: side,
  });
};

test("a contribution equals the documented formula to the quantum", () => {
  const out: Contribution = { equity: 0, unrealized: 0, initial: 0, positionInitial: 0, maintenance: 0 };
  fc.assert(
    fc.property(anyInstrument.chain(rowOf), ({ of, size, cash, cost, leverage, mark, buy, sell }) => {
      const q = of.quantaPerTickLot;
      const at = ROW_STRIDE;
      const row = new Float64Array(ROW_STRIDE * 2);
      row[at + SIZE] = size;
      row[at + CASH] = cash;
      row[at + COST] = cost;
      row[at + LEVERAGE] = leverage;
      row[at + BUY_LOTS] = buy.lots;
      row[at + BUY_EXPOSURE] = buy.lots * buy.price * q;
      row[at + BUY_LOSS] = buy.lots * buy.loss * q;
      row[at + SELL_LOTS] = sell.lots;
      row[at + SELL_EXPOSURE] = sell.lots * sell.price * q;
      row[at + SELL_LOSS] = sell.lots * sell.loss * q;
      contribution(of, row, at, mark, out);

      const value = size * mark * q;
      const long = value + row[at + BUY_EXPOSURE];
      const short = row[at + SELL_EXPOSURE] - value;
      const cost1 = costOfSide(of, buy.lots, Math.max(0, -size), row[at + BUY_EXPOSURE], row[at + BUY_LOSS]);
      const cost2 = costOfSide(of, sell.lots, Math.max(0, size), row[at + SELL_EXPOSURE], row[at + SELL_LOSS]);
      const position = initialMarginOf(of, Math.abs(value), leverage);
      const initial = initialMarginOf(of, Math.max(long, short), leverage) + cost1 + cost2;
      assert.deepEqual(out, {
        equity: cash + value,
        unrealized: value - cost,
        initial,
        positionInitial: position,
        maintenance: maintenanceMarginOf(of, Math.abs(value)),
      });
      for (const part of Object.values(out)) assert.ok(Number.isSafeInteger(part), `${part} is not exact`);
    }),
    parameters,
  );
});

function costOfSide(of: Instrument, lots: number, reducing: number, exposure: number, loss: number): number {
  if (lots <= reducing) return 0;
  const openLoss = dividedUp(loss, lots - reducing, lots);
  return openLoss + dividedUp(dividedUp(exposure, lots - reducing, lots) + openLoss, of.takerFeePpm, 1_000_000);
}

/** A position of an account, with the equity and maintenance margin of the rest of the account. */
const positionOf = (of: Instrument) => {
  const [first] = of.riskTiers;
  const edges = of.riskTiers.map(({ maxNotionalQuanta }) => maxNotionalQuanta);
  return fc
    .record({
      notional: fc.oneof(
        fc.constantFrom(...edges),
        fc.integer({ min: first.maxNotionalQuanta / 100, max: edges[edges.length - 1] }),
      ),
      mark: fc.integer({ min: 50, max: Math.floor(of.maxPriceTicks / 2) }),
      sign: fc.constantFrom(-1, 1),
      /** Equity over maintenance, in thousandths of the notional. */
      cushion: fc.integer({ min: -20, max: 1500 }),
      othersMaintenance: fc.oneof(fc.constant(0), fc.nat(first.maxNotionalQuanta)),
    })
    .map(({ notional, mark, sign, cushion, othersMaintenance }) => {
      const perLot = mark * of.quantaPerTickLot;
      const lots = Math.max(1, Math.floor(notional / perLot));
      const maintenance = maintenanceMargin(of, lots * perLot) + othersMaintenance;
      const equity = maintenance + Math.floor((lots * perLot * cushion) / 1000);
      return { of, size: sign * lots, mark, equity, maintenance, othersMaintenance };
    });
};

test("at the liquidation price, equity equals maintenance margin within the value of a tick", () => {
  let answered = 0;
  fc.assert(
    fc.property(anyInstrument.chain(positionOf), ({ of, size, mark, equity, maintenance, othersMaintenance }) => {
      const q = of.quantaPerTickLot;
      const surplusAt = (ticks: number): number =>
        equity + size * (ticks - mark) * q - maintenanceMargin(of, Math.abs(size) * ticks * q) - othersMaintenance;
      const price = liquidationPrice(of, size, mark, equity, maintenance);
      // A tick changes the equity, and the margin by its rate. Each rounding adds a quantum.
      const { maintenanceMarginPpm } = of.riskTiers[of.riskTiers.length - 1];
      const tick = Math.abs(size) * q + dividedUp(Math.abs(size) * q, maintenanceMarginPpm, 1_000_000) + 2;
      if (price > 0) {
        answered++;
        assert.ok(Math.abs(surplusAt(price)) <= tick, `${surplusAt(price)} at ${price}, a tick is ${tick}`);
        assert.ok(surplusAt(price) >= -2, "rounded to the side that comes first, never past it");
        return;
      }
      // None in range: the position survives every price, or is below its margin at every price.
      const safe = size > 0 ? surplusAt(1) > -tick : surplusAt(of.maxPriceTicks) > -tick;
      const lost = size > 0 ? surplusAt(of.maxPriceTicks) < tick : surplusAt(1) < tick;
      assert.ok(safe || lost, `no price, but ${surplusAt(1)} at 1 and ${surplusAt(of.maxPriceTicks)} at the top`);
    }),
    parameters,
  );
  assert.ok(answered > parameters.numRuns / 4, `only ${answered} had a price`);
});

test("a liquidation price exactly at a tier's edge is found", () => {
  let cases = 0;
  for (const of of DEFAULT_INSTRUMENTS.map(compileInstrument)) {
    const q = of.quantaPerTickLot;
    for (const { maxNotionalQuanta } of of.riskTiers.slice(0, -1)) {
      for (let lots = 1; lots < 5000; lots++) {
        const price = maxNotionalQuanta / (lots * q);
        if (!Number.isInteger(price) || price > of.maxPriceTicks / 2) continue;
        for (const size of [lots, -lots]) {
          for (const away of [-0.1, -0.01, 0.01, 0.1]) {
            const mark = Math.round(price * (1 + away));
            const equity = maintenanceMargin(of, maxNotionalQuanta) + size * (mark - price) * q;
            const found = liquidationPrice(of, size, mark, equity, maintenanceMargin(of, lots * mark * q));
            assert.ok(
              Math.abs(found - price) <= 1,
              `${of.symbol}: ${found} instead of ${price} for ${size} at ${mark}`,
            );
            cases++;
          }
        }
      }
    }
  }
  assert.ok(cases > 500, `${cases} cases`);
});

test("liquidation prices worked by hand", () => {
  const of = instrument(PLAIN);
  const price = (size: number, mark: number, usdc: number, others = 0): number => {
    const maintenance = maintenanceMargin(of, Math.abs(size) * mark * 1e6) + others * 1e6;
    return liquidationPrice(of, size, mark, usdc * 1e6, maintenance);
  };
  // 10 long at 1000 with 1000: 1000 + 10·(p − 1000) = 0.01·10·p → p = 9000 ÷ 9.9 = 909.09
  assert.equal(price(10, 1000, 1000), 910);
  // 10 short: 1000 − 10·(p − 1000) = 0.1·p → p = 11000 ÷ 10.1 = 1089.1
  assert.equal(price(-10, 1000, 1000), 1089);
  // with a maintenance margin of 50 for other positions: p = 9050 ÷ 9.9 = 914.14
  assert.equal(price(10, 1000, 1000, 50), 915);
  // 200 long at 1000 with 10,000, in the second tier, whose deduction is 1500:
  // 10000 + 200·(p − 1000) = 5·p − 1500 → p = 188500 ÷ 195 = 966.67
  assert.equal(price(200, 1000, 10_000), 967);
  // 110 long at 1000 with 12,000 ends up in the first tier: p = 98000 ÷ 108.9 = 899.9
  assert.equal(price(110, 1000, 12_000), 900);
  assert.equal(price(0, 1000, 1000), 0, "no position");
  assert.equal(price(10, 1000, 10_000), 0, "a long one that is worth nothing is paid for");
  assert.equal(price(-10, 1000, 1_000_000), 0, "beyond the highest price");
});

test("closing at the bankruptcy price keeps the rest of the account's equity per maintenance margin", () => {
  const of = instrument(PLAIN);
  // alone: it takes all the equity. 10 at 1000 with 40: 4 a lot
  const maintenance = maintenanceMargin(of, 10_000e6);
  assert.equal(bankruptcyPrice(of, 10, 1000, 40e6, maintenance), 996);
  assert.equal(bankruptcyPrice(of, -10, 1000, 40e6, maintenance), 1004);
  // half of the maintenance margin belongs to another position, and so does half of the equity
  assert.equal(bankruptcyPrice(of, 10, 1000, 40e6, 2 * maintenance), 998);
  // already below zero: the others pay
  assert.equal(bankruptcyPrice(of, 10, 1000, -40e6, maintenance), 1004);
  assert.equal(bankruptcyPrice(of, 10, 1000, 10_000e6, maintenance), 0, "never");
  assert.equal(bankruptcyPrice(of, 0, 1000, 40e6, maintenance), 0);
  fc.assert(
    fc.property(anyInstrument.chain(positionOf), ({ of, size, mark, equity, maintenance }) => {
      const price = bankruptcyPrice(of, size, mark, equity, maintenance);
      if (price === 0 || maintenance === 0) return;
      const q = of.quantaPerTickLot;
      const own = maintenanceMargin(of, Math.abs(size) * mark * q);
      // In BigInt fractions: equity after the close ÷ maintenance of the others ≈ equity ÷ maintenance.
      const left = BigInt(equity) + BigInt(size) * BigInt(price - mark) * BigInt(q);
      const difference = left * BigInt(maintenance) - BigInt(equity) * BigInt(maintenance - own);
      const tick = BigInt(Math.abs(size)) * BigInt(q) * BigInt(maintenance);
      assert.ok(difference >= -1n * BigInt(maintenance) && difference <= tick + BigInt(maintenance), `${difference}`);
    }),
    parameters,
  );
});
