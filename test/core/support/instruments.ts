import { compileInstrument, type Instrument, type InstrumentConfig } from "../../../src/core/protocol/instrument.ts";

/**
 * One tick is 1 USDC and one lot is 1 coin, so that 10 @ 100 is worth 1000 USDC.
 * Maker 0.02 %, taker 0.05 %, band 5 %.
 */
export const PLAIN: InstrumentConfig = {
  id: 1,
  symbol: "PLAIN-PERP",
  baseAsset: "PLAIN",
  quoteAsset: "USDC",
  tickSize: "1",
  stepSize: "1",
  minQuantity: "1",
  maxQuantity: "10000",
  minNotional: "5",
  maxPrice: "10000",
  maxOpenOrders: 20,
  makerFeeRate: "0.0002",
  takerFeeRate: "0.0005",
  liquidationFeeRate: "0.005",
  priceBand: "0.05",
  // A tick is 1 % of the usual price.
  lastTriggerLimit: "0.05",
  // As much as the first tier: the limit that follows from a small fund has tests of its own.
  fundMaxNotional: "100000",
  defaultLeverage: 10,
  fundingIntervalHours: 8,
  fundingRateCap: "0.01",
  riskTiers: [
    { maxNotional: "100000", maxLeverage: 50, maintenanceMarginRate: "0.01" },
    { maxNotional: "1000000", maxLeverage: 20, maintenanceMarginRate: "0.025" },
  ],
};

/** Prices to a tenth, quantities to a thousandth, and no limit in reach. */
export const FINE: InstrumentConfig = {
  ...PLAIN,
  symbol: "BTC-PERP",
  baseAsset: "BTC",
  tickSize: "0.1",
  stepSize: "0.001",
  minQuantity: "0.001",
  maxQuantity: "100",
  // A million ticks: a larger book takes longer to allocate, and the tests make thousands.
  maxPrice: "100000",
  maxOpenOrders: 200,
  fundMaxNotional: "100000000",
  riskTiers: [{ maxNotional: "100000000", maxLeverage: 100, maintenanceMarginRate: "0.005" }],
};

/** A tick times a lot is 7 quanta, so every rate leaves a remainder. All limits are in reach. */
export const ODD: InstrumentConfig = {
  ...PLAIN,
  id: 7,
  symbol: "ODD-PERP",
  baseAsset: "ODD",
  tickSize: "0.001",
  stepSize: "0.007",
  minQuantity: "0.014",
  maxQuantity: "0.28",
  minNotional: "0.0015",
  maxPrice: "1",
  maxOpenOrders: 6,
  makerFeeRate: "0.000211",
  takerFeeRate: "0.000517",
  priceBand: "0.07",
  defaultLeverage: 7,
  fundingIntervalHours: 1,
  riskTiers: [
    { maxNotional: "0.02", maxLeverage: 30, maintenanceMarginRate: "0.0101" },
    { maxNotional: "0.04", maxLeverage: 9, maintenanceMarginRate: "0.0501" },
    { maxNotional: "0.06", maxLeverage: 3, maintenanceMarginRate: "0.1001" },
  ],
};

/** Makers pay nothing; one tier. */
export const FREE: InstrumentConfig = {
  ...ODD,
  id: 9,
  symbol: "FREE-PERP",
  maxOpenOrders: 4,
  baseAsset: "FREE",
  stepSize: "0.01",
  minQuantity: "0.01",
  maxQuantity: "0.4",
  makerFeeRate: "0",
  priceBand: "0.5",
  defaultLeverage: 5,
  riskTiers: [{ maxNotional: "0.09", maxLeverage: 12, maintenanceMarginRate: "0.03" }],
};

export const instrument = (config: InstrumentConfig, changes: Partial<InstrumentConfig> = {}): Instrument =>
  compileInstrument({ ...config, ...changes });
