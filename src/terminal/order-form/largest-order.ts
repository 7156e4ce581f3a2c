import { computed, effect, signal } from "@preact/signals";
import { account, accountClient, openOrders, positions } from "../state/account.ts";
import { marginSetting } from "../state/leverage.ts";
import { instrument, symbol } from "../state/markets.ts";
import { cleanDecimal, fromNumber } from "../text/decimal.ts";
import { isMatched, perUnit, unitOf } from "./draft.ts";
import { change, draft, marketPrice } from "./form-state.ts";

/** The largest order that the engine would take, and parts of it as the form's size. */

/** In the base asset. It is asked for when a person takes the slider. */
export const maxSize = signal<string | null>(null);
let isMaxOld = true;
/** The request that is under way for the order as it is now. */
let asked: Promise<void> | null = null;
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
    void [sizedBy.value, accountClient.value, positions.value, openOrders.value, marginSetting.value];
    isMaxOld = true;
  });
}

async function readMaxSize(): Promise<void> {
  const order = sizedBy.peek();
  const isOver = (): boolean => order !== sizedBy.peek();
  const { side, kind, reduceOnly } = draft.peek();
  const price = isMatched(draft.peek()) ? String(marketPrice.peek()) : cleanDecimal(draft.peek().price);
  const isLimit = kind === "LIMIT" && price !== null;
  isMaxOld = false;
  try {
    const query = { symbol: symbol.peek(), side, ...(reduceOnly && { reduceOnly }) };
    const typed = isLimit ? ({ type: "LIMIT", price } as const) : ({ type: "MARKET" } as const);
    const most = await accountClient.peek()?.maxOrderSize({ ...query, ...typed });
    if (!isOver()) maxSize.value = most?.data[0]?.maxQuantity ?? null;
  } catch {
    if (!isOver()) isMaxOld = true;
  } finally {
    if (!isOver()) asked = null;
  }
}

/**
 * Fills in a part, in percent, of the largest order. While that is asked for, the last share counts, and input that changes
 * the order or its size gives it up. Returns whether the size was filled in.
 */
export async function takeShare(percent: number): Promise<boolean> {
  wantedShare = percent;
  const order = sizedBy.peek();
  const { size: before } = draft.peek();
  if (isMaxOld) asked ??= readMaxSize();
  await asked;
  if (order !== sizedBy.peek() || draft.peek().size !== before || wantedShare !== percent) return false;
  const chosen = instrument.peek();
  const limit = maxSize.peek();
  if (limit === null || chosen === null) return false;
  const part = fromNumber((Number(limit) * percent) / 100, chosen.stepSize);
  const each = perUnit(draft.peek(), chosen, marketPrice.peek());
  const size = unitOf(draft.peek()) === "BASE" ? part : fromNumber(Number(part) * each, "0.01", "UP");
  change({ size: size === "0" ? "" : size });
  return true;
}
