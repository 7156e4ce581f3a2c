import { BATCH_ITEM_ERRORS, errorsIn } from "../../../wire/error-codes.ts";
import { BatchBody, BatchResults } from "../../../wire/schema/batch.ts";
import { batchCost } from "../../auth/limits.ts";
import type { Context } from "../../routing/context.ts";
import { type Route, route } from "../../routing/route.ts";
import { runBatch } from "../../trading/batch-orders.ts";

export const batchOrdersRoute = (context: Context): Route =>
  route({
    method: "POST",
    path: "/orders/batch",
    access: "TRADE",
    costOfBody: batchCost,
    summary: "Place, amend and cancel up to 20 orders of a symbol in one transaction",
    description:
      "The items run in their order and in one transaction: no other order runs between them, and after a crash either " +
      "all of them are there or none. Each item gets the result and the codes of a single request. A refused item changes " +
      "nothing and does not stop the others. The answer is 200 in any case, so check each result. An item sees the effects " +
      "of the items before it and may use the margin that they have released: cancel an order first, then place its " +
      "replacement. Conditional orders that the batch triggers run after it.\n\n" +
      "An item that is wrong by itself (a bad field, a price off the tick, an orderId of another symbol) makes the whole " +
      "request fail with a 400 that names the item; nothing is done. After the items have met about 2500 orders, further " +
      "placements and amendments get BATCH_TOO_LONG; cancels still run.\n\n" +
      "Each item costs one token, from the ORDER budget, or from CANCEL when all items are cancels.",
    body: BatchBody,
    replies: { 200: BatchResults },
    errors: errorsIn("BATCH"),
    itemErrors: BATCH_ITEM_ERRORS,
    handle: ({ call, principal, body }) => runBatch(context, call, principal, body),
  });
