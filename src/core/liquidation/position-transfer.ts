import { applyPositionTransferred } from "../apply/position-events.ts";
import { ACCOUNT, CONTRIBUTED, NONE, SIZE } from "../base/columns.ts";
import { BUY, EXEC_ADL, EXEC_LIQUIDATION, INSURANCE_ACCOUNT, SELL, serialToId } from "../base/enums.ts";
import { proportion, type Quanta, type QuantityLots } from "../base/units.ts";
import { refreshFund } from "../margin/deficit.ts";
import { payFunding } from "../margin/funding-payment.ts";
import { settleForcedFill } from "../margin/isolated.ts";
import { clampReduceOnlyOrders } from "../matching/reduce-only.ts";
import type { Transaction } from "../protocol/actor.ts";
import { PositionTransferred } from "../protocol/events.ts";
import { blank } from "../protocol/message-schema.ts";
import type { SymbolState } from "../state/symbol-state.ts";
import type { DeleveragingQueue } from "./deleveraging.ts";
import { mayFundTake } from "./fund-limits.ts";

const transferred = blank(PositionTransferred);

/** How many positions of the other side one step may close. */
const COUNTERPARTIES_PER_STEP = 50;

/** A bankrupt row's counterparties, in the order in which it is closed against them. */
export interface TracedCounterparties {
  /** The lots that the bankrupt row may still be closed against them: those that it took lately. */
  countedLots: QuantityLots;
  readonly rows: readonly number[];
  /** The lots of the count that each of the rows keeps. */
  readonly lots: QuantityLots[];
  /** Those before it are done. */
  next: number;
}

/** Lots that are still to be transferred, and the notional for which they go: all parts have the same price. */
interface Remainder {
  lots: QuantityLots;
  quanta: Quanta;
}

/**
 * Transfers `lots` of a row's position at the bankruptcy price, in this order:
 *
 *     1. against the accounts that the position was taken from lately (`traced`): no more lots than the row took lately;
 *     2. to the insurance fund, within its limits;
 *     3. against positions of the other side by rank (auto-deleveraging).
 *
 * `equityShare` is the equity that the lots bring along; if negative, the loss that the receivers take against the mark. The
 * caller must see to it that this loss is a part of what the other side has gained by the last step of the mark. A step takes
 * a limited number of positions, and the next one continues. Returns false if another thread is changing the fund, or if the
 * transaction became long before the traced accounts were through: then the next step continues, too.
 */
export function transferPosition(
  state: SymbolState,
  transaction: Transaction,
  queue: DeleveragingQueue,
  row: number,
  lots: QuantityLots,
  equityShare: Quanta,
  traced?: TracedCounterparties,
): boolean {
  const { positions, marginTable, instrument, markTicks } = state;
  const isLong = positions.numbers[row + SIZE] > 0;
  const value = lots * markTicks * instrument.quantaPerTickLot;
  // A long is sold below its value by its equity, a short bought back above it.
  const rest: Remainder = { lots, quanta: isLong ? value - equityShare : value + equityShare };
  if (traced !== undefined && !closeTraced(state, transaction, row, rest, traced)) return false;
  if (rest.lots === 0) return true;
  if (row !== positions.find(INSURANCE_ACCOUNT)) {
    const fund = refreshFund(state);
    if (!marginTable.readConsistent(INSURANCE_ACCOUNT)) return false;
    const restShare = proportion(equityShare, rest.lots, lots);
    if (mayFundTake(state, fund, isLong ? rest.lots : -rest.lots, restShare))
      return transferToFund(state, transaction, row, fund, rest, restShare);
  }
  for (let i = 0; i < COUNTERPARTIES_PER_STEP && rest.lots > 0 && !state.progress.isLong; i++) {
    const counterparty = queue.next(state, !isLong);
    if (counterparty === NONE) return true;
    closeAgainst(state, transaction, row, counterparty, rest.lots, rest);
  }
  return true;
}

/** Pays before the transfer: another thread may spend the same money. Returns false if it was faster. */
function transferToFund(
  state: SymbolState,
  transaction: Transaction,
  row: number,
  fund: number,
  { lots, quanta }: Remainder,
  equityShare: Quanta,
): boolean {
  const { positions, marginTable } = state;
  const isPaid =
    equityShare >= 0 || marginTable.pay(INSURANCE_ACCOUNT, -equityShare, positions.numbers, fund + CONTRIBUTED);
  if (isPaid) transfer(state, transaction, row, fund, lots, quanta, EXEC_LIQUIDATION);
  return isPaid;
}

/**
 * Closes what the row took lately against the traced accounts, and counts down the lots that it may close and that each of them
 * owes. Returns false if some are left for later.
 */
function closeTraced(
  state: SymbolState,
  transaction: Transaction,
  row: number,
  rest: Remainder,
  traced: TracedCounterparties,
): boolean {
  const { rows, lots } = traced;
  while (rest.lots > 0 && traced.countedLots > 0 && traced.next < rows.length) {
    if (state.progress.isHalfLong) return false;
    const at = traced.next;
    const before = rest.lots;
    closeAgainst(state, transaction, row, rows[at], Math.min(traced.countedLots, lots[at]), rest);
    const closed = before - rest.lots;
    lots[at] -= closed;
    traced.countedLots -= closed;
    // If lots of both are left, it holds nothing on the other side any more, and is not met again.
    if (lots[at] === 0 || (rest.lots > 0 && traced.countedLots > 0)) traced.next++;
  }
  traced.countedLots = 0;
  return true;
}

/** Closes up to `mostLots` of the rest against a position of the other side. */
function closeAgainst(
  state: SymbolState,
  transaction: Transaction,
  row: number,
  counterparty: number,
  mostLots: QuantityLots,
  rest: Remainder,
): void {
  const n = state.positions.numbers;
  const size = n[counterparty + SIZE];
  if (size === 0 || size > 0 === n[row + SIZE] > 0) return;
  const lots = Math.min(rest.lots, mostLots, Math.abs(size));
  const quanta = proportion(rest.quanta, lots, rest.lots);
  transfer(state, transaction, row, counterparty, lots, quanta, EXEC_ADL);
  rest.lots -= lots;
  rest.quanta -= quanta;
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
