import { FIRST_ORDER, LEVERAGE, WAITING_ORDERS } from "../base/columns.ts";
import type { PriceTicks, QuantityLots } from "../base/units.ts";
import type { Transaction } from "../protocol/actor.ts";
import type { PlaceOrder } from "../protocol/commands.ts";
import type { MessageOf } from "../protocol/message-schema.ts";
import { type RefusalCode, type RefusalDetails, refuse } from "../protocol/refusals.ts";
import type { SymbolState } from "../state/symbol-state.ts";

/**
 * Checks an order against the limits of its API key; refuses it and returns false when it exceeds one. Callers skip
 * reduce-only orders: a key can always close. `exposed`: lots by exposedLots(), without conditional orders. `dearestTicks`:
 * the highest price that the order may trade at, which gives its value. `ownWaitingLots`: lots of the order itself that
 * wait for a trigger, when it is amended.
 */
export function isWithinKeyLimits(
  command: Pick<MessageOf<typeof PlaceOrder>, "quantityLots" | "keyOrderQuanta" | "keyPositionQuanta" | "keyLeverage">,
  transaction: Transaction,
  state: SymbolState,
  row: number,
  side: number,
  exposed: QuantityLots,
  dearestTicks: PriceTicks,
  ownWaitingLots: QuantityLots = 0,
): boolean {
  const { keyOrderQuanta, keyPositionQuanta, keyLeverage } = command;
  const perTick = state.instrument.quantaPerTickLot;
  const fail = (code: RefusalCode, field: string, details: RefusalDetails): boolean => {
    refuse(transaction, code, field, details);
    return false;
  };
  const orderQuanta = command.quantityLots * dearestTicks * perTick;
  if (keyOrderQuanta !== 0 && orderQuanta > keyOrderQuanta)
    return fail("KEY_ORDER_LIMIT", "quantity", { requiredQuanta: orderQuanta, limitQuanta: keyOrderQuanta });
  if (keyPositionQuanta !== 0 && exposed !== 0) {
    const positionQuanta = (exposed + waitingLots(state, row, side) - ownWaitingLots) * state.markTicks * perTick;
    if (positionQuanta > keyPositionQuanta)
      return fail("KEY_POSITION_LIMIT", "quantity", { requiredQuanta: positionQuanta, limitQuanta: keyPositionQuanta });
  }
  const leverage = state.positions.numbers[row + LEVERAGE];
  if (keyLeverage !== 0 && leverage > keyLeverage)
    return fail("KEY_LEVERAGE_LIMIT", "symbol", { leverage, limit: keyLeverage });
  return true;
}

/** Lots that conditional orders may add on a side. They count now, because no key is checked when they trigger. */
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
