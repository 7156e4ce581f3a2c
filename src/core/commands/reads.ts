import * as columns from "../base/columns.ts";
import { NO_ROW } from "../base/hash-fifo.ts";
import type { Transaction } from "../protocol/actor.ts";
import type { ReadOrder } from "../protocol/commands.ts";
import type { MessageOf } from "../protocol/message-schema.ts";
import type { ClientIdList } from "../protocol/payloads.ts";
import { refuse } from "../protocol/refusals.ts";
import { ClientIdsPage, Done } from "../protocol/replies.ts";
import type { SymbolState } from "../state/symbol-state.ts";
import { replyOpenOrder, replyPosition } from "./symbol-views.ts";

const { FIRST_ORDER, NONE } = columns;

/** Bounds a page, which must fit into a ring between two threads. */
const CLIENT_IDS_PER_PAGE = 5000;

/** The slot of an account's open order, by its id, or by its client order id if the id is 0. NONE if there is none. */
export function findOwnOrder(state: SymbolState, accountId: number, orderId: number, clientOrderId: string): number {
  const id = orderId !== 0 ? orderId : orderIdOf(state, accountId, clientOrderId);
  const slot = id === 0 ? NONE : state.findOrder(id);
  return slot !== NONE && state.accountId(slot) === accountId ? slot : NONE;
}

/** 0 = the account has not used this client order id. */
function orderIdOf({ clientIds }: SymbolState, accountId: number, clientOrderId: string): number {
  const row = clientIds.find(accountId, clientOrderId);
  return row === NO_ROW ? 0 : clientIds.orderId(row);
}

export function readOrder(state: SymbolState, command: MessageOf<typeof ReadOrder>, transaction: Transaction): void {
  const slot = findOwnOrder(state, command.accountId, command.orderId, command.clientOrderId);
  if (slot === NONE) return refuse(transaction, "ORDER_NOT_FOUND", "id");
  replyOpenOrder(state, transaction, slot);
}

/** Replies with each open order of the account, newest first, then Done. */
export function readOrders(state: SymbolState, accountId: number, transaction: Transaction): void {
  const { orders, positions } = state;
  const row = positions.find(accountId);
  let slot = row === NONE ? NONE : positions.numbers[row + FIRST_ORDER];
  for (; slot !== NONE; slot = orders.accountNext(slot)) replyOpenOrder(state, transaction, slot);
  transaction.reply({ type: Done.code });
}

/** Replies with the account's position, if it has ever had one, then Done. */
export function readPosition(state: SymbolState, accountId: number, transaction: Transaction): void {
  const row = state.positions.find(accountId);
  if (row !== NONE) replyPosition(state, transaction, row);
  transaction.reply({ type: Done.code });
}

/** Replies with the client order ids that are remembered, a page from number `from` on. */
export function readClientIds({ clientIds }: SymbolState, from: number, transaction: Transaction): void {
  const rows = clientIds.page(from, CLIENT_IDS_PER_PAGE);
  const next = rows.length === CLIENT_IDS_PER_PAGE ? from + CLIENT_IDS_PER_PAGE : null;
  const ids = rows.map(({ accountId, clientOrderId, orderId, time }): ClientIdList["ids"][number] => [
    accountId,
    clientOrderId,
    orderId,
    time,
  ]);
  transaction.reply({ type: ClientIdsPage.code, page: { ids, next } });
}
