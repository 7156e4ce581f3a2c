import { TRADING_STATUSES, type TradingStatus } from "../../core/base/enums.ts";
import {
  PPM_DECIMALS,
  type PriceTicks,
  printFixed,
  printQuanta,
  type Quanta,
  type RatePpm,
  type TimeMs,
} from "../../core/base/units.ts";
import { type OpeningState, openingRatePpm } from "../../core/formulas/opening-rate.ts";
import {
  type Instrument,
  impactNotionalRateOf,
  lastTriggerLimitOf,
  printPrice,
  printQuantity,
} from "../../core/protocol/instrument.ts";

/** The part of the symbol's state that an instrument's row shows. */
interface InstrumentState extends OpeningState {
  readonly status: { status: TradingStatus; statusReason: string | null };
  /** 0: none, or the halt does not end by itself. */
  readonly haltUntil: TimeMs;
  /** 0: none. */
  readonly pendingIndexTicks: PriceTicks;
  /** 0: none. */
  readonly priceTime: TimeMs;
  /** The last result of descriptionJson() for the instrument. */
  readonly description: string;
}

/** The row of `GET /market/symbols` and of the channel `symbols`. */
export function instrumentJson(symbol: InstrumentState, now: TimeMs): string {
  const { description, priceTime } = symbol;
  const indexTime = priceTime === 0 ? null : priceTime;
  const state = JSON.stringify({ ...tradingStateOf(symbol), ...figuresOf(symbol, now), indexTime });
  return `${description.slice(0, -1)},${state.slice(1)}`;
}

/** The fields of the row that only a new configuration changes. Printing them takes far longer than the others. */
export const descriptionJson = (instrument: Instrument): string => JSON.stringify(describeInstrument(instrument));

/** The fields whose changes the channel `symbols` sends at once. */
export function tradingStateOf({ instrument, status, haltUntil, pendingIndexTicks }: InstrumentState) {
  return {
    ...status,
    statusUntil: haltUntil === 0 ? null : haltUntil,
    pendingIndexPrice: pendingIndexTicks === 0 ? null : printPrice(instrument, pendingIndexTicks),
  };
}

/** The fields that may change with each trade, whose changes the channel sends at a slower pace. */
export function figuresOf(symbol: InstrumentState, now: TimeMs) {
  const { instrument, openInterestLots, markTicks } = symbol;
  const leastPpm = instrument.riskTiers[0].initialMarginPpm;
  const ratePpm = markTicks === 0 ? leastPpm : Math.max(leastPpm, openingRatePpm(symbol, now, 0));
  return {
    openInterest: printQuantity(instrument, openInterestLots),
    openingMarginRate: printFixed(ratePpm, PPM_DECIMALS),
  };
}

function describeInstrument(instrument: Instrument) {
  const { config } = instrument;
  const rate = (ppm: number) => printFixed(ppm, PPM_DECIMALS);
  return {
    symbol: config.symbol,
    baseAsset: config.baseAsset,
    quoteAsset: config.quoteAsset,
    tickSize: config.tickSize,
    stepSize: config.stepSize,
    minQuantity: config.minQuantity,
    maxQuantity: config.maxQuantity,
    minNotional: config.minNotional,
    maxPrice: printPrice(instrument, instrument.maxPriceTicks),
    maxOpenOrders: instrument.maxOpenOrders,
    maxLeverage: instrument.maxLeverage,
    riskTiers: instrument.riskTiers.map((tier) => ({
      maxNotional: printQuanta(tier.maxNotionalQuanta),
      maxLeverage: tier.maxLeverage,
      initialMarginRate: rate(tier.initialMarginPpm),
      maintenanceMarginRate: rate(tier.maintenanceMarginPpm),
      maintenanceDeduction: printQuanta(tier.maintenanceDeductionQuanta),
    })),
    makerFeeRate: config.makerFeeRate,
    takerFeeRate: config.takerFeeRate,
    liquidationFeeRate: config.liquidationFeeRate,
    priceBand: config.priceBand,
    lastTriggerLimit: lastTriggerLimitOf(config),
    ...describeGuards(instrument),
    fundingIntervalHours: config.fundingIntervalHours,
    fundingRateCap: config.fundingRateCap,
    impactNotionalRate: impactNotionalRateOf(config),
  };
}

/** Limits of prices and of open interest. A field is null where there is no limit. */
function describeGuards(instrument: Instrument) {
  const { maxIndexAgeMs, openInterestCapQuanta, openInterestLowerQuanta } = instrument;
  const rate = (ppm: RatePpm) => printFixed(ppm, PPM_DECIMALS);
  const notionalOrNull = (quanta: Quanta) => (Number.isFinite(quanta) ? printQuanta(quanta) : null);
  return {
    markLimit: rate(instrument.markLimitPpm),
    indexJumpLimit: rate(instrument.indexJumpPpm),
    breakerLimit: rate(instrument.breakerPpm),
    breakerMode: TRADING_STATUSES[instrument.breakerMode],
    breakerSeconds: instrument.breakerMs / 1000,
    maxMovePerSecond: rate(instrument.movePpm),
    transferMarginRate: rate(instrument.transferMarginPpm),
    maxIndexAgeSeconds: Number.isFinite(maxIndexAgeMs) ? maxIndexAgeMs / 1000 : null,
    openInterestCap: notionalOrNull(openInterestCapQuanta),
    openInterestLowerCap: notionalOrNull(openInterestLowerQuanta),
  };
}
