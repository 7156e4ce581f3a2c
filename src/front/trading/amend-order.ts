import type { Static } from "typebox";
import { AmendOrder } from "../../core/protocol/commands.ts";
import type { Instrument } from "../../core/protocol/instrument.ts";
import { blank, type MessageOf } from "../../core/protocol/message-schema.ts";
import type { AmendOrderBody } from "../../wire/schema/orders.ts";
import { ApiError } from "../common/errors.ts";
import type { Principal } from "../exchange/credentials.ts";
import type { Answer } from "../http/answer.ts";
import { readPrice, readQuantity } from "../json/amounts.ts";
import type { Context } from "../routing/context.ts";
import { type NotFound, type OrderName, requestOrderChange, resolveOrder } from "./open-order.ts";
import { readCallbackRate } from "./parsing/conditional-order.ts";
import { readPriceMatch, setKeyLimits } from "./parsing/order-fields.ts";
import { replyPlaced } from "./placed-reply.ts";

/** Amends an open order. */
export function amendOrder(
  context: Context,
  answer: Answer,
  principal: Principal,
  name: OrderName,
  body: Static<typeof AmendOrderBody>,
): void | Promise<void> {
  checkAmendment(body);
  return resolveOrder(context, answer, principal, name, (instrument, ids, notFound) => {
    const command = { ...readAmendment(principal, instrument, body), ...ids };
    sendAmendment(context, answer, instrument, command, name, notFound);
  });
}

/** Answers with the amended order and its fills. */
export function sendAmendment(
  context: Context,
  answer: Answer,
  instrument: Instrument,
  command: MessageOf<typeof AmendOrder>,
  name: OrderName,
  notFound?: NotFound,
): void {
  requestOrderChange(
    context,
    answer,
    instrument,
    command,
    name,
    (transaction) => replyPlaced(answer, instrument, transaction, 200),
    notFound,
  );
}

const CHANGES = [
  "price",
  "priceMatch",
  "quantity",
  "displayQuantity",
  "triggerPrice",
  "callbackRate",
  "activationPrice",
  "goodTillDate",
] as const;

/** Throws MISSING_FIELD when the body changes nothing. */
export function checkAmendment(body: Static<typeof AmendOrderBody>): void {
  if (CHANGES.some((field) => body[field] !== undefined)) return;
  throw new ApiError("MISSING_FIELD", {
    field: "price",
    message: `The request changes nothing. Send one or more of ${CHANGES.join(", ")}.`,
  });
}

/** The command without the ids of the order. Throws an ApiError when a value is not a whole number of ticks or lots. */
export function readAmendment(
  principal: Principal,
  instrument: Instrument,
  body: Static<typeof AmendOrderBody>,
): MessageOf<typeof AmendOrder> {
  const { displayQuantity, triggerPrice, activationPrice } = body;
  const command = {
    ...blank(AmendOrder),
    accountId: principal.accountId,
    priceMatch: readPriceMatch(body),
    priceTicks: body.price === undefined ? 0 : readPrice(instrument, body.price),
    quantityLots: body.quantity === undefined ? 0 : readQuantity(instrument, body.quantity),
    displayLots: displayQuantity === undefined ? 0 : readQuantity(instrument, displayQuantity, "displayQuantity"),
    triggerTicks: triggerPrice === undefined ? 0 : readPrice(instrument, triggerPrice, "triggerPrice"),
    callbackPpm: body.callbackRate === undefined ? 0 : readCallbackRate(body.callbackRate),
    activationTicks: activationPrice === undefined ? 0 : readPrice(instrument, activationPrice, "activationPrice"),
    goodTillDate: body.goodTillDate ?? 0,
    expiresAt: body.expiresAt ?? 0,
  };
  setKeyLimits(command, principal);
  return command;
}
