import { errorsIn } from "../../wire/error-codes.ts";
import { MovedMargin } from "../../wire/schema/account.ts";
import { MarginBody, MarginMode, MarginModeBody } from "../../wire/schema/orders.ts";
import { SymbolName } from "../../wire/schema/scalars.ts";
import { ORDER_COST } from "../auth/limits.ts";
import type { Context } from "../routing/context.ts";
import { type Route, route } from "../routing/router.ts";
import { moveMargin, setMarginMode } from "../trading/change-position.ts";

/** Margin mode of a symbol, and what is set aside for an isolated position. */
export function marginRoutes(context: Context): Route[] {
  return [
    route({
      method: "POST",
      path: "/positions/:symbol/margin-mode",
      access: "TRADE",
      summary: "Set the margin mode of a symbol: cross or isolated",
      cost: ORDER_COST,
      parameter: SymbolName,
      body: MarginModeBody,
      replies: { 200: MarginMode },
      errors: errorsIn("SET_MARGIN_MODE"),
      handle: ({ call, principal, parameter, body }) => setMarginMode(context, call, principal, parameter, body),
    }),
    route({
      method: "POST",
      path: "/positions/:symbol/margin",
      access: "TRADE",
      summary: "Add margin to an isolated position, or take some out",
      cost: ORDER_COST,
      parameter: SymbolName,
      body: MarginBody,
      replies: { 200: MovedMargin },
      errors: errorsIn("MOVE_MARGIN"),
      handle: ({ call, principal, parameter, body }) => moveMargin(context, call, principal, parameter, body),
    }),
  ];
}
