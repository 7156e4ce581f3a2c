import { AmendOrder, CancelOrder, PlaceOrder } from "../../core/protocol/commands.ts";
import { checkSymbol } from "../auth/key-limits.ts";
import type { Principal } from "../exchange/credentials.ts";
import type { Answer } from "../http/answer.ts";
import type { Context } from "../routing/context.ts";
import { sendAmendment } from "./amend-order.ts";
import { sendCancellation } from "./cancel-orders.ts";
import type { FastPathRequest } from "./fast-path/fast-path-reader.ts";
import { setKeyLimits } from "./parsing/order-fields.ts";
import { sendOrder } from "./send-order.ts";

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
