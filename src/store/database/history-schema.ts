import { isOpenStatus } from "../../core/base/enums.ts";
import { defineMessage, json, type MessageOf } from "../../core/protocol/message-schema.ts";
import { ORDER_SUMMARY } from "../../core/protocol/order-fields.ts";
import type { AttachedLegs, Transfer } from "../../core/protocol/payloads.ts";

/**
 * The rows of the history (codes 250 to 279), encoded like messages: only append fields, so that old rows keep their
 * meaning. Units stand in the names of the fields: see core/base/units.ts.
 */

/** An order in its last known state. */
export const OrderRecord = defineMessage(250, "OrderRecord", {
  orderId: "number",
  accountId: "number",
  ...ORDER_SUMMARY,
  /** Of a conditional order at market; 0 = none. */
  maxSlippagePpm: "number",
  /** Also null in rows from before this field. */
  legs: json<AttachedLegs | null>(),
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
  /** Profit of the part that closed a position, before fees. */
  realizedQuanta: "number",
  execType: "number",
  /** Signed position after the trade. */
  positionSizeLots: "number",
  time: "number",
  sequence: "number",
  clientOrderId: "string",
  /** Exact quanta less price × lots. Not 0 for a transferred position, whose amount is no whole tick. */
  offPriceQuanta: "number",
});
export type FillRecord = MessageOf<typeof FillRecord>;

/** A public trade. */
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
  /** A BigInt in decimal, like takerBuyQuanta, which is "" in rows from before that field. */
  turnoverQuanta: "string",
  takerBuyLots: "number",
  takerBuyQuanta: "string",
});
export type CandleRecord = MessageOf<typeof CandleRecord>;

/** Open interest and mark of a symbol at the end of an interval. */
export const OpenInterestRecord = defineMessage(265, "OpenInterestRecord", {
  openTime: "number",
  openInterestLots: "number",
  /** 0 = there was none yet. */
  markTicks: "number",
});
export type OpenInterestRecord = MessageOf<typeof OpenInterestRecord>;

export const TransferRecord = defineMessage(254, "TransferRecord", {
  transfer: json<Transfer>(),
  /** Of the transaction that requested it; 0 in rows from before this field. */
  sequence: "number",
});
export type TransferRecord = MessageOf<typeof TransferRecord>;

/**
 * An entry of a list that refers to a row of another table: a closed order and when it closed, or a transfer and when it
 * was requested. Short-lived orders are in the list themselves: see short-lived-orders.ts.
 */
export const ReferenceRecord = defineMessage(255, "ReferenceRecord", {
  id: "number",
  time: "number",
  /** Of a closed order, so that a search for others need not read it; 0 = in rows from before this field, and of transfers. */
  status: "number",
});
export type ReferenceRecord = MessageOf<typeof ReferenceRecord>;

export const referenceTo = (id: number, time: number, status = 0): ReferenceRecord => ({
  type: ReferenceRecord.code,
  id,
  time,
  status,
});
/** Keeps a chunk of them below 4 KB: see series.ts. */
export const REFERENCES_PER_CHUNK = 160;

/** The order behind a client order id, as older versions wrote it: see client-id-runs.ts. */
export const ClientOrderRecord = defineMessage(256, "ClientOrderRecord", { orderId: "number" });
export type ClientOrderRecord = MessageOf<typeof ClientOrderRecord>;

/** The same in runs of older versions. */
export const ClientIdRecord = defineMessage(268, "ClientIdRecord", {
  accountId: "number",
  orderId: "number",
  clientOrderId: "string",
});
export type ClientIdRecord = MessageOf<typeof ClientIdRecord>;

/** The order behind a hash of an account and its client order id. */
export const ClientIdHashRecord = defineMessage(271, "ClientIdHashRecord", { hash: "number", orderId: "number" });
export type ClientIdHashRecord = MessageOf<typeof ClientIdHashRecord>;

/** A sorted part of all client order ids: see client-id-runs.ts. */
export interface ClientIdRun {
  readonly id: number;
  /** The number of merges that led to it. */
  readonly level: number;
  /** The run into which it is being merged; 0 = none. */
  targetId: number;
  /** In runs of older versions the last id that was merged into it. */
  readonly last: ClientIdRecord | null;
  /** The last hash that was merged into it; −1 = none yet, or the merge is complete. Absent in runs of older versions. */
  lastHash: number;
  /** When its ids were used, in ms, about; 0 = unknown. */
  readonly oldest: number;
  readonly newest: number;
  /** The merge has moved an id that retention has not removed. */
  isWritten?: boolean;
}

/** Where a closed order is in the lists of closed orders. */
export const OrderLocationRecord = defineMessage(264, "OrderLocationRecord", {
  orderId: "number",
  accountId: "number",
  /** Of the transaction that ended it: see series.ts. */
  clock: "number",
  sequence: "number",
});
export type OrderLocationRecord = MessageOf<typeof OrderLocationRecord>;

/** How far the history index has come. */
export const IndexRecord = defineMessage(257, "IndexRecord", {
  sequence: "number",
  /** The latest time of all transactions so far. */
  clock: "number",
  /** The newest generation of client order ids that is left from an older version; −1 = none. */
  clientIdGeneration: "number",
  /** Of that generation, in an index of an older version. */
  clientIdCount: "number",
  /** Every event of this account and of later ones was folded into position records: see position-fold.ts. 0 = of none. */
  firstTrackedAccount: "number",
  /** The id of the last run of client order ids: see client-id-runs.ts. */
  lastClientIdRun: "number",
  /** Newest first. */
  clientIdRuns: json<readonly ClientIdRun[]>(),
  /** The same as firstTrackedAccount for the equity of accounts: see equity-fold.ts. */
  firstEquityAccount: "number",
});
export type IndexRecord = MessageOf<typeof IndexRecord>;
/** Of the only row of its table. */
export const HISTORY_INDEX_KEY = "history";

/** Since when the history is kept: see history-pruner.ts. */
export const RetentionRecord = defineMessage(270, "RetentionRecord", {
  /** In ms. Rows that are older are not shown, and may be gone. */
  keptSince: "number",
});
export type RetentionRecord = MessageOf<typeof RetentionRecord>;

/** How many commits the database holds: see Database.requireLatest(). Older versions do not count. */
export const CommitCountRecord = defineMessage(273, "CommitCountRecord", { commits: "number" });
export type CommitCountRecord = MessageOf<typeof CommitCountRecord>;

/** An actor's snapshot holds its state through this sequence. */
export const SnapshotRecord = defineMessage(258, "SnapshotRecord", {
  sequence: "number",
  /** Of the actor's last transaction, in ms; 0 in rows from before this field. */
  time: "number",
});
export type SnapshotRecord = MessageOf<typeof SnapshotRecord>;

/** A funding interval of one symbol that has ended. */
export const FundingRateRecord = defineMessage(260, "FundingRateRecord", {
  fundingTime: "number",
  ratePpb: "number",
  premiumPpb: "number",
  indexTicks: "number",
  markTicks: "number",
});
export type FundingRateRecord = MessageOf<typeof FundingRateRecord>;

/** Funding that one position paid or received for an interval. */
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

/** How one transaction changed the insurance fund's money, by kind. */
export const FundMovementRecord = defineMessage(262, "FundMovementRecord", {
  /** The actor of the transaction: an instrument, or the ledger. */
  actorId: "number",
  /** Of FUND_MOVEMENTS. */
  kind: "number",
  amountQuanta: "number",
  time: "number",
  sequence: "number",
});
export type FundMovementRecord = MessageOf<typeof FundMovementRecord>;

/** The insurance fund brought an account from below zero back to zero. */
export const DeficitRecord = defineMessage(263, "DeficitRecord", {
  instrumentId: "number",
  amountQuanta: "number",
  time: "number",
  sequence: "number",
});
export type DeficitRecord = MessageOf<typeof DeficitRecord>;

/** An action of an operator on a symbol: see OperatorActed. */
export const OperatorActRecord = defineMessage(269, "OperatorActRecord", {
  instrumentId: "number",
  act: "number",
  value: "number",
  time: "number",
  sequence: "number",
  operator: "string",
});
export type OperatorActRecord = MessageOf<typeof OperatorActRecord>;

/** How a position ended, and what it has earned. See position-records.ts. */
const POSITION_SUMS = {
  /** 0 = not known: the position is older than these records. */
  openedAt: "number",
  /** The largest size, never negative. */
  maxLots: "number",
  /** Lots closed so far. Of these: by liquidation, and by deleveraging for another account. */
  closedLots: "number",
  liquidatedLots: "number",
  deleveragedLots: "number",
  /** Signed sums. Profit of the closed lots is before fees. */
  realizedQuanta: "number",
  feeQuanta: "number",
  liquidationFeeQuanta: "number",
  fundingQuanta: "number",
  /** The notional at which the closed lots were sold or bought back. A BigInt in decimal. */
  exitQuanta: "string",
} as const;

/**
 * An account's position in a symbol as the position records follow it, or the settings for its next one. Not stored for an
 * account without a position that has the initial settings.
 */
export const PositionStateRecord = defineMessage(266, "PositionStateRecord", {
  instrumentId: "number",
  accountId: "number",
  /** 0 = not known. */
  leverage: "number",
  /** −1 = not known. */
  marginMode: "number",
  /** Signed; 0 = no position. */
  sizeLots: "number",
  ...POSITION_SUMS,
});
export type PositionStateRecord = MessageOf<typeof PositionStateRecord>;

/** A position that was closed, from flat or flip to flat or flip. */
export const ClosedPositionRecord = defineMessage(267, "ClosedPositionRecord", {
  instrumentId: "number",
  /** The trade that closed it. */
  tradeId: "number",
  /** SIDES: BUY = it was long. */
  side: "number",
  /** When it was closed; 0 and −1 as in PositionStateRecord. */
  leverage: "number",
  marginMode: "number",
  time: "number",
  sequence: "number",
  ...POSITION_SUMS,
});
export type ClosedPositionRecord = MessageOf<typeof ClosedPositionRecord>;

/** An open position: its instrument, its signed size in lots, and its signed cost in quanta. */
type EquityPosition = readonly [instrumentId: number, sizeLots: number, costQuanta: number];

/** An account's money and positions after its last change in an interval: see equity-fold.ts. */
export const EquityRecord = defineMessage(272, "EquityRecord", {
  /** Of the change. */
  time: "number",
  walletQuanta: "number",
  /** Deposits less withdrawals. */
  depositedQuanta: "number",
  positions: json<readonly EquityPosition[]>(),
});
export type EquityRecord = MessageOf<typeof EquityRecord>;

/** Names the exchange to which the database belongs. */
export const GenesisRecord = defineMessage(259, "GenesisRecord", { exchangeId: "string" });
export type GenesisRecord = MessageOf<typeof GenesisRecord>;
