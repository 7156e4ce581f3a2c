import { applyConditionalOrderAmended } from "../apply/conditional-order-events.ts";
import { isAtMarket, REASON_NONE, STATUS_UNTRIGGERED } from "../base/enums.ts";
import { refuseQuantity } from "../matching/order-size.ts";
import { refuseWhileHalted } from "../pricing/halt.ts";
import type { Transaction } from "../protocol/actor.ts";
import type { AmendOrder } from "../protocol/commands.ts";
import { ConditionalOrderAmended } from "../protocol/events.ts";
import { blank, type MessageOf } from "../protocol/message-schema.ts";
import { refuse, refuseLate } from "../protocol/refusals.ts";
import { WITH_POSITION } from "../state/order-terms.ts";
import type { SymbolState } from "../state/symbol-state.ts";
import { trailingTrigger } from "../state/trailing.ts";
import { type ConditionalTerms, refuseConditionalTerms } from "./conditional-placement.ts";
import { replyOrder } from "./symbol-views.ts";

// Reused for each event: emit() reads it and keeps nothing (see Transaction).
const amended = blank(ConditionalOrderAmended);

/**
 * Amends the untriggered order in `slot`: trigger price, limit price or maximum slippage, quantity, or the callback rate
 * and activation price of a trailing stop. It keeps its id and its age, by which orders of one trigger price fire. A new callback rate
 * counts from the best price so far. The result must pass the checks of a new order; if it does not, nothing changes.
 */
export function amendConditional(
  state: SymbolState,
  slot: number,
  command: MessageOf<typeof AmendOrder>,
  transaction: Transaction,
): void {
  const { orders } = state;
  if (refuseLate(command, transaction)) return;
  const field = fixedField(state, slot, command);
  if (field !== "") return refuse(transaction, "ORDER_WAITS", field);
  const before = state.terms.of(slot);
  // Its trigger is reached: it fires in one of the next transactions.
  if (before.dueSerial !== 0)
    return refuse(transaction, "WOULD_TRIGGER", "id", { currentTicks: state.priceOf(before.triggerBy) });
  const oldLots = orders.quantityLots(slot);
  const after = amendedTerms(state, slot, command);
  const isSame =
    after.priceTicks === orders.priceTicks(slot) &&
    after.quantityLots === oldLots &&
    after.triggerTicks === before.triggerTicks &&
    after.callbackPpm === before.callbackPpm &&
    after.activationTicks === before.activationTicks &&
    after.maxSlippagePpm === before.maxSlippagePpm;
  if (!isSame) {
    if (refuseWhileHalted(state, transaction, state.open.isReduceOnly(slot))) return;
    if (command.quantityLots !== 0 && refuseQuantity(state.instrument, transaction, after.quantityLots)) return;
    if (refuseConditionalTerms(state, after, orders.row(slot), oldLots, transaction)) return;
    amended.orderId = state.orderId(slot);
    amended.accountId = state.accountId(slot);
    amended.priceTicks = after.priceTicks;
    amended.quantityLots = after.quantityLots;
    amended.triggerTicks = after.triggerTicks;
    amended.callbackPpm = after.callbackPpm;
    amended.activationTicks = after.activationTicks;
    amended.maxSlippagePpm = after.maxSlippagePpm;
    applyConditionalOrderAmended(state, amended, slot);
    transaction.emit(amended);
  }
  replyOrder(state, transaction, slot, STATUS_UNTRIGGERED, REASON_NONE);
}

/** The order with the command's fields; those that are 0 stay as they are. */
function amendedTerms(state: SymbolState, slot: number, command: MessageOf<typeof AmendOrder>): ConditionalTerms {
  const { orders, instrument } = state;
  const before = state.terms.of(slot);
  const side = orders.side(slot);
  const callbackPpm = command.callbackPpm || before.callbackPpm;
  const isTrailing = before.bestTicks !== 0;
  return {
    ...command,
    side,
    orderType: orders.type(slot),
    flags: orders.flags(slot),
    priceTicks: command.priceTicks || orders.priceTicks(slot),
    quantityLots: command.quantityLots || orders.quantityLots(slot),
    triggerTicks: isTrailing
      ? trailingTrigger(side, before.bestTicks, callbackPpm, instrument.maxPriceTicks)
      : command.triggerTicks || before.triggerTicks,
    triggerBy: before.triggerBy,
    callbackPpm,
    activationTicks: command.activationTicks || before.activationTicks,
    maxSlippagePpm: command.maxSlippagePpm || before.maxSlippagePpm,
  };
}

/** The first field of the command that this order cannot change, because its type has no such field; "" = none. */
function fixedField({ orders, terms }: SymbolState, slot: number, command: MessageOf<typeof AmendOrder>): string {
  if (command.priceMatch !== 0) return "priceMatch";
  if (command.displayLots !== 0) return "displayQuantity";
  if (command.goodTillDate !== 0) return "goodTillDate";
  if (command.legs !== null) return command.legs.takeProfit === undefined ? "stopLoss" : "takeProfit";
  const atMarket = isAtMarket(orders.type(slot));
  if (command.priceTicks !== 0 && atMarket) return "price";
  if (command.maxSlippagePpm !== 0 && !atMarket) return "maxSlippage";
  const changesQuantity = command.quantityLots !== 0 && command.quantityLots !== orders.quantityLots(slot);
  // The quantity of these orders follows the position, or what the parent order has filled.
  if (changesQuantity && (orders.flags(slot) & WITH_POSITION) !== 0) return "quantity";
  const { callbackPpm, activationTicks, bestTicks } = terms.of(slot);
  if (command.triggerTicks !== 0 && callbackPpm !== 0) return "triggerPrice";
  if (command.callbackPpm !== 0 && callbackPpm === 0) return "callbackRate";
  const isActivated = callbackPpm === 0 || bestTicks !== 0;
  const changesActivation = command.activationTicks !== 0 && command.activationTicks !== activationTicks;
  return changesActivation && isActivated ? "activationPrice" : "";
}
