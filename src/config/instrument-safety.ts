import { PPM, printQuanta, type RatePpm } from "../core/base/units.ts";
import { compileInstrument, type Instrument, type InstrumentConfig } from "../core/protocol/instrument.ts";
import { ConfigError } from "./error.ts";

/**
 * Whether the settings of an instrument fit the leverage that it allows. The rules, their reasons and an example are in
 * docs/operating/settings.md. With rates of the notional, of the first tier unless another one is named:
 *
 *   jump:    indexJumpLimit + mark limit + takerFeeRate <= initial margin
 *   breaker: breakerLimit + mark limit                  <= initial margin of the last tier
 *   age:     maxMovePerSecond × √age + mark limit       <= maintenance margin
 */
interface Safe {
  /** The largest indexJumpLimit. */
  readonly jumpPpm: RatePpm;
  /** The largest breakerLimit. */
  readonly breakerPpm: RatePpm;
  /** The oldest index price. */
  readonly ageSeconds: number;
}

/** Upper bounds of the defaults: beyond them a price is wrong, or the market is not orderly, whatever the leverage. */
const DEFAULT_JUMP_PPM: RatePpm = PPM / 10;
const DEFAULT_BREAKER_PPM: RatePpm = (15 * PPM) / 100;
/** Of an asset that moves by 0.1 % in a second and by 0.8 % in a minute, in the worst minutes. */
const DEFAULT_MOVE = "0.001";
/** As Hyperliquid has it. */
const DEFAULT_TRANSFER_MARGIN = "0.1";
const DEFAULT_LARGEST_POSITIONS = 10;

interface AgeBound {
  /** The server's setting: no index price may be older. */
  readonly maxIndexAgeMs: number;
  /** An operator sends prices, as rarely as they like: unless the instrument has a bound, only the server's holds. */
  readonly isOperator: boolean;
}

/**
 * Sets what the configuration leaves out as far as the leverage allows. Returns the instrument, with the age of an index
 * price that holds. Throws a ConfigError if a setting does not fit the leverage; it names the nearest that does.
 */
export function makeSafe<T extends InstrumentConfig>(setting: T, bound: AgeBound): T {
  const config = {
    ...setting,
    maxMovePerSecond: setting.maxMovePerSecond ?? DEFAULT_MOVE,
    transferMarginRate: setting.transferMarginRate ?? DEFAULT_TRANSFER_MARGIN,
  };
  const instrument = compileInstrument(config);
  const safe = safeLimits(instrument);
  requireMargin(instrument, safe);
  const jumpPpm = config.indexJumpLimit === undefined ? DEFAULT_JUMP_PPM : instrument.indexJumpPpm;
  const breakerPpm = config.breakerLimit === undefined ? DEFAULT_BREAKER_PPM : instrument.breakerPpm;
  if (config.indexJumpLimit !== undefined) requireRate(instrument, "indexJumpLimit", jumpPpm, safe.jumpPpm);
  if (config.breakerLimit !== undefined) requireRate(instrument, "breakerLimit", breakerPpm, safe.breakerPpm);
  return {
    ...config,
    indexJumpLimit: String(Math.min(jumpPpm, safe.jumpPpm) / PPM),
    breakerLimit: String(Math.min(breakerPpm, safe.breakerPpm) / PPM),
    maxIndexAgeSeconds: ageOf(instrument, safe, bound),
    ...interestCapsOf(instrument),
  };
}

/** Names the age that fits the leverage if an older index price may be used. Returns null otherwise. */
export function unsafeAge(config: InstrumentConfig): string | null {
  const instrument = compileInstrument(config);
  const { ageSeconds } = safeLimits(instrument);
  if (instrument.maxIndexAgeMs <= ageSeconds * 1000) return null;
  return `${instrument.symbol} at ${instrument.maxLeverage}x: ${ageSeconds} s`;
}

function safeLimits({ riskTiers, markLimitPpm, takerFeePpm, movePpm }: Instrument): Safe {
  const [first] = riskTiers;
  const last = riskTiers[riskTiers.length - 1];
  return {
    jumpPpm: first.initialMarginPpm - markLimitPpm - takerFeePpm,
    breakerPpm: last.initialMarginPpm - markLimitPpm,
    ageSeconds: Math.floor(((first.maintenanceMarginPpm - markLimitPpm) / movePpm) ** 2),
  };
}

/** The margins must cover the plausible move of one second: a feed that sends a price each second must be able to trade. */
function requireMargin(instrument: Instrument, safe: Safe): void {
  const { symbol, movePpm, maxLeverage, riskTiers } = instrument;
  const { maintenanceMarginPpm, initialMarginPpm } = riskTiers[0];
  if (movePpm < 1) throw new ConfigError(`instruments: ${symbol}.maxMovePerSecond: above 0`);
  if (safe.ageSeconds >= 1 && safe.jumpPpm >= movePpm) return;
  const move = `the index may move by ${movePpm / PPM} in a second (maxMovePerSecond)`;
  // The mark limit is at most half of the maintenance margin and three eighths of the initial margin.
  const leastPpm = 2 * movePpm;
  if (safe.ageSeconds < 1 && leastPpm < initialMarginPpm)
    throw new ConfigError(
      `instruments: ${symbol}.riskTiers[0].maintenanceMarginRate: ${maintenanceMarginPpm / PPM} is too low, because ` +
        `${move}; use at least ${leastPpm / PPM}`,
    );
  throw new ConfigError(
    `instruments: ${symbol}.riskTiers[0].maxLeverage: ${maxLeverage} is too high, because ${move}; use at most ` +
      `${nearestLeverage(instrument)}`,
  );
}

/** The highest leverage whose initial margin covers a second and the taker fee, with a maintenance margin below it. */
function nearestLeverage({ movePpm, takerFeePpm, riskTiers }: Instrument): number {
  const { maintenanceMarginPpm } = riskTiers[0];
  for (let leverage = riskTiers[0].maxLeverage - 1; leverage > 1; leverage--) {
    const initialPpm = Math.ceil(PPM / leverage);
    const keptPpm = Math.max(maintenanceMarginPpm, 2 * movePpm);
    const limitPpm = Math.floor(Math.min((3 * initialPpm) / 8, keptPpm / 2));
    if (keptPpm < initialPpm && initialPpm - limitPpm - takerFeePpm >= movePpm) return leverage;
  }
  return 1;
}

function requireRate(instrument: Instrument, name: string, ppm: RatePpm, safePpm: RatePpm): void {
  if (ppm > 0 && ppm <= safePpm) return;
  const { symbol, maxLeverage } = instrument;
  const given = ppm === 0 ? "0, which sets no limit," : ppm / PPM;
  throw new ConfigError(
    `instruments: ${symbol}.${name}: ${given} is not safe at ${maxLeverage}x; use at most ${safePpm / PPM}`,
  );
}

/**
 * Ten positions of the largest size may be open, and from half of that on the margin of opening rises: no account alone
 * makes it rise for others, and none can build a position that the book and the fund have never seen.
 */
function interestCapsOf({ symbol, config, riskTiers, ...instrument }: Instrument) {
  const largestQuanta = riskTiers[riskTiers.length - 1].maxNotionalQuanta;
  const ownQuanta = instrument.openInterestCapQuanta;
  const capQuanta = config.openInterestCap === undefined ? DEFAULT_LARGEST_POSITIONS * largestQuanta : ownQuanta;
  const defaultQuanta = Math.floor(capQuanta / 2);
  if (capQuanta < 2) throw new ConfigError(`instruments: ${symbol}.openInterestCap: above 0`);
  const lowerQuanta = config.openInterestLowerCap === undefined ? defaultQuanta : instrument.openInterestLowerQuanta;
  if (lowerQuanta >= capQuanta)
    throw new ConfigError(
      `instruments: ${symbol}.openInterestLowerCap: ${config.openInterestLowerCap} is not below the cap of ` +
        `${printQuanta(capQuanta)}; use at most ${printQuanta(capQuanta - 1)}`,
    );
  return { openInterestCap: printQuanta(capQuanta), openInterestLowerCap: printQuanta(lowerQuanta) };
}

/** In seconds. */
function ageOf({ symbol, maxLeverage, config }: Instrument, safe: Safe, bound: AgeBound): number {
  const own = config.maxIndexAgeSeconds;
  if (own !== undefined && own > safe.ageSeconds)
    throw new ConfigError(
      `instruments: ${symbol}.maxIndexAgeSeconds: ${own} is not safe at ${maxLeverage}x; use at most ${safe.ageSeconds}`,
    );
  const age = own ?? (bound.isOperator ? Number.POSITIVE_INFINITY : safe.ageSeconds);
  return Math.min(age, bound.maxIndexAgeMs / 1000);
}
