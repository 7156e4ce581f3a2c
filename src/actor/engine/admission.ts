import {
  AddWithdrawalAddress,
  AmendOrder,
  CreateKey,
  Deposit,
  DryRunOrder,
  OpenSession,
  OrderBatch,
  PlaceExtended,
  PlaceOrder,
  PlaceTrigger,
  Withdraw,
} from "../../core/protocol/commands.ts";
import type { Message, MessageOf } from "../../core/protocol/message-schema.ts";

/** A dry run costs as much as an order, so it counts as one. */
const NEW_ORDERS: ReadonlySet<number> = new Set([
  PlaceOrder.code,
  PlaceTrigger.code,
  PlaceExtended.code,
  DryRunOrder.code,
]);
const NEEDS_DISK_ROOM: ReadonlySet<number> = new Set([
  ...NEW_ORDERS,
  ...[AmendOrder.code, Deposit.code, Withdraw.code, OpenSession.code, CreateKey.code, AddWithdrawalAddress.code],
]);

/** Refused under overload. Cancels, reductions and prices are not: they bring the load down. */
export const isNewOrder = (command: Message): boolean => isAmong(NEW_ORDERS, command);

/** Adds data that the exchange must keep. Refused when the disk is nearly full. */
export const needsDiskRoom = (command: Message): boolean => isAmong(NEEDS_DISK_ROOM, command);

/** A batch counts if any of its items does. */
const isAmong = (codes: ReadonlySet<number>, command: Message): boolean =>
  command.type === OrderBatch.code
    ? (command as MessageOf<typeof OrderBatch>).items.some(({ type }) => codes.has(type))
    : codes.has(command.type);
