import type { InstrumentConfig } from "../core/protocol/instrument.ts";

/** The fields that the three default instruments share. */
const COMMON = {
  quoteAsset: "USDC",
  minNotional: "5",
  maxOpenOrders: 1000,
  makerFeeRate: "0.0002",
  takerFeeRate: "0.0005",
  liquidationFeeRate: "0.005",
  priceBand: "0.05",
  defaultLeverage: 10,
  fundingIntervalHours: 1,
  fundingRateCap: "0.04",
};

/**
 * The instruments without a setting. For each, tickSize × stepSize is 100 quanta and maxPrice is ten million ticks. That is
 * well within the limits of the price bitmap and of exact integers.
 */
export const DEFAULT_INSTRUMENTS: InstrumentConfig[] = [
  {
    ...COMMON,
    id: 1,
    symbol: "BTC-PERP",
    baseAsset: "BTC",
    indexJumpLimit: "0.0075",
    maxMovePerSecond: "0.0008",
    tickSize: "0.1",
    stepSize: "0.001",
    minQuantity: "0.001",
    maxQuantity: "100",
    maxPrice: "1000000",
    riskTiers: [
      { maxNotional: "300000", maxLeverage: 100, maintenanceMarginRate: "0.004" },
      { maxNotional: "3000000", maxLeverage: 50, maintenanceMarginRate: "0.01" },
      { maxNotional: "12000000", maxLeverage: 25, maintenanceMarginRate: "0.02" },
      { maxNotional: "40000000", maxLeverage: 10, maintenanceMarginRate: "0.05" },
      { maxNotional: "100000000", maxLeverage: 5, maintenanceMarginRate: "0.1" },
    ],
  },
  {
    ...COMMON,
    id: 2,
    symbol: "ETH-PERP",
    baseAsset: "ETH",
    indexJumpLimit: "0.007",
    maxMovePerSecond: "0.001",
    tickSize: "0.01",
    stepSize: "0.01",
    minQuantity: "0.01",
    maxQuantity: "2000",
    maxPrice: "100000",
    riskTiers: [
      { maxNotional: "200000", maxLeverage: 100, maintenanceMarginRate: "0.005" },
      { maxNotional: "2000000", maxLeverage: 50, maintenanceMarginRate: "0.01" },
      { maxNotional: "8000000", maxLeverage: 25, maintenanceMarginRate: "0.02" },
      { maxNotional: "25000000", maxLeverage: 10, maintenanceMarginRate: "0.05" },
      { maxNotional: "60000000", maxLeverage: 5, maintenanceMarginRate: "0.1" },
    ],
  },
  {
    ...COMMON,
    id: 3,
    symbol: "SOL-PERP",
    baseAsset: "SOL",
    indexJumpLimit: "0.0145",
    maxMovePerSecond: "0.0015",
    tickSize: "0.001",
    stepSize: "0.1",
    minQuantity: "0.1",
    maxQuantity: "20000",
    maxPrice: "10000",
    riskTiers: [
      { maxNotional: "100000", maxLeverage: 50, maintenanceMarginRate: "0.01" },
      { maxNotional: "500000", maxLeverage: 25, maintenanceMarginRate: "0.02" },
      { maxNotional: "2000000", maxLeverage: 20, maintenanceMarginRate: "0.025" },
      { maxNotional: "5000000", maxLeverage: 10, maintenanceMarginRate: "0.05" },
      { maxNotional: "15000000", maxLeverage: 5, maintenanceMarginRate: "0.1" },
    ],
  },
];
