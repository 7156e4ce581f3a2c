import {
  EXEC_ADL,
  EXEC_LIQUIDATION,
  FUND_MOVEMENTS,
  type FundMovement,
  INSURANCE_ACCOUNT,
} from "../../core/base/enums.ts";
import type { Quanta } from "../../core/base/units.ts";
import {
  DeficitCovered,
  Deposited,
  type Event,
  FundingPaid,
  PositionTransferred,
  Traded,
} from "../../core/protocol/events.ts";
import type { MessageOf } from "../../core/protocol/message-schema.ts";
import type { Database } from "../database/database.ts";
import { FundMovementRecord } from "../database/history-schema.ts";
import { type SeriesPosition, SeriesWriter } from "../database/series.ts";
import type { WriteBatch } from "../database/write-batch.ts";

/** A chunk of the largest rows stays below 4 KB. */
const MOVEMENTS_PER_CHUNK = 60;

/**
 * Maintains the changes of the insurance fund's money, one row for each transaction and kind. The fund's positions count at
 * cost. So the sum of all rows is its equity without the unrealized profit of its open positions.
 *
 *     DEPOSIT          paid in
 *     LIQUIDATION_FEE  paid by liquidated accounts
 *     TAKEOVER, ADL    profit realized when a position was taken over or deleveraged; 0 if it only opened one
 *     TRADE            profit realized by its own trades, less fees
 *     FUNDING          funding passes through the fund: the remainder of an interval, and the payments of its own positions
 *     DEFICIT          paid for accounts below zero
 */
export class InsuranceFold {
  private readonly movements: SeriesWriter<FundMovementRecord>;
  /** Changes of the current transaction. */
  private readonly moved = new Map<FundMovement, Quanta>();

  constructor(database: Database) {
    this.movements = new SeriesWriter(database.fundMovements, MOVEMENTS_PER_CHUNK);
  }

  apply(event: Event): void {
    switch (event.type) {
      case Deposited.code:
        if (event.accountId === INSURANCE_ACCOUNT) this.move("DEPOSIT", event.amountQuanta);
        break;
      case Traded.code:
        this.traded(event);
        break;
      case PositionTransferred.code: {
        const kind = event.execType === EXEC_ADL ? "ADL" : "TAKEOVER";
        if (event.accountId === INSURANCE_ACCOUNT) this.move(kind, event.accountRealizedQuanta);
        if (event.counterpartyId === INSURANCE_ACCOUNT) this.move(kind, event.counterpartyRealizedQuanta);
        break;
      }
      case FundingPaid.code:
        // A payment of the fund to itself changes nothing.
        if (event.accountId !== INSURANCE_ACCOUNT) this.move("FUNDING", -event.amountQuanta);
        break;
      case DeficitCovered.code:
        this.move("DEFICIT", -event.amountQuanta);
        break;
    }
  }

  /** Call it when all events of a transaction were applied. */
  endTransaction(batch: WriteBatch, actorId: number, place: SeriesPosition, time: number): void {
    if (this.moved.size === 0) return;
    for (const [kind, amountQuanta] of this.moved) {
      if (amountQuanta === 0 && kind === "FUNDING") continue;
      this.movements.append(batch, INSURANCE_ACCOUNT, place, {
        type: FundMovementRecord.code,
        actorId,
        kind: FUND_MOVEMENTS.indexOf(kind),
        amountQuanta,
        time,
        sequence: place.sequence,
      });
    }
    this.moved.clear();
  }

  flush(batch: WriteBatch): void {
    this.movements.flush(batch);
  }

  private traded(event: MessageOf<typeof Traded>): void {
    const { execType, takerFeeQuanta, makerFeeQuanta } = event;
    if (execType === EXEC_LIQUIDATION) this.move("LIQUIDATION_FEE", takerFeeQuanta);
    if (event.takerAccountId === INSURANCE_ACCOUNT) this.move("TRADE", event.takerRealizedQuanta - takerFeeQuanta);
    if (event.makerAccountId === INSURANCE_ACCOUNT) this.move("TRADE", event.makerRealizedQuanta - makerFeeQuanta);
  }

  private move(kind: FundMovement, quanta: Quanta): void {
    this.moved.set(kind, (this.moved.get(kind) ?? 0) + quanta);
  }
}
