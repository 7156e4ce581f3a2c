import { defineMessage, json, type MessageOf } from "./message-schema.ts";
import { ORDER_SUMMARY } from "./order-fields.ts";
import type {
  AccountProjection,
  ActorAudit,
  ClientIdList,
  ExpectedFill,
  LedgerSummary,
  SymbolSummary,
  Transfer,
  WithdrawalList,
} from "./payloads.ts";

/** Replies answer one command. They are never logged. Units stand in the names of the fields: see base/units.ts. */

// ---- replies (160 to 189) ----

/** Nothing was done. `details` keys end in their unit (requiredQuanta, limitTicks), which the edge prints by. */
export const Refused = defineMessage(160, "Refused", {
  code: "string",
  field: "string",
  details: json<Record<string, number | string> | null>(),
});
export const OrderView = defineMessage(161, "OrderView", {
  orderId: "number",
  ...ORDER_SUMMARY,
});
/** The client order id was used before with the same body: this is its order, to be read from history. */
export const DuplicateOrder = defineMessage(162, "DuplicateOrder", { orderId: "number" });
export const PositionView = defineMessage(163, "PositionView", {
  accountId: "number",
  /** Signed. */
  sizeLots: "number",
  /** Signed quanta that trades and fees have moved. */
  cashQuanta: "number",
  /** Signed cost of what is open now: entry price × size. */
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
  /** 5 = among the first fifth of its side to be deleveraged, 1 = among the last; 0 = nothing is open. */
  adlRank: "number",
  marginMode: "number",
  /** An isolated position's own equity: what is set aside for it and its unrealised profit. */
  isolatedQuanta: "number",
  /** 1: the reference was used before to move the same amount, and nothing was done. */
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
/** Behind the reply to each item of a batch: how many events its turn has so far. */
export const BatchItemEnd = defineMessage(177, "BatchItemEnd", { eventCount: "number" });
/** Behind the view (its orderId is 0) of an order that was only tried. */
export const DryRunResult = defineMessage(178, "DryRunResult", {
  /** What it would have taken of the available margin. */
  requiredQuanta: "number",
  fills: json<ExpectedFill[]>(),
  before: json<AccountProjection>(),
  after: json<AccountProjection>(),
});
/** See TRADING_STATUSES and HALT_REASONS. `until`: when a halt ends by itself; 0 = it does not. */
export const StatusView = defineMessage(180, "StatusView", { mode: "number", reason: "number", until: "number" });
export const WithdrawalsPage = defineMessage(181, "WithdrawalsPage", { page: json<WithdrawalList>() });
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
  | MessageOf<typeof DryRunResult>;
