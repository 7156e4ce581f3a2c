import type { Turn } from "./actor.ts";
import type { PlaceOrder } from "./messages.ts";
import { type RefusalCode, type RefusalDetails, refuse } from "./refusals.ts";
import type { MessageOf } from "./shape.ts";
import type { SymbolState } from "./symbol-state.ts";
import { FIRST_ORDER, LEVERAGE, WAITING_ORDERS } from "./tables.ts";
import type { PriceTicks, QuantityLots } from "./units.ts";

/**
 * Holds an order to the limits of the API key that it came with; false when it was refused. Orders that only reduce a
 * position are not asked: a key can always get out. `exposedLots`: the position and all orders in the order's direction
 * that do not wait for a price, this one included. `priceTicks`: what the order is valued at.
 */
export function isWithinKey(
  command: Pick<MessageOf<typeof PlaceOrder>, "quantityLots" | "keyOrderQuanta" | "keyPositionQuanta" | "keyLeverage">,
  turn: Turn,
  state: SymbolState,
  row: number,
  side: number,
  exposedLots: QuantityLots,
  priceTicks: PriceTicks,
): boolean {
  const { keyOrderQuanta, keyPositionQuanta, keyLeverage } = command;
  const perTick = state.instrument.quantaPerTickLot;
  const no = (code: RefusalCode, field: string, details: RefusalDetails): boolean => {
    refuse(turn, code, field, details);
    return false;
  };
  const orderQuanta = command.quantityLots * priceTicks * perTick;
  if (keyOrderQuanta !== 0 && orderQuanta > keyOrderQuanta)
    return no("KEY_ORDER_LIMIT", "quantity", { requiredQuanta: orderQuanta, limitQuanta: keyOrderQuanta });
  if (keyPositionQuanta !== 0) {
    const positionQuanta = (exposedLots + waitingLots(state, row, side)) * state.markTicks * perTick;
    if (positionQuanta > keyPositionQuanta)
      return no("KEY_POSITION_LIMIT", "quantity", { requiredQuanta: positionQuanta, limitQuanta: keyPositionQuanta });
  }
  const leverage = state.positions.numbers[row + LEVERAGE];
  if (keyLeverage !== 0 && leverage > keyLeverage)
    return no("KEY_LEVERAGE_LIMIT", "symbol", { leverage, limit: keyLeverage });
  return true;
}

/** What the account's orders that wait for a price may add in a direction: no key is asked when they fire. */
function waitingLots(state: SymbolState, row: number, side: number): QuantityLots {
  const { orders, open, positions } = state;
  let lots = 0;
  let left = positions.numbers[row + WAITING_ORDERS];
  for (let slot = positions.numbers[row + FIRST_ORDER]; left > 0; slot = orders.accountNext(slot)) {
    if (!orders.isWaiting(slot)) continue;
    left--;
    if (orders.side(slot) === side && !open.isReduceOnly(slot)) lots += orders.quantityLots(slot);
  }
  return lots;
}
