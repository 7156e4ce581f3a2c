import { errorsIn } from "../../../wire/error-codes.ts";
import { AmendOrderBody, PlacedOrder } from "../../../wire/schema/orders.ts";
import { OrderReference } from "../../../wire/schema/scalars.ts";
import type { Context } from "../../routing/context.ts";
import { type Route, route } from "../../routing/route.ts";
import { amendOrder } from "../../trading/amend-order.ts";

export const amendOrderRoute = (context: Context): Route =>
  route({
    method: "PATCH",
    path: "/orders/:id",
    access: "TRADE",
    summary: "Amend an order. Its id stays; a smaller quantity at the same price keeps the place in the queue",
    parameter: OrderReference,
    body: AmendOrderBody,
    examples: {
      price: { price: "64999.5" },
      "best price of its side": { priceMatch: "QUEUE" },
      quantity: { quantity: "0.008" },
      "trigger price of a stop": { triggerPrice: "64100" },
      "callback rate of a trailing stop": { callbackRate: "0.02" },
      "later expiry, same place in the queue": { goodTillDate: 1790000000000 },
    },
    replies: { 200: PlacedOrder },
    errors: errorsIn("AMEND"),
    handle: ({ call, principal, parameter, body }) =>
      amendOrder(context, call, principal, { reference: parameter, field: "id" }, body),
  });
