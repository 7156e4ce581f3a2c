import { ORDER_TYPES, waitsForPrice } from "../../core/messages.ts";
import type { PlaceOrderBody } from "../../wire/schema/orders.ts";
import type { Answer } from "../answer.ts";
import type { Context } from "../context.ts";
import type { Principal } from "../credentials.ts";
import { isExtended, placeExtended } from "./place-extended.ts";
import { placePlainOrder } from "./place-order.ts";
import { placeTrigger } from "./place-trigger.ts";

/** Places an order of any type. */
export function placeOrder(context: Context, answer: Answer, principal: Principal, body: PlaceOrderBody): void {
  if (waitsForPrice(ORDER_TYPES.indexOf(body.type))) placeTrigger(context, answer, principal, body);
  else if (isExtended(body)) placeExtended(context, answer, principal, body);
  else placePlainOrder(context, answer, principal, body);
}
