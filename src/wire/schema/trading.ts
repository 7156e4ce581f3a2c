import Type from "../../packages/typebox.ts";
import { BatchBody } from "./batch.ts";
import {
  AmendOrderBody,
  CancelAfterBody,
  CancelAllQuery,
  ClosePositionBody,
  LeverageBody,
  MarginBody,
  MarginModeBody,
  PlaceOrderBody,
} from "./orders.ts";
import { ClientOrderId, Id, object, SymbolName } from "./scalars.ts";

/** Trading on a WebSocket. The `params` of an op hold the fields of path, query and body of its REST request. */
export const TRADING_PARAMS = {
  "order.place": PlaceOrderBody,
  /** Exactly one of the two ids. */
  "order.cancel": object(
    {
      orderId: Type.Optional(Id("The exchange's id of the order.")),
      clientOrderId: Type.Optional(ClientOrderId),
    },
    { examples: [{ orderId: "1234567" }] },
  ),
  /** Exactly one of the two ids names the order. */
  "order.amend": object(
    {
      orderId: Type.Optional(Id("The exchange's id of the order.")),
      clientOrderId: Type.Optional(ClientOrderId),
      ...AmendOrderBody.properties,
    },
    { examples: [{ orderId: "1234567", price: "64999.5" }] },
  ),
  "order.batch": BatchBody,
  "order.cancelAll": CancelAllQuery,
  "order.cancelAfter": CancelAfterBody,
  "position.close": object(
    { symbol: SymbolName, ...ClosePositionBody.properties },
    { examples: [{ symbol: "BTC-PERP" }] },
  ),
  "position.leverage": object({ symbol: SymbolName, ...LeverageBody.properties }),
  "position.marginMode": object({ symbol: SymbolName, ...MarginModeBody.properties }),
  "position.margin": object({ symbol: SymbolName, ...MarginBody.properties }),
};
export type TradingOp = keyof typeof TRADING_PARAMS;

/** The REST route of each op, which has the same results and error codes. */
export const TRADING_ROUTES: Readonly<Record<TradingOp, string>> = {
  "order.place": "POST /orders",
  "order.cancel": "DELETE /orders/:id",
  "order.amend": "PATCH /orders/:id",
  "order.batch": "POST /orders/batch",
  "order.cancelAll": "DELETE /orders",
  "order.cancelAfter": "POST /orders/cancel-after",
  "position.close": "POST /positions/:symbol/close",
  "position.leverage": "POST /positions/:symbol/leverage",
  "position.marginMode": "POST /positions/:symbol/margin-mode",
  "position.margin": "POST /positions/:symbol/margin",
};

export const isTradingOp = (op: unknown): op is TradingOp =>
  typeof op === "string" && Object.hasOwn(TRADING_PARAMS, op);
