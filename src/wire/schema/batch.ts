import Type, { type Static } from "../../packages/typebox.ts";
import { BATCH_ITEM_ERRORS } from "../error-codes.ts";
import { AmendOrderBody, PlacedOrder, PlaceOrderBody } from "./orders.ts";
import { ClientOrderId, Id, object, SymbolName } from "./scalars.ts";
import { ErrorBody } from "./system.ts";

/** The same as at Bybit and OKX. One transaction holds a whole batch. */
export const MAX_BATCH_ITEMS = 20;

const { symbol: _, dryRun: __, ...orderProperties } = PlaceOrderBody.properties;
const orderIds = {
  orderId: Type.Optional(Id("The exchange's id of the order. Send this or clientOrderId.")),
  clientOrderId: Type.Optional(ClientOrderId),
};

export const PlaceItem = object(
  { action: Type.Literal("PLACE"), ...orderProperties },
  { description: "A new order, as in `POST /orders` but without the symbol." },
);
export const AmendItem = object(
  { action: Type.Literal("AMEND"), ...orderIds, ...AmendOrderBody.properties },
  {
    description: "A change of an order, as in `PATCH /orders/:id`. The clientOrderId may name an order of this batch.",
  },
);
export const CancelItem = object(
  { action: Type.Literal("CANCEL"), ...orderIds },
  { description: "An order to cancel. The clientOrderId may name an order of this batch." },
);

export const BatchBody = object(
  {
    symbol: SymbolName,
    items: Type.Array(Type.Union([PlaceItem, AmendItem, CancelItem]), {
      minItems: 1,
      maxItems: MAX_BATCH_ITEMS,
      description: "Executed in this order.",
    }),
  },
  {
    examples: [
      {
        symbol: "BTC-PERP",
        items: [
          { action: "CANCEL", clientOrderId: "bid-1" },
          { action: "PLACE", side: "BUY", type: "LIMIT", price: "64990", quantity: "0.01", clientOrderId: "bid-2" },
          { action: "AMEND", orderId: "1234567", price: "65010.5" },
        ],
      },
    ],
  },
);
export type BatchBody = Static<typeof BatchBody>;

const { message, field, details, retryable } = ErrorBody.properties;
export const BatchItemError = object(
  { code: Type.Enum(BATCH_ITEM_ERRORS, { examples: ["INSUFFICIENT_MARGIN"] }), message, field, details, retryable },
  { description: "Why an item was refused. `field` is a field of the item." },
);

export const BatchItemResult = object(
  {
    status: Type.Integer({
      description:
        "The HTTP status that the item would get as a single request. Below 300 there is an order, otherwise an error.",
      examples: [201],
    }),
    order: Type.Optional(PlacedOrder),
    error: Type.Optional(BatchItemError),
  },
  { description: "The result of an item when it was executed. Later items may have changed the order again." },
);

export const BatchResults = object(
  {
    failed: Type.Integer({ minimum: 0, description: "Number of refused items.", examples: [0] }),
    data: Type.Array(BatchItemResult, { description: "One result for each item, in the same order." }),
  },
  { description: "The results of a batch." },
);
