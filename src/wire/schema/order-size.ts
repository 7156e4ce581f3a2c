import { ORDER_TYPES, SIDES } from "../../core/base/enums.ts";
import Type, { type Static } from "../../packages/typebox.ts";
import { errorsIn } from "../error-codes.ts";
import { ENGINE_ERRORS } from "../errors/engine-errors.ts";
import { Side } from "./orders.ts";
import { Decimal, DecimalOut, nullable, object, Sequence, SymbolName } from "./scalars.ts";
import { ErrorBody } from "./system.ts";

export const SizedOrderType = Type.Enum([ORDER_TYPES[0], ORDER_TYPES[1]], {
  description: "A LIMIT order counts as GTC, a MARKET order as IOC.",
  examples: ["MARKET"],
});

export const MaxOrderSizeQuery = object({
  symbol: SymbolName,
  type: SizedOrderType,
  side: Type.Optional(Type.Enum(SIDES, { description: "Only this side. Both sides when left out." })),
  price: Type.Optional(Decimal("LIMIT: the limit price, a multiple of tickSize.", "65000.5")),
  reduceOnly: Type.Optional(Type.Boolean({ description: "The order only reduces the position.", examples: [true] })),
  maxSlippage: Type.Optional(Decimal("MARKET: as in `POST /orders`.", "0.005")),
});
export type MaxOrderSizeQuery = Static<typeof MaxOrderSizeQuery>;

const PLACE_REFUSALS = errorsIn("PLACE").filter((code) => code in ENGINE_ERRORS);
const { message, field, details, retryable } = ErrorBody.properties;

export const OrderRefusal = object(
  { code: Type.Enum(PLACE_REFUSALS, { examples: ["INSUFFICIENT_MARGIN"] }), message, field, details, retryable },
  { description: "The error that an order would get." },
);

export const MaxSideSize = object(
  {
    side: Side,
    maxQuantity: DecimalOut("The largest quantity that would be accepted now. 0: no order would be.", "0.742"),
    limitedBy: nullable(OrderRefusal, {
      description:
        "The error of an order that is one stepSize larger, or of the smallest order when maxQuantity is 0. Null: larger " +
        "reduce-only orders are accepted, but close no more.",
    }),
  },
  { description: "The largest order of a side." },
);

export const MaxOrderSize = object(
  {
    symbol: SymbolName,
    data: Type.Array(MaxSideSize, { description: "BUY and SELL, or the side that was asked for." }),
    sequence: Sequence,
  },
  { description: "The largest orders that the account may place. `sequence` names the state for which this holds." },
);
