import { CONTRIBUTION_FIELDS } from "../accounts/contribution.ts";
import {
  ACCOUNT,
  BUY_LOTS,
  CASH,
  CLOSING_ORDERS,
  CONTRIBUTED,
  CONTRIBUTED_MARK,
  FIRST_ORDER,
  ISOLATED_QUANTA,
  NONE,
  OPEN_ORDERS,
  REDUCE_ONLY_ORDERS,
  SIZE,
  WAITING_ORDERS,
} from "../base/columns.ts";
import { BUY, SELL } from "../base/enums.ts";
import { ExactSum } from "../base/exact-sum.ts";
import type { QuantityLots } from "../base/units.ts";
import type { ActorAudit } from "../protocol/payloads.ts";
import { WITH_POSITION } from "../state/order-terms.ts";
import type { SymbolState } from "../state/symbol-state.ts";
import { digestSymbol } from "./symbol-digest.ts";

/**
 * Checks all invariants of a symbol: it recomputes every kept sum from single orders and positions, slowly and simply. The
 * report lists the faults as text.
 */
export function auditSymbol(state: SymbolState): ActorAudit {
  const { orders } = state;
  const faults: string[] = [];
  if (state.fault !== "") faults.push(`the self-check has halted ${state.instrument.symbol}: ${state.fault}`);
  const { cash, sizeLots } = auditSums(state, faults);
  const openPositions = auditRows(state, faults);
  auditOrders(state, faults);
  return {
    actorId: state.instrument.id,
    sequence: 0,
    moneyQuanta: cash.toString(),
    sizeLots,
    openOrders: orders.count,
    positions: openPositions,
    faults,
    digest: digestSymbol(state),
  };
}

/**
 * Checks what holds only for all rows together: Σ cash = 0 quanta, Σ size = 0 lots, open interest = Σ of longs; and that the
 * book is not crossed. Returns Σ cash and Σ size.
 */
export function auditSums(state: SymbolState, faults: string[]): { cash: bigint; sizeLots: QuantityLots } {
  const { positions, book } = state;
  const n = positions.numbers;
  const sum = new ExactSum();
  let sizeLots = 0;
  let longLots = 0;
  positions.each((at) => {
    sum.add(n[at + CASH]);
    sizeLots += n[at + SIZE];
    if (n[at + SIZE] > 0) longLots += n[at + SIZE];
  });
  const cash = sum.total;
  if (cash !== 0n) faults.push(`Σ cash is ${cash} quanta, not 0`);
  if (sizeLots !== 0) faults.push(`Σ size is ${sizeLots} lots, not 0`);
  if (longLots !== state.openInterestLots)
    faults.push(`open interest is kept as ${state.openInterestLots} lots but is ${longLots}`);
  const bid = book.best(BUY);
  const ask = book.best(SELL);
  if (bid >= 0 && ask >= 0 && bid >= ask) faults.push(`the book is crossed: bid ${bid}, ask ${ask}`);
  return { cash, sizeLots };
}

/** Checks each row, and the counts of rows. Returns how many positions are open. */
function auditRows(state: SymbolState, faults: string[]): number {
  const { positions } = state;
  let openPositions = 0;
  let owing = 0;
  positions.each((at) => {
    if (positions.numbers[at + SIZE] !== 0) openPositions++;
    if (state.funding.owes(at)) owing++;
    auditRow(state, at, faults);
  });
  if (owing !== state.funding.owingCount)
    faults.push(`the count of positions that owe funding is kept as ${state.funding.owingCount} but is ${owing}`);
  if (openPositions !== positions.open.length)
    faults.push(`the list of open positions has ${positions.open.length} entries but ${openPositions} are open`);
  return openPositions;
}

/** Checks each order, and the lots of each price level against its orders. */
function auditOrders(state: SymbolState, faults: string[]): void {
  const { orders, book, open } = state;
  const shownAt = new Map<number, number>();
  const hiddenAt = new Map<number, number>();
  let waiting = 0;
  orders.each((slot) => {
    if (orders.isWaiting(slot)) {
      waiting++;
      if (orders.isResting(slot)) faults.push(`order ${state.orderId(slot)} is untriggered but is in the book`);
      return;
    }
    auditRestingOrder(state, slot, faults);
    const price = orders.priceTicks(slot);
    shownAt.set(price, (shownAt.get(price) ?? 0) + open.shownLots(slot));
    hiddenAt.set(price, (hiddenAt.get(price) ?? 0) + open.hiddenLots(slot));
  });
  for (const [price, lots] of hiddenAt)
    if (book.hiddenLots(price) !== lots)
      faults.push(`level ${price}: hidden lots are kept as ${book.hiddenLots(price)} but are ${lots}`);
  for (const [price, lots] of shownAt)
    if (book.levelLots(price) !== lots)
      faults.push(`level ${price}: lots are kept as ${book.levelLots(price)} but are ${lots}`);
  if (waiting !== open.waitingCount)
    faults.push(`the count of untriggered orders is kept as ${open.waitingCount} but is ${waiting}`);
}

function auditRestingOrder(state: SymbolState, slot: number, faults: string[]): void {
  const { orders, open } = state;
  const remainingLots = orders.remainingLots(slot);
  if (!orders.isResting(slot)) faults.push(`order ${state.orderId(slot)} exists but is not in the book`);
  if (remainingLots <= 0) faults.push(`order ${state.orderId(slot)} is in the book with ${remainingLots} lots left`);
  if (orders.find(orders.serial(slot)) !== slot) faults.push(`order ${state.orderId(slot)} is not found by its id`);
  if (!orders.isIceberg(slot)) return;
  const shownLots = open.shownLots(slot);
  if (shownLots <= 0 || open.hiddenLots(slot) < 0 || shownLots > state.terms.of(slot).displayLots)
    faults.push(`iceberg order ${state.orderId(slot)} shows ${shownLots} lots of ${remainingLots}`);
}

/** Checks one row by itself: its sums and counts against its orders, and its contribution to the margin table. */
export function auditRow(state: SymbolState, at: number, faults: string[]): void {
  const { orders, positions, instrument } = state;
  const n = positions.numbers;
  const account = n[at + ACCOUNT];
  const sums = [0, 0, 0, 0, 0, 0];
  let open = 0;
  let reduceOnly = 0;
  let waiting = 0;
  let closing = 0;
  for (let slot = n[at + FIRST_ORDER]; slot !== NONE; slot = orders.accountNext(slot)) {
    if (orders.isWaiting(slot)) {
      waiting++;
      if ((orders.flags(slot) & WITH_POSITION) === 0) continue;
      closing++;
      if (orders.side(slot) === SELL ? n[at + SIZE] <= 0 : n[at + SIZE] >= 0)
        faults.push(`order ${state.orderId(slot)} is to close a position that does not exist`);
      continue;
    }
    // A triggered order that is filled is removed at the end of its transaction, and the self-check may run before that.
    if (!orders.isResting(slot)) continue;
    open++;
    if (state.open.isReduceOnly(slot)) {
      reduceOnly++;
      const closable = orders.side(slot) === SELL ? n[at + SIZE] : -n[at + SIZE];
      if (orders.remainingLots(slot) > closable)
        faults.push(`reduce-only order ${state.orderId(slot)} is larger than the position`);
      continue;
    }
    const base = orders.side(slot) === BUY ? 0 : 3;
    const perTick = orders.remainingLots(slot) * instrument.quantaPerTickLot;
    sums[base] += orders.remainingLots(slot);
    sums[base + 1] += perTick * orders.marginPriceTicks(slot);
    sums[base + 2] += perTick * orders.lossTicks(slot);
  }
  for (let i = 0; i < 6; i++)
    if (n[at + BUY_LOTS + i] !== sums[i])
      faults.push(`account ${account}: order sum ${i} is kept as ${n[at + BUY_LOTS + i]} but is ${sums[i]}`);
  if (n[at + OPEN_ORDERS] !== open || n[at + REDUCE_ONLY_ORDERS] !== reduceOnly)
    faults.push(`account ${account}: the counts of open orders are wrong`);
  if (n[at + ISOLATED_QUANTA] !== 0 && !state.isIsolated(at))
    faults.push(`account ${account}: ${n[at + ISOLATED_QUANTA]} quanta are set aside without an isolated position`);
  if (n[at + WAITING_ORDERS] !== waiting || n[at + CLOSING_ORDERS] !== closing)
    faults.push(`account ${account}: the counts of untriggered orders are wrong`);
  // The mark sweep may not have reached the row: then its contribution is that of an older mark.
  const due = state.contributions.of(at, n[at + CONTRIBUTED_MARK]);
  const expected = [due.equity, due.unrealized, due.initial, due.positionInitial, due.maintenance];
  for (let i = 0; i < CONTRIBUTION_FIELDS; i++)
    if (n[at + CONTRIBUTED + i] !== expected[i])
      faults.push(`account ${account}: contribution ${i} is kept as ${n[at + CONTRIBUTED + i]} but is ${expected[i]}`);
}
