import {
  BY_MARK,
  CLOSE_POSITION,
  GTD,
  isAtMarket,
  ORDER_TYPES,
  REDUCE_ONLY,
  TIMES_IN_FORCE,
  TRAILING_STOP_MARKET,
  TRIGGER_SOURCES,
} from "../../../core/base/enums.ts";
import type { RatePpm } from "../../../core/base/units.ts";
import { PlaceTrigger } from "../../../core/protocol/commands.ts";
import type { Instrument } from "../../../core/protocol/instrument.ts";
import { blank, type MessageOf } from "../../../core/protocol/message-schema.ts";
import { MAX_CALLBACK_PPM, MIN_CALLBACK_PPM } from "../../../core/state/trailing.ts";
import type { PlaceOrderBody } from "../../../wire/schema/orders.ts";
import { ApiError, badCombination } from "../../common/errors.ts";
import { readPrice, readShare } from "../../json/amounts.ts";
import { checkMarket, checkPostOnly, readCommonFields, readMaxSlippage } from "./order-fields.ts";
import { extendHash, hashOrder } from "./order-hash.ts";

/** The command of a conditional order: it waits in the engine for its trigger price. */
export function readConditionalOrder(instrument: Instrument, body: PlaceOrderBody): MessageOf<typeof PlaceTrigger> {
  const order = blank(PlaceTrigger);
  order.orderType = ORDER_TYPES.indexOf(body.type);
  if (order.orderType === TRAILING_STOP_MARKET) readTrailing(instrument, body, order);
  else readTriggerPrice(instrument, body, order);
  const atMarket = isAtMarket(order.orderType);
  if (atMarket) checkMarket(body);
  else if (body.price === undefined)
    throw new ApiError("MISSING_FIELD", { field: "price", message: `A ${body.type} order needs a price.` });
  checkPostOnly(body);
  refuseOtherFields(body);
  order.flags = 0;
  if (body.closePosition === true) {
    checkClosePosition(body, atMarket);
    order.flags = CLOSE_POSITION | REDUCE_ONLY;
  }
  readCommonFields(instrument, body, order, atMarket);
  order.maxSlippagePpm = readMaxSlippage(body, atMarket);
  order.triggerBy = body.triggerBy === undefined ? BY_MARK : TRIGGER_SOURCES.indexOf(body.triggerBy);
  if (order.clientOrderId !== "")
    order.bodyHash = extendHash(hashOrder(order), [
      // hashOrder() has one bit for the order type: larger values overlap the time in force.
      order.orderType,
      order.timeInForce,
      order.triggerTicks,
      order.triggerBy,
      ...(order.orderType === TRAILING_STOP_MARKET ? [order.callbackPpm, order.activationTicks] : []),
    ]);
  if (order.clientOrderId !== "" && order.maxSlippagePpm !== 0)
    order.bodyHash = extendHash(order.bodyHash, [order.maxSlippagePpm]);
  return order;
}

function readTriggerPrice(instrument: Instrument, body: PlaceOrderBody, order: MessageOf<typeof PlaceTrigger>): void {
  const field = (["callbackRate", "activationPrice"] as const).find((name) => body[name] !== undefined);
  if (field !== undefined) throw badCombination(field, `${field} is only for TRAILING_STOP_MARKET orders. Remove it.`);
  if (body.triggerPrice === undefined)
    throw new ApiError("MISSING_FIELD", {
      field: "triggerPrice",
      message: `A ${body.type} order needs a triggerPrice.`,
    });
  order.triggerTicks = readPrice(instrument, body.triggerPrice, "triggerPrice");
}

function readTrailing(instrument: Instrument, body: PlaceOrderBody, order: MessageOf<typeof PlaceTrigger>): void {
  if (body.triggerPrice !== undefined)
    throw badCombination(
      "triggerPrice",
      "The triggerPrice of a TRAILING_STOP_MARKET order follows the market. Send a callbackRate instead.",
    );
  if (body.callbackRate === undefined)
    throw new ApiError("MISSING_FIELD", {
      field: "callbackRate",
      message: "A TRAILING_STOP_MARKET order needs a callbackRate.",
    });
  order.callbackPpm = readCallbackRate(body.callbackRate);
  if (body.activationPrice !== undefined)
    order.activationTicks = readPrice(instrument, body.activationPrice, "activationPrice");
}

export const readCallbackRate = (text: string): RatePpm =>
  readShare(text, "callbackRate", MIN_CALLBACK_PPM, MAX_CALLBACK_PPM);

/** Refuses fields that only orders without a trigger may have. */
function refuseOtherFields(body: PlaceOrderBody): void {
  const field = (["priceMatch", "displayQuantity", "goodTillDate", "takeProfit", "stopLoss"] as const).find(
    (name) => body[name] !== undefined,
  );
  if (field !== undefined) throw badCombination(field, `${field} is only for LIMIT and MARKET orders. Remove it.`);
  if (body.timeInForce === TIMES_IN_FORCE[GTD])
    throw badCombination("timeInForce", "Only LIMIT orders can be GTD. Use another timeInForce.");
}

function checkClosePosition(body: PlaceOrderBody, atMarket: boolean): void {
  if (!atMarket)
    throw badCombination(
      "closePosition",
      "Only an order that trades at market can have closePosition. Use a _MARKET type.",
    );
  if (body.quantity !== undefined)
    throw badCombination("quantity", "With closePosition the quantity is that of the position. Remove quantity.");
  if (body.reduceOnly === false)
    throw badCombination("reduceOnly", "An order with closePosition is always reduce-only. Remove reduceOnly.");
}
