import { NONE, SIZE } from "../base/columns.ts";
import { BUY, EXPIRE_MAKER, GTC, IOC, LIMIT, MARKET, REDUCE_ONLY, SELL } from "../base/enums.ts";
import { capFromMark } from "../matching/slippage.ts";
import type { Transaction } from "../protocol/actor.ts";
import { type ClosePosition, PlaceOrder } from "../protocol/commands.ts";
import { blank, type MessageOf } from "../protocol/message-schema.ts";
import { refuse } from "../protocol/refusals.ts";
import type { SymbolState } from "../state/symbol-state.ts";
import type { Placement } from "./placement.ts";

const order = blank(PlaceOrder);

/**
 * Closes a position, or a part of it, by a reduce-only order: a limit order at `priceTicks`, or a market order if that is
 * 0. `maxSlippagePpm` limits how far from the mark the market order trades. The account's other orders cannot block it: reduce-only orders may together exceed the position, and own orders that
 * it meets are canceled (EXPIRE_MAKER).
 */
export function closePosition(
  state: SymbolState,
  placement: Placement,
  command: MessageOf<typeof ClosePosition>,
  transaction: Transaction,
): void {
  const { instrument, positions } = state;
  const row = positions.find(command.accountId);
  const size = row === NONE ? 0 : positions.numbers[row + SIZE];
  if (size === 0) return refuse(transaction, "NO_POSITION", "symbol");
  order.accountId = command.accountId;
  order.side = size > 0 ? SELL : BUY;
  order.orderType = command.priceTicks === 0 ? MARKET : LIMIT;
  order.timeInForce = command.priceTicks === 0 ? IOC : GTC;
  order.flags = REDUCE_ONLY;
  order.selfTradePrevention = EXPIRE_MAKER;
  order.priceTicks = command.priceTicks || capFromMark(state, order.side, command.maxSlippagePpm);
  // A position may be smaller than the smallest order, since place() reduces the quantity to it, or larger than the largest one.
  const { minQuantityLots, maxQuantityLots } = instrument;
  order.quantityLots = command.quantityLots || Math.min(Math.max(Math.abs(size), minQuantityLots), maxQuantityLots);
  order.expiresAt = command.expiresAt;
  placement.place(order, transaction);
}
