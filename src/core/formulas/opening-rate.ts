import { BUY_EXPOSURE, LEVERAGE, MARGIN_MODE, SELL_EXPOSURE, SIZE } from "../base/columns.ts";
import { ISOLATED, MODE_CANCEL_ONLY } from "../base/enums.ts";
import {
  mulDivCeil,
  PPM,
  type PriceTicks,
  type Quanta,
  type QuantityLots,
  type RatePpm,
  type TimeMs,
} from "../base/units.ts";
import type { Instrument } from "../protocol/instrument.ts";
import { initialMargin } from "./margin.ts";
import { transferMarginBeyondInitial } from "./transfer-margin.ts";

/** The state of a symbol that the opening rate follows from. */
export interface OpeningState {
  readonly instrument: Instrument;
  /** The largest move of the index within its last minutes, see market-data/index-range.ts. */
  readonly indexRange: { movePpm(time: TimeMs): RatePpm };
  readonly priceTime: TimeMs;
  readonly indexTicks: PriceTicks;
  readonly markTicks: PriceTicks;
  /** A price that has jumped and waits for others to agree; 0 = none. */
  readonly pendingIndexTicks: PriceTicks;
  readonly haltMode: number;
  readonly openInterestLots: QuantityLots;
}

/**
 * The rate of the notional that an account must have to open or to increase a position now; 0 = its leverage decides alone.
 * It is the largest of four rates:
 * - what the index may have moved since its last price,
 * - what it has moved within the last minute,
 * - how far the mark is from a price that it does not follow yet,
 * - what the open interest asks for. `addedLots`: what the order adds to it at once.
 */
export function openingRatePpm(symbol: OpeningState, time: TimeMs, addedLots: QuantityLots): RatePpm {
  const { instrument } = symbol;
  let ratePpm = interestRatePpm(symbol, addedLots);
  if (instrument.movePpm === 0) return ratePpm;
  const movedPpm = Math.min(PPM, symbol.indexRange.movePpm(time));
  ratePpm = Math.max(ratePpm, movedPpm, awaitedMovePpm(symbol));
  const age = time - symbol.priceTime;
  if (age <= instrument.freshMs) return ratePpm;
  return Math.max(ratePpm, Math.min(PPM, instrument.markLimitPpm + plausibleMovePpm(instrument, age)));
}

/**
 * The move that everybody can see before the mark makes it: to a price that waits for others to agree, or to the index during a
 * halt, in which the mark stands still.
 */
function awaitedMovePpm({ instrument, indexTicks, markTicks, pendingIndexTicks, haltMode }: OpeningState): RatePpm {
  const awaitedTicks = pendingIndexTicks || (haltMode >= MODE_CANCEL_ONLY ? indexTicks : 0);
  if (awaitedTicks === 0 || markTicks === 0) return 0;
  const movePpm = Math.ceil((Math.abs(awaitedTicks - markTicks) * PPM) / markTicks);
  return movePpm <= instrument.markLimitPpm ? 0 : Math.min(PPM, movePpm + instrument.markLimitPpm);
}

/** The largest plausible move of the index within so many ms: it grows with the root of the time. */
const plausibleMovePpm = ({ movePpm }: Instrument, ms: TimeMs): RatePpm => Math.ceil(movePpm * Math.sqrt(ms / 1000));

/**
 * From the lowest initial margin rate at the lower cap to 1 at the cap, in a straight line (dYdX v4, GetAdjustedInitialMarginQuoteQuantums:
 * the initial margin fraction rises between openInterestLowerCap and openInterestUpperCap).
 */
function interestRatePpm({ instrument, markTicks, openInterestLots }: OpeningState, addedLots: QuantityLots): RatePpm {
  const { openInterestLowerQuanta, openInterestCapQuanta, riskTiers } = instrument;
  const interestQuanta = (openInterestLots + addedLots) * markTicks * instrument.quantaPerTickLot;
  if (interestQuanta <= openInterestLowerQuanta) return 0;
  const share = (interestQuanta - openInterestLowerQuanta) / (openInterestCapQuanta - openInterestLowerQuanta);
  const basePpm = riskTiers[0].initialMarginPpm;
  return Math.min(PPM, basePpm + Math.ceil((PPM - basePpm) * share));
}

/**
 * The additional margin of a row in quanta: by how much the margin of its position and orders at the opening rate exceeds
 * their margin at its leverage. An order that opens must leave it in the account, and so must whatever takes money out.
 */
export function additionalMargin(
  instrument: Instrument,
  row: Float64Array,
  at: number,
  markTicks: PriceTicks,
  ratePpm: RatePpm,
): Quanta {
  if (ratePpm === 0) return 0;
  const value = row[at + SIZE] * markTicks * instrument.quantaPerTickLot;
  const exposure = Math.max(value + row[at + BUY_EXPOSURE], row[at + SELL_EXPOSURE] - value);
  return Math.max(0, mulDivCeil(exposure, ratePpm, PPM) - initialMargin(instrument, exposure, row[at + LEVERAGE]));
}

/**
 * The margin beyond the initial margin, in quanta, that the account of a row must keep when money is taken out: at the opening
 * rate, or the margin of transfers. An isolated position has its own margin.
 */
export const keptCrossMargin: typeof additionalMargin = (instrument, row, at, markTicks, ratePpm) =>
  row[at + MARGIN_MODE] === ISOLATED
    ? 0
    : Math.max(
        additionalMargin(instrument, row, at, markTicks, ratePpm),
        transferMarginBeyondInitial(instrument, row, at, markTicks),
      );
