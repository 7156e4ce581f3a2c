import {
  PPM,
  PPM_DECIMALS,
  type PriceTicks,
  parseFixed,
  parseQuanta,
  printFixed,
  printQuanta,
  QUANTA_DECIMALS,
  type Quanta,
  type QuantityLots,
  type RatePpm,
} from "../../core/base/units.ts";
import {
  type Instrument,
  parsePrice,
  parseQuantity,
  printPrice,
  printQuantity,
} from "../../core/protocol/instrument.ts";
import { ApiError } from "../common/errors.ts";

/**
 * Decimals of requests as whole units. The schema has checked their form. These functions refuse zero, values beyond the exact
 * range, and values between two units; for the last, the error names the nearest valid values.
 */

export function readPrice(instrument: Instrument, text: string, field = "price"): PriceTicks {
  const ticks = parsePrice(instrument, text);
  if (ticks > 0) return ticks;
  const { tickSize, maxPrice } = instrument.config;
  if (ticks === 0)
    throw new ApiError("BAD_VALUE", { field, message: `${field} must be above 0.`, details: { minimum: tickSize } });
  const nearest = nearestSteps(text, instrument.tickUnits, instrument.priceDecimals);
  if (nearest === null) throw new ApiError("PRICE_TOO_HIGH", { field, details: { limit: maxPrice } });
  const prices = nearest.map((each) => printPrice(instrument, each));
  throw new ApiError("PRICE_NOT_ON_TICK", { field, details: { tickSize, nearest: prices } });
}

export function readQuantity(instrument: Instrument, text: string, field = "quantity"): QuantityLots {
  const lots = parseQuantity(instrument, text);
  if (lots > 0) return lots;
  const { stepSize, minQuantity, maxQuantity } = instrument.config;
  if (lots === 0) throw new ApiError("QUANTITY_TOO_SMALL", { field, details: { limit: minQuantity } });
  const nearest = nearestSteps(text, instrument.stepUnits, instrument.quantityDecimals);
  if (nearest === null) throw new ApiError("QUANTITY_TOO_LARGE", { field, details: { limit: maxQuantity } });
  const quantities = nearest.map((each) => printQuantity(instrument, each));
  throw new ApiError("QUANTITY_NOT_ON_STEP", { field, details: { stepSize, nearest: quantities } });
}

export function readAmount(text: string, field = "amount", sign: "" | "-" = ""): Quanta {
  const quanta = parseQuanta(text);
  if (quanta > 0) return quanta;
  const smallest = printQuanta(1);
  if (quanta === 0)
    throw new ApiError("BAD_VALUE", { field, message: `${field} must be above 0.`, details: { minimum: smallest } });
  const nearest = nearestSteps(text, 1, QUANTA_DECIMALS);
  if (nearest === null)
    throw new ApiError("BAD_VALUE", {
      field,
      message: `${field} is too large. details.maximum is the largest amount.`,
      details: { maximum: printQuanta(Number.MAX_SAFE_INTEGER) },
    });
  throw new ApiError("AMOUNT_TOO_FINE", {
    field,
    details: { nearest: nearest.map((each) => sign + printQuanta(each)) },
  });
}

/** A share of 1 from `minimum` to `maximum`, in parts per million. Throws BAD_VALUE. */
export function readShare(text: string, field: string, minimum: RatePpm = 1, maximum: RatePpm = PPM): RatePpm {
  const ppm = parseFixed(text, PPM_DECIMALS);
  if (ppm >= minimum && ppm <= maximum) return ppm;
  const details = { minimum: printFixed(minimum, PPM_DECIMALS), maximum: printFixed(maximum, PPM_DECIMALS) };
  throw new ApiError("BAD_VALUE", {
    field,
    message: `${field} must be a share from details.minimum to details.maximum, in steps of 0.000001.`,
    details,
  });
}

/** An amount that may be negative. */
export function readSignedAmount(text: string): Quanta {
  const isNegative = text.startsWith("-");
  const unsigned = isNegative ? text.slice(1) : text;
  if (parseQuanta(unsigned) === 0)
    throw new ApiError("BAD_VALUE", { field: "amount", message: "amount must not be 0." });
  return isNegative ? -readAmount(unsigned, "amount", "-") : readAmount(unsigned);
}

/** The most decimals that DECIMAL_PATTERN allows. */
const SCALE_DECIMALS = 12;

/**
 * The nearest numbers of whole steps below and above a decimal between two steps, without 0. A step is `stepUnits` ×
 * 10^-decimals. Null for a decimal on a step, which can only be too large, and beyond 2^53 steps.
 */
function nearestSteps(text: string, stepUnits: number, decimals: number): number[] | null {
  const [whole = "0", fraction = ""] = text.split(".");
  const scaled = BigInt(whole + fraction.padEnd(SCALE_DECIMALS, "0"));
  const step = BigInt(stepUnits) * 10n ** BigInt(SCALE_DECIMALS - decimals);
  const below = Number(scaled / step);
  if (scaled % step === 0n || !Number.isSafeInteger(below + 1)) return null;
  return below === 0 ? [1] : [below, below + 1];
}
