import { errorsIn } from "../../../wire/error-codes.ts";
import { PlacedOrder, PlaceOrderBody, TriedOrder } from "../../../wire/schema/orders.ts";
import type { Context } from "../../routing/context.ts";
import { type Route, route } from "../../routing/route.ts";
import { FastPathReader } from "../../trading/fast-path/fast-path-reader.ts";
import { placeOrder } from "../../trading/place-order.ts";
import { sendFastPath } from "../../trading/send-fast-path.ts";

const BUY_LIMIT = { symbol: "BTC-PERP", side: "BUY", type: "LIMIT", quantity: "0.01" } as const;
const SELL_MARKET = { symbol: "BTC-PERP", side: "SELL", type: "MARKET", quantity: "0.01" } as const;

export function placeOrderRoute(context: Context): Route {
  const reader = new FastPathReader(context.symbols);
  return route({
    method: "POST",
    path: "/orders",
    access: "TRADE",
    summary: "Place an order",
    description:
      "With `dryRun` the order goes through every check, but nothing is done: no order is placed, no margin is reserved " +
      "and the clientOrderId stays free. The answer is the order as it would be after placing (200), or the error that " +
      "the order would get.",
    body: PlaceOrderBody,
    examples: {
      limit: { ...BUY_LIMIT, price: "65000.5", clientOrderId: "my-order-1" },
      "post-only": { ...BUY_LIMIT, price: "64000", postOnly: true },
      "at the best bid": { ...BUY_LIMIT, priceMatch: "QUEUE", postOnly: true },
      iceberg: {
        symbol: "BTC-PERP",
        side: "SELL",
        type: "LIMIT",
        price: "66000",
        quantity: "0.5",
        displayQuantity: "0.01",
      },
      market: SELL_MARKET,
      "dry run": { symbol: "BTC-PERP", side: "BUY", type: "MARKET", quantity: "0.5", dryRun: true },
      "reduce-only": { ...SELL_MARKET, reduceOnly: true },
    },
    replies: { 201: PlacedOrder, 200: [PlacedOrder, TriedOrder] },
    errors: errorsIn("PLACE"),
    handleBytes(call, principal, body) {
      const order = reader.readOrder(body);
      if (order === null) return false;
      sendFastPath(context, call, principal, order);
      return true;
    },
    handle: ({ call, principal, body }) => placeOrder(context, call, principal, body),
  });
}
