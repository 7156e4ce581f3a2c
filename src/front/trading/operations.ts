import { AmendOrder, CancelOrder, PlaceOrder } from "../../core/protocol/commands.ts";
import { TRADING_PARAMS, type TradingOp } from "../../wire/schema/trading.ts";
import { checkSymbol } from "../auth/key-limits.ts";
import { batchCost, CANCEL_COST, type Cost, ORDER_COST } from "../auth/limits.ts";
import type { Principal } from "../exchange/credentials.ts";
import type { Answer } from "../http/answer.ts";
import { Input } from "../json/input.ts";
import type { Context } from "../routing/context.ts";
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

const PLACE = new Input(TRADING_PARAMS["order.place"]);
const CANCEL = new Input(TRADING_PARAMS["order.cancel"]);
const AMEND = new Input(TRADING_PARAMS["order.amend"]);
const BATCH = new Input(TRADING_PARAMS["order.batch"]);
const CANCEL_ALL = new Input(TRADING_PARAMS["order.cancelAll"]);
const CANCEL_AFTER = new Input(TRADING_PARAMS["order.cancelAfter"]);
const CLOSE = new Input(TRADING_PARAMS["position.close"]);
const LEVERAGE = new Input(TRADING_PARAMS["position.leverage"]);
const MARGIN_MODE = new Input(TRADING_PARAMS["position.marginMode"]);
const MARGIN = new Input(TRADING_PARAMS["position.margin"]);

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

type Running = void | Promise<void>;

function run(context: Context, op: TradingOp, params: unknown, principal: Principal, answer: Answer): Running {
  if (params instanceof FastPathRequest) return sendFastPath(context, answer, principal, params);
  switch (op) {
    case "order.place":
      return placeOrder(context, answer, principal, PLACE.check(params));
    case "order.cancel":
      return cancelOrder(context, answer, principal, readReference(CANCEL.check(params)));
    case "order.amend": {
      const { orderId, clientOrderId, ...body } = AMEND.check(params);
      return amendOrder(context, answer, principal, readReference({ orderId, clientOrderId }), body);
    }
    case "order.batch":
      return runBatch(context, answer, principal, BATCH.check(params));
    case "order.cancelAll":
      return cancelOrders(context, answer, principal, CANCEL_ALL.check(params));
    case "order.cancelAfter":
      return setCancelAfter(context, answer, principal, CANCEL_AFTER.check(params));
    case "position.close": {
      const { symbol, ...body } = CLOSE.check(params);
      return closePosition(context, answer, principal, symbol, body);
    }
    case "position.leverage": {
      const { symbol, ...body } = LEVERAGE.check(params);
      return setLeverage(context, answer, principal, symbol, body);
    }
    case "position.marginMode": {
      const { symbol, ...body } = MARGIN_MODE.check(params);
      return setMarginMode(context, answer, principal, symbol, body);
    }
    case "position.margin": {
      const { symbol, ...body } = MARGIN.check(params);
      return moveMargin(context, answer, principal, symbol, body);
    }
  }
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
