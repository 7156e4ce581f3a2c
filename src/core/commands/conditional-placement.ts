import { applyConditionalOrderPlaced } from "../apply/conditional-order-events.ts";
import { SIZE, WAITING_ORDERS } from "../base/columns.ts";
import { BUY, CLOSE_POSITION, REASON_NONE, REDUCE_ONLY, STATUS_UNTRIGGERED, serialToId } from "../base/enums.ts";
import type { PriceTicks, QuantityLots } from "../base/units.ts";
import { exposedLots } from "../formulas/exposure.ts";
import { bandEdge, isBeyond } from "../formulas/mark-limits.ts";
import { isWithinKeyLimits } from "../margin/key-limits.ts";
import { refuseNotional, refuseQuantity } from "../matching/order-size.ts";
import { slippageLimitTicks } from "../matching/slippage.ts";
import { refuseWhileHalted } from "../pricing/halt.ts";
import type { Transaction } from "../protocol/actor.ts";
import type { PlaceTrigger } from "../protocol/commands.ts";
import { ConditionalOrderPlaced } from "../protocol/events.ts";
import { blank, type MessageOf } from "../protocol/message-schema.ts";
import { refuseLate, refuses } from "../protocol/refusals.ts";
import { waitsForRise } from "../state/order-terms.ts";
import type { SymbolState } from "../state/symbol-state.ts";
import {
  activates,
  MAX_TRAILING_ORDERS,
  MOST_WAITING_BESIDE,
  TRAILING_ORDERS_FOR_POSITIONS,
  trailingTrigger,
} from "../state/trailing.ts";
import { reaches } from "../state/triggers.ts";
import { replyConditionalDryRun } from "./dry-run.ts";
import { answerDuplicate } from "./order-checks.ts";
import { replyOrder } from "./symbol-views.ts";

// Reused for each event: emit() reads it and keeps nothing (see Transaction).
const placed = blank(ConditionalOrderPlaced);

/** Untriggered orders that an account may have in a symbol. */
export const MAX_TRIGGER_ORDERS = 50;

/**
 * Places an order that waits for a trigger: a stop, a take-profit or a trailing stop. It takes no margin and is in no book
 * until it triggers, see trigger-firing.ts. With `isDryRun` it only reports, see dry-run.ts.
 */
export function placeConditional(
  state: SymbolState,
  command: MessageOf<typeof PlaceTrigger>,
  transaction: Transaction,
  isDryRun = false,
): void {
  if (command.clientOrderId !== "" && answerDuplicate(state, command, transaction)) return;
  if (refusePlacement(state, command, transaction)) return;
  const row = state.positions.draft(command.accountId);
  const triggerTicks = command.callbackPpm === 0 ? command.triggerTicks : initialTrailingTrigger(state, command);
  if (refuseConditionalTerms(state, { ...command, triggerTicks }, row, 0, transaction)) return;
  placed.orderId = serialToId(state.nextOrderSerial, state.instrument.id);
  placed.accountId = command.accountId;
  placed.side = command.side;
  placed.orderType = command.orderType;
  placed.timeInForce = command.timeInForce;
  placed.flags = command.flags;
  placed.selfTradePrevention = command.selfTradePrevention;
  placed.priceTicks = command.priceTicks;
  placed.quantityLots = command.quantityLots;
  placed.triggerTicks = triggerTicks;
  placed.triggerBy = command.triggerBy;
  placed.callbackPpm = command.callbackPpm;
  placed.activationTicks = command.activationTicks;
  placed.maxSlippagePpm = command.maxSlippagePpm;
  placed.bodyHash = command.bodyHash;
  placed.clientOrderId = command.clientOrderId;
  if (isDryRun) return replyConditionalDryRun(state, transaction, placed);
  const slot = applyConditionalOrderPlaced(state, placed, transaction.time);
  transaction.emit(placed);
  replyOrder(state, transaction, slot, STATUS_UNTRIGGERED, REASON_NONE);
}

/** The checks of a new order that an amended one need not pass again. Returns whether it refused. */
function refusePlacement(
  state: SymbolState,
  command: MessageOf<typeof PlaceTrigger>,
  transaction: Transaction,
): boolean {
  const { side, flags } = command;
  if (refuseLate(command, transaction)) return true;
  if (state.markTicks === 0) return refuses(transaction, "NO_MARK_PRICE", "symbol");
  if (refuseWhileHalted(state, transaction, (flags & REDUCE_ONLY) !== 0)) return true;
  const row = state.positions.draft(command.accountId);
  if ((flags & CLOSE_POSITION) !== 0) {
    const size = state.positions.numbers[row + SIZE];
    if (side === BUY ? size >= 0 : size <= 0) return refuses(transaction, "REDUCE_ONLY_NO_POSITION", "closePosition");
  } else if (refuseQuantity(state.instrument, transaction, command.quantityLots)) return true;
  if (refuseTooManyConditional(state, transaction, row, 1)) return true;
  return command.callbackPpm !== 0 && refuseTooManyTrailing(state, command, transaction, row);
}

/** All accounts share this bound. Returns whether it refused. */
function refuseTooManyTrailing(
  state: SymbolState,
  { flags }: MessageOf<typeof PlaceTrigger>,
  transaction: Transaction,
  row: number,
): boolean {
  const isOfPosition = (flags & CLOSE_POSITION) !== 0;
  const takesReserve = isOfPosition && state.positions.numbers[row + WAITING_ORDERS] <= MOST_WAITING_BESIDE;
  const limit = takesReserve ? MAX_TRAILING_ORDERS : MAX_TRAILING_ORDERS - TRAILING_ORDERS_FOR_POSITIONS;
  return state.open.trailing.size >= limit && refuses(transaction, "TOO_MANY_TRAILING_ORDERS", "symbol", { limit });
}

/** Refuses `orderCount` more untriggered orders if the account would have too many. Returns whether it refused. */
export function refuseTooManyConditional(
  { positions }: SymbolState,
  transaction: Transaction,
  row: number,
  orderCount: number,
): boolean {
  if (positions.numbers[row + WAITING_ORDERS] + orderCount <= MAX_TRIGGER_ORDERS) return false;
  return refuses(transaction, "TOO_MANY_TRIGGER_ORDERS", "symbol", { limit: MAX_TRIGGER_ORDERS });
}

/** The terms of an untriggered order, and the limits of the API key that asks for it. */
export type ConditionalTerms = Pick<
  MessageOf<typeof PlaceTrigger>,
  | "side"
  | "orderType"
  | "flags"
  | "priceTicks"
  | "quantityLots"
  | "triggerTicks"
  | "triggerBy"
  | "callbackPpm"
  | "activationTicks"
  | "maxSlippagePpm"
  | "keyOrderQuanta"
  | "keyPositionQuanta"
  | "keyLeverage"
>;

/**
 * Checks prices, notional, key limits, and that the trigger is not reached already. `replacedLots`: the quantity of an
 * amended order until now. Returns whether it refused.
 */
export function refuseConditionalTerms(
  state: SymbolState,
  terms: ConditionalTerms,
  row: number,
  replacedLots: QuantityLots,
  transaction: Transaction,
): boolean {
  const { instrument } = state;
  const { side, priceTicks, triggerTicks, activationTicks } = terms;
  const { maxPriceTicks } = instrument;
  const tooHigh = { limitTicks: maxPriceTicks };
  if (triggerTicks > maxPriceTicks) return refuses(transaction, "PRICE_TOO_HIGH", "triggerPrice", tooHigh);
  if (activationTicks > maxPriceTicks) return refuses(transaction, "PRICE_TOO_HIGH", "activationPrice", tooHigh);
  if (priceTicks > maxPriceTicks) return refuses(transaction, "PRICE_TOO_HIGH", "price", tooHigh);
  // The band is that of the mark which the order will meet: about its trigger.
  const bandTicks = bandEdge(instrument, side, triggerTicks);
  if (priceTicks !== 0 && isBeyond(side, priceTicks, bandTicks))
    return refuses(transaction, "PRICE_OUT_OF_BAND", "price", { limitTicks: bandTicks, triggerTicks });
  const isReduceOnly = (terms.flags & REDUCE_ONLY) !== 0;
  if (!isReduceOnly && refuseSize(state, terms, row, replacedLots, transaction)) return true;
  return refuseReachedTrigger(state, terms, transaction);
}

function refuseSize(
  state: SymbolState,
  terms: ConditionalTerms,
  row: number,
  replacedLots: QuantityLots,
  transaction: Transaction,
): boolean {
  const { instrument } = state;
  const { side, priceTicks, quantityLots } = terms;
  const atTicks = terms.triggerTicks || terms.activationTicks || state.markTicks;
  if (refuseNotional(instrument, transaction, quantityLots, priceTicks || atTicks)) return true;
  const isBuy = side === BUY;
  const highestTicks = isBuy
    ? priceTicks || slippageLimitTicks(BUY, atTicks, bandEdge(instrument, BUY, atTicks), terms.maxSlippagePpm)
    : Math.max(priceTicks, atTicks);
  const exposed = exposedLots(state.positions.numbers, row, isBuy, 0, quantityLots);
  return !isWithinKeyLimits(terms, transaction, state, row, side, exposed, highestTicks, replacedLots);
}

function refuseReachedTrigger(state: SymbolState, terms: ConditionalTerms, transaction: Transaction): boolean {
  const { side, triggerTicks, callbackPpm, activationTicks } = terms;
  const currentTicks = state.priceOf(terms.triggerBy);
  if (currentTicks === 0) return false;
  if (triggerTicks !== 0 && reaches(waitsForRise(terms.orderType, side), currentTicks, triggerTicks))
    return refuses(transaction, "WOULD_TRIGGER", callbackPpm === 0 ? "triggerPrice" : "callbackRate", { currentTicks });
  if (triggerTicks === 0 && activationTicks !== 0 && activates(side, currentTicks, activationTicks))
    return refuses(transaction, "WOULD_TRIGGER", "activationPrice", { currentTicks });
  return false;
}

/** The first trigger price of a trailing stop; 0 = it waits for its activation price, or for a first price. */
function initialTrailingTrigger(
  state: SymbolState,
  { side, triggerBy, callbackPpm, activationTicks }: MessageOf<typeof PlaceTrigger>,
): PriceTicks {
  const currentTicks = state.priceOf(triggerBy);
  if (activationTicks !== 0 || currentTicks === 0) return 0;
  return trailingTrigger(side, currentTicks, callbackPpm, state.instrument.maxPriceTicks);
}
