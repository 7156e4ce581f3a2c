import type { TradingStatus } from "../../core/base/enums.ts";
import {
  PPM_DECIMALS,
  type PriceTicks,
  printFixed,
  printQuanta,
  type QuantityLots,
  type TimeMs,
} from "../../core/base/units.ts";
import { type Instrument, lastTriggerLimitOf, printPrice, printQuantity } from "../../core/protocol/instrument.ts";

/** What an instrument's row shows of the symbol's state. */
export interface InstrumentState {
  readonly instrument: Instrument;
  readonly status: { status: TradingStatus; statusReason: string | null };
  /** 0: none, or the halt does not end by itself. */
  readonly haltUntil: TimeMs;
  /** 0: none. */
  readonly pendingIndexTicks: PriceTicks;
  readonly openInterestLots: QuantityLots;
}

/** The row of `GET /market/symbols` and of the channel `symbols`. */
export const instrumentJson = (symbol: InstrumentState): string =>
  JSON.stringify({ ...describeInstrument(symbol.instrument), ...tradingStateOf(symbol), ...figuresOf(symbol) });

/** The fields whose changes the channel `symbols` sends at once. */
export function tradingStateOf({ instrument, status, haltUntil, pendingIndexTicks }: InstrumentState) {
  return {
    ...status,
    statusUntil: haltUntil === 0 ? null : haltUntil,
    pendingIndexPrice: pendingIndexTicks === 0 ? null : printPrice(instrument, pendingIndexTicks),
  };
}

/** The fields that may change with each trade, whose changes the channel sends at a slower pace. */
export function figuresOf({ instrument, openInterestLots }: InstrumentState) {
  return { openInterest: printQuantity(instrument, openInterestLots) };
}

/** The fields that only a new configuration changes. */
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
    fundingIntervalHours: config.fundingIntervalHours,
    fundingRateCap: config.fundingRateCap,
  };
}
