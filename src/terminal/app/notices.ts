import type { Order } from "../../client/types.ts";
import { onAccountMessage } from "../state/account.ts";
import { showOrder } from "../state/trading.ts";

/** Says what happens to orders without a request of this page: fills of resting orders, triggers, liquidations. */

const wasFilled = new Map<string, string>();

export function openNotices(): void {
  onAccountMessage((message) => {
    if (message.channel !== "orders") return;
    for (const order of message.data) {
      if (message.type !== "SNAPSHOT" && isNews(order)) showOrder(order);
      wasFilled.set(order.orderId, order.filledQuantity);
    }
  });
}

const isNews = (order: Order): boolean =>
  order.filledQuantity !== (wasFilled.get(order.orderId) ?? "0") ||
  ["CANCELED", "REJECTED", "EXPIRED"].includes(order.status);
