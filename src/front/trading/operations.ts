import { AmendOrder, CancelOrder, PlaceOrder } from "../../core/protocol/commands.ts";
import type { Static } from "../../packages/typebox.ts";
import { TRADING_PARAMS, type TradingOp } from "../../wire/schema/trading.ts";
import { checkSymbol } from "../auth/key-limits.ts";
import { batchCost, CANCEL_COST, type Cost, ORDER_COST } from "../auth/limits.ts";
import type { Principal } from "../exchange/credentials.ts";
import type { Answer } from "../http/answer.ts";
import { Input } from "../json/input.ts";
import type { Context, Operation } from "../routing/context.ts";
import { runBatch } from "./batch-orders.ts";
import {
  amendOrder,
  cancelOrder,
  cancelOrders,
  sendAmendment,
  sendCancellation,
  setCancelAfter,
} from "./change-orders.ts";
import { closePosition, moveMargin, setLeverage, setMarginMode } from "./change-position.ts";
import { FastPathRequest } from "./fast-path/fast-path-reader.ts";
import { readReference } from "./find-orders.ts";
import { setKeyLimits } from "./parsing/order-fields.ts";
import { placeOrder, sendOrder } from "./place-order.ts";

/**
 * Executes a trading operation of a principal, and answers now or later. Never throws. `params`: as the client has sent
 * them, or a FastPathRequest.
 */
export type TradingHandler = (op: TradingOp, params: unknown, principal: Principal, answer: Answer) => void;

/** The cost of a request. `params`: not checked yet. */
export const costOfOp = (op: TradingOp, params: unknown): Cost =>
  op === "order.batch" ? batchCost(params) : OP_COSTS[op];

/** The same costs as those of the equivalent REST routes. */
export const OP_COSTS: Readonly<Record<TradingOp, Cost>> = {
  "order.place": ORDER_COST,
  "order.cancel": CANCEL_COST,
  "order.amend": ORDER_COST,
  "order.batch": ORDER_COST,
  "order.cancelAll": CANCEL_COST,
  "order.cancelAfter": CANCEL_COST,
  "position.close": CANCEL_COST,
  "position.leverage": ORDER_COST,
  "position.marginMode": ORDER_COST,
  "position.margin": ORDER_COST,
};

/** Checks the params by the schema of the operation before it runs. */
function checked<Op extends TradingOp>(
  op: Op,
  run: Operation<[params: Static<(typeof TRADING_PARAMS)[Op]>]>,
): Operation<[params: unknown]> {
  const input = new Input(TRADING_PARAMS[op]);
  return (context, answer, principal, params) =>
    run(context, answer, principal, input.check(params) as Static<(typeof TRADING_PARAMS)[Op]>);
}

/** Takes the symbol, which REST has in the path, out of the params. */
const ofSymbol =
  <Body>(change: Operation<[symbol: string, body: Body]>): Operation<[params: Body & { symbol: string }]> =>
  (context, answer, principal, { symbol, ...body }) =>
    change(context, answer, principal, symbol, body as Body);

const OPERATIONS: Readonly<Record<TradingOp, Operation<[params: unknown]>>> = {
  "order.place": checked("order.place", placeOrder),
  "order.cancel": checked("order.cancel", (context, answer, principal, params) =>
    cancelOrder(context, answer, principal, readReference(params)),
  ),
  "order.amend": checked("order.amend", (context, answer, principal, { orderId, clientOrderId, ...body }) =>
    amendOrder(context, answer, principal, readReference({ orderId, clientOrderId }), body),
  ),
  "order.batch": checked("order.batch", runBatch),
  "order.cancelAll": checked("order.cancelAll", cancelOrders),
  "order.cancelAfter": checked("order.cancelAfter", setCancelAfter),
  "position.close": checked("position.close", ofSymbol(closePosition)),
  "position.leverage": checked("position.leverage", ofSymbol(setLeverage)),
  "position.marginMode": checked("position.marginMode", ofSymbol(setMarginMode)),
  "position.margin": checked("position.margin", ofSymbol(moveMargin)),
};

/** Trading without HTTP: calls the functions behind the REST routes, after a check of `params` by the same schemas. */
export const createTradingHandler =
  (context: Context): TradingHandler =>
  (op, params, principal, answer) => {
    try {
      run(context, op, params, principal, answer)?.catch((thrown: unknown) => answer.fail(thrown, context.log));
    } catch (thrown) {
      answer.fail(thrown, context.log);
    }
  };

function run(context: Context, op: TradingOp, params: unknown, principal: Principal, answer: Answer) {
  if (params instanceof FastPathRequest) return sendFastPath(context, answer, principal, params);
  return OPERATIONS[op](context, answer, principal, params);
}

/** Executes a request of the fast path for the principal. */
export function sendFastPath(
  context: Context,
  answer: Answer,
  principal: Principal,
  { instrument, command }: FastPathRequest,
): void {
  checkSymbol(principal, instrument);
  command.accountId = principal.accountId;
  switch (command.type) {
    case PlaceOrder.code:
      setKeyLimits(command, principal);
      return sendOrder(context, answer, instrument, command);
    case CancelOrder.code:
      return sendCancellation(context, answer, instrument, command, byId(command.orderId));
    case AmendOrder.code:
      setKeyLimits(command, principal);
      return sendAmendment(context, answer, instrument, command, byId(command.orderId));
  }
}

const byId = (orderId: number) => ({ reference: String(orderId), field: "orderId" });
