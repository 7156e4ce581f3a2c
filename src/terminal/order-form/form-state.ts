import { computed, effect, signal } from "@preact/signals";
import { PerpdError } from "../../client/error.ts";
import type { Stream } from "../../client/stream.ts";
import type { DryRunOrder, NewOrder } from "../../client/types.ts";
import { accountClient, accountStream, forgetWithAccount, openOrders, positions } from "../state/account.ts";
import { exchangeNow } from "../state/clock.ts";
import { askFirst } from "../state/confirmation.ts";
import { marginSetting } from "../state/leverage.ts";
import { book } from "../state/market-feed.ts";
import { instrument, symbol, ticker } from "../state/markets.ts";
import { panel } from "../state/panel.ts";
import { toast } from "../state/toasts.ts";
import { obstacle, placeOrder } from "../state/trading.ts";
import { text } from "../text/catalogue.ts";
import { fromNumber } from "../text/decimal.ts";
import { nearestOf } from "../text/refusals.ts";
import {
  type Built,
  buildOrder,
  type Draft,
  EMPTY_DRAFT,
  type Field,
  hasPrice,
  isByRisk,
  isImmediate,
  isMatched,
  referencePrice,
  timeInForceOf,
  unitOf,
} from "./draft.ts";

/** The content of the order form, and the engine's answer about it before it is sent. */

export const draft = signal<Draft>(EMPTY_DRAFT);

/** By these a size in another unit becomes a quantity. While none of them is changed, that of a share stays. */
const SIZED_BY: ReadonlySet<string> = new Set<Field>([
  ...(["size", "sizeUnit", "side", "kind", "price", "priceMatch", "triggerPrice"] as const),
  ...(["reduceOnly", "stopDistance", "stopUnit"] as const),
]);

export function change(fields: Partial<Draft>): void {
  const isResized = Object.keys(fields).some((name) => SIZED_BY.has(name));
  draft.value = { ...draft.peek(), ...(isResized && { shareQuantity: "" }), ...fields };
  refusal.value = null;
}

/** Puts it into the form and goes to a field of it. Panel and field may appear with the change. */
export function changeAndGo(fields: Partial<Draft>, id: string): void {
  panel.value = "trade";
  change(fields);
  setTimeout(() => document.getElementById(id)?.focus(), 0);
}

function beginDraft(empty: Draft): void {
  change(empty);
  isAttempted.value = false;
}

forgetWithAccount(() => beginDraft(EMPTY_DRAFT));

/** A click on a price of the book or of the chart. */
export function fillPrice(price: string): void {
  const { kind } = draft.peek();
  if (kind === "STOP_MARKET" || kind === "TAKE_PROFIT_MARKET") change({ triggerPrice: price });
  else if (kind === "TRAILING_STOP_MARKET") change({ activationPrice: price });
  else change({ price, priceMatch: "", kind: kind === "MARKET" ? "LIMIT" : kind });
}

/** The price at which the draft would trade or rest now, if it has none of its own. 0 when there is none. */
export const marketPrice = computed(() => {
  const { side, priceMatch } = draft.value;
  const now = ticker.value;
  const level = isMatched(draft.value) ? levelPrice(side, priceMatch) : null;
  return Number(level ?? (side === "BUY" ? now?.askPrice : now?.bidPrice) ?? now?.markPrice ?? 0);
});

/** The price of the level that a priceMatch names: "QUEUE_5" is the fifth of the order's own side. */
function levelPrice(side: Draft["side"], match: string): string | null {
  const levels = (side === "BUY") === match.startsWith("QUEUE") ? book.bids : book.asks;
  return levels[Number(/\d+$/.exec(match)?.[0] ?? 1) - 1]?.[0] ?? null;
}

/** Counts up when a draft that depends on the market or on the clock is computed again. */
const renewals = signal(0);

/** With market prices of the last change of the draft: it must not run at each tick of the market. */
export const built = computed<Built>(() => {
  void renewals.value;
  const chosen = instrument.value;
  if (chosen === null) return { order: null, faults: new Map() };
  const { value } = draft;
  return buildOrder(value, chosen, marketPrice.peek(), exchangeNow());
});

/** Price × quantity at the price that the order has, or would get. */
export const notional = computed(() => {
  const { order } = built.value;
  return order === null ? 0 : Number(order.quantity) * referencePrice(draft.value, marketPrice.value);
});

/** The last refusal of this draft, by the dry run or by the exchange itself. */
export const refusal = signal<PerpdError | null>(null);
/** All that the figures of an order follow from. Its end moves with the clock, and changes none of them. */
const contentOf = (order: NewOrder | null): string => JSON.stringify({ ...order, goodTillDate: undefined });
const builtContent = computed(() => contentOf(built.value.order));

interface Tried {
  readonly content: string;
  /** The object itself: another one is another input. */
  readonly draft: Draft;
  readonly tried: DryRunOrder;
}
/** The engine's last dry run. Null while there is none. */
const lastTried = signal<Tried | null>(null);
/**
 * The dry run of what is in the form. Not exact: of the same input, with the size or the stop that the market gave it
 * before.
 */
export const preview = computed<{ readonly tried: DryRunOrder; readonly isExact: boolean } | null>(() => {
  const last = lastTried.value;
  if (last === null || built.value.order === null) return null;
  const isExact = last.content === builtContent.value;
  return isExact || last.draft === draft.value ? { tried: last.tried, isExact } : null;
});
/** The engine says that the order would end with less than its size. */
export const shortfall = computed<string | null>(() => {
  const { tried, isExact } = preview.value ?? {};
  if (tried?.status !== "EXPIRED" || isExact !== true) return null;
  return text.fillsOnly(tried.filledQuantity, tried.quantity, instrument.value?.baseAsset ?? "");
});
export const isSending = signal(false);
/** The person has tried to send what is not complete: empty fields are faults from then on. */
export const isAttempted = signal(false);

/** Fields of the API that have another name in the form. */
const FORM_FIELDS: Readonly<Record<string, Field>> = {
  quantity: "size",
  callbackRate: "callback",
  goodTillDate: "goodForMinutes",
  priceMatch: "price",
  "takeProfit.triggerPrice": "takeProfit",
  "stopLoss.triggerPrice": "stopLoss",
};

/** The field of the form at which a refusal is shown. Undefined for one that concerns none. */
export function formFieldOf(field: string | undefined): Field | undefined {
  if (field === undefined) return undefined;
  const own = FORM_FIELDS[field] ?? (field in EMPTY_DRAFT ? (field as Field) : undefined);
  if (own === "stopLoss" && isByRisk(draft.value)) return "stopDistance";
  return own === "price" && !hasPrice(draft.value.kind) ? "size" : own;
}

/** The values beside a refused one. Those that depend on the market lie one tick beyond it. */
export function nearestValues(refused: PerpdError): string[] {
  const { code, field, details = {} } = refused;
  const { side, kind } = draft.peek();
  const current = details.best ?? details.current;
  const step = instrument.peek()?.tickSize;
  if (current === undefined || step === undefined) return nearestOf(refused);
  if (field === "stopLoss" && isByRisk(draft.peek())) return [];
  const isAbove =
    code === "POST_ONLY_WOULD_TRADE"
      ? side === "SELL"
      : /^(takeProfit|stopLoss)/.test(field ?? "")
        ? (side === "BUY") === (field ?? "").startsWith("takeProfit")
        : (side === "BUY") === kind.startsWith("STOP");
  const price = Number(current) + (isAbove ? 1 : -1) * Number(step);
  return field === "callbackRate" ? [] : [fromNumber(price, step, "NEAREST")];
}

/** Refusals that a smaller order may not get. The engine knows the largest one. */
const TOO_LARGE: ReadonlySet<string> = new Set([
  "INSUFFICIENT_MARGIN",
  "LOSS_NOT_SETTLED",
  "POSITION_LIMIT",
  "KEY_ORDER_LIMIT",
  "KEY_POSITION_LIMIT",
]);
export const isTooLarge = ({ code }: PerpdError): boolean => TOO_LARGE.has(code) && isImmediate(draft.value.kind);

/** At most four dry runs a second. */
const TRY_EVERY_MS = 250;
/** So that a word typed at once is one. */
const TRY_AFTER_MS = 30;
/** The market moves below a draft that does not change. */
const TRY_AGAIN_MS = 4_000;
let triedAt = Number.NEGATIVE_INFINITY;
let dueAt = 0;
let timer = 0;
let renewal = 0;

/** As PerpdClient.tryOrder(), over the WebSocket: browsers write each refused HTTP request to the console. */
const dryRun = (stream: Stream, order: NewOrder): Promise<DryRunOrder> =>
  stream.placeOrder({ ...order, dryRun: true } as NewOrder) as Promise<unknown> as Promise<DryRunOrder>;

function tryIn(waitMs: number): void {
  clearTimeout(timer);
  dueAt = performance.now() + waitMs;
  timer = window.setTimeout(tryDraft, waitMs);
}

/**
 * Forgets an answer about another order than the form's. One about the same order counts, even if another dry run of it
 * is on its way: over a slow connection there is always one.
 */
async function tryDraft(): Promise<void> {
  const stream = accountStream();
  const { order } = built.peek();
  if (stream === null || order === null || obstacle.peek() !== null) return;
  triedAt = performance.now();
  const content = contentOf(order);
  const input = draft.peek();
  const isOver = (): boolean => accountStream() !== stream || content !== builtContent.peek();
  try {
    const tried = await dryRun(stream, order);
    if (isOver()) return;
    lastTried.value = { content, draft: input, tried };
    refusal.value = null;
  } catch (error) {
    if (isOver()) return;
    lastTried.value = null;
    refusal.value = error instanceof PerpdError && error.code !== "RATE_LIMITED" ? error : null;
  }
  clearTimeout(renewal);
  renewal = window.setTimeout(renew, TRY_AGAIN_MS);
}

function renew(): void {
  const isMoving = unitOf(draft.peek()) !== "BASE" || timeInForceOf(draft.peek()) === "GTD";
  if (isMoving) renewals.value++;
  tryIn(0);
}

/** Of the positions, without their figures of the market, which change all the time. */
const positionTerms = computed(() =>
  JSON.stringify(
    positions.value.map(({ symbol: name, side, size, entryPrice, leverage, marginMode, isolatedMargin }) => {
      return [name, side, size, entryPrice, leverage, marginMode, isolatedMargin];
    }),
  ),
);

/** Keeps the preview up to date. Call once. */
export function openPreview(): void {
  effect(() => {
    // A change of the input takes away what was said about it, even if the order stays the same.
    void [builtContent.value, draft.value];
    // Each of them may change the answer.
    void [accountClient.value, obstacle.value, positionTerms.value, openOrders.value, marginSetting.value];
    clearTimeout(renewal);
    if (built.peek().order === null || accountClient.peek() === null) {
      clearTimeout(timer);
      lastTried.value = null;
      return;
    }
    const now = performance.now();
    // A slider that is dragged must not put it off for ever.
    const isDue = dueAt > triedAt && dueAt >= now;
    tryIn(isDue ? dueAt - now : Math.max(TRY_AFTER_MS, triedAt + TRY_EVERY_MS - now));
  });
  effect(() => {
    void symbol.value;
    const { side, kind, sizeUnit, stopDistance, stopUnit } = draft.peek();
    beginDraft({ ...EMPTY_DRAFT, side, kind, sizeUnit, stopDistance, stopUnit });
  });
}

/** Says why nothing is sent, and goes to the first field at fault. */
function refuseToSend(reason: string | null): void {
  panel.value = "trade";
  isAttempted.value = true;
  if (reason !== null) toast({ key: "not-sent", tone: "bad", title: text.notPlaced, detail: reason });
  setTimeout(() => document.querySelector<HTMLElement>(".order-form [aria-invalid=true]")?.focus(), 0);
}

export async function submit(): Promise<void> {
  if (isSending.peek()) return;
  const reason = obstacle.peek();
  const { order } = built.peek();
  if (reason !== null || order === null) return refuseToSend(reason);
  if (!(await askFirst(questionOf(order)))) return;
  isSending.value = true;
  const sent = draft.peek();
  try {
    const refused = await placeOrder(order);
    // Input or another market that came while the answer was under way belongs to the next order.
    if (refused !== null) {
      if (draft.peek() === sent) refusal.value = refused;
    } else if (symbol.peek() === order.symbol && draft.peek().size === sent.size) {
      change({ size: "" });
      isAttempted.value = false;
    }
  } finally {
    isSending.value = false;
  }
}

function questionOf({ side, type, quantity, symbol: name, price, priceMatch, triggerPrice }: NewOrder): string {
  const at = price ?? (priceMatch === undefined ? triggerPrice : text.priceMatches[priceMatch]);
  const what = `${side === "BUY" ? text.buy : text.sell} ${quantity ?? ""} ${name}`;
  return `${what} · ${text.kinds[type]}${at == null ? "" : ` @ ${at}`}`;
}
