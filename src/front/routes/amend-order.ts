import type { Static } from "typebox";
import type { Instrument } from "../../core/instrument.ts";
import { AmendOrder, Refused } from "../../core/messages.ts";
import { blank, type MessageOf } from "../../core/shape.ts";
import type { AmendOrderBody } from "../../wire/schema/orders.ts";
import { readPrice, readQuantity } from "../amounts.ts";
import type { Answer } from "../answer.ts";
import { askFor, firstReply } from "../ask.ts";
import type { Context } from "../context.ts";
import type { Principal } from "../credentials.ts";
import { ApiError } from "../errors.ts";
import { checkSymbol } from "../key-limits.ts";
import { instrumentOf, resolveOrderId, whyNotOpen } from "./find-orders.ts";
import { readPriceMatch, replyPlaced } from "./place-order.ts";

/** Changes an open order, by its id or by `client:` and its client order id. `field` is what errors call that. */
export async function amendOrder(
  context: Context,
  answer: Answer,
  principal: Principal,
  reference: string,
  body: Static<typeof AmendOrderBody>,
  field = "id",
): Promise<void> {
  checkAmendment(body);
  const { accountId } = principal;
  const orderId = await resolveOrderId(context, answer, accountId, reference);
  if (orderId === 0) throw await whyNotOpen(context, accountId, reference, field);
  const instrument = instrumentOf(context, orderId);
  checkSymbol(principal, instrument);
  const command = { ...readAmendment(principal, instrument, body), orderId };
  askFor(context, answer, instrument.id, command, (turn) => {
    const reply = firstReply(turn) as MessageOf<typeof Refused>;
    if (reply.type !== Refused.code || reply.code !== "ORDER_NOT_FOUND")
      return replyPlaced(answer, instrument, turn, 200);
    whyNotOpen(context, accountId, reference, field)
      .then((error) => answer.refuse(error))
      .catch((thrown: unknown) => answer.fail(thrown, context.log));
  });
}

/** Refuses one that asks for nothing. */
export function checkAmendment(body: Static<typeof AmendOrderBody>): void {
  const { price, priceMatch, quantity, displayQuantity } = body;
  if (price === undefined && priceMatch === undefined && quantity === undefined && displayQuantity === undefined)
    throw new ApiError("MISSING_FIELD", { field: "price", message: "Amend the price, the quantity, or both." });
}

/** Fills in everything but which order it is about. Throws an ApiError when something lies between two units. */
export function readAmendment(
  { accountId, record }: Principal,
  instrument: Instrument,
  body: Static<typeof AmendOrderBody>,
): MessageOf<typeof AmendOrder> {
  const { displayQuantity } = body;
  return {
    ...blank(AmendOrder),
    accountId,
    priceMatch: readPriceMatch(body),
    priceTicks: body.price === undefined ? 0 : readPrice(instrument, body.price),
    quantityLots: body.quantity === undefined ? 0 : readQuantity(instrument, body.quantity),
    displayLots: displayQuantity === undefined ? 0 : readQuantity(instrument, displayQuantity, "displayQuantity"),
    expiresAt: body.expiresAt ?? 0,
    keyOrderQuanta: record?.maxOrderQuanta ?? 0,
    keyPositionQuanta: record?.maxPositionQuanta ?? 0,
    keyLeverage: record?.maxLeverage ?? 0,
  };
}
