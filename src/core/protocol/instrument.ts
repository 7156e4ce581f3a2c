import { TRADING_STATUSES } from "../base/enums.ts";
import { SettingTooLowError } from "../base/setting-too-low.ts";
import {
  configDecimal,
  configPpm,
  PPM,
  type PriceTicks,
  parseFixed,
  printFixed,
  QUANTA_PER_USDC,
  type Quanta,
  type QuantityLots,
  type RatePpm,
} from "../base/units.ts";

/** An instrument as it is configured: decimals as strings. */
export interface InstrumentConfig {
  /** 1 to 255, written into every order id and log record: never reuse or change one. */
  id: number;
  symbol: string;
  baseAsset: string;
  quoteAsset: string;
  tickSize: string;
  stepSize: string;
  minQuantity: string;
  maxQuantity: string;
  minNotional: string;
  maxPrice: string;
  maxOpenOrders: number;
  makerFeeRate: string;
  takerFeeRate: string;
  liquidationFeeRate: string;
  /** How far from the mark a price may cross, as a rate: "0.05". Also the slippage cap of market orders. */
  priceBand: string;
  defaultLeverage: number;
  fundingIntervalHours: number;
  fundingRateCap: string;
  /** How far an index price from a machine may jump before others must confirm it, as a rate; "0" = any. Default "0.1". */
  indexJumpLimit?: string;
  /** How far such prices may move the mark within a minute before the circuit breaker trips; "0" = any. Default "0.15". */
  breakerLimit?: string;
  /** What it lets happen, and for how long. Defaults REDUCE_ONLY, 60. */
  breakerMode?: "REDUCE_ONLY" | "CANCEL_ONLY";
  breakerSeconds?: number;
  riskTiers: RiskTierConfig[];
}

export interface RiskTierConfig {
  maxNotional: string;
  maxLeverage: number;
  maintenanceMarginRate: string;
}

export interface RiskTier {
  maxNotionalQuanta: Quanta;
  maxLeverage: number;
  initialMarginPpm: RatePpm;
  maintenanceMarginPpm: RatePpm;
  /** Keeps maintenance margin continuous at the tier's edge: floor·(MMR_n − MMR_{n−1}) + deduction_{n−1} (Binance). */
  maintenanceDeductionQuanta: Quanta;
}

/** An instrument in integers, with everything that follows from its configuration. */
export interface Instrument {
  id: number;
  symbol: string;
  config: InstrumentConfig;
  /** A price string has at most this many decimals and is a multiple of `tickUnits` × 10^-priceDecimals. */
  priceDecimals: number;
  tickUnits: number;
  quantityDecimals: number;
  stepUnits: number;
  /** Money of one tick times one lot: `ticks × lots × quantaPerTickLot` is exact. */
  quantaPerTickLot: Quanta;
  minQuantityLots: QuantityLots;
  maxQuantityLots: QuantityLots;
  /** Position and open orders of one account together: keeps every product below 2^53. */
  maxPositionLots: QuantityLots;
  minNotionalQuanta: Quanta;
  maxPriceTicks: PriceTicks;
  maxOpenOrders: number;
  makerFeePpm: RatePpm;
  takerFeePpm: RatePpm;
  /** The most that a liquidation may take of the notional it closes, for the insurance fund. */
  liquidationFeePpm: RatePpm;
  fundingIntervalMs: number;
  /** The most that one interval's funding may be, in parts per billion of the notional. */
  fundingCapPpb: number;
  /** What impact prices are measured with: 200 USDC of margin at the highest leverage (Binance USD-M). */
  impactNotionalQuanta: Quanta;
  priceBandPpm: RatePpm;
  /** How far from the index the mark may be: see markLimit(). */
  markLimitPpm: RatePpm;
  /** How far from the mark whoever has initial margin may be met: see nearLimit(). */
  nearPpm: RatePpm;
  indexJumpPpm: RatePpm;
  breakerPpm: RatePpm;
  breakerMode: number;
  breakerMs: number;
  defaultLeverage: number;
  maxLeverage: number;
  riskTiers: RiskTier[];
}

/** What a book's ladder holds, and prices in it are bounded by. */
export const MOST_PRICE_TICKS: PriceTicks = 2 ** 24;

const IMPACT_MARGIN_QUANTA = 200 * QUANTA_PER_USDC;
/** Of the notional. More is a slip of the pen, such as percent for a rate, and empties accounts: 10 %, and 100 % an interval. */
const MAX_FEE_PPM = PPM / 10;
const MAX_FUNDING_PPM = PPM;

/** Proves that no product of the instrument can pass 2^53; throws an Error that names the offending setting. */
export function compileInstrument(config: InstrumentConfig): Instrument {
  const name = config.symbol;
  if (!Number.isInteger(config.id) || config.id < 1 || config.id > 255) throw new Error(`${name}.id: 1 to 255`);
  const tick = configDecimal(config.tickSize, `${name}.tickSize`);
  const step = configDecimal(config.stepSize, `${name}.stepSize`);
  if (tick.isZero() || step.isZero()) throw new Error(`${name}: tickSize and stepSize must be above zero`);
  const quantaPerTickLot = tick.mul(step).mul(QUANTA_PER_USDC);
  if (!quantaPerTickLot.isInteger())
    throw new Error(`${name}: tickSize × stepSize must be a whole number of 0.000001 USDC`);
  const priceDecimals = tick.decimalPlaces();
  const quantityDecimals = step.decimalPlaces();
  const riskTiers = compileTiers(config);
  const makerFeePpm = boundedPpm(config.makerFeeRate, MAX_FEE_PPM, `${name}.makerFeeRate`);
  const markLimitPpm = markLimit(riskTiers[0]);
  const instrument: Instrument = {
    id: config.id,
    symbol: config.symbol,
    config,
    priceDecimals,
    tickUnits: tick.mul(10 ** priceDecimals).toNumber(),
    quantityDecimals,
    stepUnits: step.mul(10 ** quantityDecimals).toNumber(),
    quantaPerTickLot: quantaPerTickLot.toNumber(),
    minQuantityLots: wholeSteps(config.minQuantity, config.stepSize, `${name}.minQuantity`),
    maxQuantityLots: wholeSteps(config.maxQuantity, config.stepSize, `${name}.maxQuantity`),
    maxPositionLots: 0,
    minNotionalQuanta: wholeSteps(config.minNotional, "0.000001", `${name}.minNotional`),
    maxPriceTicks: wholeSteps(config.maxPrice, config.tickSize, `${name}.maxPrice`),
    maxOpenOrders: config.maxOpenOrders,
    makerFeePpm,
    takerFeePpm: boundedPpm(config.takerFeeRate, MAX_FEE_PPM, `${name}.takerFeeRate`),
    liquidationFeePpm: boundedPpm(config.liquidationFeeRate, MAX_FEE_PPM, `${name}.liquidationFeeRate`),
    fundingIntervalMs: config.fundingIntervalHours * 3_600_000,
    fundingCapPpb: fundingCap(config, markLimitPpm) * 1000,
    impactNotionalQuanta: IMPACT_MARGIN_QUANTA * riskTiers[0].maxLeverage,
    priceBandPpm: configPpm(config.priceBand, `${name}.priceBand`),
    markLimitPpm,
    nearPpm: nearLimit(riskTiers, makerFeePpm),
    indexJumpPpm: configPpm(config.indexJumpLimit ?? "0.1", `${name}.indexJumpLimit`),
    breakerPpm: configPpm(config.breakerLimit ?? "0.15", `${name}.breakerLimit`),
    breakerMode: TRADING_STATUSES.indexOf(config.breakerMode ?? "REDUCE_ONLY"),
    breakerMs: (config.breakerSeconds ?? 60) * 1000,
    defaultLeverage: config.defaultLeverage,
    maxLeverage: riskTiers[0].maxLeverage,
    riskTiers,
  };
  if (instrument.minQuantityLots < 1) throw new Error(`${name}.minQuantity: at least one step`);
  if (instrument.maxPriceTicks < 1) throw new Error(`${name}.maxPrice: at least one tick`);
  if (instrument.maxPriceTicks > MOST_PRICE_TICKS)
    throw new Error(`${name}.maxPrice: at most 2^24 ticks, the book's ladder`);
  if (!Number.isSafeInteger(instrument.maxPriceTicks * instrument.tickUnits))
    throw new Error(`${name}.maxPrice: with the decimals of tickSize it passes the exact range`);
  if (instrument.priceBandPpm <= 0 || instrument.priceBandPpm >= PPM) throw new Error(`${name}.priceBand: 0 to 1`);
  // A quarter of 2^53: exposures of both sides, open loss and fees of one account are added up in plain numbers.
  instrument.maxPositionLots = Math.floor(
    Math.min(
      2 ** 51 / (instrument.maxPriceTicks * instrument.quantaPerTickLot),
      Number.MAX_SAFE_INTEGER / instrument.stepUnits, // printed from their units
    ),
  );
  if (instrument.maxPositionLots < instrument.maxQuantityLots)
    throw new Error(`${name}: maxPrice × maxQuantity passes the exact range; lower one of them or use coarser units`);
  if (config.defaultLeverage < 1 || config.defaultLeverage > instrument.maxLeverage)
    throw new Error(`${name}.defaultLeverage: 1 to ${instrument.maxLeverage}`);
  return instrument;
}

/** NaN when the text is malformed or no multiple of the tick. */
export function parsePrice(instrument: Instrument, text: string): PriceTicks {
  const units = parseFixed(text, instrument.priceDecimals);
  return units % instrument.tickUnits === 0 ? units / instrument.tickUnits : Number.NaN;
}

/** NaN when the text is malformed or no multiple of the step. */
export function parseQuantity(instrument: Instrument, text: string): QuantityLots {
  const units = parseFixed(text, instrument.quantityDecimals);
  return units % instrument.stepUnits === 0 ? units / instrument.stepUnits : Number.NaN;
}

export function printPrice(instrument: Instrument, priceTicks: PriceTicks): string {
  return printFixed(priceTicks * instrument.tickUnits, instrument.priceDecimals);
}

export function printQuantity(instrument: Instrument, quantityLots: QuantityLots): string {
  return printFixed(quantityLots * instrument.stepUnits, instrument.quantityDecimals);
}

/** Refuses a price of the data folder that is above a maxPrice which was higher when it was made: there is no level for it. */
export function requireBelowMaxPrice(instrument: Instrument, priceTicks: PriceTicks, what: string): void {
  if (priceTicks <= instrument.maxPriceTicks) return;
  const { symbol, config } = instrument;
  const price = printPrice(instrument, priceTicks);
  const why = `${config.maxPrice} is below ${what} of the data folder, ${price}`;
  throw new SettingTooLowError(`instruments: ${symbol}.maxPrice: ${why}`);
}

function boundedPpm(text: string, mostPpm: RatePpm, name: string): RatePpm {
  const ppm = configPpm(text, name);
  if (ppm > mostPpm) throw new Error(`${name}: at most ${mostPpm / PPM}, as a rate of the notional`);
  return ppm;
}

function wholeSteps(text: string, step: string, name: string): number {
  const steps = configDecimal(text, name).div(configDecimal(step, name));
  if (!steps.isInteger()) throw new Error(`${name}: ${text} is no multiple of ${step}`);
  if (steps.gt(Number.MAX_SAFE_INTEGER)) throw new Error(`${name}: ${text} is too large`);
  return steps.toNumber();
}

/**
 * How far from the index the mark may be, at most half of the least maintenance margin and three eighths of the least initial
 * margin. From one end to the other that is no more than an account has that nobody looks at yet, and less than one that
 * has just opened: so whoever moves the mark in a book of their own makes no account fail for more than it holds, and what is
 * left pays for how far from the mark the fund sells (MARGIN_DIVISOR in insurance-fund.ts).
 */
const markLimit = ({ initialMarginPpm, maintenanceMarginPpm }: RiskTier): RatePpm =>
  Math.floor(Math.min((3 * initialMarginPpm) / 8, maintenanceMarginPpm / 2));

/**
 * What a maker that has its initial margin may lose against the mark and keep its maintenance margin: the least of these, since
 * nobody has less who is not about to be liquidated. Orders of twice a position close it and open another with the margin of
 * one: so no more than half of what initial margin is above maintenance margin, either, in any tier.
 */
const nearLimit = (riskTiers: readonly RiskTier[], makerFeePpm: RatePpm): RatePpm =>
  riskTiers.reduce(
    (least, { initialMarginPpm, maintenanceMarginPpm }) =>
      Math.min(least, Math.floor((initialMarginPpm - maintenanceMarginPpm) / 2) - makerFeePpm),
    riskTiers[0].maintenanceMarginPpm,
  );

/**
 * The most that one interval may cost. Premiums, which are within the mark's limit, are rates of eight hours: a longer
 * interval would multiply them, and what falls due at one instant would be more than an account has that nobody looks at yet
 * (Binance caps an interval at three quarters of the maintenance margin).
 */
function fundingCap(config: InstrumentConfig, markLimitPpm: RatePpm): RatePpm {
  const ownPpm = boundedPpm(config.fundingRateCap, MAX_FUNDING_PPM, `${config.symbol}.fundingRateCap`);
  return config.fundingIntervalHours > 8 ? Math.min(ownPpm, markLimitPpm) : ownPpm;
}

function compileTiers(config: InstrumentConfig): RiskTier[] {
  const tiers: RiskTier[] = [];
  let floorQuanta = 0;
  for (const [index, tier] of config.riskTiers.entries()) {
    const name = `${config.symbol}.riskTiers[${index}]`;
    const maintenanceMarginPpm = configPpm(tier.maintenanceMarginRate, `${name}.maintenanceMarginRate`);
    // Without maintenance margin a position is closed when there is nothing left to close it with: the fund would pay.
    if (maintenanceMarginPpm < 1) throw new Error(`${name}.maintenanceMarginRate: above 0`);
    const initialMarginPpm = Math.ceil(PPM / tier.maxLeverage);
    const last = tiers[index - 1];
    if (last && maintenanceMarginPpm < last.maintenanceMarginPpm)
      throw new Error(`${name}.maintenanceMarginRate: may not fall`);
    const stepPpm = last ? maintenanceMarginPpm - last.maintenanceMarginPpm : 0;
    const added = BigInt(floorQuanta) * BigInt(stepPpm);
    const deduction = (last?.maintenanceDeductionQuanta ?? 0) + Number(added / BigInt(PPM));
    const maxNotionalQuanta = wholeSteps(tier.maxNotional, "0.000001", `${name}.maxNotional`);
    if (added % BigInt(PPM) !== 0n || !Number.isSafeInteger(deduction))
      throw new Error(`${name}: the deduction is not exact; use rounder tier edges`);
    if (maintenanceMarginPpm >= initialMarginPpm) throw new Error(`${name}: maintenance must stay below 1/maxLeverage`);
    if (maxNotionalQuanta <= floorQuanta) throw new Error(`${name}.maxNotional: tiers must rise`);
    if (last && tier.maxLeverage > last.maxLeverage) throw new Error(`${name}.maxLeverage: may not rise`);
    tiers.push({
      maxNotionalQuanta,
      maxLeverage: tier.maxLeverage,
      initialMarginPpm,
      maintenanceMarginPpm,
      maintenanceDeductionQuanta: deduction,
    });
    floorQuanta = maxNotionalQuanta;
  }
  if (tiers.length === 0) throw new Error(`${config.symbol}.riskTiers: at least one`);
  return tiers;
}
