import { applySliceShown } from "../apply/order-events.ts";
import type { PriceTicks, QuantityLots } from "../base/units.ts";
import type { Transaction } from "../protocol/actor.ts";
import { SliceShown } from "../protocol/events.ts";
import type { Instrument } from "../protocol/instrument.ts";
import { blank } from "../protocol/message-schema.ts";
import { refuse } from "../protocol/refusals.ts";
import type { SymbolState } from "../state/symbol-state.ts";

/**
 * An iceberg stands in the book with a slice of it, `displayLots` at most; the rest is hidden. The slice trades in time
 * priority like any order; when it is used up, the next one goes to the back of its price's queue (Binance, CME Globex).
 * Whatever counts money (margin, limits, what a taker may fill) counts all of it; whatever shows the book, the slice.
 * What is given up (reduce-only, amending to less) is hidden lots first, so that the slice keeps its place.
 */

/** An iceberg comes in no more slices than this (Binance Spot, ICEBERG_PARTS), so that nobody's taker wears out on one. */
const MAX_SLICES = 100;

// Filled in again for each event: a turn hands it on before it goes on (see Turn).
const sliceShown = blank(SliceShown);

/** Refuses a slice that is too small or too large for an order of which so much may still trade; true when it did. */
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

/** The iceberg's next slice, out of what is hidden. */
export const nextSliceLots = (state: SymbolState, slot: number, hiddenLots: QuantityLots): QuantityLots =>
  Math.min(state.terms.of(slot).displayLots, hiddenLots);

/** The iceberg in hand comes to rest with its first slice. */
export function restIceberg(
  state: SymbolState,
  transaction: Transaction,
  slot: number,
  marginPriceTicks: PriceTicks,
  lossTicks: PriceTicks,
): void {
  show(state, transaction, slot, state.orders.remainingLots(slot), 0, marginPriceTicks, lossTicks);
}

/** The resting iceberg's slice is used up: the next one goes to the back. */
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
