import type { InstrumentConfig } from "../../../src/core/protocol/instrument.ts";

/*
 * Margin by the book: docs/trading/margin.md and liquidation.md, in whole quanta of unlimited size. Nothing here is shared with
 * the engine but the texts of an instrument's settings.
 */

export const MILLION = 1_000_000n;

export interface Tier {
  upTo: bigint;
  initialPpm: bigint;
  maintenancePpm: bigint;
  deduction: bigint;
}

export interface Terms {
  perTickLot: bigint;
  makerFeePpm: bigint;
  takerFeePpm: bigint;
  liquidationFeePpm: bigint;
  fundLossPpm: bigint;
  leverage: bigint;
  maxPrice: bigint;
  tiers: Tier[];
}

export const abs = (value: bigint): bigint => (value < 0n ? -value : value);
export const most = (a: bigint, b: bigint): bigint => (a > b ? a : b);
export const least = (a: bigint, b: bigint): bigint => (a < b ? a : b);

/** Rounded toward minus infinity. `b` > 0. */
export const floorDivide = (a: bigint, b: bigint): bigint => (a >= 0n ? a / b : -((-a + b - 1n) / b));
export const ceilDivide = (a: bigint, b: bigint): bigint => -floorDivide(-a, b);

const ppm = (rate: string): bigint => BigInt(Math.round(Number(rate) * 1e6));
const quanta = (usdc: string): bigint => BigInt(usdc) * MILLION;

export function termsOf(config: InstrumentConfig): Terms {
  const tiers: Tier[] = [];
  for (const { maxNotional, maxLeverage, maintenanceMarginRate } of config.riskTiers) {
    const before = tiers.at(-1);
    const maintenancePpm = ppm(maintenanceMarginRate);
    // Continuous at the edge: both tiers ask for the same there.
    const deduction =
      before === undefined ? 0n : before.deduction + (before.upTo * (maintenancePpm - before.maintenancePpm)) / MILLION;
    const initialPpm = ceilDivide(MILLION, BigInt(maxLeverage));
    tiers.push({ upTo: quanta(maxNotional), initialPpm, maintenancePpm, deduction });
  }
  return {
    perTickLot: BigInt(Math.round(Number(config.tickSize) * Number(config.stepSize) * 1e6)),
    makerFeePpm: ppm(config.makerFeeRate),
    takerFeePpm: ppm(config.takerFeeRate),
    liquidationFeePpm: ppm(config.liquidationFeeRate),
    fundLossPpm: ppm(config.fundLossLimit ?? "0.01"),
    leverage: BigInt(config.defaultLeverage),
    maxPrice: BigInt(Math.round(Number(config.maxPrice) / Number(config.tickSize))),
    tiers,
  };
}

export const tierOf = ({ tiers }: Terms, notional: bigint): Tier =>
  tiers.find((tier) => notional <= tier.upTo) ?? (tiers.at(-1) as Tier);

export const initialMargin = (terms: Terms, notional: bigint, leverage: bigint): bigint =>
  most(ceilDivide(notional, leverage), ceilDivide(notional * tierOf(terms, notional).initialPpm, MILLION));

export function maintenanceMargin(terms: Terms, notional: bigint): bigint {
  const { maintenancePpm, deduction } = tierOf(terms, notional);
  return ceilDivide(notional * maintenancePpm, MILLION) - deduction;
}

/**
 * The first price from which the money that supports the position covers the maintenance margin, in ticks: from below for a
 * long position, from above for a short one. `equity`, `others`: at `mark`; maintenance margin of other positions. 0 = none.
 */
export function liquidationPrice(terms: Terms, size: bigint, mark: bigint, equity: bigint, others: bigint): bigint {
  const isSafe = (price: bigint): boolean => {
    const value = equity + size * (price - mark) * terms.perTickLot;
    return value >= others + maintenanceMargin(terms, abs(size) * price * terms.perTickLot);
  };
  // One end is safe and the other is not, and there is one point between them where that changes.
  let [safe, unsafe] = size > 0n ? [terms.maxPrice + 1n, 0n] : [0n, terms.maxPrice + 1n];
  if (isSafe(unsafe) || !isSafe(safe)) return 0n;
  while (abs(safe - unsafe) > 1n) {
    const middle = (safe + unsafe) / 2n;
    if (isSafe(middle)) safe = middle;
    else unsafe = middle;
  }
  return safe > terms.maxPrice ? 0n : safe;
}

/** The price at which nothing is left of the position's share of equity, in ticks, no worse for the account than that. */
export function bankruptcyPrice(
  { perTickLot }: Terms,
  size: bigint,
  mark: bigint,
  own: bigint,
  { equity, maintenance }: { equity: bigint; maintenance: bigint },
): bigint {
  // Per lot, as a fraction: equity × own ÷ maintenance ÷ (lots × quanta per tick).
  const [above, below] = [equity * own, maintenance * abs(size) * perTickLot];
  return most(0n, size > 0n ? mark - floorDivide(above, below) : mark + floorDivide(above, below));
}

/** The price at which a bankrupt account has nothing left, in ticks: no further from the mark than the mark before the step. */
export function settlementPrice(terms: Terms, size: bigint, mark: bigint, before: bigint, equity: bigint): bigint {
  const price = bankruptcyPrice(terms, size, mark, 1n, { equity, maintenance: 1n });
  return size > 0n ? least(price, before) : most(price, before);
}
