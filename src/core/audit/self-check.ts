import { CASH, OPEN_ORDERS, SIZE } from "../base/columns.ts";
import { BUY, HALT_REASON, MODE_HALTED, SELL } from "../base/enums.ts";
import { ExactSum } from "../base/exact-sum.ts";
import type { TimeMs } from "../base/units.ts";
import { setHalt } from "../pricing/halt.ts";
import type { Transaction } from "../protocol/actor.ts";
import { SelfCheckFailed } from "../protocol/events.ts";
import { blank } from "../protocol/message-schema.ts";
import type { SymbolState } from "../state/symbol-state.ts";
import { auditRow } from "./invariants.ts";

/** How often a check begins, and how many rows and orders of it are looked at in one turn: a fraction of a millisecond. */
const INTERVAL_MS = 10_000;
const ROWS_PER_TRANSACTION = 500;

const failed = blank(SelfCheckFailed);

/**
 * Checks, all the time and a share at a time, that the symbol's books balance: Σ cash = 0 and Σ size = 0 to the quantum
 * and the lot, in one pass, since they hold only all at once; then each row by itself against its orders and against what
 * the cells were given. The first difference halts the symbol and says where it is.
 */
export class SelfCheck {
  private nextAt: TimeMs = 0;
  /** The next row of the check that is under way. */
  private row = 0;
  private isRunning = false;

  /** Time has passed. */
  begin(state: SymbolState, transaction: Transaction): void {
    if (this.isRunning || transaction.time < this.nextAt) return;
    this.nextAt = transaction.time + INTERVAL_MS;
    const fault = faultOfSums(state);
    if (fault !== null) return fail(state, transaction, fault);
    this.isRunning = true;
    this.row = 0;
  }

  /** A share of the check that is under way. Returns whether more of it is left. */
  runBackground(state: SymbolState, transaction: Transaction): boolean {
    // What a turn has filled stays in its lists until the turn is settled: rows are in order between turns only.
    if (!this.isRunning || state.hasDirty) return this.isRunning;
    const { positions } = state;
    const faults: string[] = [];
    for (let looks = 0; looks < ROWS_PER_TRANSACTION && this.row < positions.count && faults.length === 0; this.row++) {
      const at = positions.offset(this.row);
      auditRow(state, at, faults);
      looks += 1 + positions.numbers[at + OPEN_ORDERS];
    }
    const [fault] = faults;
    if (fault !== undefined) fail(state, transaction, fault);
    this.isRunning = fault === undefined && this.row < positions.count;
    return this.isRunning;
  }
}

/** What is wrong with what the symbol holds all in all, in words; null when nothing is. */
function faultOfSums(state: SymbolState): string | null {
  const { positions, book } = state;
  const n = positions.numbers;
  const cash = new ExactSum();
  let sizeLots = 0;
  let longLots = 0;
  positions.each((at) => {
    cash.add(n[at + CASH]);
    sizeLots += n[at + SIZE];
    if (n[at + SIZE] > 0) longLots += n[at + SIZE];
  });
  if (cash.total !== 0n) return `Σ cash is ${cash.total} quanta, not 0`;
  if (sizeLots !== 0) return `Σ size is ${sizeLots} lots, not 0`;
  if (longLots !== state.openInterestLots)
    return `open interest is kept as ${state.openInterestLots} lots but is ${longLots}`;
  const bid = book.best(BUY);
  const ask = book.best(SELL);
  return bid >= 0 && ask >= 0 && bid >= ask ? `the book is crossed: bid ${bid}, ask ${ask}` : null;
}

/** Stops trading; once is enough. */
function fail(state: SymbolState, transaction: Transaction, fault: string): void {
  if (state.haltMode === MODE_HALTED && state.haltReason === HALT_REASON.SELF_CHECK) return;
  failed.fault = fault;
  state.selfCheckFailed(failed);
  transaction.emit(failed);
  setHalt(state, transaction, MODE_HALTED, HALT_REASON.SELF_CHECK, 0);
}
