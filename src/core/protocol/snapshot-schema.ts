import type { MarginMove } from "./margin-references.ts";
import { defineMessage, json } from "./message-schema.ts";
import { FILLS, MARGIN_TERMS, ORDER_DEFINITION, TRAILING, TRIGGER } from "./order-fields.ts";
import type { AttachedLegs, KeyRecord, Transfer } from "./payloads.ts";

/** The rows of an actor's snapshot. Codes and the order of fields stay on disk for ever, like those of events. */

// Rows of a symbol's snapshot (200 to 229)

export const SymbolRow = defineMessage(200, "SymbolRow", {
  nextOrderSerial: "number",
  nextTradeSerial: "number",
  indexTicks: "number",
  markTicks: "number",
  lastTicks: "number",
  basis1024: "number",
  priceTime: "number",
  nextFundingTime: "number",
  premiumSum: "number",
  premiumCount: "number",
  fundingTime: "number",
  fundingRatePpb: "number",
  fundingMarkTicks: "number",
  haltMode: "number",
  haltReason: "number",
  haltUntil: "number",
  indexStale: "number",
  fault: "string",
  pendingIndexTicks: "number",
  pendingIndexCount: "number",
  lastTriggerPpm: "number",
  premiumPpb: "number",
  premiumMsSum: "number",
  premiumMs: "number",
  // 0 in folders from before the settlement of marks.
  markBeforeTicks: "number",
  fundHour: "number",
  fundBaseQuanta: "number",
  fundTakeovers: "number",
});
export const OrderRow = defineMessage(201, "OrderRow", {
  orderId: "number",
  accountId: "number",
  ...ORDER_DEFINITION,
  ...FILLS,
  ...MARGIN_TERMS,
  createdAt: "number",
  updatedAt: "number",
  sequence: "number",
  clientOrderId: "string",
});
export const PositionRow = defineMessage(202, "PositionRow", {
  accountId: "number",
  sizeLots: "number",
  cashQuanta: "number",
  costQuanta: "number",
  leverage: "number",
  openedAt: "number",
  updatedAt: "number",
  sequence: "number",
  fundingTime: "number",
  fundingQuanta: "number",
  marginMode: "number",
  isolatedQuanta: "number",
});
export const ClientIdRow = defineMessage(203, "ClientIdRow", {
  accountId: "number",
  orderId: "number",
  bodyHash: "number",
  time: "number",
  clientOrderId: "string",
});

/** See state/order-terms.ts. Has the key of its OrderRow, and is loaded before it. */
export const OrderTermsRow = defineMessage(206, "OrderTermsRow", {
  /** 1: it waits for its price. */
  waits: "number",
  ...TRIGGER,
  queueSerial: "number",
  goodTillDate: "number",
  parentId: "number",
  siblingId: "number",
  takeProfitId: "number",
  stopLossId: "number",
  legs: json<AttachedLegs | null>(),
  ...TRAILING,
  bestTicks: "number",
  displayLots: "number",
  shownLots: "number",
  dueSerial: "number",
  maxSlippagePpm: "number",
});

/** An armed CancelAfter. */
export const CancelSwitchRow = defineMessage(207, "CancelSwitchRow", { accountId: "number", cancelAt: "number" });

/** The references with which an account has moved margin, oldest first. */
export const MarginReferencesRow = defineMessage(208, "MarginReferencesRow", {
  accountId: "number",
  moves: json<MarginMove[]>(),
});

/** See market-data/index-range.ts. */
export const IndexRangeRow = defineMessage(209, "IndexRangeRow", {
  since: "number",
  highTicks: "number",
  lowTicks: "number",
  previousHighTicks: "number",
  previousLowTicks: "number",
});

// Rows of the ledger's snapshot (230 to 249)

export const LedgerRow = defineMessage(230, "LedgerRow", {
  nextAccountId: "number",
  nextTransferId: "number",
  depositedQuanta: "string",
  withdrawnQuanta: "string",
  /** See GATE. */
  gate: "number",
  deficitQuanta: "number",
  // See TransferBook.
  olderTransfers: "number",
  /** Hexadecimal. "" in folders from before transfers left memory. */
  olderTransfersSum: "string",
});
export const AccountRow = defineMessage(231, "AccountRow", {
  accountId: "number",
  address: "string",
  balanceQuanta: "number",
  /** 0 = the account has not set one. */
  marginCallPpm: "number",
  /** The latest UTC day with a deposit, in days since the epoch, and the deposits of that day. */
  depositDay: "number",
  dayDepositsQuanta: "number",
});
export const SessionRow = defineMessage(232, "SessionRow", {
  accountId: "number",
  tokenHash: "string",
  expiresAt: "number",
});
export const KeyRow = defineMessage(233, "KeyRow", {
  accountId: "number",
  apiKey: "string",
  record: json<KeyRecord>(),
});
export const WithdrawalAddressRow = defineMessage(236, "WithdrawalAddressRow", {
  accountId: "number",
  address: "string",
  label: "string",
  addedAt: "number",
  usableAt: "number",
});
export const TransferRow = defineMessage(234, "TransferRow", { transfer: json<Transfer>() });
/** Not loaded at a start: see core/ledger/transfer-book.ts. */
export const SettledTransferRow = defineMessage(235, "SettledTransferRow", { transfer: json<Transfer>() });
