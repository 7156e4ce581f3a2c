import { isOpenStatus } from "../../core/base/enums.ts";
import { defineMessage, json, type MessageOf } from "../../core/protocol/message-schema.ts";
import { ORDER_SUMMARY } from "../../core/protocol/order-fields.ts";
import type { Transfer } from "../../core/protocol/payloads.ts";

/**
 * The rows of the database (codes 250 to 279), encoded like every message: a row keeps its meaning when fields are
 * appended. Units stand in the names; see core/units.ts.
 */

/** An order in its last known state. */
export const OrderRecord = defineMessage(250, "OrderRecord", {
  orderId: "number",
  accountId: "number",
  ...ORDER_SUMMARY,
});
export type OrderRecord = MessageOf<typeof OrderRecord>;

export const isOpen = (order: OrderRecord): boolean => isOpenStatus(order.status);

/** One account's side of a trade. */
export const FillRecord = defineMessage(251, "FillRecord", {
  tradeId: "number",
  orderId: "number",
  side: "number",
  priceTicks: "number",
  quantityLots: "number",
  feeQuanta: "number",
  feePpm: "number",
  /** 1: this side was the maker. */
  maker: "number",
  /** Profit taken by the part that closed; before fees. */
  realizedQuanta: "number",
  execType: "number",
  /** Signed position after the trade. */
  positionSizeLots: "number",
  time: "number",
  sequence: "number",
  clientOrderId: "string",
  /** What moved beyond price × lots: a position that was handed over went at an exact amount, not at a whole tick. */
  offPriceQuanta: "number",
});
export type FillRecord = MessageOf<typeof FillRecord>;

/** A trade as everyone sees it. */
export const TradeRecord = defineMessage(252, "TradeRecord", {
  tradeId: "number",
  takerSide: "number",
  priceTicks: "number",
  quantityLots: "number",
  execType: "number",
  time: "number",
  sequence: "number",
});
export type TradeRecord = MessageOf<typeof TradeRecord>;

export const CandleRecord = defineMessage(253, "CandleRecord", {
  openTime: "number",
  openTicks: "number",
  highTicks: "number",
  lowTicks: "number",
  closeTicks: "number",
  volumeLots: "number",
  trades: "number",
  /** A BigInt in decimal. */
  turnoverQuanta: "string",
});
export type CandleRecord = MessageOf<typeof CandleRecord>;

/** What was open in a symbol, and the mark, at the end of an interval. */
export const OpenInterestRecord = defineMessage(265, "OpenInterestRecord", {
  openTime: "number",
  openInterestLots: "number",
  /** 0 = there was none yet. */
  markTicks: "number",
});
export type OpenInterestRecord = MessageOf<typeof OpenInterestRecord>;

export const TransferRecord = defineMessage(254, "TransferRecord", {
  transfer: json<Transfer>(),
  /** Of the turn that asked for it; 0 in what was written before there was this field. */
  sequence: "number",
});
export type TransferRecord = MessageOf<typeof TransferRecord>;

/**
 * An entry of a list whose rows stand elsewhere: a closed order and when it was closed (a brief one stands in the list
 * itself: see short-lived-orders.ts), a transfer and its request.
 */
export const ReferenceRecord = defineMessage(255, "ReferenceRecord", { id: "number", time: "number" });
export type ReferenceRecord = MessageOf<typeof ReferenceRecord>;

export const referenceTo = (id: number, time: number): ReferenceRecord => ({ type: ReferenceRecord.code, id, time });
/** So that a chunk of them stays below 4 KB: see series.ts. */
export const REFERENCES_PER_CHUNK = 160;

/** The order behind a client order id. */
export const ClientOrderRecord = defineMessage(256, "ClientOrderRecord", { orderId: "number" });
export type ClientOrderRecord = MessageOf<typeof ClientOrderRecord>;

/** Leads from an order to the list of closed orders where it stands. */
export const OrderLocationRecord = defineMessage(264, "OrderLocationRecord", {
  orderId: "number",
  accountId: "number",
  /** Of the turn that ended it: see series.ts. */
  clock: "number",
  sequence: "number",
});
export type OrderLocationRecord = MessageOf<typeof OrderLocationRecord>;

/** How far the history index has come. */
export const IndexRecord = defineMessage(257, "IndexRecord", {
  sequence: "number",
  /** The latest time of all turns so far. */
  clock: "number",
  /** The generation that client order ids are being written to, and how many it holds: see history-fold.ts. */
  clientIdGeneration: "number",
  clientIdCount: "number",
});
export type IndexRecord = MessageOf<typeof IndexRecord>;

/** An actor's snapshot holds its state through this sequence. */
export const SnapshotRecord = defineMessage(258, "SnapshotRecord", {
  sequence: "number",
  /** Of the actor's last turn, in ms; 0 in what was written before there was this field. */
  time: "number",
});
export type SnapshotRecord = MessageOf<typeof SnapshotRecord>;

/** An interval of funding of one symbol, as it ended. */
export const FundingRateRecord = defineMessage(260, "FundingRateRecord", {
  fundingTime: "number",
  ratePpb: "number",
  premiumPpb: "number",
  indexTicks: "number",
  markTicks: "number",
});
export type FundingRateRecord = MessageOf<typeof FundingRateRecord>;

/** What one position paid or got for an interval. */
export const FundingPaymentRecord = defineMessage(261, "FundingPaymentRecord", {
  instrumentId: "number",
  fundingTime: "number",
  /** Signed. */
  sizeLots: "number",
  /** Negative = paid. */
  amountQuanta: "number",
  time: "number",
  sequence: "number",
});
export type FundingPaymentRecord = MessageOf<typeof FundingPaymentRecord>;

/** What one turn did to the insurance fund's money, by kind. */
export const FundMovementRecord = defineMessage(262, "FundMovementRecord", {
  /** Whose turn it was: an instrument, or the ledger. */
  actorId: "number",
  /** Of FUND_MOVEMENTS. */
  kind: "number",
  amountQuanta: "number",
  time: "number",
  sequence: "number",
});
export type FundMovementRecord = MessageOf<typeof FundMovementRecord>;

/** What the insurance fund paid for an account below zero. */
export const DeficitRecord = defineMessage(263, "DeficitRecord", {
  instrumentId: "number",
  amountQuanta: "number",
  time: "number",
  sequence: "number",
});
export type DeficitRecord = MessageOf<typeof DeficitRecord>;

/** Says inside the database which exchange it belongs to. */
export const GenesisRecord = defineMessage(259, "GenesisRecord", { exchangeId: "string" });
export type GenesisRecord = MessageOf<typeof GenesisRecord>;
