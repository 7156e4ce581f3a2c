import type { Permission } from "../base/enums.ts";

/** The objects that `json` fields of messages carry. They are on disk where an event or a snapshot row carries them. */

export interface KeyRecord {
  label: string;
  permissions: Permission[];
  allowedIps: string[];
  /** The HMAC secret, encrypted with the data folder's key (front/auth). */
  sealedSecret: string;
  /** 0 = never. */
  expiresAt: number;
  createdAt: number;
  // Keys without these limits leave them out, and so do old logs.
  /** Symbols that the key may trade; empty = all. */
  allowedSymbols?: string[];
  maxOrderQuanta?: number;
  maxPositionQuanta?: number;
  maxLeverage?: number;
}
export type TransferKind = "DEPOSIT" | "WITHDRAWAL";
export type TransferStatus = "PENDING" | "SENT" | "COMPLETED" | "FAILED";
export interface Transfer {
  transferId: number;
  accountId: number;
  kind: TransferKind;
  amountQuanta: number;
  /** "" for a deposit. */
  address: string;
  /** "" = none given. */
  reference: string;
  status: TransferStatus;
  /** "" = none yet. */
  txHash: string;
  createdAt: number;
  updatedAt: number;
}
/** An entry of an account's address book. */
export interface WithdrawalAddress {
  address: string;
  label: string;
  addedAt: number;
  /** No withdrawal may go there before. */
  usableAt: number;
}
/** A page of withdrawals that are not complete. */
export interface WithdrawalList {
  withdrawals: Transfer[];
  /** `from` of the next ReadWithdrawals; null = this was the last page. */
  next: number | null;
}
/** A conditional order that will close what its parent opens. */
export interface AttachedLeg {
  triggerTicks: number;
  triggerBy: number;
  /** 0 = at market. */
  priceTicks: number;
  /** As of ConditionalOrderPlaced. Legs without it leave it out, and so do old logs. */
  maxSlippagePpm?: number;
}
export interface AttachedLegs {
  takeProfit: AttachedLeg | null;
  stopLoss: AttachedLeg | null;
}
/** The change of an amendment to the legs of an order. A leg that is left out stays; null removes it. */
export type LegChanges = Partial<AttachedLegs>;
/** An account's margin and its position in a symbol, before and after a dry run. */
export interface AccountProjection {
  /** Signed. */
  sizeLots: number;
  /** 0 = none within the price range. */
  liquidationTicks: number;
  initialQuanta: number;
  /** May be negative. */
  availableQuanta: number;
}
/** A fill that a dry run expects. */
export type ExpectedFill = [priceTicks: number, lots: number, feeQuanta: number];
/** The largest order of a side that would be accepted, and why no larger one would be. */
export interface MaxOrderSize {
  side: number;
  /** 0 = no order would be accepted. */
  quantityLots: number;
  /** The refusal of the next larger order. Null: a larger reduce-only order is accepted, but closes no more. */
  limitedBy: { code: string; field: string; details: Record<string, number | string> | null } | null;
}
/** Levels as [priceTicks, lots], best first. */
export type Levels = [number, number][];
/** See market-data/index-range.ts. 0 = none. */
export interface IndexRangeFigures {
  since: number;
  highTicks: number;
  lowTicks: number;
  previousHighTicks: number;
  previousLowTicks: number;
}
/** The state of a symbol, and a page of its book. */
export interface SymbolSummary {
  /** `from` of the next Describe; null = this was the last page. */
  next: number | null;
  indexTicks: number;
  markTicks: number;
  lastTicks: number;
  openInterestLots: number;
  priceTime: number;
  indexRange: IndexRangeFigures;
  fundingRatePpb: number;
  nextFundingTime: number;
  haltMode: number;
  haltReason: number;
  /** When the halt ends by itself; 0 = it does not. */
  haltUntil: number;
  /** The difference for which the self-check halted the symbol; "" = none. */
  fault: string;
  isIndexStale: boolean;
  /** The index price that waits for confirmation; 0 = none. */
  pendingIndexTicks: number;
  bids: Levels;
  asks: Levels;
}
/** A page of the client order ids of a symbol. */
export interface ClientIdList {
  ids: [accountId: number, clientOrderId: string, orderId: number, time: number][];
  /** `from` of the next ReadClientIds; null = this was the last page. */
  next: number | null;
}
/** Whether the exchange can pay everybody. */
export interface SolvencyFigures {
  fundEquityQuanta: number;
  /** The debts of customers below zero. */
  deficitQuanta: number;
  /** Of the fund's positions, at the mark. */
  fundNotionalQuanta: number;
}
/** A page of the ledger. */
export interface LedgerSummary {
  /** `from` of the next Describe; null = this was the last page. */
  next: number | null;
  /** See GATE. */
  gate: number;
  deficitQuanta: number;
  accounts: [accountId: number, address: string][];
  sessions: { tokenHash: string; accountId: number; expiresAt: number }[];
  keys: { apiKey: string; accountId: number; record: KeyRecord }[];
}
/** The result of an actor's audit of itself. Money in decimal quanta, since sums may pass 2^53. */
export interface ActorAudit {
  actorId: number;
  sequence: number;
  /** Sum of the actor's money: position cash of a symbol (0 when exact), balances of the ledger. */
  moneyQuanta: string;
  /** Ledger only: deposits − withdrawals. */
  depositsMinusWithdrawalsQuanta?: string;
  /** Symbol only: Σ size, 0 when exact. */
  sizeLots?: number;
  openOrders?: number;
  positions?: number;
  accounts?: number;
  /** Ledger only. */
  solvency?: SolvencyFigures;
  /** Each difference in words. Empty = none. */
  faults: string[];
  /** Equal states have equal digests. */
  digest: string;
}
