import { computed, signal } from "@preact/signals";
import type { PerpdClient } from "../../client/client.ts";
import { isOutcomeUnknown, PerpdError } from "../../client/error.ts";
import type { Stream } from "../../client/stream.ts";
import type { CloseRequest, NewOrder, Order, OrderChanges, Position } from "../../client/types.ts";
import { text } from "../text/catalogue.ts";
import { decimalsOf, fromUnits, toUnits } from "../text/decimal.ts";
import { words } from "../text/format.ts";
import { nearestOf, refusalText } from "../text/refusals.ts";
import { accountClient, accountStream } from "./account.ts";
import { askFirst } from "./confirmation.ts";
import { link } from "./connection.ts";
import { ticker } from "./markets.ts";
import { toast } from "./toasts.ts";

export { nearestOf, refusalText };

/** Everything that changes the account's orders and positions. Each function shows its outcome and never throws. */

/** Why nobody can place an order from this page now; null when it is possible. */
export const obstacle = computed<string | null>(() => {
  if (link.value === "CONNECTING") return text.connecting;
  if (link.value === "LOST") return text.stale;
  if (accountClient.value === null) return text.signInFirst;
  const status = ticker.value?.status;
  if (status === "HALTED" || status === "CANCEL_ONLY") return text.halted(words(status));
  return null;
});

/** Requests whose outcome is not known yet, by clientOrderId. */
export const unresolved = signal<readonly string[]>([]);

const LOOKUP_EVERY_MS = 1_000;
/** The exchange answers a request within five seconds, so an order that is unknown after it was never placed. */
const LOST_AFTER_MS = 7_000;

const newClientOrderId = (): string => `web-${crypto.randomUUID().replaceAll("-", "").slice(0, 24)}`;
const pause = (ms: number): Promise<void> => new Promise((resume) => setTimeout(resume, ms));

/** Returns the refusal, for the field that it names; null when the order was placed. */
export async function placeOrder(order: NewOrder): Promise<PerpdError | null> {
  const client = accountClient.peek();
  const stream = accountStream();
  if (client === null || stream === null || obstacle.peek() !== null) return null;
  const clientOrderId = newClientOrderId();
  try {
    showOrder(await stream.placeOrder({ ...order, clientOrderId }));
    return null;
  } catch (error) {
    if (isOutcomeUnknown(error as Error)) {
      await resolveOutcome(client, clientOrderId);
      return null;
    }
    return refused(error, `refusal-${order.symbol}`);
  }
}

/** Asks until the exchange says whether it took the order. */
async function resolveOutcome(client: PerpdClient, clientOrderId: string): Promise<void> {
  unresolved.value = [...unresolved.peek(), clientOrderId];
  toast({ key: clientOrderId, tone: "plain", title: text.outcomeUnknown, detail: text.askingForOutcome });
  const since = performance.now();
  try {
    for (;;) {
      try {
        showOrder(await client.order(`client:${clientOrderId}`), clientOrderId);
        return;
      } catch (error) {
        const isUnknown = error instanceof PerpdError && error.code === "ORDER_NOT_FOUND";
        if (isUnknown && performance.now() - since > LOST_AFTER_MS) {
          toast({ key: clientOrderId, tone: "bad", title: text.notPlaced, detail: text.nothingReached });
          return;
        }
        if (accountClient.peek() !== client) return;
        await pause(LOOKUP_EVERY_MS);
      }
    }
  } finally {
    unresolved.value = unresolved.peek().filter((id) => id !== clientOrderId);
  }
}

/** Cancels an order. */
export const cancelOrder = (order: Order): Promise<PerpdError | null> =>
  attempt(`order-${order.orderId}`, (_client, stream) => stream.cancelOrder({ orderId: order.orderId }));

export const cancelAll = (symbol?: string): Promise<PerpdError | null> =>
  attempt("cancel-all", async (_client, stream) => {
    const { canceled } = await stream.cancelOrders(symbol === undefined ? {} : { symbol });
    toast({ key: "cancel-all", tone: "plain", title: text.canceledMany(canceled), detail: symbol ?? text.allMarkets });
  });

export const amendOrder = (order: Order, changes: OrderChanges): Promise<PerpdError | null> =>
  attempt(`order-${order.orderId}`, (_client, stream) => stream.amendOrder({ orderId: order.orderId }, changes));

/** Without `how` the whole position at market, after a question if the person wants to be asked. */
export async function closePosition(symbol: string, how?: CloseRequest): Promise<PerpdError | null> {
  if (how === undefined && !(await askFirst(text.commandClose(symbol)))) return null;
  return attempt(`close-${symbol}`, async (_client, stream) =>
    showOrder(await stream.closePosition(symbol, how ?? {})),
  );
}

/** Adds `amount` USDC to an isolated position's margin; a negative amount removes it. */
export const moveMargin = (symbol: string, amount: string, reference: string): Promise<PerpdError | null> =>
  attempt(`margin-${symbol}`, (_client, stream) => stream.moveMargin(symbol, amount, reference));

/** Turns a position into one of the same size on the other side, by one order at market. */
export async function reversePosition({ symbol, side, size }: Position): Promise<PerpdError | null> {
  if (!(await askFirst(text.commandReverse(symbol)))) return null;
  const decimals = decimalsOf(size);
  const quantity = fromUnits(2n * toUnits(size, decimals), decimals);
  return placeOrder({ symbol, side: side === "SHORT" ? "BUY" : "SELL", type: "MARKET", quantity });
}

/** Runs a request of the account. Shows and returns the refusal; null when it was done. */
export async function attempt(
  key: string,
  run: (client: PerpdClient, stream: Stream) => Promise<unknown>,
): Promise<PerpdError | null> {
  const client = accountClient.peek();
  const stream = accountStream();
  if (client === null || stream === null) return null;
  try {
    await run(client, stream);
    return null;
  } catch (error) {
    return refused(error, key);
  }
}

function refused(error: unknown, key: string): PerpdError {
  const detail = refusalText(error);
  const isUnknown = isOutcomeUnknown(error as Error);
  toast({
    key,
    tone: "bad",
    title: isUnknown ? text.outcomeUnknown : text.refused,
    detail: isUnknown ? text.lookAtTables : detail,
  });
  return error instanceof PerpdError ? error : new PerpdError(0, { code: "FAILED", message: detail });
}

/** What became of an order, in one line. */
export function showOrder(order: Order, key = `order-${order.orderId}`): void {
  const { side, type, symbol, status, quantity, filledQuantity, avgPrice, price, triggerPrice, reason } = order;
  const asset = symbol.replace(/-PERP$/, "");
  const isFilled = Number(filledQuantity) > 0;
  const isRefused = status === "REJECTED" || (status === "EXPIRED" && !isFilled);
  const title = isRefused
    ? text.orderEnded(words(type), words(status))
    : isFilled
      ? text.traded(side, filledQuantity, quantity, asset)
      : text.orderStatus(words(type), words(status));
  const at = avgPrice ?? price ?? triggerPrice;
  const detail = [
    order.closePosition ? text.closesPosition(asset) : `${words(side)} ${quantity} ${asset}`,
    at === null ? "" : `@ ${at}`,
    reason === null ? "" : words(reason),
  ];
  toast({ key, tone: isRefused ? "bad" : "good", title, detail: detail.filter((part) => part !== "").join(" ") });
}
