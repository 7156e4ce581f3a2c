import type { TimeMs } from "../../core/base/units.ts";
import type { FundingPaid, FundingSettled } from "../../core/protocol/events.ts";
import type { MessageOf } from "../../core/protocol/message-schema.ts";
import { FundingPaymentRecord, FundingRateRecord } from "../database/history-schema.ts";

/** Converts funding events to history records. */

export function settledRate(event: MessageOf<typeof FundingSettled>): FundingRateRecord {
  const { fundingTime, ratePpb, premiumPpb, indexTicks, markTicks } = event;
  return { type: FundingRateRecord.code, fundingTime, ratePpb, premiumPpb, indexTicks, markTicks };
}

export function paidFunding(
  event: MessageOf<typeof FundingPaid>,
  instrumentId: number,
  time: TimeMs,
  sequence: number,
): FundingPaymentRecord {
  const { fundingTime, sizeLots, amountQuanta } = event;
  return { type: FundingPaymentRecord.code, instrumentId, fundingTime, sizeLots, amountQuanta, time, sequence };
}
