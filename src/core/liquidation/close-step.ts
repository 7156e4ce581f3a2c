import { assert } from "../../assert.ts";
import { ACCOUNT, SIZE } from "../base/columns.ts";
import { EXEC_LIQUIDATION, REASON_LIQUIDATION } from "../base/enums.ts";
import { type PriceTicks, proportion, QUANTA_PER_USDC, type Quanta, type QuantityLots } from "../base/units.ts";
import { maintenanceMargin } from "../formulas/margin.ts";
import { payFunding } from "../margin/funding-payment.ts";
import { isolatedEquity } from "../margin/isolated.ts";
import { positionMaintenance } from "../margin/position-margin.ts";
import { closeAllOrders } from "../matching/order-closing.ts";
import type { Transaction } from "../protocol/actor.ts";
import type { SymbolState } from "../state/symbol-state.ts";
import type { DeleveragingQueue } from "./deleveraging.ts";
import { closeInBook } from "./house-order.ts";
import { transferPosition } from "./position-transfer.ts";

/** Positions up to this notional are closed in one step, larger ones a fifth at a time (Hyperliquid: 20 % above 100k). */
const WHOLE_STEP_QUANTA = 100_000 * QUANTA_PER_USDC;
export const STEPS = 5;

/**
 * One step against an isolated position: its own equity bears it. The account's orders in this symbol are cancelled with it
 * (Binance, Bybit); nothing else of the account is touched.
 */
export function liquidateIsolated(
  state: SymbolState,
  transaction: Transaction,
  queue: DeleveragingQueue,
  row: number,
): void {
  payFunding(state, transaction, row);
  closeAllOrders(state, transaction, row, REASON_LIQUIDATION);
  closePart(state, transaction, queue, row, isolatedEquity(state, row), positionMaintenance(state, row));
}

/**
 * One step against a cross account, right after the caller's readConsistent() of it. Funding comes first: a debt lowers the
 * equity that the step divides. Orders come second: their margin is free then, and no fill can change the size.
 */
export function liquidateCross(
  state: SymbolState,
  transaction: Transaction,
  queue: DeleveragingQueue,
  row: number,
): void {
  const { marginTable, positions } = state;
  const account = positions.numbers[row + ACCOUNT];
  payFunding(state, transaction, row);
  closeAllOrders(state, transaction, row, REASON_LIQUIDATION);
  // An isolated position does not pay for losses elsewhere: only its orders, which use cross margin, are cancelled.
  if (positions.numbers[row + SIZE] === 0 || state.isIsolated(row)) return;
  // Brings the payment into the totals.
  state.contributions.refresh(row);
  const { equity, maintenance } = marginTable.consistent(account);
  closePart(state, transaction, queue, row, equity, maintenance);
}

/**
 * Closes all of a small position or a fifth of a large one: in the book as far as possible, and the rest by a transfer.
 *
 * The closed part takes its share of the equity along, in the book and in a transfer: equity × the position's maintenance ÷
 * the account's maintenance × lots ÷ size. So what stays keeps its equity per maintenance margin. The share is negative when
 * the account is bankrupt. `equity` and `maintenance` are those of the account, or of the isolated position.
 */
function closePart(
  state: SymbolState,
  transaction: Transaction,
  queue: DeleveragingQueue,
  row: number,
  equity: Quanta,
  maintenance: Quanta,
): void {
  const { positions, instrument, markTicks } = state;
  const sizeLots = positions.numbers[row + SIZE];
  const notional = Math.abs(sizeLots) * markTicks * instrument.quantaPerTickLot;
  const lots = notional <= WHOLE_STEP_QUANTA ? Math.abs(sizeLots) : Math.ceil(Math.abs(sizeLots) / STEPS);
  const ownMaintenance = maintenanceMargin(instrument, notional);
  assert(ownMaintenance <= maintenance, "a position's margin is a part of its account's");
  const positionShare = proportion(equity, ownMaintenance, maintenance);
  const equityShare = proportion(positionShare, lots, Math.abs(sizeLots));
  const limitTicks = bankruptcyTicks(state, sizeLots, lots, equityShare);
  // A deep deficit may put the price outside the range of prices: then no order in the book is good enough.
  const isInRange = limitTicks >= 1 && limitTicks <= instrument.maxPriceTicks;
  const terms = { execType: EXEC_LIQUIDATION, bankruptcyTicks: limitTicks };
  const filledLots = isInRange ? closeInBook(state, transaction, row, lots, limitTicks, terms) : 0;
  const restLots = lots - filledLots;
  if (restLots === 0) return;
  transferPosition(state, transaction, queue, row, restLots, proportion(equityShare, restLots, lots));
}

/**
 * The bankruptcy price of `lots`: the worst whole tick at which they lose no more than `equityShare` against the mark. Rounded
 * in favour of the account. It may lie above the highest price for a long, and below the lowest for a short.
 */
function bankruptcyTicks(
  { markTicks, instrument }: SymbolState,
  sizeLots: QuantityLots,
  lots: QuantityLots,
  equityShare: Quanta,
): PriceTicks {
  const lossTicks = equityShare / (lots * instrument.quantaPerTickLot);
  return sizeLots > 0
    ? Math.max(1, Math.ceil(markTicks - lossTicks))
    : Math.min(instrument.maxPriceTicks, Math.floor(markTicks + lossTicks));
}
