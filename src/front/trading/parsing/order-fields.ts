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
import type { PlaceOrder } from "../../../core/protocol/commands.ts";
import type { Instrument } from "../../../core/protocol/instrument.ts";
import type { MessageOf } from "../../../core/protocol/message-schema.ts";
import type { PlaceOrderBody } from "../../../wire/schema/orders.ts";
import { ApiError, badCombination } from "../../common/errors.ts";
import type { Principal } from "../../exchange/credentials.ts";
import { readPrice, readQuantity, readShare } from "../../json/amounts.ts";
import { extendHash, hashOrder } from "./order-hash.ts";

type Command = MessageOf<typeof PlaceOrder>;
/** What orders of all types have. */
type CommonFields = Omit<Command, "type" | "maxSlippagePpm">;

/** The limits of the API key that the order came with. */
export function setKeyLimits(
  command: Pick<Command, "keyOrderQuanta" | "keyPositionQuanta" | "keyLeverage">,
  { record }: Principal,
): void {
  command.keyOrderQuanta = record?.maxOrderQuanta ?? 0;
  command.keyPositionQuanta = record?.maxPositionQuanta ?? 0;
  command.keyLeverage = record?.maxLeverage ?? 0;
}

/** Fills in everything but the account and its key's limits. Throws an ApiError when fields do not go together or lie between two units. */
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
      "triggerPrice, triggerBy, callbackRate, activationPrice and closePosition belong to orders that wait for a price.",
    );
  const isMarket = body.type === ORDER_TYPES[MARKET];
  if (isMarket) checkMarket(body);
  else if (body.price === undefined && body.priceMatch === undefined)
    throw new ApiError("MISSING_FIELD", { field: "price", message: "A limit order has a price, or a priceMatch." });
  checkPostOnly(body);
  order.orderType = isMarket ? MARKET : LIMIT;
  order.maxSlippagePpm = readMaxSlippage(body);
  order.flags = 0;
  readCommonFields(instrument, body, order, isMarket);
  order.bodyHash = 0;
  if (order.clientOrderId === "") return;
  order.bodyHash = hashOrder(order);
  if (order.maxSlippagePpm !== 0) order.bodyHash = extendHash(order.bodyHash, [order.maxSlippagePpm]);
}

/** One of PRICE_MATCHES; 0 when a price is said, or nothing of it. */
export function readPriceMatch({ price, priceMatch }: Pick<PlaceOrderBody, "price" | "priceMatch">): number {
  if (priceMatch === undefined) return 0;
  if (price !== undefined)
    throw badCombination("priceMatch", "priceMatch takes the place of a price: send one of the two.");
  return PRICE_MATCHES.indexOf(priceMatch);
}

/** What orders of all types say in the same way. */
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

/** 0 = as far as the price band. */
function readMaxSlippage({ type, maxSlippage }: PlaceOrderBody): number {
  if (maxSlippage === undefined) return 0;
  if (type !== ORDER_TYPES[MARKET]) throw badCombination("maxSlippage", "maxSlippage belongs to MARKET orders.");
  return readShare(maxSlippage, "maxSlippage");
}

/** 0 for an order that closes the whole position. */
function readOrderQuantity(instrument: Instrument, body: PlaceOrderBody): number {
  if (body.quantity !== undefined) return readQuantity(instrument, body.quantity);
  if (body.closePosition === true) return 0;
  throw new ApiError("MISSING_FIELD", { field: "quantity" });
}

export function checkPostOnly({ postOnly, timeInForce = TIMES_IN_FORCE[GTC] }: PlaceOrderBody): void {
  if (postOnly === true && timeInForce !== TIMES_IN_FORCE[GTC] && timeInForce !== TIMES_IN_FORCE[GTD])
    throw badCombination("postOnly", "A post-only order rests: GTC or GTD.");
}

export function checkMarket(body: PlaceOrderBody): void {
  if (body.price !== undefined)
    throw badCombination("price", "A market order has no price; an IOC limit order has one.");
  if (body.priceMatch !== undefined) throw badCombination("priceMatch", "A market order has no price to match.");
  if (body.postOnly === true) throw badCombination("postOnly", "A market order cannot be post-only.");
  if (body.timeInForce === TIMES_IN_FORCE[GTC])
    throw badCombination("timeInForce", "A market order does not rest: IOC or FOK.");
}
