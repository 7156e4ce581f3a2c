import { assert } from "../../assert.ts";
import type { MarginTable } from "../accounts/margin-table.ts";
import * as columns from "../base/columns.ts";
import type { TimeMs } from "../base/units.ts";
import type { DirtySet } from "./dirty-set.ts";
import type { OpenOrders } from "./open-orders.ts";

const { NONE } = columns;

/**
 * Events after which a transaction counts as long. A trade that fills a resting order counts twice, so 5000 of these
 * fit, which are 640 kB.
 */
const LONG_TRANSACTION = 10_000;

/** How far the transaction under way has come. One transaction is one record of the log and of each ring. */
export class TransactionProgress {
  /** Counts only events that one transaction may hold many of. */
  eventCount = 0;
  /** The transaction has moved the mark, and that is not in the log yet. */
  hasMovedMark = false;
  /** The order that matches now, or NONE. If no event says otherwise before the transaction ends, it is filled. */
  activeTaker = NONE;
  private readonly open: OpenOrders;
  private readonly dirty: DirtySet;
  private readonly marginTable: MarginTable;

  constructor(open: OpenOrders, dirty: DirtySet, marginTable: MarginTable) {
    this.open = open;
    this.dirty = dirty;
    this.marginTable = marginTable;
  }

  /** The transaction should end: it must fit into a ring, and the commands behind it wait. */
  get isLong(): boolean {
    return this.eventCount >= LONG_TRANSACTION;
  }

  /** Further work should go into another transaction. */
  get isHalfLong(): boolean {
    return this.eventCount >= LONG_TRANSACTION / 2;
  }

  /** Events until the transaction is long. */
  get room(): number {
    return LONG_TRANSACTION - this.eventCount;
  }

  beginTaking(slot: number): void {
    // In replay nothing says that the taker before it was filled. It was: otherwise an event would have ended it.
    if (this.activeTaker !== NONE) this.endTaking(this.activeTaker);
    this.activeTaker = slot;
  }

  /** The active taker is filled, and the transaction goes on with another order. */
  endTaking(slot: number): void {
    assert(
      this.activeTaker === slot && this.open.orders.remainingLots(slot) === 0,
      "only the active taker can end, and only when it is filled",
    );
    this.activeTaker = NONE;
    this.open.forget(slot);
  }

  /**
   * Ends a part of the transaction that was decided like a transaction of its own, such as an item of a batch. The next
   * part sees all that it did. The margin of its rows must be refreshed already.
   */
  endPart(time: TimeMs): void {
    this.endActiveTaker();
    this.dirty.stamp(time);
    this.dirty.markFresh();
    this.marginTable.useDeferred();
  }

  /** The transaction is in the log: all that it changed bears its sequence. */
  settle(sequence: number, time: TimeMs): void {
    this.endActiveTaker();
    this.dirty.settle(sequence, time);
    this.eventCount = 0;
    this.hasMovedMark = false;
  }

  private endActiveTaker(): void {
    if (this.activeTaker !== NONE) this.endTaking(this.activeTaker);
  }
}
