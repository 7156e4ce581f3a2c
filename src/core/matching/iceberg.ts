import { applySliceShown } from "../apply/order-events.ts";
import type { PriceTicks, QuantityLots } from "../base/units.ts";
import type { Transaction } from "../protocol/actor.ts";
import { SliceShown } from "../protocol/events.ts";
import type { Instrument } from "../protocol/instrument.ts";
import { blank } from "../protocol/message-schema.ts";
import { refuse } from "../protocol/refusals.ts";
import type { SymbolState } from "../state/symbol-state.ts";

/*
 * An iceberg shows a slice of at most `displayLots` in the book and hides the rest. The slice has time priority like any
 * order. When it is filled, the next slice goes to the back of the queue of its price (Binance, CME Globex). Margin,
 * limits and takers count the whole order; market data shows the slice only. An order that shrinks (reduce-only, amended)
 * loses hidden lots first, so that the slice keeps its place.
 */

/** The most slices of an iceberg (Binance Spot, ICEBERG_PARTS). It bounds the events of a taker that meets one. */
const MAX_SLICES = 100;

// Reused for each event: emit() reads it and keeps nothing (see Transaction).
const sliceShown = blank(SliceShown);

/** Refuses a display quantity that is too small or too large for the order. Returns whether it refused. */
export function refuseDisplayQuantity(
  instrument: Instrument,
  transaction: Transaction,
  displayLots: QuantityLots,
  quantityLots: QuantityLots,
  remainingLots: QuantityLots,
): boolean {
  const minLots = Math.max(Math.min(instrument.minQuantityLots, quantityLots), Math.ceil(remainingLots / MAX_SLICES));
  if (displayLots >= minLots && displayLots <= quantityLots) return false;
  refuse(transaction, "DISPLAY_QUANTITY_OUT_OF_RANGE", "displayQuantity", { minLots, maxLots: quantityLots });
  return true;
}

/** The size of the next slice, from `hiddenLots` that are left. */
export const nextSliceLots = (state: SymbolState, slot: number, hiddenLots: QuantityLots): QuantityLots =>
  Math.min(state.terms.of(slot).displayLots, hiddenLots);

/** The active taker, an iceberg, comes to rest with its first slice. */
export function restIceberg(
  state: SymbolState,
  transaction: Transaction,
  slot: number,
  marginPriceTicks: PriceTicks,
  lossTicks: PriceTicks,
): void {
  show(state, transaction, slot, state.orders.remainingLots(slot), 0, marginPriceTicks, lossTicks);
}

/** Replaces the used-up slice of a resting iceberg: the next one goes to the back of the queue. */
export function showNextSlice(state: SymbolState, transaction: Transaction, slot: number): void {
  show(state, transaction, slot, state.open.hiddenLots(slot), state.nextOrderSerial, 0, 0);
}

function show(
  state: SymbolState,
  transaction: Transaction,
  slot: number,
  hiddenLots: QuantityLots,
  queueSerial: number,
  marginPriceTicks: PriceTicks,
  lossTicks: PriceTicks,
): void {
  const { orders } = state;
  sliceShown.orderId = state.orderId(slot);
  sliceShown.accountId = state.accountId(slot);
  sliceShown.side = orders.side(slot);
  sliceShown.priceTicks = orders.priceTicks(slot);
  sliceShown.shownLots = nextSliceLots(state, slot, hiddenLots);
  sliceShown.queueSerial = queueSerial;
  sliceShown.marginPriceTicks = marginPriceTicks;
  sliceShown.lossTicks = lossTicks;
  applySliceShown(state, sliceShown, slot);
  transaction.emit(sliceShown);
}
