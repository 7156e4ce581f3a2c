import Type, { type Static } from "typebox";
import { BATCH_ITEM_ERRORS } from "../error-codes.ts";
import { AmendOrderBody, PlacedOrder, PlaceOrderBody } from "./orders.ts";
import { ClientOrderId, Id, object, SymbolName } from "./scalars.ts";
import { ErrorBody } from "./system.ts";

/** As many as Bybit and OKX take; a turn of the exchange holds all of them. */
export const MAX_BATCH_ITEMS = 20;

const { symbol: _, dryRun: __, ...orderProperties } = PlaceOrderBody.properties;
const orderIds = {
  orderId: Type.Optional(Id("The exchange's id. This or clientOrderId.")),
  clientOrderId: Type.Optional(ClientOrderId),
};

export const PlaceItem = object(
  { action: Type.Literal("PLACE"), ...orderProperties },
  { description: "An order, as `POST /orders` takes it without the symbol." },
);
export const AmendItem = object(
  { action: Type.Literal("AMEND"), ...orderIds, ...AmendOrderBody.properties },
  {
    description:
      "Changes to an order, as `PATCH /orders/:id` takes them, also to one of this batch, by its clientOrderId.",
  },
);
export const CancelItem = object(
  { action: Type.Literal("CANCEL"), ...orderIds },
  { description: "An order to cancel, also one of this batch, by its clientOrderId." },
);

export const BatchBody = object(
  {
    symbol: SymbolName,
    items: Type.Array(Type.Union([PlaceItem, AmendItem, CancelItem]), {
      minItems: 1,
      maxItems: MAX_BATCH_ITEMS,
      description: "Done in this order.",
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
  { description: "Why nothing was done for an item. `field` is one of the item's." },
);

export const BatchItemResult = object(
  {
    status: Type.Integer({
      description:
        "What it would be over HTTP if the item came by itself: below 300 with an order, else with an error.",
      examples: [201],
    }),
    order: Type.Optional(PlacedOrder),
    error: Type.Optional(BatchItemError),
  },
  { description: "What came of an item, as of then: items behind it may have changed the order again." },
);

export const BatchResults = object(
  {
    failed: Type.Integer({ minimum: 0, description: "How many items were refused.", examples: [0] }),
    data: Type.Array(BatchItemResult, { description: "A result for each item, in their order." }),
  },
  { description: "What came of a batch." },
);
