import type { PriceTicks, QuantityLots } from "../base/units.ts";
import type { Transaction } from "../protocol/actor.ts";
import type { Instrument } from "../protocol/instrument.ts";
import { refuses } from "../protocol/refusals.ts";

/** Refuses a quantity outside the instrument's range. Returns whether it refused. */
export function refuseQuantity(instrument: Instrument, transaction: Transaction, quantityLots: QuantityLots): boolean {
  const { minQuantityLots, maxQuantityLots } = instrument;
  if (quantityLots < minQuantityLots)
    return refuses(transaction, "QUANTITY_TOO_SMALL", "quantity", { limitLots: minQuantityLots });
  if (quantityLots > maxQuantityLots)
    return refuses(transaction, "QUANTITY_TOO_LARGE", "quantity", { limitLots: maxQuantityLots });
  return false;
}

/**
 * Refuses an order below the smallest notional. `valueTicks`: the price at which it is valued. Do not call it for
 * reduce-only orders: a position below the smallest notional must be closable. Returns whether it refused.
 */
export function refuseNotional(
  instrument: Instrument,
  transaction: Transaction,
  quantityLots: QuantityLots,
  valueTicks: PriceTicks,
): boolean {
  const { minNotionalQuanta, quantaPerTickLot } = instrument;
  if (quantityLots * valueTicks * quantaPerTickLot >= minNotionalQuanta) return false;
  const nearestLots = Math.ceil(minNotionalQuanta / (valueTicks * quantaPerTickLot));
  return refuses(transaction, "NOTIONAL_TOO_SMALL", "quantity", { limitQuanta: minNotionalQuanta, nearestLots });
}
