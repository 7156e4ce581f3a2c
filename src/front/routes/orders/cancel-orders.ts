import { errorsIn } from "../../../wire/error-codes.ts";
import { CancelAfterBody, CancelAllQuery, CanceledOrders, CancelSwitch, Order } from "../../../wire/schema/orders.ts";
import { OrderReference } from "../../../wire/schema/scalars.ts";
import { CANCEL_COST } from "../../auth/limits.ts";
import type { Context } from "../../routing/context.ts";
import { type Route, route } from "../../routing/route.ts";
import { setCancelAfter } from "../../trading/cancel-after.ts";
import { cancelOrder, cancelOrders } from "../../trading/cancel-orders.ts";

export const cancelOrderRoute = (context: Context): Route =>
  route({
    method: "DELETE",
    path: "/orders/:id",
    access: "TRADE",
    summary: "Cancel an order",
    parameter: OrderReference,
    replies: { 200: Order },
    errors: errorsIn("CANCEL"),
    handle: ({ call, principal, parameter }) =>
      cancelOrder(context, call, principal, { reference: parameter, field: "id" }),
  });

export const cancelAllRoute = (context: Context): Route =>
  route({
    method: "DELETE",
    path: "/orders",
    access: "TRADE",
    summary: "Cancel all open orders, or those of a symbol or side",
    description:
      "Nothing can be canceled in a symbol whose trading is HALTED. A request that names such a symbol gets SYMBOL_HALTED. " +
      "A request without a symbol cancels all other orders; the answer lists only the canceled ones.",
    query: CancelAllQuery,
    replies: { 200: CanceledOrders },
    errors: errorsIn("CANCEL_ALL"),
    handle: ({ call, principal, query }) => cancelOrders(context, call, principal, query),
  });

export const cancelAfterRoute = (context: Context): Route =>
  route({
    method: "POST",
    path: "/orders/cancel-after",
    access: "TRADE",
    cost: CANCEL_COST,
    summary: "Cancel all open orders after a timeout, unless the request is repeated before (dead man's switch)",
    description:
      "Each request sets the timeout anew; 0 disarms the switch. When the timeout ends, every open order of the account " +
      "on every symbol is canceled, before any of them can trade again. This includes conditional and reduce-only " +
      "orders. The reason is CANCEL_AFTER, and the switch is disarmed. The switch survives a restart. With an API key " +
      "that is limited to some symbols it is set for these symbols only.",
    body: CancelAfterBody,
    replies: { 200: CancelSwitch },
    errors: [],
    handle: ({ call, principal, body }) => setCancelAfter(context, call, principal, body),
  });
