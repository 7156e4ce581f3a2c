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
 * Decimals of requests as whole units. Their form is checked already (wire/schema); what is left to refuse is zero, what
 * passes the exact range, and what lies between two units: then the nearest values that would do are named.
 */

export function readPrice(instrument: Instrument, text: string, field = "price"): PriceTicks {
  const ticks = parsePrice(instrument, text);
  if (ticks > 0) return ticks;
  const { tickSize, maxPrice } = instrument.config;
  if (ticks === 0)
    throw new ApiError("BAD_VALUE", { field, message: "A price must be above 0.", details: { minimum: tickSize } });
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
      message: `${field} is too large.`,
      details: { maximum: printQuanta(Number.MAX_SAFE_INTEGER) },
    });
  throw new ApiError("AMOUNT_TOO_FINE", {
    field,
    details: { nearest: nearest.map((each) => sign + printQuanta(each)) },
  });
}

/** A share of 1 within the bounds, both included, in whole parts per million. */
export function readShare(text: string, field: string, minimum: RatePpm = 1, maximum: RatePpm = PPM): RatePpm {
  const ppm = parseFixed(text, PPM_DECIMALS);
  if (ppm >= minimum && ppm <= maximum) return ppm;
  const details = { minimum: printFixed(minimum, PPM_DECIMALS), maximum: printFixed(maximum, PPM_DECIMALS) };
  throw new ApiError("BAD_VALUE", { field, message: `${field} is a share of 1, in parts per million.`, details });
}

/** The same with a sign. */
export function readSignedAmount(text: string): Quanta {
  const isNegative = text.startsWith("-");
  const unsigned = isNegative ? text.slice(1) : text;
  if (parseQuanta(unsigned) === 0)
    throw new ApiError("BAD_VALUE", { field: "amount", message: "amount must be above or below 0." });
  return isNegative ? -readAmount(unsigned, "amount", "-") : readAmount(unsigned);
}

/** More decimals than DECIMAL_PATTERN lets in. */
const SCALE_DECIMALS = 12;

/**
 * The whole steps right below and above a decimal that lies between them; only the one above if the other is 0. A step
 * is `stepUnits` × 10^-decimals. Null when it lies on a step, so that only its size can be wrong, or past 2^53 steps.
 */
function nearestSteps(text: string, stepUnits: number, decimals: number): number[] | null {
  const [whole = "0", fraction = ""] = text.split(".");
  const scaled = BigInt(whole + fraction.padEnd(SCALE_DECIMALS, "0"));
  const step = BigInt(stepUnits) * 10n ** BigInt(SCALE_DECIMALS - decimals);
  const below = Number(scaled / step);
  if (scaled % step === 0n || !Number.isSafeInteger(below + 1)) return null;
  return below === 0 ? [1] : [below, below + 1];
}
