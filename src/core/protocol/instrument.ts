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
  /** How far from the mark an order may trade, as a rate: "0.05". Also the slippage cap of market orders. */
  priceBand: string;
  defaultLeverage: number;
  fundingIntervalHours: number;
  fundingRateCap: string;
  /**
   * A last price further from the mark reaches no LAST trigger and moves no trailing order, as a rate. "0" = each one counts.
   * Default "0.01".
   */
  lastTriggerLimit?: string;
  /** The least impact notional of the funding premium, as a share of the open interest. Default "0.01". */
  impactNotionalRate?: string;
  /** Other index prices must confirm a larger jump, as a rate. "0" = no jump needs it. Default "0.1". */
  indexJumpLimit?: string;
  /** The circuit breaker trips when a feed moves the mark further within a minute, as a rate. "0" = never. Default "0.15". */
  breakerLimit?: string;
  /** The trading status that it sets, and for how long. Defaults REDUCE_ONLY, 60. */
  breakerMode?: "REDUCE_ONLY" | "CANCEL_ONLY";
  breakerSeconds?: number;
  /** The largest move of the index that is plausible within a second, as a rate. Over t seconds it is √t times as much. */
  maxMovePerSecond?: string;
  /** The share of its notional that must stay behind a position when money is taken out. "0" = its initial margin. */
  transferMarginRate?: string;
  /** With an older index price the symbol takes no new risk. Default: no bound but the server's. */
  maxIndexAgeSeconds?: number;
  /** The most open interest, in USDC of notional: orders that would pass it are refused. Default: none. */
  openInterestCap?: string;
  /** From here on the margin of opening rises, see margin/opening-rate.ts. Default: it does not. */
  openInterestLowerCap?: string;
  /** The share of the insurance fund that it may lose in this symbol in an hour, as a rate. Default "0.01". */
  fundLossLimit?: string;
  /** The largest position that the fund takes over, in USDC of notional; "0" = it takes none. Default: see fund-limits.ts. */
  fundMaxNotional?: string;
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

/** An instrument in integers, with all that follows from its configuration. */
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
  /** The most that position and open orders of one account may be together: keeps every product below 2^53. */
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
  /** The least notional for impact prices: 200 USDC of margin at the highest leverage (Binance USD-M). */
  impactNotionalQuanta: Quanta;
  /** And at least this share of the open interest: see premiumPpb(). */
  impactNotionalPpm: RatePpm;
  priceBandPpm: RatePpm;
  /** How far from the index the mark may be: see markLimit(). */
  markLimitPpm: RatePpm;
  /** How far from the mark an account with initial margin may trade: see nearLimit(). */
  nearPpm: RatePpm;
  /** How far from the mark the last price may be to count for triggers (Binance: triggerProtect); 0 = any distance. */
  lastTriggerPpm: RatePpm;
  indexJumpPpm: RatePpm;
  breakerPpm: RatePpm;
  breakerMode: number;
  breakerMs: number;
  /** 0 = not known. */
  movePpm: RatePpm;
  /** See transferMargin(). */
  transferMarginPpm: RatePpm;
  /** Infinity = no bound of the instrument's own. */
  maxIndexAgeMs: number;
  /** A younger index price asks for no more margin than the highest leverage does: see margin/opening-rate.ts. */
  freshMs: number;
  /** Infinity = none. */
  openInterestCapQuanta: Quanta;
  openInterestLowerQuanta: Quanta;
  /** The share of the insurance fund that it may lose in this symbol in an hour: see fundAllowance(). */
  fundLossPpm: RatePpm;
  /** null = it follows from what the fund may still lose. */
  fundMaxNotionalQuanta: Quanta | null;
  /** A mark that moves no further than this can make nobody bankrupt that had its margin: see MarkSettlement. */
  settlementBandPpm: RatePpm;
  defaultLeverage: number;
  maxLeverage: number;
  riskTiers: RiskTier[];
}

/** The book has an entry for each price up to here. */
export const MOST_PRICE_TICKS: PriceTicks = 2 ** 24;

const IMPACT_MARGIN_QUANTA = 200 * QUANTA_PER_USDC;
/** Higher rates of the notional are typing errors, such as percent instead of a rate, and would empty accounts. */
const MAX_FEE_PPM = PPM / 10;
const MAX_FUNDING_PPM = PPM;

/**
 * Turns a configured instrument into integers, and proves that no product of them passes 2^53. Throws an Error that names
 * the wrong setting.
 */
export function compileInstrument(config: InstrumentConfig): Instrument {
  const name = config.symbol;
  if (!Number.isInteger(config.id) || config.id < 1 || config.id > 255) throw new Error(`${name}.id: 1 to 255`);
  const units = compileUnits(config);
  const maxPriceTicks = compileMaxPrice(config, units);
  const maxQuantityLots = wholeSteps(config.maxQuantity, config.stepSize, `${name}.maxQuantity`);
  const riskTiers = compileTiers(config);
  const makerFeePpm = boundedPpm(config.makerFeeRate, MAX_FEE_PPM, `${name}.makerFeeRate`);
  const markLimitPpm = markLimit(riskTiers[0]);
  const movePpm = configPpm(config.maxMovePerSecond ?? "0", `${name}.maxMovePerSecond`);
  const instrument: Instrument = {
    id: config.id,
    symbol: config.symbol,
    config,
    ...units,
    minQuantityLots: wholeSteps(config.minQuantity, config.stepSize, `${name}.minQuantity`),
    maxQuantityLots,
    maxPositionLots: compileMaxPosition(name, units, maxPriceTicks, maxQuantityLots),
    minNotionalQuanta: wholeSteps(config.minNotional, "0.000001", `${name}.minNotional`),
    maxPriceTicks,
    maxOpenOrders: config.maxOpenOrders,
    makerFeePpm,
    takerFeePpm: boundedPpm(config.takerFeeRate, MAX_FEE_PPM, `${name}.takerFeeRate`),
    liquidationFeePpm: boundedPpm(config.liquidationFeeRate, MAX_FEE_PPM, `${name}.liquidationFeeRate`),
    fundingIntervalMs: config.fundingIntervalHours * 3_600_000,
    fundingCapPpb: fundingCap(config, markLimitPpm) * 1000,
    impactNotionalQuanta: IMPACT_MARGIN_QUANTA * riskTiers[0].maxLeverage,
    impactNotionalPpm: boundedPpm(impactNotionalRateOf(config), PPM, `${name}.impactNotionalRate`),
    priceBandPpm: configPpm(config.priceBand, `${name}.priceBand`),
    markLimitPpm,
    nearPpm: nearLimit(riskTiers, makerFeePpm),
    lastTriggerPpm: boundedPpm(lastTriggerLimitOf(config), PPM, `${name}.lastTriggerLimit`),
    indexJumpPpm: configPpm(config.indexJumpLimit ?? "0.1", `${name}.indexJumpLimit`),
    breakerPpm: configPpm(config.breakerLimit ?? "0.15", `${name}.breakerLimit`),
    breakerMode: TRADING_STATUSES.indexOf(config.breakerMode ?? "REDUCE_ONLY"),
    breakerMs: (config.breakerSeconds ?? 60) * 1000,
    movePpm,
    freshMs: Math.floor(((riskTiers[0].initialMarginPpm - markLimitPpm) / movePpm) ** 2 * 1000),
    transferMarginPpm: boundedPpm(config.transferMarginRate ?? "0", PPM, `${name}.transferMarginRate`),
    openInterestCapQuanta: interestLimit(config.openInterestCap, `${name}.openInterestCap`),
    openInterestLowerQuanta: interestLimit(config.openInterestLowerCap, `${name}.openInterestLowerCap`),
    maxIndexAgeMs: (config.maxIndexAgeSeconds ?? Number.POSITIVE_INFINITY) * 1000,
    fundLossPpm: boundedPpm(config.fundLossLimit ?? "0.01", PPM, `${name}.fundLossLimit`),
    fundMaxNotionalQuanta:
      config.fundMaxNotional === undefined
        ? null
        : wholeSteps(config.fundMaxNotional, "0.000001", `${name}.fundMaxNotional`),
    // Half of the lowest maintenance rate: the other half is for funding that is paid meanwhile, fees and rounding.
    settlementBandPpm: Math.floor(riskTiers[0].maintenanceMarginPpm / 2),
    defaultLeverage: config.defaultLeverage,
    maxLeverage: riskTiers[0].maxLeverage,
    riskTiers,
  };
  if (instrument.minQuantityLots < 1) throw new Error(`${name}.minQuantity: at least one step`);
  if (instrument.priceBandPpm <= 0 || instrument.priceBandPpm >= PPM) throw new Error(`${name}.priceBand: 0 to 1`);
  if (config.defaultLeverage < 1 || config.defaultLeverage > instrument.maxLeverage)
    throw new Error(`${name}.defaultLeverage: 1 to ${instrument.maxLeverage}`);
  return instrument;
}

/** The settings, or their defaults. */
export const lastTriggerLimitOf = ({ lastTriggerLimit = "0.01" }: InstrumentConfig): string => lastTriggerLimit;
export const impactNotionalRateOf = ({ impactNotionalRate = "0.01" }: InstrumentConfig): string => impactNotionalRate;

type Units = Pick<Instrument, "priceDecimals" | "tickUnits" | "quantityDecimals" | "stepUnits" | "quantaPerTickLot">;

function compileUnits({ symbol, tickSize, stepSize }: InstrumentConfig): Units {
  const tick = configDecimal(tickSize, `${symbol}.tickSize`);
  const step = configDecimal(stepSize, `${symbol}.stepSize`);
  if (tick.isZero() || step.isZero()) throw new Error(`${symbol}: tickSize and stepSize must be above zero`);
  const quantaPerTickLot = tick.mul(step).mul(QUANTA_PER_USDC);
  if (!quantaPerTickLot.isInteger())
    throw new Error(`${symbol}: tickSize × stepSize must be a whole number of 0.000001 USDC`);
  const priceDecimals = tick.decimalPlaces();
  const quantityDecimals = step.decimalPlaces();
  return {
    priceDecimals,
    tickUnits: tick.mul(10 ** priceDecimals).toNumber(),
    quantityDecimals,
    stepUnits: step.mul(10 ** quantityDecimals).toNumber(),
    quantaPerTickLot: quantaPerTickLot.toNumber(),
  };
}

function compileMaxPrice({ symbol, maxPrice, tickSize }: InstrumentConfig, { tickUnits }: Units): PriceTicks {
  const name = `${symbol}.maxPrice`;
  const maxPriceTicks = wholeSteps(maxPrice, tickSize, name);
  if (maxPriceTicks < 1) throw new Error(`${name}: at least one tick`);
  if (maxPriceTicks > MOST_PRICE_TICKS) throw new Error(`${name}: at most 2^24 ticks, which is the book's size`);
  if (!Number.isSafeInteger(maxPriceTicks * tickUnits))
    throw new Error(`${name}: with the decimals of tickSize it passes the exact range`);
  return maxPriceTicks;
}

function compileMaxPosition(
  symbol: string,
  { quantaPerTickLot, stepUnits }: Units,
  maxPriceTicks: PriceTicks,
  maxQuantityLots: QuantityLots,
): QuantityLots {
  const maxPositionLots = Math.floor(
    Math.min(
      // A quarter of 2^53: exposures of both sides, open loss and fees of one account are added up in plain numbers.
      2 ** 51 / (maxPriceTicks * quantaPerTickLot),
      // Quantities are printed from their units.
      Number.MAX_SAFE_INTEGER / stepUnits,
    ),
  );
  if (maxPositionLots < maxQuantityLots)
    throw new Error(`${symbol}: maxPrice × maxQuantity passes the exact range; lower one of them or use coarser units`);
  return maxPositionLots;
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

/**
 * Throws a SettingTooLowError when the data folder holds a price above maxPrice, because maxPrice was higher before: the
 * book has no level for it. `what` names that price in the error.
 */
export function requireBelowMaxPrice(instrument: Instrument, priceTicks: PriceTicks, what: string): void {
  if (priceTicks <= instrument.maxPriceTicks) return;
  const { symbol, config } = instrument;
  const price = printPrice(instrument, priceTicks);
  const why = `${config.maxPrice} is below ${what} of the data folder, ${price}`;
  throw new SettingTooLowError(`instruments: ${symbol}.maxPrice: ${why}`);
}

function boundedPpm(text: string, mostPpm: RatePpm, name: string): RatePpm {
  const ppm = configPpm(text, name);
  if (ppm > mostPpm) throw new Error(`${name}: at most ${mostPpm / PPM}, as a rate`);
  return ppm;
}

function wholeSteps(text: string, step: string, name: string): number {
  const steps = configDecimal(text, name).div(configDecimal(step, name));
  if (!steps.isInteger()) throw new Error(`${name}: ${text} is no multiple of ${step}`);
  if (steps.gt(Number.MAX_SAFE_INTEGER)) throw new Error(`${name}: ${text} is too large`);
  return steps.toNumber();
}

const interestLimit = (notional: string | undefined, name: string): Quanta =>
  notional === undefined ? Number.POSITIVE_INFINITY : wholeSteps(notional, "0.000001", name);

/**
 * How far from the index the mark may be: at most half of the least maintenance margin and three eighths of the least
 * initial margin. Then a move from one end to the other costs no more than an account has that is not watched yet. It
 * costs less than an account has that has just opened. So no account loses more than it holds when a trader moves the
 * mark in a book of their own. The rest pays for how far from the mark the fund sells (FUND_MARGIN_SHARE).
 */
const markLimit = ({ initialMarginPpm, maintenanceMarginPpm }: RiskTier): RatePpm =>
  Math.floor(Math.min((3 * initialMarginPpm) / 8, maintenanceMarginPpm / 2));

/**
 * How much a maker with initial margin may lose against the mark and still keep its maintenance margin. At most the least
 * maintenance margin, since an account with less is about to be liquidated. At most half of the difference between
 * initial and maintenance margin in any tier: an order of twice the position closes it and opens another, with the margin
 * of one. The maker's fee comes off.
 */
const nearLimit = (riskTiers: readonly RiskTier[], makerFeePpm: RatePpm): RatePpm =>
  riskTiers.reduce(
    (least, { initialMarginPpm, maintenanceMarginPpm }) =>
      Math.min(least, Math.floor((initialMarginPpm - maintenanceMarginPpm) / 2) - makerFeePpm),
    riskTiers[0].maintenanceMarginPpm,
  );

/**
 * The most that one interval may cost. Premiums are rates of eight hours and stay within the mark's limit. A longer
 * interval would multiply them. One payment could then be more than an account has that is not watched yet. Binance caps
 * an interval at three quarters of the maintenance margin.
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
    // Without maintenance margin a liquidation begins when no money is left, and the fund would pay.
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
