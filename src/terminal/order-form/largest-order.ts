import { computed, effect, signal } from "@preact/signals";
import { account, accountClient, balance, openOrders, positions } from "../state/account.ts";
import { marginSetting } from "../state/leverage.ts";
import { instrument, symbol } from "../state/markets.ts";
import { text } from "../text/catalogue.ts";
import { cleanDecimal, fromNumber } from "../text/decimal.ts";
import { localRefusal } from "../text/refusals.ts";
import { isMatched, perUnit, unitOf } from "./draft.ts";
import { change, draft, marketPrice, refusal } from "./form-state.ts";

/** The largest order that the engine would take, and parts of it as the form's size. */

/** In the base asset, as it was when a share was taken last. */
export const maxSize = signal<string | null>(null);
/** performance.now() when it was asked for. */
let askedAtMs = Number.NEGATIVE_INFINITY;
/** The request that is under way for the order as it is now. */
let asked: Promise<string | null> | null = null;
let wantedShare = 0;
/** The order that an answer is about. */
const sizedBy = computed(() => {
  const { side, kind, price, priceMatch, reduceOnly } = draft.value;
  return [account.value?.accountId, symbol.value, side, kind, price, priceMatch, reduceOnly].join();
});

/** Forgets what was asked for another order. Call once. */
export function openLargestOrder(): void {
  effect(() => {
    void sizedBy.value;
    maxSize.value = null;
    asked = null;
  });
  effect(() => {
    void [sizedBy.value, balance.value, positions.value, openOrders.value, marginSetting.value];
    askedAtMs = Number.NEGATIVE_INFINITY;
  });
}

/** Null: there was no answer, or it is about another order than that of the form. */
async function readMaxSize(): Promise<string | null> {
  const order = sizedBy.peek();
  const isOver = (): boolean => order !== sizedBy.peek();
  const { side, kind, reduceOnly } = draft.peek();
  const price = isMatched(draft.peek()) ? String(marketPrice.peek()) : cleanDecimal(draft.peek().price);
  const isLimit = kind === "LIMIT" && price !== null;
  askedAtMs = performance.now();
  try {
    const query = { symbol: symbol.peek(), side, ...(reduceOnly && { reduceOnly }) };
    const typed = isLimit ? ({ type: "LIMIT", price } as const) : ({ type: "MARKET" } as const);
    const most = await accountClient.peek()?.maxOrderSize({ ...query, ...typed });
    if (isOver()) return null;
    maxSize.value = most?.data[0]?.maxQuantity ?? null;
    return maxSize.value;
  } catch {
    if (!isOver()) askedAtMs = Number.NEGATIVE_INFINITY;
    return null;
  } finally {
    if (!isOver()) asked = null;
  }
}

const noOrder = (): string => (draft.peek().reduceOnly ? text.refusals.REDUCE_ONLY_NO_POSITION : text.noLargestOrder);

/**
 * Fills in a part, in percent, of the largest order. The size stays as it is until the next share is taken, which counts
 * with the money and the price of that moment; `maxAgeMs` lets it use an earlier answer. While that is asked for, the
 * last share counts, and input that changes the order or its size gives it up. Returns whether the size was filled in.
 */
export async function takeShare(percent: number, maxAgeMs = 0): Promise<boolean> {
  wantedShare = percent;
  const order = sizedBy.peek();
  const { size: before } = draft.peek();
  if (performance.now() - askedAtMs >= maxAgeMs) asked ??= readMaxSize();
  const limit = await (asked ?? maxSize.peek());
  if (order !== sizedBy.peek() || draft.peek().size !== before || wantedShare !== percent) return false;
  const chosen = instrument.peek();
  if (limit === null || chosen === null) return false;
  const part = fromNumber((Number(limit) * percent) / 100, chosen.stepSize);
  const each = perUnit(draft.peek(), chosen, marketPrice.peek());
  const size = unitOf(draft.peek()) === "BASE" ? part : fromNumber(Number(part) * each, "0.01", "UP");
  // The market moves: another division would give another quantity, and for the whole of it one that is refused.
  change(size === "0" ? { size: "" } : { size, shareQuantity: part });
  if (Number(limit) === 0) refusal.value = localRefusal("", noOrder());
  return Number(limit) > 0;
}
