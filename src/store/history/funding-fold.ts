import { isCustomer } from "../../core/base/enums.ts";
import type { FundingPaid, FundingSettled } from "../../core/protocol/events.ts";
import type { MessageOf } from "../../core/protocol/message-schema.ts";
import type { Database } from "../database/database.ts";
import type { FundingPaymentRecord } from "../database/history-schema.ts";
import { type SeriesPosition, SeriesWriter } from "../database/series.ts";
import type { Key } from "../database/table.ts";
import type { WriteBatch } from "../database/write-batch.ts";
import { paidFunding, settledRate } from "./funding-records.ts";

/** A chunk of the largest rows stays below 4 KB. */
const PAYMENTS_PER_CHUNK = 60;

export const fundingRateKey = (instrumentId: number, fundingTime: number): Key => [instrumentId, fundingTime];

/** Maintains every symbol's funding rates and the payments of customers. */
export class FundingFold {
  private readonly database: Database;
  private readonly payments: SeriesWriter<FundingPaymentRecord>;

  constructor(database: Database) {
    this.database = database;
    this.payments = new SeriesWriter(database.fundingPayments, PAYMENTS_PER_CHUNK);
  }

  settled(batch: WriteBatch, instrumentId: number, event: MessageOf<typeof FundingSettled>): void {
    batch.put(this.database.fundingRates, fundingRateKey(instrumentId, event.fundingTime), settledRate(event));
  }

  paid(
    batch: WriteBatch,
    instrumentId: number,
    event: MessageOf<typeof FundingPaid>,
    place: SeriesPosition,
    time: number,
  ): void {
    const { accountId } = event;
    if (!isCustomer(accountId)) return;
    this.payments.append(batch, accountId, place, paidFunding(event, instrumentId, time, place.sequence));
  }

  flush(batch: WriteBatch): void {
    this.payments.flush(batch);
  }
}
