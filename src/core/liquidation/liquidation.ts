import { assert } from "../../assert.ts";
import { ACCOUNT, CONTRIBUTED, COST, NONE, OPEN_ORDERS, SIZE } from "../base/columns.ts";
import {
  BUY,
  EXEC_ADL,
  EXEC_LIQUIDATION,
  EXPIRE_TAKER,
  INSURANCE_ACCOUNT,
  IOC,
  isCustomer,
  MARKET,
  REASON_IOC_REMAINDER,
  REASON_LIQUIDATION,
  REASON_NO_LIQUIDITY,
  REDUCE_ONLY,
  SELL,
  STATUS_EXPIRED,
  serialToId,
} from "../base/enums.ts";
import { PPM, type PriceTicks, proportion, QUANTA_PER_USDC, type Quanta, type QuantityLots } from "../base/units.ts";
import { maintenanceMargin } from "../formulas/margin.ts";
import { breakEvenTicks } from "../margin/bankruptcy-price.ts";
import { payFunding } from "../margin/funding-payment.ts";
import { isolatedEquity, settleForcedFill } from "../margin/isolated.ts";
import { positionMaintenance } from "../margin/position-margin.ts";
import { match, TRADE_TERMS, type TradeTerms } from "../matching/matching.ts";
import { clipReduceOnly, close, closeAll } from "../matching/order-closing.ts";
import type { Transaction } from "../protocol/actor.ts";
import { DeficitCovered, OrderPlaced, PositionTransferred } from "../protocol/events.ts";
import { blank } from "../protocol/message-schema.ts";
import type { SymbolState } from "../state/symbol-state.ts";
import { DeleveragingQueue } from "./deleveraging.ts";

const placed = blank(OrderPlaced);
const transferred = blank(PositionTransferred);
const covered = blank(DeficitCovered);

/** Positions up to this notional are closed in one step, larger ones a fifth at a time (Hyperliquid: 20 % above 100k). */
const WHOLE_STEP_QUANTA = 100_000 * QUANTA_PER_USDC;
const STEPS = 5;
/** So many accounts are looked at, and so many acted upon, in one turn: orders behind it wait no longer than that takes. */
const ROWS_PER_TRANSACTION = 5000;
const ACTIONS_PER_TRANSACTION = 10;
/** How many of the other side one account's step may deleverage. */
const COUNTERPARTIES_PER_STEP = 50;
/**
 * How far from the mark the fund sells what it took over: a tenth of the price band, if it gets back what it gave. At a
 * loss no further than a quarter of the least maintenance margin, which is less than what mostly comes with a position:
 * so whoever has accounts fail on purpose does not buy back for less than these have lost.
 */
const FUND_BAND_SHARE = 10;
const FUND_MARGIN_SHARE = 4;

/**
 * What happens to accounts whose equity is below their maintenance margin, as far as it happens in one symbol:
 *
 *     cancel the account's orders here → close, reduce-only IOC, no worse than the bankruptcy price, in steps
 *     → what the book does not take, the insurance fund takes over at the bankruptcy price
 *     → what the fund has no means for goes to the other side by profit and leverage (ADL), at the same price
 *
 * Nobody coordinates and nothing has to be remembered: every symbol looks at its accounts' cells again and again and
 * does its share, a step is one turn of the log, and whoever has recovered is let go. The bankruptcy price leaves equity
 * per maintenance margin as it is (dYdX v4; Lighter's "zero price"), so symbols that act at once do not disturb each other.
 *
 * An isolated position goes the same way on its own (isolated.ts): it is measured and closed by its bucket's equity.
 */
export class Liquidations {
  /** Rows that the look before this one found below their margin: the cells of another actor may have been half-way. */
  private before = new Set<number>();
  private suspects = new Set<number>();
  /** The next row of the look that is under way; NONE between two looks. */
  private nextRow = NONE;
  private readonly queue = new DeleveragingQueue();

  /** Begins another look at all accounts of the symbol, unless the last one is still under way. */
  begin(): void {
    if (this.nextRow !== NONE) return;
    this.nextRow = 0;
    this.queue.forget();
    this.before = this.suspects;
    this.suspects = new Set();
  }

  /** There is no price to look at accounts with: what was seen is forgotten. */
  cancelScan(): void {
    this.nextRow = NONE;
    this.suspects.clear();
  }

  /** A share of the look that is under way. Returns whether more of it is left. */
  runBackground(state: SymbolState, transaction: Transaction): boolean {
    if (this.nextRow === NONE) return false;
    const { positions } = state;
    const fund = positions.find(INSURANCE_ACCOUNT);
    if (fund !== NONE) state.refreshMark(fund);
    const end = Math.min(positions.count, this.nextRow + ROWS_PER_TRANSACTION);
    let acted = 0;
    for (; this.nextRow < end && acted < ACTIONS_PER_TRANSACTION && !state.isTransactionLong; this.nextRow++) {
      const row = positions.offset(this.nextRow);
      // A step of this turn has traded with it, and what helps it waits for the ticket: it is looked at as it is by then.
      if (state.isDirty(row)) return true;
      state.refreshMark(row);
      if (this.look(state, transaction, row)) acted++;
    }
    if (this.nextRow < positions.count) return true;
    unwindFund(state, transaction, this.queue);
    this.nextRow = NONE;
    return false;
  }

  /** One account: nothing, a first look, or at the second one a step. Returns whether it came to a step. */
  private look(state: SymbolState, transaction: Transaction, row: number): boolean {
    const { positions, marginTable } = state;
    const n = positions.numbers;
    const account = n[row + ACCOUNT];
    if (!isCustomer(account)) return false;
    const isIsolated = state.isIsolated(row);
    if (isIsolated && isolatedEquity(state, row) < positionMaintenance(state, row)) {
      liquidateIsolated(state, transaction, this.queue, row);
      return true;
    }
    // In the middle of another thread's turn there is less than there is: enough is enough.
    if (marginTable.equity(account) >= marginTable.maintenance(account)) return false;
    marginTable.readConsistent(account);
    const { equity, maintenance } = marginTable.consistent(account);
    if (equity >= maintenance) return false;
    const isAtStake = n[row + OPEN_ORDERS] !== 0 || (n[row + SIZE] !== 0 && !isIsolated);
    if (maintenance > 0 && !isAtStake) return false;
    if (!this.before.has(row)) {
      this.suspects.add(row);
      return false;
    }
    if (maintenance === 0) cover(state, transaction, row);
    else liquidate(state, transaction, this.queue, row);
    return true;
  }
}

/**
 * An isolated position stands for itself: one look is enough, its bucket is all of its equity, and the account's orders
 * in this symbol go with it (Binance, Bybit). Nothing else of the account is touched.
 */
function liquidateIsolated(state: SymbolState, transaction: Transaction, queue: DeleveragingQueue, row: number): void {
  payFunding(state, transaction, row);
  closeAll(state, transaction, row, REASON_LIQUIDATION);
  closeStep(state, transaction, queue, row, isolatedEquity(state, row), positionMaintenance(state, row));
}

/** An account that has just been observed. */
function liquidate(state: SymbolState, transaction: Transaction, queue: DeleveragingQueue, row: number): void {
  const { marginTable, positions } = state;
  const account = positions.numbers[row + ACCOUNT];
  payFunding(state, transaction, row);
  closeAll(state, transaction, row, REASON_LIQUIDATION);
  // What an isolated position holds does not stand for the account's losses elsewhere.
  if (positions.numbers[row + SIZE] === 0 || state.isIsolated(row)) return;
  // What it has paid is gone from what the position may still lose.
  state.refresh(row);
  const { equity, maintenance } = marginTable.consistent(account);
  closeStep(state, transaction, queue, row, equity, maintenance);
}

function closeStep(
  state: SymbolState,
  transaction: Transaction,
  queue: DeleveragingQueue,
  row: number,
  equity: Quanta,
  maintenance: Quanta,
): void {
  const { positions, instrument, markTicks } = state;
  const size = positions.numbers[row + SIZE];
  const perTick = instrument.quantaPerTickLot;
  const notional = Math.abs(size) * markTicks * perTick;
  const stepLots = notional <= WHOLE_STEP_QUANTA ? Math.abs(size) : Math.ceil(Math.abs(size) / STEPS);
  // This position's share of the equity, by margin; and of that, the step's.
  const ownMaintenance = maintenanceMargin(instrument, notional);
  assert(ownMaintenance <= maintenance, "a position's margin is a part of its account's");
  const share = proportion(equity, ownMaintenance, maintenance);
  const stepShare = proportion(share, stepLots, Math.abs(size));
  const limitTicks = bankruptcyTicks(state, size, stepLots, stepShare);
  // At the end of the range of prices none in the book may be good enough.
  const isInRange = limitTicks >= 1 && limitTicks <= instrument.maxPriceTicks;
  const terms = { execType: EXEC_LIQUIDATION, bankruptcyTicks: limitTicks };
  const filledLots = isInRange ? closeInBook(state, transaction, row, stepLots, limitTicks, terms) : 0;
  const restLots = stepLots - filledLots;
  if (restLots === 0) return;
  handOver(state, transaction, queue, row, restLots, proportion(stepShare, restLots, stepLots));
}

/** The worst whole tick at which the lots may trade and still leave their share of the equity at zero or above. */
function bankruptcyTicks(state: SymbolState, size: QuantityLots, lots: QuantityLots, share: Quanta): PriceTicks {
  const { markTicks, instrument } = state;
  const move = share / (lots * instrument.quantaPerTickLot);
  return size > 0
    ? Math.max(1, Math.ceil(markTicks - move))
    : Math.min(instrument.maxPriceTicks, Math.floor(markTicks + move));
}

/** To the insurance fund if it can bear it, else to the other side of the market. `share` comes with the lots. */
function handOver(
  state: SymbolState,
  transaction: Transaction,
  queue: DeleveragingQueue,
  row: number,
  lots: QuantityLots,
  share: Quanta,
): void {
  const { positions, marginTable, instrument, markTicks } = state;
  const isLong = positions.numbers[row + SIZE] > 0;
  const value = lots * markTicks * instrument.quantaPerTickLot;
  // A long is sold for its value less its share of the equity, a short bought back for as much more.
  const quanta = isLong ? value - share : value + share;
  const fund = positions.ensure(INSURANCE_ACCOUNT);
  showFund(state, fund);
  // What the fund has is not to be seen: the next look goes on there.
  if (!marginTable.readConsistent(INSURANCE_ACCOUNT)) return;
  if (row !== fund && marginTable.consistent(INSURANCE_ACCOUNT).equity + share >= 0) {
    // Another thread may have seen the same money: where it was faster, the next look goes on as well.
    if (share < 0 && !marginTable.pay(INSURANCE_ACCOUNT, -share, positions.numbers, fund + CONTRIBUTED)) return;
    transfer(state, transaction, row, fund, lots, quanta, EXEC_LIQUIDATION);
    return;
  }
  let leftLots = lots;
  let leftQuanta = quanta;
  let counterparties = 0;
  while (leftLots > 0) {
    const counterparty = queue.next(state, !isLong, -share / lots, leftLots);
    if (counterparty === NONE) return;
    const part = Math.min(leftLots, Math.abs(positions.numbers[counterparty + SIZE]));
    const partQuanta = proportion(leftQuanta, part, leftLots);
    transfer(state, transaction, row, counterparty, part, partQuanta, EXEC_ADL);
    leftLots -= part;
    leftQuanta -= partQuanta;
    // What is left is for the next look.
    if (++counterparties === COUNTERPARTIES_PER_STEP || state.isTransactionLong) return;
  }
}

/** Lets the cells show what this turn has taken from the fund and brought it: both stand in one record of the log. */
function showFund(state: SymbolState, fund: number): void {
  state.refresh(fund);
  state.marginTable.useDeferred();
}

function transfer(
  state: SymbolState,
  transaction: Transaction,
  from: number,
  to: number,
  lots: QuantityLots,
  quanta: Quanta,
  execType: number,
): void {
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
  state.transferred(transferred, transaction.time);
  transaction.emit(transferred);
  settleForcedFill(state, transaction, from);
  settleForcedFill(state, transaction, to);
  // The next account of this turn must see what the fund can still bear.
  state.refresh(to);
  clipReduceOnly(state, transaction, from);
  clipReduceOnly(state, transaction, to);
}

/**
 * A reduce-only IOC order of the house for a row. Returns the lots that it closed, or all of them when the book would have
 * taken more than one turn may hold: the next look goes on there.
 */
function closeInBook(
  state: SymbolState,
  transaction: Transaction,
  row: number,
  lots: QuantityLots,
  limitTicks: PriceTicks,
  terms: TradeTerms,
): QuantityLots {
  const { positions, orders, instrument } = state;
  // What makers have lost to the steps before it is gone, also from what their other orders stand on; what they have closed
  // needs no margin any more.
  state.refreshDirty();
  state.marginTable.useDeferred();
  placed.orderId = serialToId(state.nextOrderSerial, instrument.id);
  placed.accountId = positions.numbers[row + ACCOUNT];
  placed.side = positions.numbers[row + SIZE] > 0 ? SELL : BUY;
  placed.orderType = MARKET;
  placed.timeInForce = IOC;
  placed.flags = REDUCE_ONLY;
  placed.selfTradePrevention = EXPIRE_TAKER;
  placed.priceTicks = limitTicks;
  placed.quantityLots = lots;
  placed.rests = 0;
  const slot = state.placed(placed, transaction.time);
  transaction.emit(placed);
  const stopped = match(state, transaction, slot, limitTicks, terms);
  const restLots = orders.remainingLots(slot);
  if (restLots > 0) close(state, transaction, slot, STATUS_EXPIRED, REASON_NO_LIQUIDITY);
  else state.endTaking(slot);
  return stopped === REASON_IOC_REMAINDER ? lots : lots - restLots;
}

/** An account without positions that is below zero: what rounding, or another symbol's step, has left. */
function cover(state: SymbolState, transaction: Transaction, row: number): void {
  closeAll(state, transaction, row, REASON_LIQUIDATION);
  const n = state.positions.numbers;
  const amountQuanta = state.marginTable.coverDeficit(n[row + ACCOUNT], n, row + CONTRIBUTED);
  if (amountQuanta === 0) return;
  covered.accountId = n[row + ACCOUNT];
  covered.amountQuanta = amountQuanta;
  state.deficitCovered(covered);
  transaction.emit(covered);
}

/**
 * The fund does not keep what it took over: it sells a little at every look, near the mark; and it can fail like anyone.
 * What nobody bids for there it holds until the mark or the book has come closer.
 */
function unwindFund(state: SymbolState, transaction: Transaction, queue: DeleveragingQueue): void {
  const { positions, marginTable } = state;
  const row = positions.find(INSURANCE_ACCOUNT);
  const size = row === NONE ? 0 : positions.numbers[row + SIZE];
  if (size === 0) return;
  showFund(state, row);
  if (!marginTable.readConsistent(INSURANCE_ACCOUNT)) return;
  const { equity, maintenance } = marginTable.consistent(INSURANCE_ACCOUNT);
  if (equity < 0) {
    const share = proportion(equity, positionMaintenance(state, row), Math.max(1, maintenance));
    handOver(state, transaction, queue, row, Math.abs(size), share);
    return;
  }
  const limitTicks = fundLimit(state, size, positions.numbers[row + COST]);
  const best = state.book.opposite(size > 0 ? SELL : BUY).best();
  // Nothing to sell to: no order for the log.
  if (best < 0 || (size > 0 ? best < limitTicks : best > limitTicks)) return;
  closeInBook(state, transaction, row, Math.ceil(Math.abs(size) / STEPS), limitTicks, TRADE_TERMS);
}

/** The worst price at which the fund closes a position that has cost it so much. */
function fundLimit({ instrument, indexTicks, markTicks }: SymbolState, size: QuantityLots, cost: Quanta): PriceTicks {
  // A book may hold the mark on one side of the index while accounts fail, and on the other while the fund sells.
  const fair = size > 0 ? Math.max(indexTicks, markTicks) : Math.min(indexTicks, markTicks);
  const { maxPriceTicks, priceBandPpm, riskTiers } = instrument;
  const even = breakEvenTicks(instrument, size, cost);
  const near = Math.floor((markTicks * riskTiers[0].maintenanceMarginPpm) / FUND_MARGIN_SHARE / PPM);
  const far = Math.floor((markTicks * priceBandPpm) / FUND_BAND_SHARE / PPM);
  return size > 0
    ? Math.max(1, markTicks - far, Math.min(fair - near, even))
    : Math.min(maxPriceTicks, markTicks + far, Math.max(fair + near, even));
}
