import * as columns from "../base/columns.ts";
import * as enums from "../base/enums.ts";
import { closeOrder } from "../matching/order-closing.ts";
import type { Transaction } from "../protocol/actor.ts";
import type { CancelAll, CancelOrder } from "../protocol/commands.ts";
import type { MessageOf } from "../protocol/message-schema.ts";
import { refuse, refuses } from "../protocol/refusals.ts";
import { Done } from "../protocol/replies.ts";
import type { SymbolState } from "../state/symbol-state.ts";
import { findOwnOrder } from "./reads.ts";
import { replyOrder } from "./symbol-views.ts";

const { FIRST_ORDER, NONE } = columns;
const { MODE_HALTED, REASON_USER, STATUS_CANCELED } = enums;

export function cancelOrder(
  state: SymbolState,
  command: MessageOf<typeof CancelOrder>,
  transaction: Transaction,
): void {
  const slot = findOwnOrder(state, command.accountId, command.orderId, command.clientOrderId);
  if (slot === NONE) return refuse(transaction, "ORDER_NOT_FOUND", "id");
  if (refuseHalted(state, transaction)) return;
  cancel(state, transaction, slot);
}

/** Cancels the account's orders of one side, or all of them (`side` < 0), newest first. Replies with each, then Done. */
export function cancelAllOrders(
  state: SymbolState,
  command: MessageOf<typeof CancelAll>,
  transaction: Transaction,
): void {
  const { orders, positions } = state;
  if (refuseHalted(state, transaction)) return;
  const row = positions.find(command.accountId);
  let slot = row === NONE ? NONE : positions.numbers[row + FIRST_ORDER];
  while (slot !== NONE) {
    const next = orders.accountNext(slot);
    if (command.side < 0 || orders.side(slot) === command.side) cancel(state, transaction, slot);
    slot = next;
  }
  transaction.reply({ type: Done.code });
}

function cancel(state: SymbolState, transaction: Transaction, slot: number): void {
  replyOrder(state, transaction, slot, STATUS_CANCELED, REASON_USER);
  closeOrder(state, transaction, slot, STATUS_CANCELED, REASON_USER);
}

const refuseHalted = ({ haltMode }: SymbolState, transaction: Transaction): boolean =>
  haltMode === MODE_HALTED && refuses(transaction, "SYMBOL_HALTED", "symbol", { status: "HALTED" });
