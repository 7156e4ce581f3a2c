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
import type { Principal } from "../../exchange/credentials.ts";
import { readPrice, readQuantity } from "../../json/amounts.ts";
import { readOrder, readPriceMatch, setKeyLimits } from "./order-fields.ts";
import { extendHash } from "./order-hash.ts";

/** Whether the order has what a PlaceOrder cannot say. */
export const isExtended = (body: PlaceOrderBody): boolean =>
  body.goodTillDate !== undefined ||
  body.takeProfit !== undefined ||
  body.stopLoss !== undefined ||
  body.priceMatch !== undefined ||
  body.displayQuantity !== undefined ||
  body.timeInForce === TIMES_IN_FORCE[GTD];

/** An order that ends at a time, that a take-profit or a stop comes with, that names a level of the book, or hides a part. */
export function readExtendedOrder(
  principal: Principal,
  instrument: Instrument,
  body: PlaceOrderBody,
): MessageOf<typeof PlaceExtended> {
  const command = { ...blank(PlaceExtended), accountId: principal.accountId };
  fillExtendedOrder(instrument, body, command);
  setKeyLimits(command, principal);
  return command;
}

function fillExtendedOrder(instrument: Instrument, body: PlaceOrderBody, order: MessageOf<typeof PlaceExtended>): void {
  const { takeProfit, stopLoss } = body;
  checkGoodTillDate(body);
  if (body.reduceOnly === true && (takeProfit !== undefined || stopLoss !== undefined))
    throw badCombination("reduceOnly", "A take-profit or stop comes with an order that opens a position.");
  order.priceMatch = readPriceMatch(body);
  readOrder(instrument, body, order);
  order.goodTillDate = body.goodTillDate ?? 0;
  order.legs = readLegs(instrument, takeProfit, stopLoss);
  order.displayLots = readDisplay(instrument, body);
  if (order.clientOrderId === "") return;
  order.bodyHash = extendHash(order.bodyHash, [
    order.goodTillDate,
    ...legNumbers(order.legs?.takeProfit),
    ...legNumbers(order.legs?.stopLoss),
  ]);
  if (order.priceMatch !== 0 || order.displayLots !== 0)
    order.bodyHash = extendHash(order.bodyHash, [order.priceMatch, order.displayLots]);
}

/** Refuses a goodTillDate without GTD, and the other way round. */
function checkGoodTillDate(body: PlaceOrderBody): void {
  const isGtd = body.timeInForce === TIMES_IN_FORCE[GTD];
  if (isGtd && body.type !== ORDER_TYPES[LIMIT]) throw badCombination("timeInForce", "Only LIMIT orders are GTD.");
  if (isGtd && body.goodTillDate === undefined)
    throw new ApiError("MISSING_FIELD", { field: "goodTillDate", message: "A GTD order has a goodTillDate." });
  if (!isGtd && body.goodTillDate !== undefined) throw badCombination("goodTillDate", "A goodTillDate belongs to GTD.");
}

/** 0 = it shows all of it. */
function readDisplay(instrument: Instrument, { displayQuantity, type, timeInForce }: PlaceOrderBody): number {
  if (displayQuantity === undefined) return 0;
  const isImmediate = timeInForce === TIMES_IN_FORCE[IOC] || timeInForce === TIMES_IN_FORCE[FOK];
  if (type !== ORDER_TYPES[LIMIT] || isImmediate)
    throw badCombination("displayQuantity", "Only orders that rest can hide a part: LIMIT, GTC or GTD.");
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

function readLeg(instrument: Instrument, leg: LegBody | undefined, field: string): AttachedLeg | null {
  if (leg === undefined) return null;
  return {
    triggerTicks: readPrice(instrument, leg.triggerPrice, `${field}.triggerPrice`),
    triggerBy: leg.triggerBy === undefined ? BY_MARK : TRIGGER_SOURCES.indexOf(leg.triggerBy),
    priceTicks: leg.price === undefined ? 0 : readPrice(instrument, leg.price, `${field}.price`),
  };
}

const legNumbers = (leg: AttachedLeg | null | undefined): number[] =>
  leg == null ? [0, 0, 0] : [leg.triggerTicks, leg.triggerBy, leg.priceTicks];
