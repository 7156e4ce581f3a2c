import type { PriceTicks, QuantityLots } from "../base/units.ts";
import type { Transaction } from "../protocol/actor.ts";
import type { Instrument } from "../protocol/instrument.ts";
import { refuse } from "../protocol/refusals.ts";

/** Refuses a quantity that no order of the instrument may have; true when it did. */
export function refuseQuantity(instrument: Instrument, transaction: Transaction, quantityLots: QuantityLots): boolean {
  const { minQuantityLots, maxQuantityLots } = instrument;
  if (quantityLots < minQuantityLots)
    refuse(transaction, "QUANTITY_TOO_SMALL", "quantity", { limitLots: minQuantityLots });
  else if (quantityLots > maxQuantityLots)
    refuse(transaction, "QUANTITY_TOO_LARGE", "quantity", { limitLots: maxQuantityLots });
  else return false;
  return true;
}

/** Refuses an order that is worth too little at this price; true when it did. What only reduces is not asked. */
export function refuseNotional(
  instrument: Instrument,
  transaction: Transaction,
  quantityLots: QuantityLots,
  valueTicks: PriceTicks,
): boolean {
  const { minNotionalQuanta, quantaPerTickLot } = instrument;
  if (quantityLots * valueTicks * quantaPerTickLot >= minNotionalQuanta) return false;
  const nearestLots = Math.ceil(minNotionalQuanta / (valueTicks * quantaPerTickLot));
  refuse(transaction, "NOTIONAL_TOO_SMALL", "quantity", { limitQuanta: minNotionalQuanta, nearestLots });
  return true;
}
