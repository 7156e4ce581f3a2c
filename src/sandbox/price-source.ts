import type { PriceTicks } from "../core/base/units.ts";
import type { Instrument } from "../core/protocol/instrument.ts";
import { Random } from "./random.ts";

const YEAR_MS = 365 * 86_400_000;
/** Time constant of mean reversion: the price wanders for days but never to zero. */
const REVERSION_MS = 7 * 86_400_000;

/** Initial price, which is also the anchor of mean reversion, in USDC; and annual volatility. */
const ASSETS: Readonly<Record<string, { price: number; volatility: number }>> = {
  BTC: { price: 65_000, volatility: 0.55 },
  ETH: { price: 3_200, volatility: 0.7 },
  SOL: { price: 150, volatility: 0.9 },
};
const OTHER_ASSET = { price: 100, volatility: 0.8 };

/**
 * How long a trend lasts, and how far it carries the price in that time, in multiples of the random walk's typical move.
 * Without trends candles of all intervals look alike.
 */
const TREND_MS = 20 * 60_000;
const TREND_STRENGTH = 1.2;

/** Volatility regimes, which last for minutes: factor on volatility, mean duration. */
const REGIMES = [
  { factor: 0.4, meanStayMs: 8 * 60_000 },
  { factor: 1, meanStayMs: 12 * 60_000 },
  { factor: 2.5, meanStayMs: 90_000 },
] as const;

/** A simulated index price: a geometric random walk with trends, changing volatility and mean reversion to an anchor. */
export class SimulatedPrice {
  private readonly random: Random;
  private readonly volatility: number;
  private readonly logAnchor: number;
  private readonly maxTicks: PriceTicks;
  private logTicks: number;
  /** Change of logTicks that it would cause within TREND_MS. */
  private trend = 0;
  private regime: (typeof REGIMES)[number] = REGIMES[1];

  /** Continues from `lastTicks`, the index price of an earlier run; 0 = none. */
  constructor(instrument: Instrument, seed: number, lastTicks: PriceTicks) {
    const asset = ASSETS[instrument.config.baseAsset] ?? OTHER_ASSET;
    // Half of the price range: there must be room for asks and for a rise.
    this.maxTicks = Math.ceil(instrument.maxPriceTicks / 2);
    const anchorTicks = Math.round((asset.price * 10 ** instrument.priceDecimals) / instrument.tickUnits);
    this.logAnchor = Math.log(this.clamp(anchorTicks));
    this.logTicks = lastTicks > 0 ? Math.log(lastTicks) : this.logAnchor;
    this.volatility = asset.volatility;
    // The last price is part of the seed, so that a restart does not repeat the same steps.
    this.random = new Random(seed, `${instrument.symbol} index price from ${lastTicks}`);
  }

  get ticks(): PriceTicks {
    return this.clamp(Math.round(Math.exp(this.logTicks)));
  }

  /** The price `elapsedMs` later. The same seed, first price and steps give the same path. */
  step(elapsedMs: number): PriceTicks {
    if (this.random.chance(1 - Math.exp(-elapsedMs / this.regime.meanStayMs))) this.regime = this.random.pick(REGIMES);
    const pull = (this.logAnchor - this.logTicks) * (1 - Math.exp(-elapsedMs / REVERSION_MS));
    const spread = this.volatility * this.regime.factor * Math.sqrt(elapsedMs / YEAR_MS);
    this.logTicks += pull + spread * this.random.normal() + this.follow(elapsedMs);
    return this.ticks;
  }

  /** The trend's share of a step. The trend is an Ornstein-Uhlenbeck process, so it turns by itself. */
  private follow(elapsedMs: number): number {
    const kept = Math.exp(-elapsedMs / TREND_MS);
    const typical = TREND_STRENGTH * this.volatility * Math.sqrt(TREND_MS / YEAR_MS);
    this.trend = kept * this.trend + typical * Math.sqrt(1 - kept * kept) * this.random.normal();
    return this.trend * (1 - kept);
  }

  private clamp(ticks: number): PriceTicks {
    return Math.min(Math.max(ticks, 1), this.maxTicks);
  }
}
