import { FUND_MOVEMENTS } from "../../core/base/enums.ts";
import { PPB_DECIMALS, printFixed, printQuanta } from "../../core/base/units.ts";
import { type Instrument, printQuantity } from "../../core/protocol/instrument.ts";
import type { FundingRateRecord, FundMovementRecord } from "../../store/database/history-schema.ts";
import type { FundingPayment, OpenInterest } from "../../store/history/history.ts";
import { priceJson } from "./market-json.ts";

/** Funding, the insurance fund and open interest as JSON text. */

export const fundingJson = (instrument: Instrument, rate: FundingRateRecord): string =>
  `{${fundingMembers(instrument, rate)}}`;

export function fundingPaymentJson(instrument: Instrument, { payment, rate }: FundingPayment): string {
  return (
    `{${fundingMembers(instrument, rate)},"positionSize":"${printQuantity(instrument, payment.sizeLots)}",` +
    `"amount":"${printQuanta(payment.amountQuanta)}","time":${payment.time},"sequence":${payment.sequence}}`
  );
}

function fundingMembers(instrument: Instrument, rate: FundingRateRecord): string {
  return (
    `"symbol":"${instrument.symbol}","fundingRate":"${printFixed(rate.ratePpb, PPB_DECIMALS)}",` +
    `"fundingTime":${rate.fundingTime},"markPrice":${priceJson(instrument, rate.markTicks)},` +
    `"indexPrice":${priceJson(instrument, rate.indexTicks)},"premium":"${printFixed(rate.premiumPpb, PPB_DECIMALS)}",` +
    `"fundingIntervalHours":${instrument.config.fundingIntervalHours}`
  );
}

/** `symbol`: null for a movement that belongs to no symbol. */
export function fundMovementJson(symbol: string | null, movement: FundMovementRecord): string {
  return (
    `{"time":${movement.time},"symbol":${symbol === null ? "null" : `"${symbol}"`},` +
    `"kind":"${FUND_MOVEMENTS[movement.kind]}","amount":"${printQuanta(movement.amountQuanta)}",` +
    `"sequence":${movement.sequence}}`
  );
}

export function openInterestJson(instrument: Instrument, { openInterestLots, markTicks, time }: OpenInterest): string {
  const notional = openInterestLots * markTicks * instrument.quantaPerTickLot;
  return (
    `{"symbol":"${instrument.symbol}","openInterest":"${printQuantity(instrument, openInterestLots)}",` +
    `"notional":${markTicks === 0 ? "null" : `"${printQuanta(notional)}"`},"time":${time}}`
  );
}
