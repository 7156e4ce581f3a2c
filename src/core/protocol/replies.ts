import { defineMessage, json, type MessageOf } from "./message-schema.ts";
import { ORDER_SUMMARY } from "./order-fields.ts";
import type {
  AccountProjection,
  ActorAudit,
  AttachedLegs,
  ClientIdList,
  ExpectedFill,
  LedgerSummary,
  MaxOrderSize,
  SymbolSummary,
  Transfer,
  WithdrawalAddress,
  WithdrawalList,
} from "./payloads.ts";

/** Replies answer one command. They are never logged. Units stand in the names of the fields: see base/units.ts. */

// ---- replies (160 to 189) ----

/** Nothing was done. The keys of `details` end in their unit (requiredQuanta, limitTicks): the gateway prints by it. */
export const Refused = defineMessage(160, "Refused", {
  code: "string",
  field: "string",
  details: json<Record<string, number | string> | null>(),
});
export const OrderView = defineMessage(161, "OrderView", {
  orderId: "number",
  ...ORDER_SUMMARY,
  /** Of a conditional order at market; 0 = none. */
  maxSlippagePpm: "number",
  legs: json<AttachedLegs | null>(),
});
/** The client order id was used before with the same body. Read its order from the history. */
export const DuplicateOrder = defineMessage(162, "DuplicateOrder", { orderId: "number" });
export const PositionView = defineMessage(163, "PositionView", {
  accountId: "number",
  /** Signed. */
  sizeLots: "number",
  /** Signed quanta from trades, fees and funding. */
  cashQuanta: "number",
  /** Signed cost of the open position: entry price × size. */
  costQuanta: "number",
  realizedQuanta: "number",
  markTicks: "number",
  leverage: "number",
  initialQuanta: "number",
  maintenanceQuanta: "number",
  /** 0 = none within the price range. */
  liquidationTicks: "number",
  bankruptcyTicks: "number",
  /** Funding since the position was opened; negative = paid. */
  fundingQuanta: "number",
  openedAt: "number",
  updatedAt: "number",
  sequence: "number",
  /** 5 = in the first fifth of its side to be deleveraged, 1 = in the last; 0 = no position. */
  adlRank: "number",
  marginMode: "number",
  /** Equity of an isolated position: the money in it and its unrealised profit. */
  isolatedQuanta: "number",
  /** 1: the reference was used before for the same amount, and nothing was done. */
  duplicate: "number",
});
export const LeverageView = defineMessage(164, "LeverageView", { leverage: "number" });
export const TransferView = defineMessage(165, "TransferView", { transfer: json<Transfer>(), duplicate: "number" });
export const SessionView = defineMessage(166, "SessionView", {
  accountId: "number",
  address: "string",
  expiresAt: "number",
});
export const Done = defineMessage(167, "Done", {});
export const SymbolDescription = defineMessage(168, "SymbolDescription", { state: json<SymbolSummary>() });
export const LedgerDescription = defineMessage(169, "LedgerDescription", { state: json<LedgerSummary>() });
export const AuditReport = defineMessage(170, "AuditReport", { report: json<ActorAudit>() });
export const ClientIdsPage = defineMessage(171, "ClientIdsPage", { page: json<ClientIdList>() });
export const MarginModeView = defineMessage(172, "MarginModeView", { marginMode: "number" });
/** Follows the reply to each item of a batch. `eventCount`: events of the transaction so far. */
export const BatchItemEnd = defineMessage(177, "BatchItemEnd", { eventCount: "number" });
/** Follows the OrderView of a dry run, whose orderId is 0. */
export const DryRunResult = defineMessage(178, "DryRunResult", {
  /** How much of the available margin the order would take. */
  requiredQuanta: "number",
  fills: json<ExpectedFill[]>(),
  before: json<AccountProjection>(),
  after: json<AccountProjection>(),
});
/** See TRADING_STATUSES and HALT_REASONS. `until`: when the halt ends by itself; 0 = it does not. */
export const StatusView = defineMessage(180, "StatusView", { mode: "number", reason: "number", until: "number" });
export const WithdrawalsPage = defineMessage(181, "WithdrawalsPage", { page: json<WithdrawalList>() });
export const MaxOrderSizeView = defineMessage(182, "MaxOrderSizeView", { sizes: json<MaxOrderSize[]>() });
export const MarginCallView = defineMessage(183, "MarginCallView", { ratioPpm: "number" });
/** `duplicate` 1: the address was in the book before. */
export const WithdrawalAddressesView = defineMessage(184, "WithdrawalAddressesView", {
  addresses: json<WithdrawalAddress[]>(),
  duplicate: "number",
});
export type Reply =
  | MessageOf<typeof Refused>
  | MessageOf<typeof OrderView>
  | MessageOf<typeof DuplicateOrder>
  | MessageOf<typeof PositionView>
  | MessageOf<typeof LeverageView>
  | MessageOf<typeof TransferView>
  | MessageOf<typeof SessionView>
  | MessageOf<typeof Done>
  | MessageOf<typeof SymbolDescription>
  | MessageOf<typeof LedgerDescription>
  | MessageOf<typeof AuditReport>
  | MessageOf<typeof ClientIdsPage>
  | MessageOf<typeof StatusView>
  | MessageOf<typeof WithdrawalsPage>
  | MessageOf<typeof MarginModeView>
  | MessageOf<typeof BatchItemEnd>
  | MessageOf<typeof DryRunResult>
  | MessageOf<typeof MaxOrderSizeView>
  | MessageOf<typeof MarginCallView>
  | MessageOf<typeof WithdrawalAddressesView>;
