import type { Turn } from "./actor.ts";
import type { Instrument } from "./instrument.ts";
import type { PlaceOrder } from "./messages.ts";
import { type RefusalCode, type RefusalDetails, refuse } from "./refusals.ts";
import type { MessageOf } from "./shape.ts";
import type { PriceTicks, QuantityLots } from "./units.ts";

/**
 * Holds an order to the limits of the API key that it came with; false when it was refused. Orders that only reduce a
 * position are not asked: a key can always get out. `exposedLots`: the position and all orders in the order's direction,
 * this one included. `priceTicks`: what the order is valued at.
 */
export function isWithinKey(
  command: Pick<MessageOf<typeof PlaceOrder>, "quantityLots" | "keyOrderQuanta" | "keyPositionQuanta" | "keyLeverage">,
  turn: Turn,
  instrument: Instrument,
  exposedLots: QuantityLots,
  priceTicks: PriceTicks,
  markTicks: PriceTicks,
  leverage: number,
): boolean {
  const { keyOrderQuanta, keyPositionQuanta, keyLeverage } = command;
  const perTick = instrument.quantaPerTickLot;
  const no = (code: RefusalCode, field: string, details: RefusalDetails): boolean => {
    refuse(turn, code, field, details);
    return false;
  };
  const orderQuanta = command.quantityLots * priceTicks * perTick;
  if (keyOrderQuanta !== 0 && orderQuanta > keyOrderQuanta)
    return no("KEY_ORDER_LIMIT", "quantity", { requiredQuanta: orderQuanta, limitQuanta: keyOrderQuanta });
  const positionQuanta = exposedLots * markTicks * perTick;
  if (keyPositionQuanta !== 0 && positionQuanta > keyPositionQuanta)
    return no("KEY_POSITION_LIMIT", "quantity", { requiredQuanta: positionQuanta, limitQuanta: keyPositionQuanta });
  if (keyLeverage !== 0 && leverage > keyLeverage)
    return no("KEY_LEVERAGE_LIMIT", "symbol", { leverage, limit: keyLeverage });
  return true;
}
