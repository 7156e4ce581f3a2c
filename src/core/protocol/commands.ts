import { defineMessage, json, type MessageOf } from "./message-schema.ts";
import { KEY_LIMITS, ORDER_DEFINITION, PLACEMENT, TRAILING, TRIGGER } from "./order-fields.ts";
import type { AttachedLegs, KeyRecord, LegChanges } from "./payloads.ts";
import type { Refused } from "./replies.ts";

/**
 * Commands ask an actor for a change or for an answer. They are never logged. Units stand in the names of the fields:
 * see base/units.ts.
 */

// ---- commands to a symbol (1 to 29) ----

export const PlaceOrder = defineMessage(1, "PlaceOrder", {
  accountId: "number",
  ...ORDER_DEFINITION,
  ...PLACEMENT,
  /** How far from the best price a market order may trade; 0 = as far as the price band. */
  maxSlippagePpm: "number",
});
/** By order id, or by client order id when orderId is 0. */
export const CancelOrder = defineMessage(2, "CancelOrder", {
  accountId: "number",
  orderId: "number",
  clientOrderId: "string",
});
/** side −1 = both. */
export const CancelAll = defineMessage(3, "CancelAll", { accountId: "number", side: "number" });
/** quantityLots 0 = the whole position, priceTicks 0 = at market. */
export const ClosePosition = defineMessage(4, "ClosePosition", {
  accountId: "number",
  quantityLots: "number",
  priceTicks: "number",
  expiresAt: "number",
  /** At market: how far from the mark it may trade; 0 = as far as the price band. */
  maxSlippagePpm: "number",
});
export const SetLeverage = defineMessage(5, "SetLeverage", {
  accountId: "number",
  leverage: "number",
  expiresAt: "number",
});
export const SetIndexPrice = defineMessage(6, "SetIndexPrice", {
  indexTicks: "number",
  /** 1: it comes from a feed, and a jump must be confirmed. 0: it comes from the operator. */
  isGuarded: "number",
  /** The operator's name; "" = no operator, but the exchange itself. */
  operator: "string",
});
/** The clock of the actors: each gets one a few times a second. */
export const Tick = defineMessage(7, "Tick", {});
export const ReadOrders = defineMessage(8, "ReadOrders", { accountId: "number" });
export const ReadOrder = defineMessage(9, "ReadOrder", {
  accountId: "number",
  orderId: "number",
  clientOrderId: "string",
});
export const ReadPosition = defineMessage(10, "ReadPosition", { accountId: "number" });
/** Asks for the state from which a gateway folds the actor's events. In pages, from the n-th row or price level on. */
export const Describe = defineMessage(11, "Describe", { from: "number" });
/** Asks the actor to check itself: see audit/invariants.ts. */
export const Audit = defineMessage(12, "Audit", {});
/** Asks for the client order ids that this symbol remembers. In pages, from the n-th on. */
export const ReadClientIds = defineMessage(13, "ReadClientIds", { from: "number" });
export const SetMarginMode = defineMessage(14, "SetMarginMode", {
  accountId: "number",
  marginMode: "number",
  expiresAt: "number",
});
/** Moves money into an isolated position's margin; negative = out of it. */
export const MoveMargin = defineMessage(15, "MoveMargin", {
  accountId: "number",
  amountQuanta: "number",
  expiresAt: "number",
  /** "" = none. */
  reference: "string",
});
/** Places a conditional order. */
export const PlaceTrigger = defineMessage(16, "PlaceTrigger", {
  accountId: "number",
  ...ORDER_DEFINITION,
  ...TRIGGER,
  /** The key's limits are checked when the order is placed, not when it fires. */
  ...PLACEMENT,
  /** The triggerTicks of such an order is 0. */
  ...TRAILING,
  /** At market: how far from the mark it may trade when it fires; 0 = as far as the price band. */
  maxSlippagePpm: "number",
});
/** A PlaceOrder with more: an end, an iceberg's slice, a price match, or a take-profit and a stop for its fills. */
export const PlaceExtended = defineMessage(17, "PlaceExtended", {
  accountId: "number",
  ...ORDER_DEFINITION,
  ...PLACEMENT,
  /** With GTD; else 0. */
  goodTillDate: "number",
  legs: json<AttachedLegs | null>(),
  maxSlippagePpm: "number",
  /** One of PRICE_MATCHES, in the place of priceTicks; 0 = none. */
  priceMatch: "number",
  /** The book shows at most so many lots of it at a time; 0 = all. */
  displayLots: "number",
});
/** Cancels all open orders of the account after this time, unless another CancelAfter comes before. 0 = disarms. */
export const CancelAfter = defineMessage(18, "CancelAfter", { accountId: "number", timeoutMs: "number" });
/** By order id, or by client order id when orderId is 0. A term of the order that is 0 stays as it is. */
export const AmendOrder = defineMessage(20, "AmendOrder", {
  accountId: "number",
  orderId: "number",
  priceTicks: "number",
  /** The whole quantity, with the part that is filled already. */
  quantityLots: "number",
  /** The symbol refuses the command when it reads it later than this; 0 = never. */
  expiresAt: "number",
  ...KEY_LIMITS,
  clientOrderId: "string",
  /** One of PRICE_MATCHES, in the place of priceTicks; 0 = none. */
  priceMatch: "number",
  displayLots: "number",
  /** Of a conditional order that has not fired. */
  triggerTicks: "number",
  /** Of a GTD order. */
  goodTillDate: "number",
  ...TRAILING,
  /** Of a conditional order at market that has not fired. */
  maxSlippagePpm: "number",
  /** Null = both stay as they are. */
  legs: json<LegChanges | null>(),
});
export type BatchItem =
  | MessageOf<typeof PlaceOrder>
  | MessageOf<typeof PlaceTrigger>
  | MessageOf<typeof PlaceExtended>
  | MessageOf<typeof AmendOrder>
  | MessageOf<typeof CancelOrder>;
/** The items run in their order and in one transaction, each as if it came by itself: see commands/batch.ts. */
export const OrderBatch = defineMessage(21, "OrderBatch", { items: json<BatchItem[]>() });
/** Asks what an order would do now, and changes nothing: see commands/dry-run.ts. */
export const DryRunOrder = defineMessage(22, "DryRunOrder", {
  order: json<MessageOf<typeof PlaceOrder> | MessageOf<typeof PlaceTrigger> | MessageOf<typeof PlaceExtended>>(),
});
/** `mode` is one of TRADING_STATUSES, but not TRADING. ResumeSymbol ends every halt, also one with another reason. */
export const HaltSymbol = defineMessage(24, "HaltSymbol", {
  mode: "number",
  /** One of HALT_REASONS: the operator, or a failed self-check of another actor. */
  reason: "number",
  /** As in SetIndexPrice. */
  operator: "string",
});
export const ResumeSymbol = defineMessage(25, "ResumeSymbol", { operator: "string" });
/**
 * The account is about to withdraw, and the ledger decides that by the margin table. The symbol replies when its part of
 * the table is up to date, or refuses: see commands/withdrawal.ts.
 */
export const PrepareWithdrawal = defineMessage(26, "PrepareWithdrawal", { accountId: "number" });
/** Asks how large an order may be now, and changes nothing: see commands/dry-run.ts. The quantity of `order` is ignored. */
export const ReadMaxOrderSize = defineMessage(27, "ReadMaxOrderSize", {
  order: json<MessageOf<typeof PlaceOrder>>(),
  /** −1 = both, each with the terms of `order`. */
  side: "number",
});
/** Takes a sample of the funding premium: see pricing/premium-samples.ts. It comes at random times and changes no state. */
export const SamplePremium = defineMessage(28, "SamplePremium", {});

// ---- commands to the ledger (30 to 49) ----

/** Opens a session, and before it an account if the address has none. */
export const OpenSession = defineMessage(30, "OpenSession", {
  address: "string",
  tokenHash: "string",
  expiresAt: "number",
});
/** An empty tokenHash closes all sessions of the account. */
export const CloseSession = defineMessage(31, "CloseSession", { accountId: "number", tokenHash: "string" });
export const CreateKey = defineMessage(32, "CreateKey", {
  accountId: "number",
  apiKey: "string",
  record: json<KeyRecord>(),
});
export const RevokeKey = defineMessage(33, "RevokeKey", { accountId: "number", apiKey: "string" });
export const Deposit = defineMessage(34, "Deposit", {
  accountId: "number",
  amountQuanta: "number",
  reference: "string",
});
export const Withdraw = defineMessage(35, "Withdraw", {
  accountId: "number",
  amountQuanta: "number",
  address: "string",
  reference: "string",
  /** A symbol's refusal of PrepareWithdrawal. It becomes the reply, unless the reference was used already. Null = none. */
  refusal: json<MessageOf<typeof Refused> | null>(),
});
/** Asks for the withdrawals that are not complete. In pages, from the n-th on. */
export const ReadWithdrawals = defineMessage(36, "ReadWithdrawals", { from: "number" });
/** Asks at which margin ratio the account gets a margin call. */
export const ReadMarginCall = defineMessage(37, "ReadMarginCall", { accountId: "number" });
export const SetMarginCall = defineMessage(38, "SetMarginCall", { accountId: "number", ratioPpm: "number" });
/** Adds to the account's address book. The reply is the entry, also when the address was there before. */
export const AddWithdrawalAddress = defineMessage(39, "AddWithdrawalAddress", {
  accountId: "number",
  address: "string",
  label: "string",
});
export const RemoveWithdrawalAddress = defineMessage(40, "RemoveWithdrawalAddress", {
  accountId: "number",
  address: "string",
});
export const ReadWithdrawalAddresses = defineMessage(41, "ReadWithdrawalAddresses", { accountId: "number" });
/** Commands to a symbol that change nothing. */
export type SymbolRead =
  | MessageOf<typeof ReadOrders>
  | MessageOf<typeof ReadOrder>
  | MessageOf<typeof ReadPosition>
  | MessageOf<typeof Describe>
  | MessageOf<typeof Audit>
  | MessageOf<typeof ReadClientIds>
  | MessageOf<typeof ReadMaxOrderSize>;
export type SymbolCommand =
  | SymbolRead
  | MessageOf<typeof PlaceOrder>
  | MessageOf<typeof CancelOrder>
  | MessageOf<typeof CancelAll>
  | MessageOf<typeof ClosePosition>
  | MessageOf<typeof SetLeverage>
  | MessageOf<typeof SetIndexPrice>
  | MessageOf<typeof Tick>
  | MessageOf<typeof HaltSymbol>
  | MessageOf<typeof ResumeSymbol>
  | MessageOf<typeof SetMarginMode>
  | MessageOf<typeof MoveMargin>
  | MessageOf<typeof PlaceTrigger>
  | MessageOf<typeof PlaceExtended>
  | MessageOf<typeof CancelAfter>
  | MessageOf<typeof AmendOrder>
  | MessageOf<typeof OrderBatch>
  | MessageOf<typeof DryRunOrder>
  | MessageOf<typeof SamplePremium>
  | MessageOf<typeof PrepareWithdrawal>;
export type LedgerCommand =
  | MessageOf<typeof OpenSession>
  | MessageOf<typeof CloseSession>
  | MessageOf<typeof CreateKey>
  | MessageOf<typeof RevokeKey>
  | MessageOf<typeof Deposit>
  | MessageOf<typeof Withdraw>
  | MessageOf<typeof ReadWithdrawals>
  | MessageOf<typeof ReadMarginCall>
  | MessageOf<typeof SetMarginCall>
  | MessageOf<typeof AddWithdrawalAddress>
  | MessageOf<typeof RemoveWithdrawalAddress>
  | MessageOf<typeof ReadWithdrawalAddresses>
  | MessageOf<typeof Tick>
  | MessageOf<typeof Describe>
  | MessageOf<typeof Audit>;

const READ_ONLY: ReadonlySet<number> = new Set(
  [
    ...[ReadOrders, ReadOrder, ReadPosition, Describe, Audit, ReadClientIds, ReadMaxOrderSize],
    ...[ReadWithdrawals, ReadMarginCall, ReadWithdrawalAddresses],
  ].map(({ code }) => code),
);

/** The command changes nothing: a process that does not lead answers it, too. */
export const isReadOnly = (code: number): boolean => READ_ONLY.has(code);
