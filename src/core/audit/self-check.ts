import { applySelfCheckFailed } from "../apply/market-events.ts";
import { OPEN_ORDERS } from "../base/columns.ts";
import { HALT_REASON, MODE_HALTED } from "../base/enums.ts";
import type { TimeMs } from "../base/units.ts";
import { setHalt } from "../pricing/halt.ts";
import type { Transaction } from "../protocol/actor.ts";
import { SelfCheckFailed } from "../protocol/events.ts";
import { blank } from "../protocol/message-schema.ts";
import type { SymbolState } from "../state/symbol-state.ts";
import { auditRow, auditSums } from "./invariants.ts";

/** How often a check begins; how many rows and orders one transaction checks, in a fraction of a millisecond. */
const INTERVAL_MS = 10_000;
const ROWS_PER_TRANSACTION = 500;

const failed = blank(SelfCheckFailed);

/**
 * Checks the invariants of a running symbol again and again. The sums over all rows are checked in one pass, since they hold
 * only together. The rows are checked by themselves, a part of them per transaction. The first fault halts the symbol and
 * is published.
 */
export class SelfCheck {
  private nextAt: TimeMs = 0;
  /** The next row of the check in progress. */
  private row = 0;
  private isRunning = false;

  /** Time has passed. */
  begin(state: SymbolState, transaction: Transaction): void {
    if (this.isRunning || transaction.time < this.nextAt) return;
    this.nextAt = transaction.time + INTERVAL_MS;
    const faults: string[] = [];
    auditSums(state, faults);
    if (faults.length > 0) return fail(state, transaction, faults[0]);
    this.isRunning = true;
    this.row = 0;
  }

  /** Continues the check in progress. Returns whether a part of it is left. */
  runBackground(state: SymbolState, transaction: Transaction): boolean {
    // Filled orders stay in their lists until the end of the transaction: rows hold together only between transactions.
    if (!this.isRunning || state.dirty.hasRows) return this.isRunning;
    const { positions } = state;
    const faults: string[] = [];
    for (
      let checked = 0;
      checked < ROWS_PER_TRANSACTION && this.row < positions.count && faults.length === 0;
      this.row++
    ) {
      const at = positions.offset(this.row);
      auditRow(state, at, faults);
      checked += 1 + positions.numbers[at + OPEN_ORDERS];
    }
    const [fault] = faults;
    if (fault !== undefined) fail(state, transaction, fault);
    this.isRunning = fault === undefined && this.row < positions.count;
    return this.isRunning;
  }
}

/** Halts the symbol, unless a failed check has halted it already. */
function fail(state: SymbolState, transaction: Transaction, fault: string): void {
  if (state.haltMode === MODE_HALTED && state.haltReason === HALT_REASON.SELF_CHECK) return;
  failed.fault = fault;
  applySelfCheckFailed(state, failed);
  transaction.emit(failed);
  setHalt(state, transaction, MODE_HALTED, HALT_REASON.SELF_CHECK, 0);
}
