import {
  BY_MARK,
  FOK,
  GTD,
  IOC,
  LIMIT,
  ORDER_TYPES,
  TIMES_IN_FORCE,
  TRIGGER_SOURCES,
} from "../../../core/base/enums.ts";
import { PlaceExtended } from "../../../core/protocol/commands.ts";
import type { Instrument } from "../../../core/protocol/instrument.ts";
import { blank, type MessageOf } from "../../../core/protocol/message-schema.ts";
import type { AttachedLeg, AttachedLegs } from "../../../core/protocol/payloads.ts";
import type { AttachedLeg as LegBody, PlaceOrderBody } from "../../../wire/schema/orders.ts";
import { ApiError, badCombination } from "../../common/errors.ts";
import { readPrice, readQuantity } from "../../json/amounts.ts";
import { readMaxSlippage, readOrder, readPriceMatch } from "./order-fields.ts";
import { extendHash } from "./order-hash.ts";

/** Whether the order has a field that the command PlaceOrder cannot hold. */
export const isExtended = (body: PlaceOrderBody): boolean =>
  body.goodTillDate !== undefined ||
  body.takeProfit !== undefined ||
  body.stopLoss !== undefined ||
  body.priceMatch !== undefined ||
  body.displayQuantity !== undefined ||
  body.timeInForce === TIMES_IN_FORCE[GTD];

/** The command of an order with a goodTillDate, attached legs, a priceMatch or a displayQuantity. */
export function readExtendedOrder(instrument: Instrument, body: PlaceOrderBody): MessageOf<typeof PlaceExtended> {
  const order = blank(PlaceExtended);
  const { takeProfit, stopLoss } = body;
  checkGoodTillDate(body);
  if (body.reduceOnly === true && (takeProfit !== undefined || stopLoss !== undefined))
    throw badCombination(
      "reduceOnly",
      "A reduce-only order cannot have takeProfit or stopLoss: they protect a position that the order opens.",
    );
  order.priceMatch = readPriceMatch(body);
  readOrder(instrument, body, order);
  order.goodTillDate = body.goodTillDate ?? 0;
  order.legs = readLegs(instrument, takeProfit, stopLoss);
  order.displayLots = readDisplay(instrument, body);
  if (order.clientOrderId === "") return order;
  order.bodyHash = extendHash(order.bodyHash, [
    order.goodTillDate,
    ...legNumbers(order.legs?.takeProfit),
    ...legNumbers(order.legs?.stopLoss),
  ]);
  if (order.priceMatch !== 0 || order.displayLots !== 0)
    order.bodyHash = extendHash(order.bodyHash, [order.priceMatch, order.displayLots]);
  const slippages = [order.legs?.takeProfit?.maxSlippagePpm ?? 0, order.legs?.stopLoss?.maxSlippagePpm ?? 0];
  if (slippages.some((ppm) => ppm !== 0)) order.bodyHash = extendHash(order.bodyHash, slippages);
  return order;
}

/** GTD needs a goodTillDate, and a goodTillDate needs GTD. */
function checkGoodTillDate(body: PlaceOrderBody): void {
  const isGtd = body.timeInForce === TIMES_IN_FORCE[GTD];
  if (isGtd && body.type !== ORDER_TYPES[LIMIT])
    throw badCombination("timeInForce", "Only LIMIT orders can be GTD. Use another timeInForce.");
  if (isGtd && body.goodTillDate === undefined)
    throw new ApiError("MISSING_FIELD", { field: "goodTillDate", message: "A GTD order needs a goodTillDate." });
  if (!isGtd && body.goodTillDate !== undefined)
    throw badCombination("goodTillDate", "goodTillDate is only for GTD orders. Remove it, or set timeInForce to GTD.");
}

/** 0: the whole quantity is shown. */
function readDisplay(instrument: Instrument, { displayQuantity, type, timeInForce }: PlaceOrderBody): number {
  if (displayQuantity === undefined) return 0;
  const isImmediate = timeInForce === TIMES_IN_FORCE[IOC] || timeInForce === TIMES_IN_FORCE[FOK];
  if (type !== ORDER_TYPES[LIMIT] || isImmediate)
    throw badCombination(
      "displayQuantity",
      "displayQuantity is only for LIMIT orders with GTC or GTD, which can rest in the book.",
    );
  return readQuantity(instrument, displayQuantity, "displayQuantity");
}

function readLegs(
  instrument: Instrument,
  takeProfit: LegBody | undefined,
  stopLoss: LegBody | undefined,
): AttachedLegs | null {
  if (takeProfit === undefined && stopLoss === undefined) return null;
  return {
    takeProfit: readLeg(instrument, takeProfit, "takeProfit"),
    stopLoss: readLeg(instrument, stopLoss, "stopLoss"),
  };
}

export function readLeg(instrument: Instrument, leg: LegBody | undefined, field: string): AttachedLeg | null {
  if (leg === undefined) return null;
  const maxSlippagePpm = readMaxSlippage(leg, leg.price === undefined, `${field}.maxSlippage`);
  return {
    triggerTicks: readPrice(instrument, leg.triggerPrice, `${field}.triggerPrice`),
    triggerBy: leg.triggerBy === undefined ? BY_MARK : TRIGGER_SOURCES.indexOf(leg.triggerBy),
    priceTicks: leg.price === undefined ? 0 : readPrice(instrument, leg.price, `${field}.price`),
    ...(maxSlippagePpm !== 0 && { maxSlippagePpm }),
  };
}

const legNumbers = (leg: AttachedLeg | null | undefined): number[] =>
  leg == null ? [0, 0, 0] : [leg.triggerTicks, leg.triggerBy, leg.priceTicks];
