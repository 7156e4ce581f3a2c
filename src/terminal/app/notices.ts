import { effect } from "@preact/signals";
import type { Fill, Instrument, Order } from "../../client/types.ts";
import { isOpen, onAccountMessage, onClosedMeanwhile, openOrders, positions } from "../state/account.ts";
import { symbol as chosenSymbol, instruments } from "../state/markets.ts";
import { dismiss, toast } from "../state/toasts.ts";
import { showOrder } from "../state/trading.ts";
import { text } from "../text/catalogue.ts";
import { decimalsOf, fromUnits, toUnits } from "../text/decimal.ts";
import { assetOf, clock, fixed, signed, words } from "../text/format.ts";

/** Says what happens without a request of this page: fills of resting orders, triggers, liquidations, halts. */

const wasFilled = new Map<string, string>();

export function openNotices(): void {
  onAccountMessage((message) => {
    if (message.channel === "orders") {
      // The fills tell of a liquidation, also of one without an order.
      const news = message.data.filter((order) => isNews(order) && order.createdBy === "USER");
      if (message.type !== "SNAPSHOT") showOrders(news);
      for (const order of message.data)
        if (isOpen(order)) wasFilled.set(order.orderId, order.filledQuantity);
        else wasFilled.delete(order.orderId);
    }
    if (message.channel === "fills" && message.type !== "SNAPSHOT") showForcedFills(message.data);
  });
  onClosedMeanwhile(showOrders);
  effect(() => showStatuses(instruments.value));
}

const isNews = (order: Order): boolean =>
  order.filledQuantity !== (wasFilled.get(order.orderId) ?? "0") ||
  ["CANCELED", "REJECTED", "EXPIRED"].includes(order.status);

function showOrders(orders: readonly Order[]): void {
  for (const order of orders)
    if (order.status === "CANCELED") showCanceled(order);
    else showOrder(order);
}

/** Cancelations of one request come within this. A person takes longer for another one. */
const CANCELED_TOGETHER_MS = 200;
let canceled: readonly Order[] = [];
let canceledAtMs = 0;

/** Orders that are canceled together are one message. Each market tells of its own orders. */
function showCanceled(order: Order): void {
  const nowMs = performance.now();
  canceled = nowMs - canceledAtMs < CANCELED_TOGETHER_MS ? [...canceled, order] : [order];
  canceledAtMs = nowMs;
  if (canceled.length === 1) return showOrder(order);
  for (const { orderId } of canceled) dismiss(`order-${orderId}`);
  const reasons = [...new Set(canceled.map(({ reason }) => words(reason ?? "")))];
  const title = text.canceledMany(canceled.length);
  toast({ key: "cancel-all", tone: "neutral", title, detail: reasons.join(", ") });
}

/** A trade with an account that was liquidated is an ordinary one for its maker. */
const isForced = ({ execType, liquidity }: Fill): boolean =>
  execType === "ADL" || (execType === "LIQUIDATION" && liquidity === "TAKER");

/** One message for each symbol, with the sum of its fills. */
function showForcedFills(fills: readonly Fill[]): void {
  const forced = fills.filter(isForced);
  for (const symbol of new Set(forced.map((fill) => fill.symbol))) {
    const parts = forced.filter((fill) => fill.symbol === symbol);
    const [{ side, execType, price }] = parts as [Fill];
    const sum = (figure: (fill: Fill) => string): number =>
      parts.reduce((total, fill) => total + Number(figure(fill)), 0);
    const decimals = Math.max(...parts.map(({ quantity }) => decimalsOf(quantity)));
    const units = parts.reduce((total, { quantity }) => total + toUnits(quantity, decimals), 0n);
    const quantity = fromUnits(units, decimals);
    const average = fixed(sum(({ quoteQuantity }) => quoteQuantity) / Number(quantity), decimalsOf(price) + 1);
    const what = text.tradedAt(side, quantity, assetOf(symbol), average);
    const pnl = signed(sum(({ realizedPnl }) => realizedPnl));
    const isAdl = execType === "ADL";
    toast({
      key: `forced-${symbol}`,
      tone: "bad",
      title: isAdl ? text.deleveraged(symbol) : text.liquidated(symbol),
      detail: isAdl
        ? text.deleveragedDetail(what, pnl)
        : text.liquidatedDetail(
            what,
            pnl,
            fixed(
              sum(({ fee }) => fee),
              2,
            ),
          ),
      isLasting: true,
    });
  }
}

const lastStatus = new Map<string, string>();

/** A person hears of the market that is shown, and of those where something is open. */
function showStatuses(all: readonly Instrument[]): void {
  const concerned = new Set([
    chosenSymbol.peek(),
    ...[...positions.peek(), ...openOrders.peek()].map(({ symbol }) => symbol),
  ]);
  for (const { symbol, status, statusReason, statusUntil } of all) {
    const before = lastStatus.get(symbol);
    lastStatus.set(symbol, status);
    if (before === undefined || before === status || !concerned.has(symbol)) continue;
    const isBack = status === "TRADING";
    const reason = statusReason === null ? "" : text.restrictedBy(words(statusReason));
    const until = statusUntil === null ? "" : text.restrictedUntil(clock(statusUntil));
    toast({
      key: `status-${symbol}`,
      tone: isBack ? "good" : "neutral",
      title: text.marketStatus(symbol, words(status)),
      detail: isBack ? text.marketIsBack : [reason, until].filter(Boolean).join(" "),
    });
  }
}
