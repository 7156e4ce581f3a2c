import {
  EXPIRE_TAKER,
  GTC,
  GTD,
  IOC,
  LIMIT,
  MARKET,
  ORDER_TYPES,
  POST_ONLY,
  PRICE_MATCHES,
  REDUCE_ONLY,
  SELF_TRADE_PREVENTIONS,
  SIDES,
  TIMES_IN_FORCE,
} from "../../../core/base/enums.ts";
import type { RatePpm } from "../../../core/base/units.ts";
import type { PlaceOrder } from "../../../core/protocol/commands.ts";
import type { Instrument } from "../../../core/protocol/instrument.ts";
import type { MessageOf } from "../../../core/protocol/message-schema.ts";
import type { PlaceOrderBody } from "../../../wire/schema/orders.ts";
import { ApiError, badCombination } from "../../common/errors.ts";
import type { Principal } from "../../exchange/credentials.ts";
import { readPrice, readQuantity, readShare } from "../../json/amounts.ts";
import { extendHash, hashOrder } from "./order-hash.ts";

type Command = MessageOf<typeof PlaceOrder>;
/** Fields that orders of all types have. */
type CommonFields = Omit<Command, "type" | "maxSlippagePpm">;

/** Copies the limits of the principal's API key into the command. 0: no limit. */
export function setKeyLimits(
  command: Pick<Command, "keyOrderQuanta" | "keyPositionQuanta" | "keyLeverage">,
  { record }: Principal,
): void {
  command.keyOrderQuanta = record?.maxOrderQuanta ?? 0;
  command.keyPositionQuanta = record?.maxPositionQuanta ?? 0;
  command.keyLeverage = record?.maxLeverage ?? 0;
}

/**
 * Fills in the fields of an order without a trigger. Throws an ApiError when fields contradict each other or are not a
 * whole number of ticks or lots.
 */
export function readOrder(instrument: Instrument, body: PlaceOrderBody, order: Omit<Command, "type">): void {
  if (
    body.triggerPrice !== undefined ||
    body.triggerBy !== undefined ||
    body.callbackRate !== undefined ||
    body.activationPrice !== undefined ||
    body.closePosition === true
  )
    throw badCombination(
      "type",
      "triggerPrice, triggerBy, callbackRate, activationPrice and closePosition are only for conditional orders.",
    );
  const isMarket = body.type === ORDER_TYPES[MARKET];
  if (isMarket) checkMarket(body);
  else if (body.price === undefined && body.priceMatch === undefined)
    throw new ApiError("MISSING_FIELD", { field: "price", message: "A LIMIT order needs a price or a priceMatch." });
  checkPostOnly(body);
  order.orderType = isMarket ? MARKET : LIMIT;
  order.maxSlippagePpm = readMaxSlippage(body, isMarket);
  order.flags = 0;
  readCommonFields(instrument, body, order, isMarket);
  order.bodyHash = 0;
  if (order.clientOrderId === "") return;
  order.bodyHash = hashOrder(order);
  if (order.maxSlippagePpm !== 0) order.bodyHash = extendHash(order.bodyHash, [order.maxSlippagePpm]);
}

/** An index into PRICE_MATCHES; 0 without a priceMatch. */
export function readPriceMatch({ price, priceMatch }: Pick<PlaceOrderBody, "price" | "priceMatch">): number {
  if (priceMatch === undefined) return 0;
  if (price !== undefined)
    throw badCombination("priceMatch", "price and priceMatch are both set. Send one of the two.");
  return PRICE_MATCHES.indexOf(priceMatch);
}

/** Fills in the fields that all order types have in common. */
export function readCommonFields(
  instrument: Instrument,
  body: PlaceOrderBody,
  order: CommonFields,
  isMarket: boolean,
): void {
  order.side = SIDES.indexOf(body.side);
  order.timeInForce =
    body.timeInForce === undefined ? (isMarket ? IOC : GTC) : TIMES_IN_FORCE.indexOf(body.timeInForce);
  order.flags |= (body.postOnly === true ? POST_ONLY : 0) | (body.reduceOnly === true ? REDUCE_ONLY : 0);
  order.selfTradePrevention =
    body.selfTradePreventionMode === undefined
      ? EXPIRE_TAKER
      : SELF_TRADE_PREVENTIONS.indexOf(body.selfTradePreventionMode);
  order.priceTicks = body.price === undefined ? 0 : readPrice(instrument, body.price);
  order.quantityLots = readOrderQuantity(instrument, body);
  order.expiresAt = body.expiresAt ?? 0;
  order.clientOrderId = body.clientOrderId ?? "";
}

/** 0: limited by the price band only. `field`: its name in errors. */
export function readMaxSlippage(
  { maxSlippage }: { readonly maxSlippage?: string },
  isMarket: boolean,
  field = "maxSlippage",
): RatePpm {
  if (maxSlippage === undefined) return 0;
  if (!isMarket) throw badCombination(field, "maxSlippage is only for orders that trade at market. Remove it.");
  return readShare(maxSlippage, field);
}

/** 0: the order closes the whole position. */
function readOrderQuantity(instrument: Instrument, body: PlaceOrderBody): number {
  if (body.quantity !== undefined) return readQuantity(instrument, body.quantity);
  if (body.closePosition === true) return 0;
  throw new ApiError("MISSING_FIELD", { field: "quantity" });
}

export function checkPostOnly({ postOnly, timeInForce = TIMES_IN_FORCE[GTC] }: PlaceOrderBody): void {
  if (postOnly === true && timeInForce !== TIMES_IN_FORCE[GTC] && timeInForce !== TIMES_IN_FORCE[GTD])
    throw badCombination("postOnly", "A post-only order rests in the book, so timeInForce must be GTC or GTD.");
}

export function checkMarket(body: PlaceOrderBody): void {
  if (body.price !== undefined)
    throw badCombination("price", "A MARKET order has no price. Remove it, or send a LIMIT order with IOC.");
  if (body.priceMatch !== undefined) throw badCombination("priceMatch", "A MARKET order has no priceMatch. Remove it.");
  if (body.postOnly === true) throw badCombination("postOnly", "A MARKET order cannot be post-only. Remove postOnly.");
  if (body.timeInForce === TIMES_IN_FORCE[GTC])
    throw badCombination("timeInForce", "A MARKET order does not rest in the book, so timeInForce must be IOC or FOK.");
}
