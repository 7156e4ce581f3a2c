import type { Instrument, NewOrder } from "../../client/types.ts";
import { cleanDecimal, fromNumber, isMultiple, toStep } from "../text/decimal.ts";

/** An order as a person fills it in, and the request that it becomes. Pure: no page, no signals. */

export type Kind = NewOrder["type"];
export type Side = NewOrder["side"];
export type TimeInForce = NonNullable<NewOrder["timeInForce"]>;

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
  /** Of the base asset, or of the quote asset. */
  readonly size: string;
  readonly sizeUnit: "BASE" | "QUOTE";
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
  size: "",
  sizeUnit: "BASE",
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

/** What is wrong with a field, and values that would do. */
export interface Fault {
  readonly kind: "EMPTY" | "NO_NUMBER" | "OFF_STEP" | "ZERO" | "OUT_OF_RANGE";
  /** The step, or the range. */
  readonly limit: string;
  readonly nearest: readonly string[];
}

export interface Built {
  /** Null while a field has a fault. */
  readonly order: NewOrder | null;
  readonly faults: ReadonlyMap<Field, Fault>;
}

export const hasPrice = (kind: Kind): boolean => kind === "LIMIT" || kind === "STOP" || kind === "TAKE_PROFIT";
export const hasTrigger = (kind: Kind): boolean => /^(STOP|TAKE_PROFIT)/.test(kind);
export const isTrailing = (kind: Kind): boolean => kind === "TRAILING_STOP_MARKET";
/** It trades at market, now or when it triggers. */
export const isAtMarket = (kind: Kind): boolean => !hasPrice(kind);
export const isImmediate = (kind: Kind): boolean => kind === "LIMIT" || kind === "MARKET";

/** The price at which a size in the quote asset is converted. 0 when there is none. */
export function referencePrice(draft: Draft, marketPrice: number): number {
  const typed = hasPrice(draft.kind) ? draft.price : hasTrigger(draft.kind) ? draft.triggerPrice : "";
  const own = Number(cleanDecimal(typed) ?? 0);
  return own > 0 ? own : marketPrice;
}

/** The quantity in the base asset, a multiple of the step. Null when the size is no number. */
export function quantityOf(draft: Draft, { stepSize }: Instrument, marketPrice: number): string | null {
  const size = cleanDecimal(draft.size);
  if (size === null || draft.sizeUnit === "BASE") return size;
  const price = referencePrice(draft, marketPrice);
  return price === 0 ? null : fromNumber(Number(size) / price, stepSize);
}

const empty: Fault = { kind: "EMPTY", limit: "", nearest: [] };

class Reader {
  readonly faults = new Map<Field, Fault>();

  /** A multiple of `step`. Optional fields may be empty: "" then. */
  decimal(field: Field, typed: string, step: string, isOptional = false): string {
    if (typed.trim() === "") {
      if (!isOptional) this.faults.set(field, empty);
      return "";
    }
    const value = cleanDecimal(typed);
    if (value === null || value.startsWith("-")) this.faults.set(field, { kind: "NO_NUMBER", limit: "", nearest: [] });
    else if (Number(value) === 0) this.faults.set(field, { kind: "ZERO", limit: step, nearest: [step] });
    else if (!isMultiple(value, step)) {
      const nearest = [toStep(value, step, "DOWN"), toStep(value, step, "UP")].filter((each) => each !== "0");
      this.faults.set(field, { kind: "OFF_STEP", limit: step, nearest });
    } else return value;
    return "";
  }

  /** A share that is typed in percent. */
  percent(field: Field, typed: string, least: number, most: number, isOptional = false): string {
    const value = this.decimal(field, typed, "0.0001", isOptional);
    if (value === "") return "";
    if (Number(value) < least || Number(value) > most) {
      const nearest = [String(Number(value) < least ? least : most)];
      this.faults.set(field, { kind: "OUT_OF_RANGE", limit: `${least}–${most} %`, nearest });
      return "";
    }
    return fromNumber(Number(value) / 100, "0.000001", "NEAREST");
  }
}

/** `now`: milliseconds since the epoch. `marketPrice`: converts a size in the quote asset. */
export function buildOrder(draft: Draft, instrument: Instrument, marketPrice: number, now: number): Built {
  const { tickSize, stepSize, symbol } = instrument;
  const { side, kind, reduceOnly } = draft;
  const read = new Reader();
  const typedQuantity = quantityOf(draft, instrument, marketPrice);
  const isQuote = draft.sizeUnit === "QUOTE";
  const quantity = read.decimal(
    "size",
    isQuote && draft.size !== "" ? (typedQuantity ?? draft.size) : draft.size,
    stepSize,
  );
  const price = hasPrice(kind) && { price: read.decimal("price", draft.price, tickSize) };
  const trigger = hasTrigger(kind) && {
    triggerPrice: read.decimal("triggerPrice", draft.triggerPrice, tickSize),
    triggerBy: draft.triggerBy,
  };
  const order: NewOrder = {
    ...{ symbol, side, type: kind, quantity },
    ...price,
    ...trigger,
    ...(isTrailing(kind) && trailing(read, draft, tickSize)),
    ...(isAtMarket(kind) && slippage(read, draft)),
    ...(kind === "LIMIT" && limitOptions(read, draft, stepSize, now)),
    ...(reduceOnly && { reduceOnly }),
    ...(isImmediate(kind) && draft.hasExits && !reduceOnly && exits(read, draft, tickSize)),
  };
  return { order: read.faults.size === 0 ? order : null, faults: read.faults };
}

function trailing(read: Reader, draft: Draft, tickSize: string): Partial<NewOrder> {
  const activationPrice = read.decimal("activationPrice", draft.activationPrice, tickSize, true);
  return {
    callbackRate: read.percent("callback", draft.callback, 0.1, 10),
    triggerBy: draft.triggerBy,
    ...(activationPrice !== "" && { activationPrice }),
  };
}

function slippage(read: Reader, draft: Draft): Partial<NewOrder> {
  const maxSlippage = read.percent("maxSlippage", draft.maxSlippage, 0.0001, 100, true);
  return maxSlippage === "" ? {} : { maxSlippage };
}

const MINUTE_MS = 60_000;

function limitOptions(read: Reader, draft: Draft, stepSize: string, now: number): Partial<NewOrder> {
  const { timeInForce, postOnly, isIceberg } = draft;
  const rests = timeInForce === "GTC" || timeInForce === "GTD";
  const minutes = timeInForce === "GTD" ? read.decimal("goodForMinutes", draft.goodForMinutes, "1") : "";
  const displayQuantity = isIceberg && rests ? read.decimal("displayQuantity", draft.displayQuantity, stepSize) : "";
  return {
    timeInForce,
    ...(minutes !== "" && { goodTillDate: now + Number(minutes) * MINUTE_MS }),
    ...(postOnly && timeInForce === "GTC" && { postOnly }),
    ...(displayQuantity !== "" && { displayQuantity }),
  };
}

function exits(read: Reader, draft: Draft, tickSize: string): Partial<NewOrder> {
  const takeProfit = read.decimal("takeProfit", draft.takeProfit, tickSize, true);
  const stopLoss = read.decimal("stopLoss", draft.stopLoss, tickSize, true);
  return {
    ...(takeProfit !== "" && { takeProfit: { triggerPrice: takeProfit } }),
    ...(stopLoss !== "" && { stopLoss: { triggerPrice: stopLoss } }),
  };
}
