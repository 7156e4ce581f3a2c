import { computed, effect, signal } from "@preact/signals";
import { PerpdError } from "../../client/error.ts";
import type { ErrorBody, MaxOrderSize } from "../../client/types.ts";
import { account, accountClient, balance, openOrders, positions } from "../state/account.ts";
import { marginSetting } from "../state/leverage.ts";
import { instrument, symbol, ticker } from "../state/markets.ts";
import { text } from "../text/catalogue.ts";
import { cleanDecimal, fromNumber } from "../text/decimal.ts";
import { localRefusal, refusalText } from "../text/refusals.ts";
import { isMatched, perUnit, shareOf, smallestQuantity, unitOf } from "./draft.ts";
import { change, draft, marketPrice, refusal } from "./form-state.ts";

/** The largest order that the engine would take, and parts of it as the form's size. */

/** In the base asset, as it was when a share was taken last. */
export const maxSize = signal<string | null>(null);
/** The exchange's refusal of a larger order. Null: there is none, or it is not known. */
let limitedBy: MaxOrderSize["data"][number]["limitedBy"] = null;
interface TakenShare {
  readonly percent: number;
  readonly largest: string;
  /** As the form shows it. */
  readonly size: string;
}
const lastTaken = signal<TakenShare | null>(null);
/** In percent: the share that the size of the form is. Null: the size was typed, or the largest order is another one. */
export const takenShare = computed(() => {
  const last = lastTaken.value;
  return last !== null && last.largest === maxSize.value && last.size === draft.value.size ? last.percent : null;
});
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
    const [sized] = most?.data ?? [];
    maxSize.value = sized?.maxQuantity ?? null;
    limitedBy = sized?.limitedBy ?? null;
    return maxSize.value;
  } catch {
    if (!isOver()) askedAtMs = Number.NEGATIVE_INFINITY;
    return null;
  } finally {
    if (!isOver()) asked = null;
  }
}

/** Why not even the smallest order is possible. */
const noOrder = (): string =>
  limitedBy === null ? text.noLargestOrder : refusalText(new PerpdError(0, limitedBy as Partial<ErrorBody>));

/**
 * Fills in a part, in percent, of the largest order, and at least the smallest order. If not even that is possible, the
 * form says why. The size stays as it is until the next share is taken, which counts with the money and the price of that
 * moment; `maxAgeMs` lets it use an earlier answer. While that is asked for, the last share counts, and input that changes
 * the order or its size gives it up. Returns whether the size was filled in.
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
  const price = isMatched(draft.peek()) ? marketPrice.peek() : Number(ticker.peek()?.markPrice ?? 0);
  const smallest = smallestQuantity(draft.peek(), chosen, price);
  const part = shareOf(limit, percent, smallest, chosen.stepSize);
  const each = perUnit(draft.peek(), chosen, marketPrice.peek());
  const size = unitOf(draft.peek()) === "BASE" ? part : fromNumber(Number(part) * each, "0.01", "UP");
  // The market moves: another division would give another quantity, and for the whole of it one that is refused.
  change(size === "0" ? { size: "" } : { size, shareQuantity: part });
  lastTaken.value = size === "0" ? null : { percent, largest: limit, size };
  if (Number(limit) === 0) refusal.value = localRefusal("", noOrder());
  return Number(limit) > 0;
}
