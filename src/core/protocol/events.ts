import { defineMessage, json, type MessageOf } from "./message-schema.ts";
import { BOOKED_ORDER, MARGIN_TERMS, ORDER_DEFINITION, TRAILING, TRIGGER } from "./order-fields.ts";
import type { AttachedLegs, KeyRecord } from "./payloads.ts";

/**
 * Events are facts, and the log consists of them. Codes stay on disk for ever: never reuse one, and only append fields.
 * Units stand in the names of the fields: see base/units.ts.
 */

// ---- events of a symbol (100 to 129) ----

/**
 * An order exists. `rests` 1: all of it went into the book. 0: it matches first. A later OrderRested or OrderClosed of the
 * same transaction ends that; without one the order is filled.
 */
export const OrderPlaced = defineMessage(100, "OrderPlaced", {
  orderId: "number",
  accountId: "number",
  ...ORDER_DEFINITION,
  rests: "number",
  ...MARGIN_TERMS,
  bodyHash: "number",
  clientOrderId: "string",
});
export const OrderRested = defineMessage(101, "OrderRested", {
  ...BOOKED_ORDER,
  restingLots: "number",
  ...MARGIN_TERMS,
});
/** Two orders traded. An order whose last lot this was is FILLED: no other event says so. */
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
  /** Profit of the part that closed a position, before fees. */
  takerRealizedQuanta: "number",
  makerRealizedQuanta: "number",
  /** Signed position after the trade. */
  takerSizeLots: "number",
  makerSizeLots: "number",
  execType: "number",
});
/**
 * An order shrank: a reduce-only order to its position, or both orders of a self-trade. `resting` 1: the lots were shown
 * in the book. 0: the order is the active taker, or an iceberg that hid them.
 */
export const OrderReduced = defineMessage(103, "OrderReduced", {
  ...BOOKED_ORDER,
  byLots: "number",
  resting: "number",
  reason: "number",
});
/** An order ended unfilled or partly filled. `restingLots`: how many lots the book showed of it. */
export const OrderClosed = defineMessage(104, "OrderClosed", {
  ...BOOKED_ORDER,
  restingLots: "number",
  status: "number",
  reason: "number",
  /** The last trigger of an order that trailed; 0 = as it was. */
  triggerTicks: "number",
});
export const LeverageSet = defineMessage(105, "LeverageSet", { accountId: "number", leverage: "number" });
export const PriceUpdated = defineMessage(106, "PriceUpdated", {
  indexTicks: "number",
  markTicks: "number",
  /** Moving average of mid − index, in 1/1024 ticks. The next mark follows from it. */
  basis1024: "number",
  /** This sample of the premium, in parts per billion of the index. */
  premiumPpb: "number",
  /** The funding rate if the interval ended now, in parts per billion of the notional. */
  fundingRatePpb: "number",
  nextFundingTime: "number",
  /** The sum of all long positions. 0 also in logs from before this field. */
  openInterestLots: "number",
  /** The instrument's lastTriggerPpm, which holds from here on. 0 also in logs from before this field. */
  lastTriggerPpm: "number",
  /**
   * How long the sample of the premium before this one stood, in ms, as far as that counts. 0 for the first sample of a
   * funding interval, and in logs from before this field.
   */
  premiumHeldMs: "number",
});
/**
 * A funding interval has ended. Open positions owe size × mark × rate, longs to shorts when the rate is positive. Each
 * payment is a FundingPaid, in this transaction or a later one, before the size of the position changes.
 */
export const FundingSettled = defineMessage(107, "FundingSettled", {
  fundingTime: "number",
  nextFundingTime: "number",
  ratePpb: "number",
  premiumPpb: "number",
  indexTicks: "number",
  markTicks: "number",
});
/** Payments are rounded up and receipts are rounded down. The remainder stays in the insurance fund. */
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
 * A part of a position goes to another account outside the book, at the bankruptcy price: to the insurance fund
 * (LIQUIDATION), or to an account of the other side (ADL). `quanta` is exact, and `priceTicks` is the nearest price.
 */
export const PositionTransferred = defineMessage(109, "PositionTransferred", {
  tradeId: "number",
  accountId: "number",
  counterpartyId: "number",
  /** BUY when the account's short is closed. */
  side: "number",
  quantityLots: "number",
  priceTicks: "number",
  /** The notional, which the buyer pays the seller. If it is negative, the seller pays the buyer. */
  quanta: "number",
  accountRealizedQuanta: "number",
  counterpartyRealizedQuanta: "number",
  accountSizeLots: "number",
  counterpartySizeLots: "number",
  execType: "number",
});
/** The insurance fund brings an account without positions from below zero back to zero. */
export const DeficitCovered = defineMessage(110, "DeficitCovered", { accountId: "number", amountQuanta: "number" });
/** `isolatedQuanta`: as in IsolatedMarginSet; 0 for a cross position. */
export const MarginModeSet = defineMessage(111, "MarginModeSet", {
  accountId: "number",
  marginMode: "number",
  isolatedQuanta: "number",
});
/** An isolated position now keeps this much of the account's money out of cross margin: see margin/isolated.ts. */
export const IsolatedMarginSet = defineMessage(112, "IsolatedMarginSet", {
  accountId: "number",
  isolatedQuanta: "number",
});
/**
 * An operator asked for this transaction. It changes no state: the other events of the transaction do, unless everything
 * was so already.
 */
export const OperatorActed = defineMessage(113, "OperatorActed", {
  /** The name from the configuration. */
  operator: "string",
  /** Of OPERATOR_ACTS. */
  act: "number",
  /** HALT: the mode, of TRADING_STATUSES. INDEX_PRICE: the price in ticks. RESUME: 0. */
  value: "number",
});
/** An order waits for a price. A stop BUY waits for a rise and a stop SELL for a fall, a take-profit the other way round. */
export const ConditionalOrderPlaced = defineMessage(114, "ConditionalOrderPlaced", {
  orderId: "number",
  accountId: "number",
  ...ORDER_DEFINITION,
  ...TRIGGER,
  bodyHash: "number",
  clientOrderId: "string",
  /** The order that it is attached to, and the other order that is; 0 = none. */
  parentId: "number",
  siblingId: "number",
  /**
   * The triggerTicks of an order that trails is 0 while it waits for activationTicks. If it trails at once, it is the
   * first price to fire at. From there on it follows from the prices at the end of each transaction.
   */
  ...TRAILING,
  /** At market: how far from the mark it may trade when it fires; 0 = as far as the price band. */
  maxSlippagePpm: "number",
});
/** A conditional order fires. From here on it matches, as after an OrderPlaced whose `rests` is 0. */
export const OrderTriggered = defineMessage(115, "OrderTriggered", {
  orderId: "number",
  accountId: "number",
  /** The limit. At market the cap that the order may not trade beyond. */
  priceTicks: "number",
  quantityLots: "number",
  /** The trigger that it fired at; 0 = the one it was placed with. */
  triggerTicks: "number",
});
/** Adds to the order of the last OrderPlaced. */
export const OrderExtended = defineMessage(116, "OrderExtended", {
  orderId: "number",
  accountId: "number",
  /** 0 = none. */
  goodTillDate: "number",
  legs: json<AttachedLegs | null>(),
  /** Slice of an iceberg, which comes to rest by a SliceShown; 0 = the order shows all of its lots. */
  displayLots: "number",
});
/** See CancelAfter. 0 = disarmed, also because the time has come and the orders are canceled. */
export const CancelAfterSet = defineMessage(117, "CancelAfterSet", { accountId: "number", cancelAt: "number" });
/** The parent has filled more: the attached order's quantity is this now. */
export const AttachedQuantityRaised = defineMessage(118, "AttachedQuantityRaised", {
  orderId: "number",
  accountId: "number",
  quantityLots: "number",
});
/**
 * A resting order has another price, quantity or end, and keeps its id. `queueSerial` 0: it did not grow and keeps its
 * place in the queue. Otherwise it queues behind all orders that rest by now. `rests` 1: at once. 0: it matches first, as
 * after an OrderPlaced whose `rests` is 0.
 */
export const OrderAmended = defineMessage(119, "OrderAmended", {
  orderId: "number",
  accountId: "number",
  side: "number",
  /** Its price before, and how many lots the book showed of it there. */
  oldPriceTicks: "number",
  oldRestingLots: "number",
  priceTicks: "number",
  quantityLots: "number",
  /** Lots that may still trade. */
  remainingLots: "number",
  rests: "number",
  /** Taken from the serials of orders: the next order gets the one after it. */
  queueSerial: "number",
  ...MARGIN_TERMS,
  /** Slice of an iceberg; 0 = the order shows all of its lots. */
  displayLots: "number",
  /** The part of remainingLots that is in the book and not shown. */
  hiddenLots: "number",
  /** Of a GTD order; 0 = as it was. */
  goodTillDate: "number",
  /** Null = as they were. Only an order that has not filled gets others. */
  legs: json<AttachedLegs | null>(),
});
/**
 * A slice of an iceberg is in the book, at the end of its price's queue. `queueSerial` 0: the active taker has come to
 * rest with it, instead of by an OrderRested. Otherwise events before this one used up the last slice, and the number is
 * taken from the serials of orders.
 */
export const SliceShown = defineMessage(121, "SliceShown", {
  ...BOOKED_ORDER,
  shownLots: "number",
  queueSerial: "number",
  /** As of OrderRested; 0 with a queueSerial. */
  ...MARGIN_TERMS,
});
/** The trading status is `mode` from now on. TRADING: the halt is over. `until` 0: until it is resumed. */
export const TradingHalted = defineMessage(122, "TradingHalted", { mode: "number", reason: "number", until: "number" });
/**
 * A guarded index price jumped and was not used. `count` prices in a row agree on the jump, with this one. Until the next
 * PriceUpdated or IndexWentStale the mark is known to be old, and nothing takes new risk.
 */
export const IndexJumpHeld = defineMessage(129, "IndexJumpHeld", { indexTicks: "number", count: "number" });
/** The index is too old to take new risk. The next PriceUpdated ends that. */
export const IndexWentStale = defineMessage(123, "IndexWentStale", {});
/** The self-check of the symbol has found a difference. A TradingHalted follows. */
export const SelfCheckFailed = defineMessage(124, "SelfCheckFailed", { fault: "string" });
/**
 * A price has reached triggers at the end of a transaction. `rises` 1: of orders that wait for a rise. 0: for a fall.
 * These orders are due: they fire in later transactions, even if the price moves back.
 */
export const TriggersReached = defineMessage(125, "TriggersReached", {
  triggerBy: "number",
  rises: "number",
  priceTicks: "number",
});
/** An attached order is used up: further fills of its parent bring a new one. */
export const LegDetached = defineMessage(126, "LegSpent", { orderId: "number", accountId: "number", legId: "number" });
/** A conditional order has another limit, quantity or trigger, and keeps its id. Unchanged ones are repeated here. */
export const ConditionalOrderAmended = defineMessage(127, "ConditionalOrderAmended", {
  orderId: "number",
  accountId: "number",
  priceTicks: "number",
  quantityLots: "number",
  triggerTicks: "number",
  /** callbackPpm 0 = both as they were. */
  ...TRAILING,
  /** 0 = as it was. */
  maxSlippagePpm: "number",
});
/** Follows the IsolatedMarginSet of a MoveMargin that has a reference. */
export const MarginMoved = defineMessage(128, "MarginMoved", {
  accountId: "number",
  amountQuanta: "number",
  reference: "string",
});

// ---- events of the ledger (130 to 159) ----

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
/** The account is debited, and the withdrawal is pending. */
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
/** The self-check of the ledger has found a difference. The gateway halts every symbol. */
export const LedgerUnsound = defineMessage(141, "LedgerUnsound", { fault: "string" });
/** The account gets a margin call when its margin ratio, maintenance margin ÷ equity, rises to `ratioPpm`. */
export const MarginCallSet = defineMessage(142, "MarginCallSet", { accountId: "number", ratioPpm: "number" });
/**
 * A check has found that withdrawals must be gated, or need not be any more, or that other deficits last. `gate`: see GATE. The
 * fund's figures are for the record.
 */
export const SolvencyChanged = defineMessage(143, "SolvencyChanged", {
  gate: "number",
  deficitQuanta: "number",
  fundEquityQuanta: "number",
  fundNotionalQuanta: "number",
});
/** The hold of a new address is part of the event, so that a later change of the setting does not change it. */
export const WithdrawalAddressAdded = defineMessage(144, "WithdrawalAddressAdded", {
  accountId: "number",
  address: "string",
  label: "string",
  usableAt: "number",
});
export const WithdrawalAddressRemoved = defineMessage(145, "WithdrawalAddressRemoved", {
  accountId: "number",
  address: "string",
});
/** A leader began: everything before it is settled. `epoch` grows with each leader. Changes no account. */
export const LeaderBegan = defineMessage(146, "LeaderBegan", { epoch: "number", node: "string" });
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
  | MessageOf<typeof IndexJumpHeld>
  | MessageOf<typeof MarginModeSet>
  | MessageOf<typeof IsolatedMarginSet>
  | MessageOf<typeof OperatorActed>
  | MessageOf<typeof ConditionalOrderPlaced>
  | MessageOf<typeof OrderTriggered>
  | MessageOf<typeof TriggersReached>
  | MessageOf<typeof SelfCheckFailed>
  | MessageOf<typeof OrderExtended>
  | MessageOf<typeof AttachedQuantityRaised>
  | MessageOf<typeof ConditionalOrderAmended>
  | MessageOf<typeof LegDetached>
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
  | MessageOf<typeof LedgerUnsound>
  | MessageOf<typeof MarginCallSet>
  | MessageOf<typeof SolvencyChanged>
  | MessageOf<typeof WithdrawalAddressAdded>
  | MessageOf<typeof WithdrawalAddressRemoved>
  | MessageOf<typeof LeaderBegan>;
export type Event = SymbolEvent | LedgerEvent;
