import { applyPositionTransferred } from "../apply/position-events.ts";
import { ACCOUNT, CONTRIBUTED, NONE, SIZE } from "../base/columns.ts";
import { BUY, EXEC_ADL, EXEC_LIQUIDATION, INSURANCE_ACCOUNT, SELL, serialToId } from "../base/enums.ts";
import { proportion, type Quanta, type QuantityLots } from "../base/units.ts";
import { payFunding } from "../margin/funding-payment.ts";
import { settleForcedFill } from "../margin/isolated.ts";
import { clampReduceOnlyOrders } from "../matching/reduce-only.ts";
import type { Transaction } from "../protocol/actor.ts";
import { PositionTransferred } from "../protocol/events.ts";
import { blank } from "../protocol/message-schema.ts";
import type { SymbolState } from "../state/symbol-state.ts";
import type { DeleveragingQueue } from "./deleveraging.ts";

const transferred = blank(PositionTransferred);

/** How many positions of the other side one step may deleverage. */
const COUNTERPARTIES_PER_STEP = 50;

/**
 * Transfers `lots` of a row's position at the bankruptcy price: to the insurance fund if it can bear them, else to positions
 * of the other side. `equityShare` is the equity that the lots bring along; if negative, the loss that the receiver takes.
 */
export function transferPosition(
  state: SymbolState,
  transaction: Transaction,
  queue: DeleveragingQueue,
  row: number,
  lots: QuantityLots,
  equityShare: Quanta,
): void {
  const { positions, marginTable, instrument, markTicks } = state;
  const isLong = positions.numbers[row + SIZE] > 0;
  const value = lots * markTicks * instrument.quantaPerTickLot;
  // A long is sold below its value by its equity, a short bought back above it.
  const quanta = isLong ? value - equityShare : value + equityShare;
  const fund = positions.ensure(INSURANCE_ACCOUNT);
  refreshFund(state, fund);
  // Another thread is changing the fund, so its equity is not known. The next scan continues.
  if (!marginTable.readConsistent(INSURANCE_ACCOUNT)) return;
  if (row !== fund && marginTable.consistent(INSURANCE_ACCOUNT).equity + equityShare >= 0) {
    // Pay before the transfer: another thread may spend the same money. If it was faster, the next scan continues.
    const isPaid =
      equityShare >= 0 || marginTable.pay(INSURANCE_ACCOUNT, -equityShare, positions.numbers, fund + CONTRIBUTED);
    if (isPaid) transfer(state, transaction, row, fund, lots, quanta, EXEC_LIQUIDATION);
    return;
  }
  deleverage(state, transaction, queue, row, lots, quanta, -equityShare / lots);
}

/**
 * Auto-deleveraging: closes the lots against positions of the other side in the order of the queue, for `quanta` in all. A step
 * takes a limited number of them, and the next scan continues. `lossPerLot`: quanta that a lot costs the other side, against
 * the mark.
 */
function deleverage(
  state: SymbolState,
  transaction: Transaction,
  queue: DeleveragingQueue,
  row: number,
  lots: QuantityLots,
  quanta: Quanta,
  lossPerLot: number,
): void {
  const { positions } = state;
  const isLong = positions.numbers[row + SIZE] > 0;
  let leftLots = lots;
  let leftQuanta = quanta;
  for (let i = 0; i < COUNTERPARTIES_PER_STEP && leftLots > 0; i++) {
    const counterparty = queue.next(state, !isLong, lossPerLot, leftLots);
    if (counterparty === NONE) return;
    const partLots = Math.min(leftLots, Math.abs(positions.numbers[counterparty + SIZE]));
    const partQuanta = proportion(leftQuanta, partLots, leftLots);
    transfer(state, transaction, row, counterparty, partLots, partQuanta, EXEC_ADL);
    leftLots -= partLots;
    leftQuanta -= partQuanta;
    if (state.progress.isLong) return;
  }
}

/** Brings the fund's gains and losses in this transaction into the totals. It may use its gains: one log record has both. */
export function refreshFund(state: SymbolState, fund: number): void {
  state.contributions.refresh(fund);
  state.marginTable.useDeferred();
}

/** Moves lots of an open position from one row to another for `quanta`: a trade outside the book, without fees. */
function transfer(
  state: SymbolState,
  transaction: Transaction,
  from: number,
  to: number,
  lots: QuantityLots,
  quanta: Quanta,
  execType: number,
): void {
  // Funding is owed by the size before the transfer.
  payFunding(state, transaction, from);
  payFunding(state, transaction, to);
  const { positions, instrument } = state;
  const n = positions.numbers;
  const side = n[from + SIZE] > 0 ? SELL : BUY;
  const signedLots = side === BUY ? lots : -lots;
  transferred.tradeId = serialToId(state.nextTradeSerial, instrument.id);
  transferred.accountId = n[from + ACCOUNT];
  transferred.counterpartyId = n[to + ACCOUNT];
  transferred.side = side;
  transferred.quantityLots = lots;
  transferred.priceTicks = Math.max(0, Math.round(quanta / (lots * instrument.quantaPerTickLot)));
  transferred.quanta = quanta;
  transferred.accountRealizedQuanta = positions.realized(from, signedLots, quanta);
  transferred.counterpartyRealizedQuanta = positions.realized(to, -signedLots, quanta);
  transferred.accountSizeLots = n[from + SIZE] + signedLots;
  transferred.counterpartySizeLots = n[to + SIZE] - signedLots;
  transferred.execType = execType;
  applyPositionTransferred(state, transferred, transaction.time);
  transaction.emit(transferred);
  settleForcedFill(state, transaction, from);
  settleForcedFill(state, transaction, to);
  // The next step of this transaction must see what the receiver can still bear.
  state.contributions.refresh(to);
  clampReduceOnlyOrders(state, transaction, from);
  clampReduceOnlyOrders(state, transaction, to);
}
