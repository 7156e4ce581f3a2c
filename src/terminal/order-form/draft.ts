import { PerpdError } from "../../client/error.ts";
import type { Instrument, NewOrder } from "../../client/types.ts";
import { text } from "../text/catalogue.ts";
import { cleanDecimal, fromNumber, isAbove } from "../text/decimal.ts";
import { type DecimalLimits, localRefusal, readDecimal } from "../text/refusals.ts";

/** An order as a person fills it in, and the request that it becomes. Pure: no page, no signals. */

export type Kind = NewOrder["type"];
export type Side = NewOrder["side"];
export type TimeInForce = NonNullable<NewOrder["timeInForce"]>;
export type PriceMatch = NonNullable<NewOrder["priceMatch"]>;
export const PRICE_MATCHES: readonly PriceMatch[] = [
  ...(["QUEUE", "QUEUE_5", "QUEUE_10", "QUEUE_20"] as const),
  ...(["OPPONENT", "OPPONENT_5", "OPPONENT_10", "OPPONENT_20"] as const),
];

export const KINDS: readonly Kind[] = [
  "LIMIT",
  "MARKET",
  "STOP_MARKET",
  "STOP",
  "TAKE_PROFIT_MARKET",
  "TAKE_PROFIT",
  "TRAILING_STOP_MARKET",
];

/** Texts as typed. "" = empty. */
export interface Draft {
  readonly side: Side;
  readonly kind: Kind;
  readonly price: string;
  /** The level of the book whose price a limit order takes. "": the typed price. */
  readonly priceMatch: PriceMatch | "";
  /** Of the base asset, of the quote asset, or the most that may be lost at the stop. */
  readonly size: string;
  readonly sizeUnit: "BASE" | "QUOTE" | "RISK";
  /** In the base asset: the share of the largest order that the size shows in another unit. "": the size was typed. */
  readonly shareQuantity: string;
  /** From the entry to the stop, when the size comes from the risk. */
  readonly stopDistance: string;
  readonly stopUnit: "PERCENT" | "QUOTE";
  readonly triggerPrice: string;
  readonly triggerBy: "MARK" | "LAST" | "INDEX";
  /** In percent. */
  readonly callback: string;
  readonly activationPrice: string;
  readonly timeInForce: TimeInForce;
  /** Minutes from now. */
  readonly goodForMinutes: string;
  readonly postOnly: boolean;
  readonly reduceOnly: boolean;
  readonly isIceberg: boolean;
  readonly displayQuantity: string;
  /** In percent; "" = as far as the price band. */
  readonly maxSlippage: string;
  readonly hasExits: boolean;
  readonly takeProfit: string;
  readonly stopLoss: string;
}

export const EMPTY_DRAFT: Draft = {
  side: "BUY",
  kind: "LIMIT",
  price: "",
  priceMatch: "",
  size: "",
  sizeUnit: "BASE",
  shareQuantity: "",
  stopDistance: "1",
  stopUnit: "PERCENT",
  triggerPrice: "",
  triggerBy: "MARK",
  callback: "1",
  activationPrice: "",
  timeInForce: "GTC",
  goodForMinutes: "60",
  postOnly: false,
  reduceOnly: false,
  isIceberg: false,
  displayQuantity: "",
  maxSlippage: "",
  hasExits: false,
  takeProfit: "",
  stopLoss: "",
};

export type Field = keyof Draft;

export interface Built {
  /** Null while a field has a fault. */
  readonly order: NewOrder | null;
  readonly faults: ReadonlyMap<Field, PerpdError>;
}

export const hasPrice = (kind: Kind): boolean => kind === "LIMIT" || kind === "STOP" || kind === "TAKE_PROFIT";
export const hasTrigger = (kind: Kind): boolean => /^(STOP|TAKE_PROFIT)/.test(kind);
export const isTrailing = (kind: Kind): boolean => kind === "TRAILING_STOP_MARKET";
/** It trades at market, now or when it triggers. */
export const isAtMarket = (kind: Kind): boolean => !hasPrice(kind);
export const isImmediate = (kind: Kind): boolean => kind === "LIMIT" || kind === "MARKET";

/** GTD and icebergs need no trigger. An order at market does not rest. */
export const timesInForce = (kind: Kind): readonly TimeInForce[] =>
  kind === "LIMIT" ? ["GTC", "IOC", "FOK", "GTD"] : hasPrice(kind) ? ["GTC", "IOC", "FOK"] : ["IOC", "FOK"];

/** The chosen one, as far as the type of the order has it. */
export function timeInForceOf({ kind, timeInForce }: Draft): TimeInForce {
  const allowed = timesInForce(kind);
  return allowed.includes(timeInForce) ? timeInForce : (allowed[0] ?? "GTC");
}
export const rests = (draft: Draft): boolean => ["GTC", "GTD"].includes(timeInForceOf(draft));

/** Whether the engine takes the price from its book. */
export const isMatched = ({ kind, priceMatch }: Draft): boolean => kind === "LIMIT" && priceMatch !== "";

/** Only an order that opens a position at once can bring its stop. */
export const isByRisk = ({ kind, sizeUnit, reduceOnly }: Draft): boolean =>
  sizeUnit === "RISK" && isImmediate(kind) && !reduceOnly;

/** The unit in which the size is typed. */
export const unitOf = (draft: Draft): Draft["sizeUnit"] =>
  draft.sizeUnit === "RISK" && !isByRisk(draft) ? "BASE" : draft.sizeUnit;

/** The price at which a size in the quote asset is converted. 0 when there is none. */
export function referencePrice(draft: Draft, marketPrice: number): number {
  const { kind } = draft;
  const typed = isMatched(draft) ? "" : hasPrice(kind) ? draft.price : hasTrigger(kind) ? draft.triggerPrice : "";
  const own = Number(cleanDecimal(typed) ?? 0);
  return own > 0 ? own : marketPrice;
}

/** The stop of an order by risk, and the loss of one unit of the base asset there: both fees count. Null without one. */
export function stopByRisk(
  draft: Draft,
  { tickSize, takerFeeRate }: Instrument,
  marketPrice: number,
): { stop: string; lossPerUnit: number } | null {
  const entry = referencePrice(draft, marketPrice);
  const typed = Number(cleanDecimal(draft.stopDistance) ?? 0);
  const distance = draft.stopUnit === "PERCENT" ? (entry * typed) / 100 : typed;
  const stop = fromNumber(draft.side === "BUY" ? entry - distance : entry + distance, tickSize, "NEAREST");
  const moved = Math.abs(entry - Number(stop));
  if (typed <= 0 || stop === "0" || moved === 0) return null;
  return { stop, lossPerUnit: moved + (entry + Number(stop)) * Number(takerFeeRate) };
}

/** How much of the typed unit one unit of the base asset is. 0 when that is not known. */
export function perUnit(draft: Draft, instrument: Instrument, marketPrice: number): number {
  const unit = unitOf(draft);
  if (unit === "BASE") return 1;
  if (unit === "QUOTE") return referencePrice(draft, marketPrice);
  return stopByRisk(draft, instrument, marketPrice)?.lossPerUnit ?? 0;
}

/** In the base asset: the least quantity that neither the minimum of the market nor its smallest notional refuses. */
export function smallestQuantity(draft: Draft, instrument: Instrument, marketPrice: number): string {
  const { minQuantity, minNotional, stepSize } = instrument;
  // The exchange cuts a reduce-only order to the position.
  if (draft.reduceOnly) return minQuantity;
  const worthEnough = fromNumber(Number(minNotional) / referencePrice(draft, marketPrice), stepSize, "UP");
  return isAbove(worthEnough, minQuantity) ? worthEnough : minQuantity;
}

/** A part, in percent, of the largest quantity: at least the smallest one, as far as that fits. "0": nothing fits. */
export function shareOf(largest: string, percent: number, smallest: string, stepSize: string): string {
  if (percent === 0) return "0";
  const part = fromNumber((Number(largest) * percent) / 100, stepSize);
  const least = isAbove(smallest, largest) ? largest : smallest;
  return isAbove(least, part) ? least : part;
}

class Reader {
  readonly faults = new Map<Field, PerpdError>();

  /** A number within the limits; "" for an optional field that is empty, and for a fault. */
  decimal(field: Field, typed: string, limits: DecimalLimits): string {
    const read = readDecimal(field, typed, limits);
    if (!(read instanceof PerpdError)) return read;
    this.faults.set(field, read);
    return "";
  }

  /** A share that is typed in percent. */
  percent(field: Field, typed: string, least: string, most: string, isOptional = false): string {
    const value = this.decimal(field, typed, { step: "0.0001", least, most, isOptional });
    return value === "" ? "" : fromNumber(Number(value) / 100, "0.000001", "NEAREST");
  }
}

/** `now`: milliseconds since the epoch. `marketPrice`: converts a size in the quote asset. */
export function buildOrder(draft: Draft, instrument: Instrument, marketPrice: number, now: number): Built {
  const { tickSize, symbol, maxPrice } = instrument;
  const { side, kind, reduceOnly } = draft;
  const read = new Reader();
  const prices = { step: tickSize, most: maxPrice };
  const byRisk = isByRisk(draft) ? risk(read, draft, instrument, marketPrice) : null;
  const quantity = quantityOf(read, draft, instrument, marketPrice);
  const price =
    hasPrice(kind) &&
    (isMatched(draft)
      ? { priceMatch: draft.priceMatch as PriceMatch }
      : { price: read.decimal("price", draft.price, prices) });
  const trigger = hasTrigger(kind) && {
    triggerPrice: read.decimal("triggerPrice", draft.triggerPrice, prices),
    triggerBy: draft.triggerBy,
  };
  const timeInForce = timeInForceOf(draft);
  const order: NewOrder = {
    ...{ symbol, side, type: kind, quantity },
    ...price,
    ...trigger,
    ...(timeInForce !== timesInForce(kind)[0] && { timeInForce }),
    ...(isTrailing(kind) && trailing(read, draft, prices)),
    ...(isAtMarket(kind) && slippage(read, draft)),
    ...(hasPrice(kind) && draft.postOnly && rests(draft) && { postOnly: true }),
    ...(kind === "LIMIT" && resting(read, draft, instrument, now)),
    ...(reduceOnly && { reduceOnly }),
    ...(isImmediate(kind) && !reduceOnly && exits(read, draft, prices, byRisk)),
  };
  return { order: read.faults.size === 0 ? order : null, faults: read.faults };
}

/** In the base asset. A conversion is cut to the step. */
function quantityOf(read: Reader, draft: Draft, instrument: Instrument, marketPrice: number): string {
  const { stepSize, minQuantity, maxQuantity, baseAsset } = instrument;
  // The exchange clips a reduce-only order to the position.
  const limits = draft.reduceOnly ? { step: stepSize } : { step: stepSize, least: minQuantity, most: maxQuantity };
  if (unitOf(draft) === "BASE") return read.decimal("size", draft.size, limits);
  const amount = read.decimal("size", draft.size, { step: "0.000001" });
  if (amount === "") return "";
  const each = perUnit(draft, instrument, marketPrice);
  const quantity = draft.shareQuantity || fromNumber(each === 0 ? 0 : Number(amount) / each, stepSize);
  if (quantity !== "0") return read.decimal("size", quantity, limits);
  const isUnknown = each === 0 && !read.faults.has("stopDistance");
  const fault = isUnknown
    ? localRefusal("size", text.noPriceYet)
    : localRefusal("size", text.faultLeast(`${minQuantity} ${baseAsset}`), [minQuantity]);
  if (each !== 0 || isUnknown) read.faults.set("size", fault);
  return "";
}

/** Returns the stop. */
function risk(read: Reader, draft: Draft, instrument: Instrument, marketPrice: number): string {
  const inPercent = { step: "0.0001", most: "99" };
  const inPrice = { step: instrument.tickSize, most: instrument.maxPrice };
  const typed = read.decimal("stopDistance", draft.stopDistance, draft.stopUnit === "PERCENT" ? inPercent : inPrice);
  if (typed === "") return "";
  const found = stopByRisk(draft, instrument, marketPrice);
  if (found === null && referencePrice(draft, marketPrice) > 0)
    read.faults.set("stopDistance", localRefusal("stopDistance", text.noStopThere));
  return found?.stop ?? "";
}

function trailing(read: Reader, draft: Draft, prices: DecimalLimits): Partial<NewOrder> {
  const activationPrice = read.decimal("activationPrice", draft.activationPrice, { ...prices, isOptional: true });
  return {
    callbackRate: read.percent("callback", draft.callback, "0.1", "10"),
    triggerBy: draft.triggerBy,
    ...(activationPrice !== "" && { activationPrice }),
  };
}

function slippage(read: Reader, draft: Draft): Partial<NewOrder> {
  const maxSlippage = read.percent("maxSlippage", draft.maxSlippage, "0.0001", "100", true);
  return maxSlippage === "" ? {} : { maxSlippage };
}

const MINUTE_MS = 60_000;
const MOST_MINUTES = "525600";

function resting(read: Reader, draft: Draft, { stepSize }: Instrument, now: number): Partial<NewOrder> {
  const isDated = timeInForceOf(draft) === "GTD";
  const minutes = isDated
    ? read.decimal("goodForMinutes", draft.goodForMinutes, { step: "1", most: MOST_MINUTES })
    : "";
  const isIceberg = draft.isIceberg && rests(draft);
  const displayQuantity = isIceberg ? read.decimal("displayQuantity", draft.displayQuantity, { step: stepSize }) : "";
  return {
    ...(minutes !== "" && { goodTillDate: now + Number(minutes) * MINUTE_MS }),
    ...(displayQuantity !== "" && { displayQuantity }),
  };
}

/** `byRisk`: the stop that the distance gives; null when the size is typed. */
function exits(read: Reader, draft: Draft, prices: DecimalLimits, byRisk: string | null): Partial<NewOrder> {
  const optional = { ...prices, isOptional: true };
  const takeProfit = draft.hasExits ? read.decimal("takeProfit", draft.takeProfit, optional) : "";
  const typedStop = draft.hasExits && byRisk === null ? read.decimal("stopLoss", draft.stopLoss, optional) : "";
  const isEmpty = draft.takeProfit.trim() === "" && draft.stopLoss.trim() === "";
  // A person who asks for exits and enters none must not trade without them.
  if (draft.hasExits && byRisk === null && isEmpty)
    read.faults.set("stopLoss", localRefusal("stopLoss", text.faultNoExit, [], "EMPTY"));
  const stopLoss = byRisk ?? typedStop;
  return {
    ...(takeProfit !== "" && { takeProfit: { triggerPrice: takeProfit } }),
    ...(stopLoss !== "" && { stopLoss: { triggerPrice: stopLoss } }),
  };
}
