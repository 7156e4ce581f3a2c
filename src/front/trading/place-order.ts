import { isConditional, ORDER_TYPES } from "../../core/base/enums.ts";
import { type PlaceExtended, PlaceOrder, type PlaceTrigger } from "../../core/protocol/commands.ts";
import type { Instrument } from "../../core/protocol/instrument.ts";
import { blank, type MessageOf } from "../../core/protocol/message-schema.ts";
import type { PlaceOrderBody } from "../../wire/schema/orders.ts";
import { checkSymbol } from "../auth/key-limits.ts";
import type { Principal } from "../exchange/credentials.ts";
import type { Answer } from "../http/answer.ts";
import type { Context } from "../routing/context.ts";
import { dryRunOrder } from "./dry-run-order.ts";
import { readConditionalOrder } from "./parsing/conditional-order.ts";
import { isExtended, readExtendedOrder } from "./parsing/extended-order.ts";
import { readOrder, setKeyLimits } from "./parsing/order-fields.ts";
import { sendOrder } from "./send-order.ts";

/** Places an order of any type, or makes a dry run of it. */
export function placeOrder(context: Context, answer: Answer, principal: Principal, body: PlaceOrderBody): void {
  const instrument = context.symbols.bySymbol(body.symbol);
  checkSymbol(principal, instrument);
  const command = readNewOrder(principal, instrument, body);
  if (body.dryRun === true) dryRunOrder(context, answer, instrument, command);
  else sendOrder(context, answer, instrument, command);
}

/**
 * The command that places an order of any type. It is reused, so encode it before the next call. Throws an ApiError when
 * fields contradict each other or are not a whole number of ticks or lots.
 */
export function readNewOrder(
  principal: Principal,
  instrument: Instrument,
  body: PlaceOrderBody,
): MessageOf<typeof PlaceOrder> | MessageOf<typeof PlaceTrigger> | MessageOf<typeof PlaceExtended> {
  if (isConditional(ORDER_TYPES.indexOf(body.type))) return readConditionalOrder(principal, instrument, body);
  return isExtended(body)
    ? readExtendedOrder(principal, instrument, body)
    : readPlainOrder(principal, instrument, body);
}

// Reused for each order: the engine client has encoded it when request() returns.
const command = blank(PlaceOrder);

/** A LIMIT or MARKET order without extended fields. */
function readPlainOrder(
  principal: Principal,
  instrument: Instrument,
  body: PlaceOrderBody,
): MessageOf<typeof PlaceOrder> {
  command.accountId = principal.accountId;
  readOrder(instrument, body, command);
  setKeyLimits(command, principal);
  return command;
}
