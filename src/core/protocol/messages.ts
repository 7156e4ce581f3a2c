import type { Permission } from "../base/enums.ts";
import { defineMessage, json, type MessageOf } from "./message-schema.ts";

/**
 * The vocabulary. Commands may be asked, events did happen (and are the log), replies answer one asker and are never
 * logged; rows.ts has an actor's state in a snapshot. Units stand in the names; see units.ts.
 */

// ---- commands to a symbol (1 to 29) ---------------------------------------------------------------------------------

export const PlaceOrder = defineMessage(1, "PlaceOrder", {
  accountId: "number",
  side: "number",
  orderType: "number",
  timeInForce: "number",
  flags: "number",
  selfTradePrevention: "number",
  /** 0 for a market order. */
  priceTicks: "number",
  quantityLots: "number",
  /** Refused when the symbol sees it later; 0 = never. */
  expiresAt: "number",
  /** A hash of what is ordered: tells a retry from a reused id. */
  bodyHash: "number",
  /** "" = none. */
  clientOrderId: "string",
  /** Limits of the API key that asks: notional of the order, of the position, leverage. 0 = none. */
  keyOrderQuanta: "number",
  keyPositionQuanta: "number",
  keyLeverage: "number",
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
/** quantityLots 0 = all of it, priceTicks 0 = at market. */
export const ClosePosition = defineMessage(4, "ClosePosition", {
  accountId: "number",
  quantityLots: "number",
  priceTicks: "number",
  expiresAt: "number",
});
export const SetLeverage = defineMessage(5, "SetLeverage", {
  accountId: "number",
  leverage: "number",
  expiresAt: "number",
});
export const SetIndexPrice = defineMessage(6, "SetIndexPrice", {
  indexTicks: "number",
  /** 1: a machine says so, and a jump must be confirmed; 0: the operator's word. */
  isGuarded: "number",
});
/** Time passes; every actor gets one a few times a second. */
export const Tick = defineMessage(7, "Tick", {});
export const ReadOrders = defineMessage(8, "ReadOrders", { accountId: "number" });
export const ReadOrder = defineMessage(9, "ReadOrder", {
  accountId: "number",
  orderId: "number",
  clientOrderId: "string",
});
export const ReadPosition = defineMessage(10, "ReadPosition", { accountId: "number" });
/** Everything a front thread needs to begin folding this actor's events, in pages: from the n-th row, or level, on. */
export const Describe = defineMessage(11, "Describe", { from: "number" });
/** The actor checks itself; see invariants.ts. */
export const Audit = defineMessage(12, "Audit", {});
/** The client order ids that this symbol remembers, in pages: from the n-th on. */
export const ReadClientIds = defineMessage(13, "ReadClientIds", { from: "number" });
export const SetMarginMode = defineMessage(14, "SetMarginMode", {
  accountId: "number",
  marginMode: "number",
  expiresAt: "number",
});
/** Into an isolated position's margin; negative = out of it. */
export const MoveMargin = defineMessage(15, "MoveMargin", {
  accountId: "number",
  amountQuanta: "number",
  expiresAt: "number",
  /** "" = none. */
  reference: "string",
});
/** An order that waits for a price. */
export const PlaceTrigger = defineMessage(16, "PlaceTrigger", {
  accountId: "number",
  side: "number",
  orderType: "number",
  timeInForce: "number",
  flags: "number",
  selfTradePrevention: "number",
  /** 0 for types at market. */
  priceTicks: "number",
  /** 0 with CLOSE_POSITION: whatever the position is then. */
  quantityLots: "number",
  triggerTicks: "number",
  triggerBy: "number",
  expiresAt: "number",
  bodyHash: "number",
  clientOrderId: "string",
  /** As of PlaceOrder: checked when the order is placed, not when it fires. */
  keyOrderQuanta: "number",
  keyPositionQuanta: "number",
  keyLeverage: "number",
  /** Of TRAILING_STOP_MARKET, whose triggerTicks is 0; activationTicks 0 = it trails at once. */
  callbackPpm: "number",
  activationTicks: "number",
});
/** A PlaceOrder with more: an end, or a take-profit and a stop for what it will have opened. */
export const PlaceExtended = defineMessage(17, "PlaceExtended", {
  accountId: "number",
  side: "number",
  orderType: "number",
  timeInForce: "number",
  flags: "number",
  selfTradePrevention: "number",
  priceTicks: "number",
  quantityLots: "number",
  expiresAt: "number",
  bodyHash: "number",
  clientOrderId: "string",
  keyOrderQuanta: "number",
  keyPositionQuanta: "number",
  keyLeverage: "number",
  /** With GTD; else 0. */
  goodTillDate: "number",
  legs: json<AttachedLegs | null>(),
  maxSlippagePpm: "number",
  /** One of PRICE_MATCHES, in the place of priceTicks; 0 = none. */
  priceMatch: "number",
  /** No more than this of it is shown in the book at a time; 0 = all of it. */
  displayLots: "number",
});
/** Cancels all open orders of the account so long after this turn, unless another one comes before. 0 = disarms. */
export const CancelAfter = defineMessage(18, "CancelAfter", { accountId: "number", timeoutMs: "number" });
/** By order id, or by client order id when orderId is 0. */
export const AmendOrder = defineMessage(20, "AmendOrder", {
  accountId: "number",
  orderId: "number",
  /** 0 = as it is. */
  priceTicks: "number",
  /** All of it, what has been filled included; 0 = as it is. */
  quantityLots: "number",
  /** Refused when the symbol sees it later; 0 = never. */
  expiresAt: "number",
  /** The limits of the API key that asks, as of PlaceOrder; 0 = none. */
  keyOrderQuanta: "number",
  keyPositionQuanta: "number",
  keyLeverage: "number",
  clientOrderId: "string",
  /** One of PRICE_MATCHES, in the place of priceTicks; 0 = none. */
  priceMatch: "number",
  /** 0 = as it is. */
  displayLots: "number",
  /** Of an order that waits for its price: another one to wait for; 0 = as it is. */
  triggerTicks: "number",
  /** Of a GTD order: another end; 0 = as it is. */
  goodTillDate: "number",
  /** Of an order that trails or is to: another callback rate, another price to trail from; 0 = as it is. */
  callbackPpm: "number",
  activationTicks: "number",
});
/** What a batch is made of. */
export type BatchItem =
  | MessageOf<typeof PlaceOrder>
  | MessageOf<typeof PlaceTrigger>
  | MessageOf<typeof PlaceExtended>
  | MessageOf<typeof AmendOrder>
  | MessageOf<typeof CancelOrder>;

/** In their order and in one turn, each as if it came by itself: see batch.ts. */
export const OrderBatch = defineMessage(21, "OrderBatch", { items: json<BatchItem[]>() });
/** Asks what would come of an order now, and changes nothing: see trial.ts. */
export const DryRunOrder = defineMessage(22, "TryOrder", {
  order: json<MessageOf<typeof PlaceOrder> | MessageOf<typeof PlaceTrigger> | MessageOf<typeof PlaceExtended>>(),
});
/** The operator's; `mode` is one of TRADING_STATUSES, but not TRADING. Ends with ResumeSymbol, also what others have halted. */
export const HaltSymbol = defineMessage(24, "HaltSymbol", {
  mode: "number",
  /** One of HALT_REASONS: the operator's, or because another actor's self-check has failed. */
  reason: "number",
});
export const ResumeSymbol = defineMessage(25, "ResumeSymbol", {});
/**
 * The account is about to withdraw, which the ledger decides by its cells: answered once what they say of this symbol may
 * be relied on, or refused; see withdrawal.ts.
 */
export const PrepareWithdrawal = defineMessage(26, "PrepareWithdrawal", { accountId: "number" });

// ---- commands to the ledger (30 to 49) ------------------------------------------------------------------------------

/** Opens the address's account if it has none, and a session in it. */
export const OpenSession = defineMessage(30, "OpenSession", {
  address: "string",
  tokenHash: "string",
  expiresAt: "number",
});
/** An empty tokenHash: all that the account has. */
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
  /** What a symbol said to PrepareWithdrawal: the answer, unless the reference has one already. Null = nothing is against it. */
  refusal: json<MessageOf<typeof Refused> | null>(),
});
/** The withdrawals that are not complete, in pages: from the n-th on. */
export const ReadWithdrawals = defineMessage(36, "ReadWithdrawals", { from: "number" });

// ---- events of a symbol (100 to 129) --------------------------------------------------------------------------------

/**
 * An order exists. `rests` 1: all of it went into the book. 0: it took first; what became of the rest is said by a
 * later OrderRested or OrderClosed of the same turn, or it was filled.
 */
export const OrderPlaced = defineMessage(100, "OrderPlaced", {
  orderId: "number",
  accountId: "number",
  side: "number",
  orderType: "number",
  timeInForce: "number",
  flags: "number",
  selfTradePrevention: "number",
  /** The limit; for a market order the cap it may not trade beyond. */
  priceTicks: "number",
  quantityLots: "number",
  rests: "number",
  /** What a resting lot is valued at for margin, and the loss that its fill would bring; fixed when it rests. */
  marginPriceTicks: "number",
  lossTicks: "number",
  bodyHash: "number",
  clientOrderId: "string",
});
export const OrderRested = defineMessage(101, "OrderRested", {
  orderId: "number",
  accountId: "number",
  side: "number",
  priceTicks: "number",
  restingLots: "number",
  marginPriceTicks: "number",
  lossTicks: "number",
});
/** Two orders met. An order whose last lot this was is FILLED: no other event says so. */
export const Traded = defineMessage(102, "Traded", {
  tradeId: "number",
  takerOrderId: "number",
  makerOrderId: "number",
  takerAccountId: "number",
  makerAccountId: "number",
  takerSide: "number",
  priceTicks: "number",
  quantityLots: "number",
  takerFeeQuanta: "number",
  makerFeeQuanta: "number",
  /** Profit taken by the part that closed; before fees. */
  takerRealizedQuanta: "number",
  makerRealizedQuanta: "number",
  /** Signed position after the trade. */
  takerSizeLots: "number",
  makerSizeLots: "number",
  execType: "number",
});
/**
 * An order shrank: a reduce-only order to its position, or both sides of a self-trade. `resting` 1: by what the book
 * shows; 0: it is in hand, or an iceberg that shrank by what it hides.
 */
export const OrderReduced = defineMessage(103, "OrderReduced", {
  orderId: "number",
  accountId: "number",
  side: "number",
  priceTicks: "number",
  byLots: "number",
  resting: "number",
  reason: "number",
});
/** An order ended unfilled or partly filled. `restingLots` is what it took out of the book, as far as that is shown. */
export const OrderClosed = defineMessage(104, "OrderClosed", {
  orderId: "number",
  accountId: "number",
  side: "number",
  priceTicks: "number",
  restingLots: "number",
  status: "number",
  reason: "number",
  /** Where an order that trails would have fired; 0 = as it was. */
  triggerTicks: "number",
});
export const LeverageSet = defineMessage(105, "LeverageSet", { accountId: "number", leverage: "number" });
export const PriceUpdated = defineMessage(106, "PriceUpdated", {
  indexTicks: "number",
  markTicks: "number",
  /** Moving average of mid − index, in 1/1024 ticks: the state behind the mark. */
  basis1024: "number",
  /** The premium just sampled, in parts per billion of the index. */
  premiumPpb: "number",
  /** What funding would be if the interval ended now, in parts per billion of the notional. */
  fundingRatePpb: "number",
  nextFundingTime: "number",
  /** What is open: the sum of all long positions. 0 also in what was written before there was this field. */
  openInterestLots: "number",
});
/**
 * An interval of funding has ended: positions that are open now owe size × mark × rate, longs to shorts when the rate is
 * positive. Each position's payment is a FundingPaid of its own, in this turn or a later one, before its size changes.
 */
export const FundingSettled = defineMessage(107, "FundingSettled", {
  fundingTime: "number",
  nextFundingTime: "number",
  ratePpb: "number",
  premiumPpb: "number",
  indexTicks: "number",
  markTicks: "number",
});
/** What a payer pays is rounded up and what a receiver gets is rounded down: the remainder stays in the insurance fund. */
export const FundingPaid = defineMessage(108, "FundingPaid", {
  accountId: "number",
  fundingTime: "number",
  ratePpb: "number",
  markTicks: "number",
  /** Signed. */
  sizeLots: "number",
  /** Negative = paid. */
  amountQuanta: "number",
});
/**
 * A part of a position goes to another account at the bankruptcy price, outside the book: to the insurance fund
 * (LIQUIDATION) or to the other side (ADL). `quanta` is exact; `priceTicks` is the price nearest to it.
 */
export const PositionTransferred = defineMessage(109, "PositionTransferred", {
  tradeId: "number",
  accountId: "number",
  counterpartyId: "number",
  /** BUY when the account's short is closed. */
  side: "number",
  quantityLots: "number",
  priceTicks: "number",
  /** Notional: what the buyer pays the seller. May be negative: then the seller pays the buyer to take it. */
  quanta: "number",
  accountRealizedQuanta: "number",
  counterpartyRealizedQuanta: "number",
  accountSizeLots: "number",
  counterpartySizeLots: "number",
  execType: "number",
});
/** The fund pays what an account without positions is below zero. */
export const DeficitCovered = defineMessage(110, "DeficitCovered", { accountId: "number", amountQuanta: "number" });
/** `isolatedQuanta`: as in IsolatedMarginSet; 0 for a cross position. */
export const MarginModeSet = defineMessage(111, "MarginModeSet", {
  accountId: "number",
  marginMode: "number",
  isolatedQuanta: "number",
});
/** What an isolated position holds back from the account's cross margin is now this much: see core/isolated.ts. */
export const IsolatedMarginSet = defineMessage(112, "IsolatedMarginSet", {
  accountId: "number",
  isolatedQuanta: "number",
});
/** An order waits for a price: STOP_... below a falling or above a rising one, TAKE_PROFIT_... the other way round. */
export const ConditionalOrderPlaced = defineMessage(114, "OrderWaits", {
  orderId: "number",
  accountId: "number",
  side: "number",
  orderType: "number",
  timeInForce: "number",
  flags: "number",
  selfTradePrevention: "number",
  priceTicks: "number",
  quantityLots: "number",
  triggerTicks: "number",
  triggerBy: "number",
  bodyHash: "number",
  clientOrderId: "string",
  /** The order that it came with, and the other one that did; 0 = none. */
  parentId: "number",
  siblingId: "number",
  /**
   * Of TRAILING_STOP_MARKET: its triggerTicks is 0 while it waits for activationTicks, and where it begins if it trails
   * at once. From there on it follows from the prices at the end of each turn.
   */
  callbackPpm: "number",
  activationTicks: "number",
});
/** Its price has come: from here on it is an order that takes, as behind an OrderPlaced whose `rests` is 0. */
export const OrderTriggered = defineMessage(115, "OrderTriggered", {
  orderId: "number",
  accountId: "number",
  /** The limit; of a type at market the cap it may not trade beyond. */
  priceTicks: "number",
  quantityLots: "number",
  /** What it fired at; 0 = what it was placed with. */
  triggerTicks: "number",
});
/** What the order of the OrderPlaced before has beyond it. */
export const OrderExtended = defineMessage(116, "OrderExtended", {
  orderId: "number",
  accountId: "number",
  /** 0 = none. */
  goodTillDate: "number",
  legs: json<AttachedLegs | null>(),
  /** Of an iceberg, which comes to rest by a SliceShown; 0 = it shows all of it. */
  displayLots: "number",
});
/** As CancelAfter asks; 0 also when the time has come and the orders are canceled. */
export const CancelAfterSet = defineMessage(117, "CancelAfterSet", { accountId: "number", cancelAt: "number" });
/** The order that it came with has filled more: so much waits now. */
export const AttachedQuantityRaised = defineMessage(118, "OrderGrown", {
  orderId: "number",
  accountId: "number",
  quantityLots: "number",
});
/**
 * A resting order has another price, quantity or end under its old id. `queueSerial` 0: it did not grow and keeps its
 * place in the queue. Else it left its place and stands behind all that rest by now: at once when `rests` is 1; else it
 * took first, and what became of it is said by later events of the turn, as of an OrderPlaced.
 */
export const OrderAmended = defineMessage(119, "OrderAmended", {
  orderId: "number",
  accountId: "number",
  side: "number",
  /** Where it stood, and what the book showed of it there. */
  oldPriceTicks: "number",
  oldRestingLots: "number",
  priceTicks: "number",
  quantityLots: "number",
  /** What may still trade. */
  remainingLots: "number",
  rests: "number",
  /** The number that the next order would have had as its serial. */
  queueSerial: "number",
  marginPriceTicks: "number",
  lossTicks: "number",
  /** Of an iceberg; 0 = it shows all of it. */
  displayLots: "number",
  /** What of remainingLots is in the book and not shown. */
  hiddenLots: "number",
  /** Of a GTD order; 0 = as it was. */
  goodTillDate: "number",
});
/**
 * A slice of an iceberg stands in the book, at the back of its price's queue. `queueSerial` 0: the order in hand has come
 * to rest with it, in the place of an OrderRested. Else the slice before it was used up by what stands before this event,
 * and the number is the one that the next order would have had as its serial.
 */
export const SliceShown = defineMessage(121, "SliceShown", {
  orderId: "number",
  accountId: "number",
  side: "number",
  priceTicks: "number",
  shownLots: "number",
  queueSerial: "number",
  /** As of OrderRested; 0 with a queueSerial. */
  marginPriceTicks: "number",
  lossTicks: "number",
});
/** What the symbol lets happen from now on. `mode` TRADING: the halt is over. `until` 0: until someone says otherwise. */
export const TradingHalted = defineMessage(122, "TradingHalted", { mode: "number", reason: "number", until: "number" });
/** The index has become too old to take risk on; the next PriceUpdated ends that. */
export const IndexWentStale = defineMessage(123, "IndexWentStale", {});
/** The symbol has found that its books do not balance; a TradingHalted follows. */
export const SelfCheckFailed = defineMessage(124, "SelfCheckFailed", { fault: "string" });
/**
 * A price stands here at the end of a turn, and orders wait for it to rise (`rises` 1) or to fall: those that it reaches
 * are due, and fire in the turns behind, whatever it does by then.
 */
export const TriggersReached = defineMessage(125, "PriceReached", {
  triggerBy: "number",
  rises: "number",
  priceTicks: "number",
});
/** Of those that came with the order, this one has done its work: further fills bring another one. */
export const LegSpent = defineMessage(126, "LegSpent", { orderId: "number", accountId: "number", legId: "number" });
/** An order that waits has another limit, quantity or price to wait for under its old id; those that stay are named, too. */
export const ConditionalOrderAmended = defineMessage(127, "WaitingAmended", {
  orderId: "number",
  accountId: "number",
  priceTicks: "number",
  quantityLots: "number",
  triggerTicks: "number",
  /** Of TRAILING_STOP_MARKET; callbackPpm 0 = both as they were. */
  callbackPpm: "number",
  activationTicks: "number",
});

/** Behind the IsolatedMarginSet of a MoveMargin that came with a reference. */
export const MarginMoved = defineMessage(128, "MarginMoved", {
  accountId: "number",
  amountQuanta: "number",
  reference: "string",
});

// ---- events of the ledger (130 to 159) ------------------------------------------------------------------------------

export const AccountOpened = defineMessage(130, "AccountOpened", { accountId: "number", address: "string" });
export const SessionOpened = defineMessage(131, "SessionOpened", {
  accountId: "number",
  tokenHash: "string",
  expiresAt: "number",
});
export const SessionClosed = defineMessage(132, "SessionClosed", { accountId: "number", tokenHash: "string" });
export const KeyCreated = defineMessage(133, "KeyCreated", {
  accountId: "number",
  apiKey: "string",
  record: json<KeyRecord>(),
});
export const KeyRevoked = defineMessage(134, "KeyRevoked", { accountId: "number", apiKey: "string" });
/** Credited at once: in the sandbox the faucet pays. */
export const Deposited = defineMessage(135, "Deposited", {
  transferId: "number",
  accountId: "number",
  amountQuanta: "number",
  reference: "string",
});
/** Debited and waiting. */
export const WithdrawalRequested = defineMessage(136, "WithdrawalRequested", {
  transferId: "number",
  accountId: "number",
  amountQuanta: "number",
  address: "string",
  reference: "string",
});
export const WithdrawalSent = defineMessage(137, "WithdrawalSent", {
  transferId: "number",
  accountId: "number",
  txHash: "string",
});
export const WithdrawalCompleted = defineMessage(138, "WithdrawalCompleted", {
  transferId: "number",
  accountId: "number",
});

/** The ledger has found that its books do not balance: the front halts every symbol. */
export const LedgerUnsound = defineMessage(141, "LedgerUnsound", { fault: "string" });

// ---- replies (160 to 189) -------------------------------------------------------------------------------------------

/** Nothing was done. `details` keys end in their unit (requiredQuanta, limitTicks), which the edge prints by. */
export const Refused = defineMessage(160, "Refused", {
  code: "string",
  field: "string",
  details: json<Record<string, number | string> | null>(),
});
export const OrderView = defineMessage(161, "OrderView", {
  orderId: "number",
  side: "number",
  orderType: "number",
  timeInForce: "number",
  flags: "number",
  selfTradePrevention: "number",
  priceTicks: "number",
  quantityLots: "number",
  /** Neither filled nor given up. */
  remainingLots: "number",
  filledLots: "number",
  filledQuanta: "number",
  feeQuanta: "number",
  status: "number",
  reason: "number",
  createdAt: "number",
  updatedAt: "number",
  /** 0 = the sequence of the turn that carries this view. */
  sequence: "number",
  clientOrderId: "string",
  /** Of an order that waits or has waited for a price; else 0. */
  triggerTicks: "number",
  triggerBy: "number",
  /** 0 = none. */
  goodTillDate: "number",
  /** The order that it came with; 0 = none. */
  parentId: "number",
  /** Of TRAILING_STOP_MARKET; else 0. */
  callbackPpm: "number",
  activationTicks: "number",
  /** Of an iceberg; else 0. */
  displayLots: "number",
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
export const DryRunResult = defineMessage(178, "TrialEnd", {
  /** What it would have taken of the available margin. */
  requiredQuanta: "number",
  fills: json<ExpectedFill[]>(),
  before: json<AccountProjection>(),
  after: json<AccountProjection>(),
});
/** See TRADING_STATUSES and HALT_REASONS. `until`: when a halt ends by itself; 0 = it does not. */
export const StatusView = defineMessage(180, "StatusView", { mode: "number", reason: "number", until: "number" });
export const WithdrawalsPage = defineMessage(181, "WithdrawalsPage", { page: json<WithdrawalList>() });

// ---- records that are carried as they are --------------------------------------------------------------------------

export interface KeyRecord {
  label: string;
  permissions: Permission[];
  allowedIps: string[];
  /** The HMAC secret, encrypted with the data folder's key (front/auth). */
  sealedSecret: string;
  /** 0 = never. */
  expiresAt: number;
  createdAt: number;
  // Left out by keys without them, and by logs from before there were any.
  /** Those that the key may trade; empty = all. */
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

/** A page of the withdrawals that are not complete. */
export interface WithdrawalList {
  withdrawals: Transfer[];
  /** What the next ReadWithdrawals must ask from; null = this was the last page. */
  next: number | null;
}

/** An order that will wait to close what another one opens. */
export interface AttachedLeg {
  triggerTicks: number;
  triggerBy: number;
  /** 0 = at market. */
  priceTicks: number;
}

export interface AttachedLegs {
  takeProfit: AttachedLeg | null;
  stopLoss: AttachedLeg | null;
}

/** An account's margin, and its position in a symbol. */
export interface AccountProjection {
  /** Signed. */
  sizeLots: number;
  /** 0 = none within the price range. */
  liquidationTicks: number;
  initialQuanta: number;
  /** May be negative. */
  availableQuanta: number;
}

/** A trade that would happen. */
export type ExpectedFill = [priceTicks: number, lots: number, feeQuanta: number];

/** Levels as [priceTicks, lots], best first. */
export type Levels = [number, number][];

/** What a symbol is, and a page of its book. */
export interface SymbolSummary {
  /** What the next Describe must ask from; null = this was the last page. */
  next: number | null;
  indexTicks: number;
  markTicks: number;
  lastTicks: number;
  openInterestLots: number;
  priceTime: number;
  fundingRatePpb: number;
  nextFundingTime: number;
  haltMode: number;
  haltReason: number;
  /** What the self-check found when it halted the symbol; "" = nothing. */
  fault: string;
  isIndexStale: boolean;
  bids: Levels;
  asks: Levels;
}

/** A page of the client order ids of a symbol. */
export interface ClientIdList {
  ids: [accountId: number, clientOrderId: string, time: number][];
  /** What the next ReadClientIds must ask from; null = this was the last page. */
  next: number | null;
}

/** A page of the ledger. */
export interface LedgerSummary {
  /** What the next Describe must ask from; null = this was the last page. */
  next: number | null;
  accounts: [accountId: number, address: string][];
  sessions: { tokenHash: string; accountId: number; expiresAt: number }[];
  keys: { apiKey: string; accountId: number; record: KeyRecord }[];
}

/** What an actor found when it checked itself. Money in decimal quanta, since sums may pass 2^53. */
export interface ActorAudit {
  actorId: number;
  sequence: number;
  /** Σ of everything this actor holds: position cash of a symbol (0 when exact), balances of the ledger. */
  moneyQuanta: string;
  /** Ledger only: deposits − withdrawals. */
  depositsMinusWithdrawalsQuanta?: string;
  /** Symbol only: Σ size, 0 when exact. */
  sizeLots?: number;
  openOrders?: number;
  positions?: number;
  accounts?: number;
  /** Each difference found, in words. Empty = sound. */
  faults: string[];
  /** A hash over the whole state: equal states, equal digests. */
  digest: string;
}

// ---- unions ---------------------------------------------------------------------------------------------------------

export type SymbolCommand =
  | MessageOf<typeof PlaceOrder>
  | MessageOf<typeof CancelOrder>
  | MessageOf<typeof CancelAll>
  | MessageOf<typeof ClosePosition>
  | MessageOf<typeof SetLeverage>
  | MessageOf<typeof SetIndexPrice>
  | MessageOf<typeof Tick>
  | MessageOf<typeof ReadOrders>
  | MessageOf<typeof ReadOrder>
  | MessageOf<typeof ReadPosition>
  | MessageOf<typeof Describe>
  | MessageOf<typeof Audit>
  | MessageOf<typeof ReadClientIds>
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
  | MessageOf<typeof PrepareWithdrawal>;

export type LedgerCommand =
  | MessageOf<typeof OpenSession>
  | MessageOf<typeof CloseSession>
  | MessageOf<typeof CreateKey>
  | MessageOf<typeof RevokeKey>
  | MessageOf<typeof Deposit>
  | MessageOf<typeof Withdraw>
  | MessageOf<typeof ReadWithdrawals>
  | MessageOf<typeof Tick>
  | MessageOf<typeof Describe>
  | MessageOf<typeof Audit>;

export type SymbolEvent =
  | MessageOf<typeof OrderPlaced>
  | MessageOf<typeof OrderRested>
  | MessageOf<typeof Traded>
  | MessageOf<typeof OrderReduced>
  | MessageOf<typeof OrderClosed>
  | MessageOf<typeof LeverageSet>
  | MessageOf<typeof PriceUpdated>
  | MessageOf<typeof FundingSettled>
  | MessageOf<typeof FundingPaid>
  | MessageOf<typeof PositionTransferred>
  | MessageOf<typeof DeficitCovered>
  | MessageOf<typeof TradingHalted>
  | MessageOf<typeof IndexWentStale>
  | MessageOf<typeof MarginModeSet>
  | MessageOf<typeof IsolatedMarginSet>
  | MessageOf<typeof ConditionalOrderPlaced>
  | MessageOf<typeof OrderTriggered>
  | MessageOf<typeof TriggersReached>
  | MessageOf<typeof SelfCheckFailed>
  | MessageOf<typeof OrderExtended>
  | MessageOf<typeof AttachedQuantityRaised>
  | MessageOf<typeof ConditionalOrderAmended>
  | MessageOf<typeof LegSpent>
  | MessageOf<typeof CancelAfterSet>
  | MessageOf<typeof OrderAmended>
  | MessageOf<typeof SliceShown>
  | MessageOf<typeof MarginMoved>;

export type LedgerEvent =
  | MessageOf<typeof AccountOpened>
  | MessageOf<typeof SessionOpened>
  | MessageOf<typeof SessionClosed>
  | MessageOf<typeof KeyCreated>
  | MessageOf<typeof KeyRevoked>
  | MessageOf<typeof Deposited>
  | MessageOf<typeof WithdrawalRequested>
  | MessageOf<typeof WithdrawalSent>
  | MessageOf<typeof WithdrawalCompleted>
  | MessageOf<typeof LedgerUnsound>;

export type Event = SymbolEvent | LedgerEvent;

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
