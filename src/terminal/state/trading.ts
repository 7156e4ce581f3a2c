import { computed, signal } from "@preact/signals";
import type { PerpdClient } from "../../client/client.ts";
import { isOutcomeUnknown, PerpdError } from "../../client/error.ts";
import type { Stream } from "../../client/stream.ts";
import type { NewOrder, Order, OrderChanges, Position } from "../../client/types.ts";
import { text } from "../text/catalogue.ts";
import { decimalsOf, fromUnits, toUnits } from "../text/decimal.ts";
import { assetOf, price as showPrice, words } from "../text/format.ts";
import { localRefusal, nearestOf, refusalText } from "../text/refusals.ts";
import { accountClient, accountStream, canSend, positions } from "./account.ts";
import { askFirst } from "./confirmation.ts";
import { tradingLink } from "./connection.ts";
import { decimalsOfMarket, symbol, ticker, tickerOf } from "./markets.ts";
import { type Toast, toast } from "./toasts.ts";

export { nearestOf, refusalText };

/** Everything that changes the account's orders and positions. Each function shows its outcome and never throws. */

/** Why nobody can place an order in a market from this page now; null when it is possible. */
function obstacleIn(market: string): string | null {
  if (tradingLink.value === "CONNECTING") return text.connecting;
  if (tradingLink.value === "LOST") return text.stale;
  if (accountClient.value === null) return text.signInFirst;
  if (!canSend.value) return text.connecting;
  const status = tickerOf(market).value?.status;
  if (status === "HALTED" || status === "CANCEL_ONLY") return text.halted(words(status));
  return null;
}

/** In the market that is shown. */
export const obstacle = computed<string | null>(() => obstacleIn(symbol.value));

/** A restriction that leaves some orders possible. */
export const caution = computed(() => (ticker.value?.status === "REDUCE_ONLY" ? text.reducingOnly : null));

const LOOKUP_EVERY_MS = 1_000;
/** The exchange answers a request within five seconds, so an order that is unknown after it was never placed. */
const LOST_AFTER_MS = 7_000;

/** The page knows that nothing went out. */
const NOT_SENT = new PerpdError(0, { code: "NOT_SENT", message: text.notSent, retryable: true });

/** The request may have been carried out. To send it again could do it twice. */
const OUTCOME_UNKNOWN = "OUTCOME_UNKNOWN";
export const isUnknown = (refusal: PerpdError | null): boolean => refusal?.code === OUTCOME_UNKNOWN;

const newClientOrderId = (): string => `web-${crypto.randomUUID().replaceAll("-", "").slice(0, 24)}`;
const pause = (ms: number): Promise<void> => new Promise((resume) => setTimeout(resume, ms));

/** Returns the refusal, for the field that it names; null when the order was placed. */
export async function placeOrder(order: NewOrder): Promise<PerpdError | null> {
  const client = accountClient.peek();
  const stream = accountStream();
  // The connection may have been lost while the person was asked.
  const reason = obstacleIn(order.symbol);
  if (client === null || stream === null || reason !== null) return notSent(reason);
  if (!canSend.peek()) return refused(NOT_SENT, `refusal-${order.symbol}`);
  const clientOrderId = newClientOrderId();
  try {
    showOrder(await stream.placeOrder({ ...order, clientOrderId }));
    return null;
  } catch (error) {
    if (isOutcomeUnknown(error as Error)) return resolveOutcome(client, clientOrderId);
    return refused(error, `refusal-${order.symbol}`);
  }
}

/**
 * Asks until the exchange says whether it took the order. The page says that it is unknown for as long. Returns a refusal
 * if the order never came.
 */
async function resolveOutcome(client: PerpdClient, clientOrderId: string): Promise<PerpdError | null> {
  const say = (tone: Toast["tone"], title: string, detail: string): void =>
    toast({ key: clientOrderId, tone, title, detail, isLasting: true });
  say("neutral", text.outcomeUnknown, text.askingForOutcome);
  const since = performance.now();
  for (;;) {
    try {
      showOrder(await client.order(`client:${clientOrderId}`), clientOrderId);
      return null;
    } catch (error) {
      if (accountClient.peek() !== client) {
        say("neutral", text.outcomeUnknown, text.lookAtHistory);
        return null;
      }
      const isMissing = error instanceof PerpdError && error.code === "ORDER_NOT_FOUND";
      if (isMissing && performance.now() - since > LOST_AFTER_MS) {
        say("bad", text.notPlaced, text.nothingReached);
        return localRefusal("", text.nothingReached);
      }
      await pause(LOOKUP_EVERY_MS);
    }
  }
}

/** The keys of the actions whose answers have not come yet. */
const underWay = signal<ReadonlySet<string>>(new Set());
export const isUnderWay = (key: string): boolean => underWay.value.has(key);

/** Of an action that a button or a key begins: a second press while the first one is under way does nothing. */
async function once(key: string, run: () => Promise<PerpdError | null>): Promise<PerpdError | null> {
  if (underWay.peek().has(key)) return null;
  underWay.value = new Set(underWay.peek()).add(key);
  try {
    return await run();
  } finally {
    underWay.value = new Set([...underWay.peek()].filter((each) => each !== key));
  }
}

/** Cancels an order. */
export const cancelOrder = (order: Order): Promise<PerpdError | null> => {
  const key = `order-${order.orderId}`;
  return once(key, () => attempt(key, (stream) => stream.cancelOrder({ orderId: order.orderId })));
};

/** The stream of orders tells which ones are gone. */
export const cancelAll = (symbol = ""): Promise<PerpdError | null> =>
  once(`cancel-all-${symbol}`, () =>
    attempt("cancel-all", async (stream) => {
      const { canceled } = await stream.cancelOrders(symbol === "" ? {} : { symbol });
      const title = text.canceledMany(canceled);
      if (canceled === 0) toast({ key: "cancel-all", tone: "neutral", title, detail: symbol || text.allMarkets });
    }),
  );

export const amendOrder = (order: Order, changes: OrderChanges): Promise<PerpdError | null> =>
  attempt(`order-${order.orderId}`, (stream) => stream.amendOrder({ orderId: order.orderId }, changes));

/** Whether an order that rests would trade at once at this price. */
function crosses({ symbol, side, postOnly, status }: Order, price: string): boolean {
  const { askPrice, bidPrice } = tickerOf(symbol).peek() ?? {};
  if (postOnly || status === "UNTRIGGERED") return false;
  return side === "BUY"
    ? askPrice != null && Number(price) >= Number(askPrice)
    : Number(price) <= Number(bidPrice ?? 0);
}

/** Asks, if the person wants to be asked: each field that changes, before and after. */
export function askToAmend(order: Order, changes: OrderChanges): Promise<boolean> {
  const { symbol, side, type } = order;
  const decimals = decimalsOfMarket(symbol).price;
  const changed = Object.entries(text.amendFields).flatMap(([key, name]) => {
    const field = key as keyof typeof text.amendFields;
    const [before, after] = [order[field], changes[field]].map((value) =>
      /price/i.test(field) ? showPrice(value, decimals) : value,
    );
    return changes[field] === undefined ? [] : [`${name} ${before} → ${after}`];
  });
  const isTrade = changes.price !== undefined && crosses(order, changes.price);
  const parts = [text.amendTitle(words(side), symbol), text.kinds[type], ...changed];
  return askFirst([...parts, ...(isTrade ? [text.tradesAtOnce] : [])].join(" · "));
}

const opposite = ({ side }: Position): "BUY" | "SELL" => (side === "SHORT" ? "BUY" : "SELL");

/** Closes the whole position at market. To do it twice closes no more, and it works when the exchange takes no orders. */
export const closeWhole = (symbol: string): Promise<PerpdError | null> =>
  attempt(`close-${symbol}`, async (stream) => showOrder(await stream.closePosition(symbol)));

/** The same, after a question if the person wants to be asked. */
export const askAndClose = async (symbol: string): Promise<PerpdError | null> =>
  (await askFirst(text.commandClose(symbol))) ? once(`close-${symbol}`, () => closeWhole(symbol)) : null;

/** Closes a part, or closes at a price. To do it twice would close more, so its outcome is found as that of any order. */
export const closePart = (position: Position, quantity: string, price: string): Promise<PerpdError | null> => {
  const order = { symbol: position.symbol, side: opposite(position), quantity, reduceOnly: true };
  return placeOrder(price === "" ? { ...order, type: "MARKET" } : { ...order, type: "LIMIT", price });
};

/** Adds `amount` USDC to an isolated position's margin; a negative amount removes it. */
export const moveMargin = (symbol: string, amount: string, reference: string): Promise<PerpdError | null> =>
  attempt(`margin-${symbol}`, (stream) => stream.moveMargin(symbol, amount, reference));

/** Longer than the position's stream takes to show what an order has done. */
const SETTLED_AFTER_MS = 3_000;
const SETTLED_EVERY_MS = 20;

const positionOf = (symbol: string): Position | undefined => positions.peek().find((each) => each.symbol === symbol);

/** Waits until the position is another one than `before`. An order that has not traded leaves it as it is. */
async function changeOf({ symbol, side, size }: Position): Promise<void> {
  const since = performance.now();
  while (performance.now() - since < SETTLED_AFTER_MS) {
    const now = positionOf(symbol);
    if (now?.side !== side || now.size !== size) return;
    await pause(SETTLED_EVERY_MS);
  }
}

/**
 * Turns a position into one of the same size on the other side, by one order at market. The size is that of the moment
 * of sending: the position may change while the person is asked, and until the last reversal shows.
 */
export const reversePosition = async (symbol: string): Promise<PerpdError | null> => {
  if (!(await askFirst(text.commandReverse(symbol)))) return null;
  return once(`reverse-${symbol}`, async () => {
    const position = positionOf(symbol);
    if (position === undefined) return notSent(text.noPosition(symbol));
    const decimals = decimalsOf(position.size);
    const quantity = fromUnits(2n * toUnits(position.size, decimals), decimals);
    const refused = await placeOrder({ symbol, side: opposite(position), type: "MARKET", quantity });
    if (refused === null) await changeOf(position);
    return refused;
  });
};

/** Runs a request of the account. Shows and returns the refusal; null when it was done. */
export async function attempt(key: string, run: (stream: Stream) => Promise<unknown>): Promise<PerpdError | null> {
  const stream = accountStream();
  if (stream === null) return notSent(obstacle.peek());
  if (!canSend.peek()) return refused(NOT_SENT, key);
  try {
    await run(stream);
    return null;
  } catch (error) {
    return refused(error, key);
  }
}

function notSent(reason: string | null): PerpdError {
  const refusal = localRefusal("", reason ?? text.signInFirst);
  toast({ key: "not-sent", tone: "bad", title: text.notPlaced, detail: refusalText(refusal) });
  return refusal;
}

function refused(error: unknown, key: string): PerpdError {
  if (isOutcomeUnknown(error as Error)) {
    const detail = text.lookAtTables;
    toast({ key, tone: "neutral", title: text.outcomeUnknown, detail, isLasting: true });
    return new PerpdError(0, { code: OUTCOME_UNKNOWN, message: detail });
  }
  const detail = refusalText(error);
  toast({ key, tone: "bad", title: text.refused, detail });
  return error instanceof PerpdError ? error : new PerpdError(0, { code: "FAILED", message: detail });
}

/** The outcome of an order, in one line. */
export function showOrder(order: Order, key = `order-${order.orderId}`): void {
  const { side, type, symbol, status, quantity, filledQuantity, avgPrice, price, triggerPrice, reason } = order;
  const asset = assetOf(symbol);
  const isFilled = Number(filledQuantity) > 0;
  const isRefused = status === "REJECTED" || (status === "EXPIRED" && !isFilled);
  const title = isRefused
    ? text.orderEnded(text.kinds[type], words(status))
    : isFilled
      ? text.traded(side, filledQuantity, quantity, asset)
      : text.orderStatus(text.kinds[type], words(status));
  const at = avgPrice ?? price ?? triggerPrice;
  const decimals = decimalsOfMarket(symbol).price;
  const detail = [
    order.closePosition ? text.closesPosition(asset) : `${words(side)} ${quantity} ${asset}`,
    at === null ? "" : `@ ${showPrice(at, decimals)}`,
    reason === null ? "" : words(reason),
  ];
  toast({ key, tone: isRefused ? "bad" : "good", title, detail: detail.filter((part) => part !== "").join(" ") });
}
