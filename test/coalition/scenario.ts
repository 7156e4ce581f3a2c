import { makeSafe } from "../../src/config/instrument-safety.ts";
import { compileInstrument, type Instrument, type InstrumentConfig } from "../../src/core/protocol/instrument.ts";
import { Random } from "../../src/sandbox/random.ts";
import { SLOT_MS } from "./world.ts";

/** The market that a coalition finds: all of it follows from a seed. Prices are ticks, money is USDC. */
export interface Scenario {
  readonly seed: number;
  readonly workers: number;
  readonly markets: readonly Market[];
  readonly fundUsdc: number;
  readonly accounts: number;
  /** What the coalition may deposit in all. */
  readonly capitalUsdc: number;
  /** How long after the start the first funding interval ends. */
  readonly fundingAtMs: number;
  /** Price guards that fit the leverage, as a start demands. False = wide ones: the settlement of marks alone must do. */
  readonly isSafe: boolean;
  /** The sweep that brings positions to a new mark comes late, as in a market with very many of them. */
  readonly isSweptLate: boolean;
}

export interface Market {
  readonly instrument: Instrument;
  readonly kind: PathKind;
  readonly path: readonly Price[];
  readonly holders: readonly Holder[];
  readonly maker: { readonly lots: number; readonly spreadPpm: number; readonly delaySlots: number } | null;
  /** A holder with a stop at the last price, this far from the start: negative = below, for a long. 0 = there is none. */
  readonly stopPpm: number;
}

export interface Price {
  readonly slot: number;
  readonly ticks: number;
}

/** A long and a short of the same size, opened before the start by two accounts that do nothing more. */
export interface Holder {
  readonly lots: number;
  readonly leverage: number;
  /** Its entry, as a rate of the start. */
  readonly entryPpm: number;
}

export const START_TICKS = 4_000;
export const RUN_SLOTS = 400;
const SLOTS_PER_PRICE = 1000 / SLOT_MS;
/** The latest price that the coalition can still do something after. */
const LAST_SLOT = RUN_SLOTS - 2 * SLOTS_PER_PRICE;
const PPM = 1e6;
export const MAX_INDEX_AGE_MS = 10_000;

const PATH_KINDS = ["walk", "jump", "steps", "pump", "stale", "pending", "gap"] as const;
export type PathKind = (typeof PATH_KINDS)[number];

/** A tick is a fortieth of a percent of the price, and a lot is worth 10 USDC. */
const config = (id: number, maxLeverage: number): InstrumentConfig => ({
  id,
  symbol: `S${id}-PERP`,
  baseAsset: `S${id}`,
  quoteAsset: "USDC",
  tickSize: "1",
  stepSize: "0.0025",
  minQuantity: "0.0025",
  maxQuantity: "10000",
  minNotional: "5",
  maxPrice: "6400",
  maxOpenOrders: 20,
  makerFeeRate: "0.0002",
  takerFeeRate: "0.0005",
  liquidationFeeRate: "0.005",
  priceBand: "0.05",
  defaultLeverage: 10,
  fundingIntervalHours: 1,
  fundingRateCap: "0.04",
  riskTiers: [
    { maxNotional: "3000000", maxLeverage, maintenanceMarginRate: String(0.4 / maxLeverage) },
    { maxNotional: "100000000", maxLeverage: maxLeverage / 2, maintenanceMarginRate: String(1 / maxLeverage) },
  ],
});

const instruments = new Map<string, Instrument>();
function instrumentOf(id: number, maxLeverage: number, isSafe: boolean, maxMovePerSecond: string): Instrument {
  const key = `${id} ${maxLeverage} ${isSafe} ${maxMovePerSecond}`;
  const wide = { ...config(id, maxLeverage), maxMovePerSecond };
  const bound = { maxIndexAgeMs: MAX_INDEX_AGE_MS, isOperator: false };
  const known = instruments.get(key) ?? compileInstrument(isSafe ? makeSafe(wide, bound) : wide);
  instruments.set(key, known);
  return known;
}

export function makeScenario(seed: number): Scenario {
  const random = new Random(seed, "scenario");
  const count = random.pick([1, 1, 2, 2, 3]);
  const isSafe = random.chance(0.5);
  // Without that setting, opening asks for no more margin when the market moves.
  const maxMovePerSecond = isSafe || random.chance(0.5) ? "0.001" : "0";
  const accounts = 2 + Math.floor(random.uniform() * 11);
  return {
    seed,
    workers: 1 + Math.floor(random.uniform() * count),
    markets: Array.from({ length: count }, (_, i) => makeMarket(random, i + 1, isSafe, maxMovePerSecond)),
    fundUsdc: random.pick([0, 1000, 50_000, 1_000_000]),
    accounts,
    capitalUsdc: accounts * random.pick([2000, 10_000, 40_000]),
    fundingAtMs: random.chance(0.2) ? 15_000 : 30 * 60_000,
    isSafe,
    isSweptLate: random.chance(0.3),
  };
}

function makeMarket(random: Random, id: number, isSafe: boolean, maxMovePerSecond: string): Market {
  const kind = id > 1 && random.chance(0.5) ? "walk" : random.pick(PATH_KINDS);
  return {
    instrument: instrumentOf(id, random.pick([20, 50, 100, 100]), isSafe, maxMovePerSecond),
    kind,
    path: makePath(random, kind),
    holders: Array.from({ length: 1 + Math.floor(random.uniform() * 3) }, () => ({
      lots: 1000 + Math.floor(random.uniform() * 40_000),
      leverage: random.pick([1, 2, 3, 5]),
      entryPpm: Math.round((random.uniform() - 0.5) * 100_000),
    })),
    maker: random.chance(0.5)
      ? {
          lots: 500 + Math.floor(random.uniform() * 20_000),
          spreadPpm: random.pick([300, 1000, 3000]),
          delaySlots: 1 + Math.floor(random.uniform() * 6),
        }
      : null,
    stopPpm: random.chance(0.3) ? random.pick([-50_000, -40_000, -20_000]) : 0,
  };
}

/** Prices of the index, one a second. */
function makePath(random: Random, kind: PathKind): Price[] {
  const path: Price[] = [];
  const sign = random.chance(0.5) ? 1 : -1;
  const at = (4 + Math.floor(random.uniform() * 5)) * SLOTS_PER_PRICE;
  const noise = random.pick([0, 0.0002, 0.002]);
  const shape = SHAPES[kind](random, at, sign);
  let drift = 0;
  for (let slot = 0; slot < RUN_SLOTS; slot += SLOTS_PER_PRICE) {
    drift += random.normal() * noise;
    const rate = shape(slot);
    if (rate === null) continue;
    path.push({ slot, ticks: Math.max(800, Math.min(6_300, Math.round(START_TICKS * (1 + rate) * (1 + drift)))) });
  }
  return path;
}

/** The move since the start at a slot, as a rate; null = no price comes. */
type Shape = (slot: number) => number | null;

const SHAPES: Record<PathKind, (random: Random, at: number, sign: number) => Shape> = {
  walk(random) {
    const step = random.pick([0.001, 0.004, 0.01]);
    let rate = 0;
    return () => {
      rate += random.normal() * step;
      return rate;
    };
  },
  jump(random, at, sign) {
    const size = random.between(0.01, 0.1);
    return (slot) => (slot < at ? 0 : sign * size);
  },
  steps(random, at, sign) {
    const size = random.between(0.005, 0.02);
    const most = random.between(0.05, 0.3);
    return (slot) => sign * Math.min(most, Math.max(0, (slot - at) / SLOTS_PER_PRICE) * size);
  },
  pump(random, at, sign) {
    const size = random.between(0.05, 0.3);
    const half = 3 + Math.floor(random.uniform() * 5);
    return (slot) => sign * size * Math.max(0, 1 - Math.abs((slot - at) / SLOTS_PER_PRICE - half) / half);
  },
  stale(random, at, sign) {
    const size = random.between(0.01, 0.12);
    const until = Math.min(LAST_SLOT, at + Math.floor(random.between(3, 15)) * SLOTS_PER_PRICE);
    return (slot) => (slot < at ? 0 : slot < until ? null : sign * size);
  },
  pending(random, at, sign) {
    const size = random.between(0.1, 0.25);
    return (slot) => (slot < at ? 0 : sign * size);
  },
  /** First as far as an account at high leverage can bear it, then much further. */
  gap(random, at, sign) {
    const first = random.between(0.006, 0.04);
    const size = random.between(0.1, 0.3);
    const until = at + Math.floor(random.between(1, 6)) * SLOTS_PER_PRICE;
    return (slot) => (slot < at ? 0 : slot < until ? sign * first : sign * size);
  },
};

export const ticksToRate = (ticks: number): number => ticks / START_TICKS - 1;
export const ppm = (ticks: number, ratePpm: number): number => Math.round((ticks * (PPM + ratePpm)) / PPM);
