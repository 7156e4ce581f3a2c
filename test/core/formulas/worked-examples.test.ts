import assert from "node:assert/strict";
import { test } from "node:test";
import { BUY, LEDGER, SELL } from "../../../src/core/base/enums.ts";
import { fundingPayment, fundingRatePpb, premiumPpb } from "../../../src/core/formulas/funding.ts";
import {
  bankruptcyPrice,
  initialMargin,
  liquidationPrice,
  maintenanceMargin,
} from "../../../src/core/formulas/margin.ts";
import { markPrice } from "../../../src/core/formulas/mark.ts";
import { Deposit, PlaceOrder, SetIndexPrice } from "../../../src/core/protocol/commands.ts";
import type { InstrumentConfig } from "../../../src/core/protocol/instrument.ts";
import { Exchange, make } from "../support/exchange.ts";
import { instrument, PLAIN } from "../support/instruments.ts";

/*
 * Figures that other exchanges have published, recomputed with their parameters. Those for isolated positions are in
 * isolated-liquidation.test.
 */

const USDC = 1_000_000;
/** A tick of 1 USDC and a lot of 1 coin, as large as the exact range lets it be. */
const WIDE: InstrumentConfig = { ...PLAIN, maxPrice: "100000", maxQuantity: "10000" };

/**
 * Binance, "Updates to Leverage and Margin Tiers of Binance Futures Contracts (2021-03-18)": BTCUSDT. The maintenance
 * amounts (deductions) follow by its rule floor × (rate − rate before) + amount before; 1300 for 500,000 is the example of
 * "Leverage and Margin of USDⓈ-M Futures".
 */
const BINANCE_BTCUSDT = instrument(WIDE, {
  defaultLeverage: 20,
  riskTiers: [
    { maxNotional: "50000", maxLeverage: 125, maintenanceMarginRate: "0.004" },
    { maxNotional: "250000", maxLeverage: 100, maintenanceMarginRate: "0.005" },
    { maxNotional: "1000000", maxLeverage: 50, maintenanceMarginRate: "0.01" },
    { maxNotional: "10000000", maxLeverage: 20, maintenanceMarginRate: "0.025" },
    { maxNotional: "20000000", maxLeverage: 10, maintenanceMarginRate: "0.05" },
    { maxNotional: "50000000", maxLeverage: 5, maintenanceMarginRate: "0.1" },
  ],
});

test("Binance: maintenance amounts of the tiers", () => {
  assert.deepEqual(
    BINANCE_BTCUSDT.riskTiers.map((tier) => tier.maintenanceDeductionQuanta / USDC),
    [0, 50, 1300, 16_300, 266_300, 1_266_300],
  );
});

/** notional, leverage → initial margin, maintenance margin */
const BINANCE_MARGINS: [notional: number, leverage: number, initial: number, maintenance: number][] = [
  [10_000, 125, 80, 40],
  [50_000, 125, 400, 200],
  [250_000, 100, 2500, 1200],
  [264_000, 50, 5280, 1340], // the FAQ's 264,000 lies in the tier of 1 %
  [500_000, 20, 25_000, 3700],
  [500_000, 125, 10_000, 3700], // never below the tier's own 2 %
  [1_000_000, 50, 20_000, 8700],
  [2_000_000, 20, 100_000, 33_700],
  [20_000_000, 10, 2_000_000, 733_700],
];
for (const [notional, leverage, initial, maintenance] of BINANCE_MARGINS)
  test(`Binance: ${notional} at ${leverage}x needs ${initial}, and ${maintenance} to stay open`, () => {
    assert.equal(initialMargin(BINANCE_BTCUSDT, notional * USDC, leverage), initial * USDC);
    assert.equal(maintenanceMargin(BINANCE_BTCUSDT, notional * USDC), maintenance * USDC);
  });

/**
 * Binance, "How to Calculate Liquidation Price of USDⓈ-M Futures Contracts", one-way mode:
 * LP = (WB − TMM + UPNL + cum − side × size × entry) ÷ (size × rate − side × size). All in USDC; `others` are TMM and UPNL
 * of the account's other positions.
 */
function binanceLiquidationPrice(
  size: number,
  entry: number,
  walletBalance: number,
  others: { maintenance: number; unrealized: number },
  rate: number,
  amount: number,
): number {
  const side = Math.sign(size);
  const numerator = walletBalance - others.maintenance + others.unrealized + amount - size * entry;
  return numerator / (Math.abs(size) * rate - side * Math.abs(size));
}
const NONE = { maintenance: 0, unrealized: 0 };
const BINANCE_LIQUIDATIONS: [
  size: number,
  entry: number,
  wallet: number,
  others: typeof NONE,
  rate: number,
  amount: number,
][] = [
  [1, 50_000, 5000, NONE, 0.004, 0],
  [-1, 48_000, 1500, NONE, 0.004, 0],
  [10, 60_000, 30_000, NONE, 0.01, 1300],
  [-10, 60_000, 30_000, NONE, 0.01, 1300],
  [10, 60_000, 30_000, { maintenance: 2000, unrealized: -3000 }, 0.01, 1300],
  [100, 60_000, 900_000, NONE, 0.025, 16_300],
];
for (const [size, entry, wallet, others, rate, amount] of BINANCE_LIQUIDATIONS)
  test(`Binance: ${size} at ${entry} with ${wallet} and ${JSON.stringify(others)} is liquidated by its formula`, () => {
    const expected = binanceLiquidationPrice(size, entry, wallet, others, rate, amount);
    for (const mark of [entry, Math.round(entry * 1.01)]) {
      // The formula takes no mark: wherever it is now, the answer is the same.
      const equity = wallet + others.unrealized + size * (mark - entry);
      const maintenance = maintenanceMargin(BINANCE_BTCUSDT, Math.abs(size) * mark * USDC) + others.maintenance * USDC;
      const price = liquidationPrice(BINANCE_BTCUSDT, size, mark, equity * USDC, maintenance);
      assert.equal(price, size > 0 ? Math.ceil(expected) : Math.floor(expected));
    }
  });

/**
 * dYdX v4 documentation, "Liquidations": p' = (e − s·p − MMR of others) ÷ (|s|·MMF − s). A short of 3 at 3000 with 5 %:
 * 3174.60 with an equity of 1000 and nothing else; 3380.95 is the page's cross example, where e less the others' MMR is
 * 1650. In ticks of a cent.
 */
const DYDX = instrument(PLAIN, {
  tickSize: "0.01",
  stepSize: "1",
  maxPrice: "100000",
  maxQuantity: "30",
  riskTiers: [{ maxNotional: "1000000", maxLeverage: 10, maintenanceMarginRate: "0.05" }],
});
for (const [equity, others, ticks] of [
  [1000, 0, 317_460],
  [1650, 0, 338_095],
  [2000, 350, 338_095],
])
  test(`dYdX: a short of 3 at 3000 with ${equity} and ${others} for other positions is liquidated at ${ticks / 100}`, () => {
    const maintenance = maintenanceMargin(DYDX, 3 * 3000 * USDC) + others * USDC;
    assert.equal(liquidationPrice(DYDX, -3, 300_000, equity * USDC, maintenance), ticks);
  });

/** dYdX v4, protocol x/clob keeper/liquidations.go: P × (1 − side × MMF × TNC ÷ TMMR). Rounded in the account's favour. */
const DYDX_BANKRUPTCIES: [size: number, price: number, equity: number, allMaintenance: number, bankrupt: number][] = [
  [1, 100, 4, 5, 96], // alone: its equity is all that it may lose
  [1, 100, -6, 5, 106], // bankrupt: the receiver pays more than the position is worth
  [-1, 100, 4, 5, 104],
  [1, 100, 6, 15, 98], // a third of the account's margin, so a third of its equity
  [-2, 100, 6, 15, 102],
];
for (const [size, price, equity, all, bankrupt] of DYDX_BANKRUPTCIES)
  test(`dYdX: ${size} at ${price} with an equity of ${equity} of ${all} is bankrupt at ${bankrupt}`, () => {
    const ticks = bankruptcyPrice(DYDX, size, price * 100, equity * USDC, all * USDC);
    assert.equal(ticks, bankrupt * 100);
  });

/**
 * Binance, "Introduction to Binance Futures Funding Rates", and Bybit, "Introduction to Funding Rate":
 * F = P + clamp(I − P, −0.05 %, +0.05 %) with I = 0.01 % per 8 hours; premiums and rates in percent.
 */
const FUNDING: [premium: number, rate: number][] = [
  [0, 0.01],
  [0.03, 0.01],
  [0.06, 0.01], // the furthest that interest pulls down
  [0.07, 0.02],
  [0.1, 0.05],
  [0.5, 0.45],
  [2, 1], // the cap of the instrument
  [-0.04, 0.01], // the furthest that it pulls up
  [-0.05, 0],
  [-0.1, -0.05],
  [-2, -1],
];
const PPB_OF_PERCENT = 1e7;
for (const [premium, rate] of FUNDING)
  test(`Binance, Bybit: a premium of ${premium} % over 8 hours is a funding rate of ${rate} %`, () => {
    const of = instrument(PLAIN, { fundingIntervalHours: 8, fundingRateCap: "0.01" });
    const premiumPpb = Math.round(premium * PPB_OF_PERCENT);
    assert.equal(fundingRatePpb(of, premiumPpb), Math.round(rate * PPB_OF_PERCENT));
    // Hourly it is an eighth (Binance: ÷ (8 ÷ N); Hyperliquid), but for the cap.
    const hourly = instrument(PLAIN, { fundingIntervalHours: 1, fundingRateCap: "0.01" });
    if (Math.abs(rate) < 1)
      assert.equal(fundingRatePpb(hourly, premiumPpb), Math.trunc(Math.round(rate * PPB_OF_PERCENT) / 8));
  });

test("Binance: samples of the premium are weighted by time", () => {
  const of = instrument(PLAIN, { fundingIntervalHours: 8, fundingRateCap: "0.01" });
  const exchange = new Exchange([of]);
  const { funding } = exchange.symbol(of.id).state;
  const end = 8 * 3_600_000;
  let [time, heldMs] = [1, 0];
  for (const [percent, ms] of [
    [0.6, 1000],
    [0.3, 2000],
    [0.1, 3000],
  ] as const) {
    funding.sample(percent * PPB_OF_PERCENT, heldMs, end, time);
    heldMs = ms;
    time += ms;
  }
  // (1 × 0.6 % + 2 × 0.3 % + 3 × 0.1 %) ÷ 6 = 0.25 %, less 0.05 %
  assert.equal(funding.averagePremiumPpb(time), 0.25 * PPB_OF_PERCENT);
  assert.equal(funding.intervalRatePpb(time), 0.2 * PPB_OF_PERCENT);
});

/** Bybit, "Funding Fee Calculation": position value × rate; a positive rate is paid by longs to shorts. */
const PAYMENTS: [size: number, mark: number, percent: number, amount: number][] = [
  [10, 8000, 0.01, -8],
  [-10, 8000, 0.01, 8],
  [10, 8000, -0.05, 40],
  [-10, 8000, -0.05, -40],
  [1, 8000, 0, 0],
];
for (const [size, mark, percent, amount] of PAYMENTS)
  test(`Bybit: ${size} at a mark of ${mark} and ${percent} % get ${amount}`, () => {
    assert.equal(fundingPayment(instrument(WIDE), size, mark, percent * PPB_OF_PERCENT), amount * USDC);
  });

/**
 * Binance, "Introduction to the Mark Price of USDⓈ-M Futures": the median of index × (1 + funding × time left ÷ interval),
 * index + average of (mid − index), and the last price.
 */
const MARKS: [index: number, byFunding: number, basis: number, last: number, mark: number][] = [
  [10_000, 10_010, 5, 10_020, 10_010],
  [10_000, 10_010, 5, 9000, 10_005],
  [10_000, 10_010, 30, 10_020, 10_020],
  [10_000, 9990, -5, 9992, 9992],
];
for (const [index, byFunding, basis, last, mark] of MARKS)
  test(`Binance: of ${byFunding}, ${index + basis} and ${last} the mark is ${mark}`, () => {
    assert.equal(markPrice(index, byFunding - index, basis * 1024, last, 100), mark);
  });

test("Binance, Bybit, dYdX: the premium is what 10,000 USDC at market would get beyond the index, on either side", () => {
  for (const [side, away, premium] of [
    [BUY, 1, 0.0026],
    [SELL, -1, -0.0025],
  ] as const) {
    const of = instrument({ ...PLAIN, tickSize: "0.01" });
    assert.equal(of.impactNotionalQuanta, 10_000 * USDC);
    const exchange = new Exchange([of]);
    const accountId = 10;
    exchange.do(LEDGER, make(Deposit, { accountId, amountQuanta: 100_000 * USDC }));
    exchange.do(of.id, make(SetIndexPrice, { indexTicks: 10_000 }));
    const { book } = exchange.symbol(of.id).state;
    const order = { accountId, side, quantityLots: 60 };
    exchange.do(of.id, make(PlaceOrder, { ...order, priceTicks: 10_000 + 30 * away }));
    assert.equal(premiumPpb(of, book, 10_000, 0), 0, "60 lots are too few to say anything");
    exchange.do(of.id, make(PlaceOrder, { ...order, priceTicks: 10_000 + 20 * away }));
    // Some 60 lots of the best and 40 of the next, some 26 ticks away: in whole ticks towards the index.
    assert.equal(premiumPpb(of, book, 10_000, 0), Math.round(premium * 1e9));
    assert.equal(premiumPpb(of, book, 10_000 + 30 * away, 0), 0, "on the other side of the index there is no premium");
  }
});

test("Binance: impact prices are measured with 200 USDT of margin at the highest leverage, 25,000 at 125x", () => {
  assert.equal(BINANCE_BTCUSDT.impactNotionalQuanta, 25_000 * USDC);
});
