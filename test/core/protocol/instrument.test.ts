import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { DEFAULT_INSTRUMENTS } from "../../../src/config/instruments.ts";
import {
  compileInstrument,
  type InstrumentConfig,
  parsePrice,
  parseQuantity,
  printPrice,
  printQuantity,
  type RiskTierConfig,
} from "../../../src/core/protocol/instrument.ts";
import { FREE, instrument, ODD, PLAIN } from "../support/instruments.ts";
import { takeSeed } from "../support/seed.ts";

const seed = takeSeed("instrument.test");

const tiers = (...changes: Partial<RiskTierConfig>[]): RiskTierConfig[] =>
  changes.map((change, i) => ({ ...(PLAIN.riskTiers[i] ?? PLAIN.riskTiers[1]), ...change }));

test("an impossible setting is refused, and the error names it", () => {
  const cases: [Partial<InstrumentConfig>, RegExp][] = [
    [{ id: 0 }, /PLAIN-PERP\.id: 1 to 255/],
    [{ id: 256 }, /\.id/],
    [{ id: 1.5 }, /\.id/],
    [{ tickSize: "0" }, /tickSize and stepSize must be above zero/],
    [{ stepSize: "0" }, /tickSize and stepSize must be above zero/],
    [{ tickSize: "abc" }, /PLAIN-PERP\.tickSize: "abc" is not a decimal/],
    [{ tickSize: "-1" }, /\.tickSize/],
    [{ stepSize: "1e3" }, /\.stepSize/],
    [{ tickSize: "0.01", stepSize: "0.00001" }, /tickSize × stepSize must be a whole number of 0\.000001 USDC/],
    [{ minQuantity: "1.5" }, /minQuantity: 1\.5 is no multiple of 1/],
    [{ minQuantity: "0" }, /minQuantity: at least one step/],
    [{ maxQuantity: "10.5" }, /maxQuantity: 10\.5 is no multiple of 1/],
    [{ minNotional: "0.0000001" }, /minNotional/],
    [{ maxPrice: "100.5" }, /maxPrice: 100\.5 is no multiple of 1/],
    [{ maxPrice: "16777217" }, /maxPrice: at most 2\^24 ticks/],
    [{ maxPrice: "0" }, /PLAIN-PERP\.maxPrice: at least one tick/],
    [{ minNotional: "9999999999" }, /minNotional: 9999999999 is too large/],
    // 10^17 + 64 units of 10^-12: doubles cannot tell it from its neighbours
    [
      {
        tickSize: "100000.000000000064",
        maxPrice: "100000.000000000064",
        stepSize: "15625",
        minQuantity: "15625",
        maxQuantity: "15625",
      },
      /maxPrice: .* exact range/,
    ],
    [{ makerFeeRate: "0.0000001" }, /makerFeeRate: .* finer/],
    [{ takerFeeRate: "x" }, /takerFeeRate/],
    [{ makerFeeRate: "0.100001" }, /makerFeeRate: at most 0\.1, as a rate/],
    [{ takerFeeRate: "2" }, /takerFeeRate: at most 0\.1/],
    [{ liquidationFeeRate: "0.9" }, /liquidationFeeRate: at most 0\.1/],
    [{ fundingRateCap: "4" }, /fundingRateCap: at most 1/],
    [{ lastTriggerLimit: "1.5" }, /lastTriggerLimit: at most 1, as a rate/],
    [{ impactNotionalRate: "1.5" }, /impactNotionalRate: at most 1, as a rate/],
    [{ priceBand: "0" }, /priceBand: 0 to 1/],
    [{ priceBand: "1" }, /priceBand: 0 to 1/],
    // 10,000 ticks × 225,180 lots × 10^6 quanta pass 2^51
    [{ maxQuantity: "225180" }, /maxPrice × maxQuantity passes the exact range/],
    [{ defaultLeverage: 0 }, /defaultLeverage: 1 to 50/],
    [{ defaultLeverage: 51 }, /defaultLeverage: 1 to 50/],
    [{ riskTiers: [] }, /PLAIN-PERP\.riskTiers: at least one/],
    [{ riskTiers: tiers({}, { maxNotional: "100000" }) }, /riskTiers\[1\]\.maxNotional: tiers must rise/],
    [{ riskTiers: tiers({ maxNotional: "0" }) }, /riskTiers\[0\]\.maxNotional: tiers must rise/],
    [{ riskTiers: tiers({}, { maxLeverage: 51, maintenanceMarginRate: "0.015" }) }, /maxLeverage: may not rise/],
    [{ riskTiers: tiers({ maintenanceMarginRate: "0.02" }) }, /maintenance must stay below 1\/maxLeverage/],
    [{ riskTiers: tiers({ maintenanceMarginRate: "0.0000001" }) }, /riskTiers\[0\]\.maintenanceMarginRate: .* finer/],
    [{ riskTiers: tiers({ maintenanceMarginRate: "0" }) }, /riskTiers\[0\]\.maintenanceMarginRate: above 0/],
    [{ riskTiers: tiers({}, { maintenanceMarginRate: "0.000001" }) }, /\[1\]\.maintenanceMarginRate: may not fall/],
    [{ riskTiers: tiers({ maxNotional: "0.000001" }, {}) }, /riskTiers\[1\]: the deduction is not exact/],
  ];
  for (const [changes, message] of cases)
    assert.throws(() => instrument(PLAIN, changes), message, JSON.stringify(changes));
});

test("an interval of more than eight hours costs no more than the mark may be away from the index", () => {
  const capOf = (fundingIntervalHours: number, fundingRateCap: string) =>
    instrument(PLAIN, { fundingIntervalHours, fundingRateCap }).fundingCapPpb;
  // Half of the least maintenance margin, 1 %.
  assert.deepEqual([capOf(8, "0.01"), capOf(9, "0.01"), capOf(24, "0.004")], [10_000_000, 5_000_000, 4_000_000]);
});

test("the limits that follow from margin rates are rounded to the safe side", () => {
  // 1/75 is 13,333.3 ppm.
  const riskTiers = [{ maxNotional: "100000", maxLeverage: 75, maintenanceMarginRate: "0.010001" }];
  const { markLimitPpm, nearPpm, riskTiers: compiled } = instrument(PLAIN, { riskTiers, makerFeeRate: "0.0002" });
  assert.equal(compiled[0].initialMarginPpm, 13_334);
  // Three eighths of that are 5000.25, half of the maintenance margin 5000.5.
  assert.equal(markLimitPpm, 5000);
  // Half of the difference between the two is 1666.5, less the fee.
  assert.equal(nearPpm, 1666 - 200);
});

test("values at the exact bound are accepted", () => {
  const most = { makerFeeRate: "0.1", takerFeeRate: "0.1", liquidationFeeRate: "0.1", fundingRateCap: "1" };
  const { makerFeePpm, takerFeePpm, liquidationFeePpm, fundingCapPpb } = instrument(PLAIN, most);
  assert.deepEqual([makerFeePpm, takerFeePpm, liquidationFeePpm, fundingCapPpb], [100_000, 100_000, 100_000, 10 ** 9]);
  assert.equal(instrument(PLAIN, { maxQuantity: "225179" }).maxPositionLots, 225_179);
  assert.equal(
    instrument(PLAIN, { stepSize: "0.000001", maxPrice: "16777216", minQuantity: "0.000001", maxQuantity: "100" })
      .maxPriceTicks,
    2 ** 24,
  );
  assert.equal(instrument(PLAIN, { id: 255 }).id, 255);
  assert.equal(instrument(PLAIN, { riskTiers: tiers({ maintenanceMarginRate: "0.019999" }) }).maxLeverage, 50);
});

test("no position has more units than a double can count", () => {
  // By notional alone 2.25 × 10^11 lots would be possible, of a million coins each.
  const meme = { tickSize: "0.000000000001", stepSize: "1000000", maxPrice: "0.00000001" };
  const compiled = instrument(PLAIN, { ...meme, minQuantity: "1000000", maxQuantity: "900000000000" });
  assert.equal(compiled.maxPositionLots, 9_007_199_254);
  assert.equal(printQuantity(compiled, compiled.maxPositionLots), "9007199254000000");
});

test("tier edges need not be whole USDC: the deduction only has to be exact", () => {
  // 0.07 × 10^6 quanta × 2 % − 1 % are 700, which 0.07 × 10,000 in doubles is not
  for (const [edge, expected] of [
    ["0.07", 700],
    ["0.57", 5700],
    ["1.1", 11_000],
    ["123.4567", 1_234_567],
  ] as const) {
    const riskTiers = [
      { maxNotional: edge, maxLeverage: 50, maintenanceMarginRate: "0.01" },
      { maxNotional: "1000000", maxLeverage: 20, maintenanceMarginRate: "0.02" },
    ];
    assert.equal(instrument(PLAIN, { riskTiers }).riskTiers[1].maintenanceDeductionQuanta, expected);
  }
});

test("the exact range holds for every instrument: nothing an account can hold or ask for passes 2^53", () => {
  for (const config of [...DEFAULT_INSTRUMENTS, PLAIN, ODD, FREE]) {
    const { maxPriceTicks, maxPositionLots, maxQuantityLots, quantaPerTickLot } = compileInstrument(config);
    const largest = BigInt(maxPriceTicks) * BigInt(maxPositionLots) * BigInt(quantaPerTickLot);
    assert.ok(largest <= 2n ** 51n, config.symbol);
    assert.ok(maxQuantityLots <= maxPositionLots, config.symbol);
  }
});

test("prices and quantities are whole ticks and steps", () => {
  const odd = instrument(ODD, { tickSize: "0.025", stepSize: "0.00004", minQuantity: "0.00008", maxQuantity: "0.4" });
  for (const [text, expected] of [
    ["0", 0],
    ["0.025", 1],
    ["0.05", 2],
    ["0.050", 2],
    ["1", 40],
    ["0.01", Number.NaN],
    ["0.0250001", Number.NaN],
    ["0.026", Number.NaN],
    ["-0.025", Number.NaN],
    ["1e3", Number.NaN],
    ["", Number.NaN],
  ] as const)
    assert.equal(parsePrice(odd, text), expected, text);
  for (const [text, expected] of [
    ["0.00004", 1],
    ["1", 25_000],
    ["0.00005", Number.NaN],
    ["0.00006", Number.NaN],
    ["0.000041", Number.NaN],
  ] as const)
    assert.equal(parseQuantity(odd, text), expected, text);
  assert.equal(printPrice(odd, 3), "0.075");
  assert.equal(printQuantity(odd, 3), "0.00012");
});

test("every printed price and quantity parses to the same ticks and lots", () => {
  fc.assert(
    fc.property(fc.constantFrom(...DEFAULT_INSTRUMENTS, PLAIN, ODD), fc.nat(), fc.nat(), (config, price, quantity) => {
      const compiled = compileInstrument(config);
      const ticks = price % (compiled.maxPriceTicks + 1);
      const lots = quantity % (compiled.maxQuantityLots + 1);
      assert.equal(parsePrice(compiled, printPrice(compiled, ticks)), ticks);
      assert.equal(parseQuantity(compiled, printQuantity(compiled, lots)), lots);
    }),
    { seed, numRuns: 2000 },
  );
});
