import { computed, effect, signal } from "@preact/signals";
import { PerpdError } from "../../client/error.ts";
import type { Stream } from "../../client/stream.ts";
import type { MaxOrderSize, NewOrder, TriedOrder } from "../../client/types.ts";
import { accountClient, accountStream, openOrders, positions } from "../state/account.ts";
import { askFirst } from "../state/confirmation.ts";
import { instrument, symbol, ticker } from "../state/markets.ts";
import { obstacle, placeOrder } from "../state/trading.ts";
import { text } from "../text/catalogue.ts";
import { fromNumber } from "../text/decimal.ts";
import { type Built, buildOrder, type Draft, EMPTY_DRAFT, type Field, referencePrice } from "./draft.ts";

/** What the order form holds, and what the engine says about it before it is sent. */

export const draft = signal<Draft>(EMPTY_DRAFT);

export function change(fields: Partial<Draft>): void {
  draft.value = { ...draft.peek(), ...fields };
  refusal.value = null;
}

/** A click on a price of the book or of the chart. */
export function fillPrice(price: string): void {
  const { kind } = draft.peek();
  if (kind === "STOP_MARKET" || kind === "TAKE_PROFIT_MARKET") change({ triggerPrice: price });
  else if (kind === "TRAILING_STOP_MARKET") change({ activationPrice: price });
  else change({ price, kind: kind === "MARKET" ? "LIMIT" : kind });
}

/** The price at which an order of this side would trade now. 0 when there is none. */
export const marketPrice = computed(() => {
  const now = ticker.value;
  const { side } = draft.value;
  return Number((side === "BUY" ? now?.askPrice : now?.bidPrice) ?? now?.markPrice ?? 0);
});

/** With market prices of the last change of the draft: it must not run at each tick of the market. */
export const built = computed<Built>(() => {
  const chosen = instrument.value;
  if (chosen === null) return { order: null, faults: new Map() };
  return buildOrder(draft.value, chosen, marketPrice.peek(), Date.now());
});

/** Price × quantity at the price that the order has, or would get. */
export const notional = computed(() => {
  const { order } = built.value;
  return order === null ? 0 : Number(order.quantity) * referencePrice(draft.value, marketPrice.value);
});

/** The last refusal of this draft, by the dry run or by the exchange itself. */
export const refusal = signal<PerpdError | null>(null);
/** The engine's dry run of this draft. Null while there is none. */
export const preview = signal<TriedOrder | null>(null);
export const isSending = signal(false);

/** Fields of the API that have another name in the form. */
const FORM_FIELDS: Readonly<Record<string, Field>> = {
  quantity: "size",
  callbackRate: "callback",
  goodTillDate: "goodForMinutes",
  "takeProfit.triggerPrice": "takeProfit",
  "stopLoss.triggerPrice": "stopLoss",
};
export const formFieldOf = (field: string | undefined): Field | undefined =>
  field === undefined ? undefined : (FORM_FIELDS[field] ?? (field in EMPTY_DRAFT ? (field as Field) : undefined));

/** At most four dry runs a second. */
const TRY_EVERY_MS = 250;
/** The market moves below a draft that does not change. */
const TRY_AGAIN_MS = 4_000;
let triedAt = 0;
let timer = 0;
let tries = 0;

/** As PerpdClient.tryOrder(), over the WebSocket: browsers write each refused HTTP request to the console. */
const dryRun = (stream: Stream, order: NewOrder): Promise<TriedOrder> =>
  stream.placeOrder({ ...order, dryRun: true } as NewOrder) as Promise<unknown> as Promise<TriedOrder>;

/** Forgets an answer that a later change has overtaken. */
async function tryOrder(order: NewOrder): Promise<void> {
  const stream = accountStream();
  if (stream === null || obstacle.peek() !== null) return;
  triedAt = performance.now();
  const number = ++tries;
  try {
    const tried = await dryRun(stream, order);
    if (number !== tries) return;
    preview.value = tried;
    refusal.value = null;
  } catch (error) {
    if (number !== tries) return;
    preview.value = null;
    refusal.value = error instanceof PerpdError && error.code !== "RATE_LIMITED" ? error : null;
  }
  timer = window.setTimeout(() => tryOrder(order), TRY_AGAIN_MS);
}

/** Keeps the preview up to date. Call once. */
export function openPreview(): void {
  effect(() => {
    const { order } = built.value;
    // Each of them may change the answer.
    void [accountClient.value, obstacle.value, positions.value, openOrders.value];
    clearTimeout(timer);
    tries++;
    if (order === null || accountClient.peek() === null) {
      preview.value = null;
      return;
    }
    const wait = Math.max(30, triedAt + TRY_EVERY_MS - performance.now());
    timer = window.setTimeout(() => tryOrder(order), wait);
  });
  effect(() => {
    void symbol.value;
    draft.value = { ...EMPTY_DRAFT, side: draft.peek().side, kind: draft.peek().kind, sizeUnit: draft.peek().sizeUnit };
    maxSize.value = null;
  });
}

/** The largest orders, asked for when a person takes the slider. */
export const maxSize = signal<MaxOrderSize | null>(null);

export async function readMaxSize(): Promise<string | null> {
  const client = accountClient.peek();
  const { side, kind, price, reduceOnly } = draft.peek();
  if (client === null || symbol.peek() === "") return null;
  const isLimit = kind === "LIMIT" && price !== "";
  try {
    const query = { symbol: symbol.peek(), side, ...(reduceOnly && { reduceOnly }) };
    const most = await client.maxOrderSize({ ...query, ...(isLimit ? { type: "LIMIT", price } : { type: "MARKET" }) });
    maxSize.value = most;
    return most.data[0]?.maxQuantity ?? null;
  } catch {
    return null;
  }
}

/** Fills in a part, in percent, of the largest order that the engine would take. */
export async function takeShare(percent: number): Promise<void> {
  const limit = maxSize.peek()?.data[0]?.maxQuantity ?? (await readMaxSize());
  const chosen = instrument.peek();
  if (limit === null || chosen === null) return;
  const part = fromNumber((Number(limit) * percent) / 100, chosen.stepSize);
  const inUnit = draft.peek().sizeUnit === "BASE" ? part : fromNumber(Number(part) * marketPrice.peek(), "0.01");
  change({ size: inUnit === "0" ? "" : inUnit });
}

export async function submit(): Promise<void> {
  const { order } = built.peek();
  if (order === null || isSending.peek() || obstacle.peek() !== null) return;
  if (!(await askFirst(questionOf(order)))) return;
  isSending.value = true;
  try {
    const refused = await placeOrder(order);
    if (refused === null) change({ size: "" });
    else refusal.value = refused;
  } finally {
    isSending.value = false;
  }
}

function questionOf({ side, type, quantity, symbol: name, price, triggerPrice }: NewOrder): string {
  const at = price ?? triggerPrice;
  const what = `${side === "BUY" ? text.buy : text.sell} ${quantity ?? ""} ${name}`;
  return `${what} · ${text.kinds[type]}${at == null ? "" : ` @ ${at}`}`;
}
