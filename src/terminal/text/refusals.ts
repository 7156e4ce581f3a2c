import { PerpdError } from "../../client/error.ts";
import { text } from "./catalogue.ts";
import { cleanDecimal, isAbove, isMultiple, type Rounding, toStep } from "./decimal.ts";
import { dayAndClock, usd } from "./format.ts";

/** The fault of a value in words of the screen, and the valid values beside it. */

/** Names of the API in its messages, and the words for them on the screen. */
const WORDS: Readonly<Record<string, string>> = {
  quantity: text.size,
  price: text.price,
  triggerPrice: text.trigger,
  displayQuantity: text.displayQuantity,
  callbackRate: text.callback,
  activationPrice: text.activation,
  maxSlippage: text.maxSlippage,
  goodTillDate: text.goodFor,
  timeInForce: text.timeInForce,
  postOnly: text.postOnly,
  reduceOnly: text.reduceOnly,
  priceMatch: text.priceMatch,
  takeProfit: text.takeProfitName,
  stopLoss: text.stopLossName,
  "takeProfit.triggerPrice": text.takeProfitName,
  "stopLoss.triggerPrice": text.stopLossName,
  leverage: text.leverage,
  mode: text.marginMode,
  amount: text.amount,
  address: text.address,
  label: text.accountDialogs.name,
  permissions: text.accountDialogs.permissions,
  ...text.accountDialogs.limitNames,
  ...text.accountDialogs.limitWords,
};

/** A sentence for programs: it names a path, a field of the API or a value of an enumeration. */
const FOR_PROGRAMS = /details\.|\b(GET|POST|PUT|PATCH|DELETE) \/|\b[a-z]+[A-Z]\w*|\b[A-Z]+_[A-Z_]+\b/;
const NAME = /\b[a-z]\w*(?:\.\w+)?\b/g;

function inWordsOfTheScreen(message: string): string {
  const sentences = message.replaceAll(NAME, (name) => wordOf(name)).split(/(?<=\.) /);
  const plain = sentences.filter((sentence) => !FOR_PROGRAMS.test(sentence)).join(" ");
  return plain === "" ? text.refusedPlainly : plain.charAt(0).toUpperCase() + plain.slice(1);
}

/** Abbreviations and the names of programs keep their capitals. */
function wordOf(name: string): string {
  const word = Object.hasOwn(WORDS, name) ? WORDS[name] : undefined;
  return word === undefined ? name : /^[A-Z]{2}/.test(word) ? word : word.charAt(0).toLowerCase() + word.slice(1);
}

/** "542700.9" → "542,700.9" */
const figure = (value: unknown): string =>
  String(value).replace(/^\d{4,}/, (whole) => whole.replace(/\B(?=(\d{3})+$)/g, ","));

/** Amounts of USDC, to the cent: rounded so that what would do is not promised in vain. */
const AMOUNTS: Readonly<Record<string, Rounding>> = { required: "UP", available: "DOWN" };

const figureOf = (name: string, value: unknown): string => {
  const rounding = Object.hasOwn(AMOUNTS, name) ? AMOUNTS[name] : undefined;
  return rounding === undefined ? figure(value) : usd(toStep(String(value), "0.01", rounding));
};

type Figures = Readonly<Record<string, string>>;
type Explanation = string | ((figures: Figures) => string);
const EXPLANATIONS: Readonly<Record<string, Explanation>> = text.refusals;

/** A refusal with its limit, in words of the screen. */
export function refusalText(error: unknown): string {
  if (!(error instanceof PerpdError)) return text.noConnection;
  const { code, details = {} } = error;
  const figures = Object.fromEntries(Object.entries(details).map(([name, value]) => [name, figureOf(name, value)]));
  const known = Object.hasOwn(EXPLANATIONS, code) ? EXPLANATIONS[code] : undefined;
  const own = typeof known === "function" ? known(figures) : known;
  const parts = [own ?? inWordsOfTheScreen(error.message.replace(/^[A-Z_]+: /, "").replaceAll(/\[\d+\]/g, ""))];
  if (typeof details.reason === "string") parts.push(text.because(details.reason));
  if (typeof details.usableAt === "number") parts.push(text.usableFrom(dayAndClock(details.usableAt)));
  if (figures.available !== undefined && own === undefined) parts.push(text.atMostUsdc(figures.available));
  const waitMs = error.retryAfterMs ?? details.retryAfterMs;
  if (typeof waitMs === "number") parts.push(text.tryAgainIn(Math.ceil(waitMs / 1000)));
  return parts.join(" ");
}

/** Codes whose limit is itself a value that would do. */
const LIMIT_IS_VALID: ReadonlySet<string> = new Set([
  "PRICE_OUT_OF_BAND",
  "PRICE_TOO_HIGH",
  "QUANTITY_TOO_SMALL",
  "QUANTITY_TOO_LARGE",
  "LEVERAGE_OUT_OF_RANGE",
  "KEY_LEVERAGE_LIMIT",
  "DEPOSIT_TOO_SMALL",
]);

/** The valid values beside one that was refused, without those that need the rest of the order. */
export function nearestOf({ code, field, details = {} }: PerpdError): string[] {
  const { nearest, limit, min, max, minimum, available } = details;
  if (nearest !== undefined) return [nearest].flat().map(String);
  if (LIMIT_IS_VALID.has(code) && limit !== undefined) return [String(limit)];
  if (code === "DISPLAY_QUANTITY_OUT_OF_RANGE") return [...new Set([String(min), String(max)])];
  if (field === "amount" && typeof available === "string") return Number(available) > 0 ? [available] : [];
  return minimum === undefined ? [] : [String(minimum)];
}

/** A refusal by the page itself: nothing is sent. EMPTY: the person has not come to the field yet. */
export const localRefusal = (
  field: string,
  message: string,
  nearest: readonly string[] = [],
  code: "BAD_INPUT" | "EMPTY" = "BAD_INPUT",
): PerpdError => new PerpdError(0, { code, message, field, details: { nearest: [...nearest] } });

export interface DecimalLimits {
  readonly step: string;
  /** Default: one step. */
  readonly least?: string | undefined;
  readonly most?: string | undefined;
  readonly isOptional?: boolean;
  /** In place of "must be a multiple". */
  readonly tooFine?: string;
}

/** More digits than any number that the exchange takes. */
const HUGE = /^[0-9][0-9,]{25,}(\.[0-9]*)?$/;

/** A typed number as the API wants it, or why it cannot be one. "" for an optional field that is empty. */
export function readDecimal(field: string, typed: string, limits: DecimalLimits): string | PerpdError {
  const { step, least = step, most, isOptional = false, tooFine = text.faultOffStep(step) } = limits;
  const trimmed = typed.trim();
  if (trimmed === "") return isOptional ? "" : localRefusal(field, text.faultEmpty, [], "EMPTY");
  const value = cleanDecimal(trimmed);
  const isTooMuch = value === null ? HUGE.test(trimmed) : most !== undefined && isAbove(value, most);
  if (isTooMuch && most !== undefined) return localRefusal(field, text.faultMost(figure(most)), [most]);
  if (value === null) return localRefusal(field, text.faultNoNumber);
  // One step is no price and no amount that a person would want.
  if (!isAbove(value, "0")) return localRefusal(field, text.faultZero, limits.least === undefined ? [] : [least]);
  if (!isMultiple(value, step)) {
    const beside = [toStep(value, step, "DOWN"), toStep(value, step, "UP")];
    return localRefusal(field, tooFine, [...new Set(beside.map((each) => (isAbove(least, each) ? least : each)))]);
  }
  return isAbove(least, value) ? localRefusal(field, text.faultLeast(figure(least)), [least]) : value;
}

/** The first refusal among checked values; null when all are good. */
export const firstRefusal = (...checked: readonly (string | PerpdError)[]): PerpdError | null =>
  checked.find((each): each is PerpdError => each instanceof PerpdError) ?? null;
