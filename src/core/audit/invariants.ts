import { createHash } from "node:crypto";
import { CONTRIBUTION_FIELDS } from "../accounts/contribution.ts";
import {
  ACCOUNT,
  BUY_LOTS,
  CASH,
  CLOSING_ORDERS,
  CONTRIBUTED,
  CONTRIBUTED_MARK,
  COST,
  FIRST_ORDER,
  ISOLATED_QUANTA,
  LEVERAGE,
  MARGIN_MODE,
  NONE,
  OPEN_ORDERS,
  REDUCE_ONLY_ORDERS,
  SIZE,
  WAITING_ORDERS,
} from "../base/columns.ts";
import { BUY, SELL, type Side } from "../base/enums.ts";
import type { ActorAudit, Levels, SymbolSummary } from "../protocol/payloads.ts";
import { WITH_POSITION } from "../state/order-terms.ts";
import type { SymbolState } from "../state/symbol-state.ts";

/** Of each side in one answer to Describe: some 15 bytes each, and a turn must fit into a ring. */
const LEVELS_PER_PAGE = 50_000;

/**
 * What a front thread needs to begin folding this symbol's events, with a page of the levels of each side: from the n-th on.
 * Consistent as long as nothing else happens between the pages.
 */
export function summarizeSymbol(state: SymbolState, from = 0): SymbolSummary {
  const bids = levels(state, BUY, from);
  const asks = levels(state, SELL, from);
  const isFull = bids.length === LEVELS_PER_PAGE || asks.length === LEVELS_PER_PAGE;
  return {
    next: isFull ? from + LEVELS_PER_PAGE : null,
    indexTicks: state.indexTicks,
    markTicks: state.markTicks,
    lastTicks: state.lastTicks,
    openInterestLots: state.openInterestLots,
    priceTime: state.priceTime,
    fundingRatePpb: state.intervalRatePpb(state.nextFundingTime),
    nextFundingTime: state.nextFundingTime,
    haltMode: state.haltMode,
    haltReason: state.haltReason,
    fault: state.fault,
    isIndexStale: state.isIndexStale,
    bids,
    asks,
  };
}

/** Recomputes from single orders and positions everything that the symbol keeps as a sum, slowly and simply. */
export function auditSymbol(state: SymbolState): ActorAudit {
  const faults: string[] = [];
  const { orders, positions, book } = state;
  const n = positions.numbers;

  let cash = 0n;
  let sizeLots = 0;
  let longLots = 0;
  let openPositions = 0;
  let owed = 0;
  positions.each((at) => {
    cash += BigInt(n[at + CASH]);
    sizeLots += n[at + SIZE];
    longLots += Math.max(0, n[at + SIZE]);
    if (n[at + SIZE] !== 0) openPositions++;
    if (state.owesFunding(at)) owed++;
    auditRow(state, at, faults);
  });
  if (state.fault !== "") faults.push(`the self-check has halted ${state.instrument.symbol}: ${state.fault}`);
  if (cash !== 0n) faults.push(`Σ cash is ${cash} quanta, not 0`);
  if (sizeLots !== 0) faults.push(`Σ size is ${sizeLots} lots, not 0`);
  if (longLots !== state.openInterestLots)
    faults.push(`open interest is kept as ${state.openInterestLots} lots but is ${longLots}`);
  if (owed !== state.fundingOwed) faults.push(`${owed} positions owe funding, not ${state.fundingOwed}`);
  if (openPositions !== positions.open.length) faults.push(`the list of open positions is wrong`);

  const lotsAt = new Map<number, number>();
  const hiddenAt = new Map<number, number>();
  let waiting = 0;
  orders.each((slot) => {
    if (orders.isWaiting(slot)) {
      waiting++;
      if (orders.isResting(slot)) faults.push(`order ${state.orderId(slot)} waits and rests`);
      return;
    }
    const price = orders.priceTicks(slot);
    if (!orders.isResting(slot)) faults.push(`order ${state.orderId(slot)} exists but does not rest`);
    if (orders.remainingLots(slot) <= 0) faults.push(`order ${state.orderId(slot)} rests with nothing left`);
    if (orders.find(orders.serial(slot)) !== slot) faults.push(`order ${state.orderId(slot)} is not found by its id`);
    const shownLots = state.open.shownLots(slot);
    const hiddenLots = state.open.hiddenLots(slot);
    lotsAt.set(price, (lotsAt.get(price) ?? 0) + shownLots);
    hiddenAt.set(price, (hiddenAt.get(price) ?? 0) + hiddenLots);
    if (orders.isIceberg(slot) && (shownLots <= 0 || hiddenLots < 0 || shownLots > state.terms.of(slot).displayLots))
      faults.push(`order ${state.orderId(slot)} shows ${shownLots} lots of ${orders.remainingLots(slot)}`);
  });
  for (const [price, lots] of hiddenAt)
    if (book.hiddenLots(price) !== lots)
      faults.push(`level ${price} is kept to hide ${book.hiddenLots(price)} lots but hides ${lots}`);
  for (const [price, lots] of lotsAt)
    if (book.levelLots(price) !== lots)
      faults.push(`level ${price} is kept as ${book.levelLots(price)} lots but is ${lots}`);
  if (waiting !== state.open.waitingCount)
    faults.push(`${waiting} orders wait for a price, not ${state.open.waitingCount}`);
  const bid = book.best(BUY);
  const ask = book.best(SELL);
  if (bid >= 0 && ask >= 0 && bid >= ask) faults.push(`the book is crossed: bid ${bid}, ask ${ask}`);

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

/** A hash over everything that must be the same after a restart. */
function digestSymbol(state: SymbolState): string {
  const { orders, positions } = state;
  const n = positions.numbers;
  const hash = createHash("sha256");
  hash.update(`${state.nextOrderSerial} ${state.nextTradeSerial} ${state.indexTicks} ${state.markTicks} `);
  hash.update(`${state.lastTicks} ${state.basis1024} ${state.openInterestLots}\n`);
  hash.update(`${state.nextFundingTime} ${state.premiumSum} ${state.premiumCount} ${state.fundingTime} `);
  hash.update(`${state.fundingRatePpb} ${state.fundingMarkTicks}\n`);
  hash.update(`${state.haltMode} ${state.haltReason} ${state.haltUntil} ${state.isIndexStale}\n`);
  for (const side of [BUY, SELL] as const) {
    const bitmap = state.book.side(side);
    for (let price = bitmap.best(); price >= 0; price = bitmap.next(price)) {
      for (let slot = state.book.first(price); slot !== NONE; slot = orders.next(slot)) {
        hash.update(`${state.orderId(slot)} ${state.accountId(slot)} ${side} ${price} ${orders.quantityLots(slot)} `);
        hash.update(`${orders.remainingLots(slot)} ${orders.filledLots(slot)} ${orders.filledQuanta(slot)} `);
        hash.update(
          `${orders.feeQuanta(slot)} ${orders.flags(slot)} ${orders.sequence(slot)} ${orders.createdAt(slot)} `,
        );
        hash.update(`${orders.marginPriceTicks(slot)} ${orders.lossTicks(slot)} ${orders.clientOrderId(slot)}\n`);
      }
    }
  }
  const extended: number[] = [];
  orders.each((slot) => {
    if (orders.isExtended(slot)) extended.push(slot);
  });
  for (const slot of extended.sort((a, b) => orders.serial(a) - orders.serial(b))) {
    const { legs, ...terms } = state.terms.of(slot);
    hash.update(`${state.orderId(slot)} ${state.accountId(slot)} ${orders.isWaiting(slot)} ${orders.type(slot)} `);
    hash.update(`${orders.priceTicks(slot)} ${orders.quantityLots(slot)} ${orders.flags(slot)} `);
    hash.update(`${Object.values(terms).join(" ")} ${JSON.stringify(legs)} ${orders.clientOrderId(slot)}\n`);
  }
  for (const [accountId, cancelAt] of [...state.cancelSwitches.entries()].sort(([a], [b]) => a - b))
    hash.update(`${accountId} cancels at ${cancelAt}\n`);
  const rows: string[] = [];
  const { defaultLeverage } = state.instrument;
  positions.each((at) => {
    const parts = [n[at + SIZE], n[at + CASH], n[at + COST], n[at + LEVERAGE] - defaultLeverage, n[at + OPEN_ORDERS]];
    parts.push(n[at + MARGIN_MODE], n[at + ISOLATED_QUANTA]);
    // A row that is as it was made is not state.
    if (parts.some((part) => part !== 0)) rows.push(`${n[at + ACCOUNT]} ${parts.join(" ")}`);
  });
  rows.sort();
  return hash.update(rows.join("\n")).digest("hex");
}

/** Checks one row by itself: its sums against its orders, and what the cells were given. Adds what is wrong to `faults`. */
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
        faults.push(`order ${state.orderId(slot)} waits to close a position that is not there`);
      continue;
    }
    // One that has waited and is filled leaves with its turn, which the self-check may look into.
    if (!orders.isResting(slot)) continue;
    open++;
    if (state.open.isReduceOnly(slot)) {
      reduceOnly++;
      const closable = orders.side(slot) === SELL ? n[at + SIZE] : -n[at + SIZE];
      if (orders.remainingLots(slot) > closable) faults.push(`order ${state.orderId(slot)} would more than close`);
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
    faults.push(`account ${account}: counts of open orders are wrong`);
  if (n[at + ISOLATED_QUANTA] !== 0 && !state.isIsolated(at))
    faults.push(`account ${account}: ${n[at + ISOLATED_QUANTA]} quanta are set aside for no isolated position`);
  if (n[at + WAITING_ORDERS] !== waiting || n[at + CLOSING_ORDERS] !== closing)
    faults.push(`account ${account}: counts of waiting orders are wrong`);
  // A row that the sweep has not come to was given what was due at an older mark.
  const due = state.contributionOf(at, n[at + CONTRIBUTED_MARK]);
  const expected = [due.equity, due.unrealized, due.initial, due.positionInitial, due.maintenance];
  for (let i = 0; i < CONTRIBUTION_FIELDS; i++)
    if (n[at + CONTRIBUTED + i] !== expected[i])
      faults.push(`account ${account}: cell ${i} was given ${n[at + CONTRIBUTED + i]} but ${expected[i]} is due`);
}

function levels({ book }: SymbolState, side: Side, from: number): Levels {
  const out: Levels = [];
  const bitmap = book.side(side);
  let at = 0;
  for (let price = bitmap.best(); price >= 0 && out.length < LEVELS_PER_PAGE; price = bitmap.next(price))
    if (at++ >= from) out.push([price, book.levelLots(price)]);
  return out;
}
