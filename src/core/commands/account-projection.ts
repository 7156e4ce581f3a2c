import { ACCOUNT, CASH, FUNDING_TIME, ISOLATED_QUANTA, MARGIN_MODE, SIZE } from "../base/columns.ts";
import { BUY, ISOLATED } from "../base/enums.ts";
import type { QuantityLots } from "../base/units.ts";
import { liquidationPrice } from "../formulas/margin.ts";
import { owedFunding } from "../margin/funding-payment.ts";
import { isolatedEquity, isolatedMarginAfter } from "../margin/isolated.ts";
import { positionMaintenance } from "../margin/position-margin.ts";
import { takerFee } from "../matching/fees.ts";
import type { DetailedPreview } from "../matching/preview.ts";
import type { OrderPlaced } from "../protocol/events.ts";
import type { MessageOf } from "../protocol/message-schema.ts";
import type { AccountProjection } from "../protocol/payloads.ts";
import type { SymbolState } from "../state/symbol-state.ts";

/** The account of a row as it is now. The row must be at the current mark. */
export const projectAccount = (state: SymbolState, row: number): AccountProjection => projectAccountAs(state, row, row);

/** The account after the expected fills of an order, with `restingLots` of it at rest. Works on a copy of the row. */
export function projectAccountAfter(
  state: SymbolState,
  row: number,
  order: MessageOf<typeof OrderPlaced>,
  expected: DetailedPreview,
  restingLots: QuantityLots,
): AccountProjection {
  return state.positions.withCopy(row, (copy) => {
    removeOwnOrders(state, copy, expected);
    if (expected.fills.length > 0) fill(state, copy, order.side, expected);
    const { marginPriceTicks, lossTicks } = order;
    addResting(state, copy, order.side, restingLots, marginPriceTicks, lossTicks);
    return projectAccountAs(state, row, copy);
  });
}

function removeOwnOrders(state: SymbolState, copy: number, { selfTradeLots }: DetailedPreview): void {
  const { orders } = state;
  for (const [slot, lots] of selfTradeLots) {
    if (state.open.isReduceOnly(slot)) continue;
    addResting(state, copy, orders.side(slot), -lots, orders.marginPriceTicks(slot), orders.lossTicks(slot));
  }
}

function addResting(
  { positions, instrument }: SymbolState,
  copy: number,
  side: number,
  lots: QuantityLots,
  marginPriceTicks: number,
  lossTicks: number,
): void {
  const perTick = lots * instrument.quantaPerTickLot;
  positions.addResting(copy, side === BUY, lots, perTick * marginPriceTicks, perTick * lossTicks);
}

/** Applies the expected fills to the copy. Must do what trade() and settleFill() do to a row. */
function fill(state: SymbolState, copy: number, side: number, { fills }: DetailedPreview): void {
  const { positions, instrument } = state;
  const n = positions.numbers;
  n[copy + CASH] += owedFunding(state, copy);
  n[copy + FUNDING_TIME] = state.funding.lastTime;
  const taken = { lots: 0, quanta: 0, feeQuanta: 0, realizedQuanta: 0 };
  for (const [priceTicks, filledLots] of fills) {
    const lots = side === BUY ? filledLots : -filledLots;
    const quanta = filledLots * priceTicks * instrument.quantaPerTickLot;
    const feeQuanta = takerFee(instrument, quanta);
    taken.lots += lots;
    taken.quanta += quanta;
    taken.feeQuanta += feeQuanta;
    taken.realizedQuanta += positions.realized(copy, lots, quanta);
    positions.move(copy, lots, quanta, feeQuanta, 0);
  }
  if (n[copy + MARGIN_MODE] === ISOLATED) n[copy + ISOLATED_QUANTA] = isolatedMarginAfter(state, copy, taken);
}

/** The account as if its row contributed what the copy contributes. */
function projectAccountAs(state: SymbolState, row: number, copy: number): AccountProjection {
  const { marginTable, instrument, markTicks, positions } = state;
  const n = positions.numbers;
  const accountId = n[row + ACCOUNT];
  const now = { ...state.contributions.of(row) };
  const then = state.contributions.of(copy);
  const equityBy = then.equity - now.equity;
  const initialBy = then.initial - now.initial;
  const isIsolated = state.isIsolated(copy);
  const equity = isIsolated ? isolatedEquity(state, copy) : marginTable.usableEquity(accountId) + equityBy;
  const maintenance = isIsolated
    ? positionMaintenance(state, copy)
    : marginTable.usableMaintenance(accountId) + then.maintenance - now.maintenance;
  return {
    sizeLots: n[copy + SIZE],
    liquidationTicks: liquidationPrice(instrument, n[copy + SIZE], markTicks, equity, maintenance),
    initialQuanta: marginTable.usableInitial(accountId) + initialBy,
    availableQuanta: marginTable.available(accountId) + equityBy - initialBy,
  };
}
