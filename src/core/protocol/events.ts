import { defineMessage, json, type MessageOf } from "./message-schema.ts";
import { BOOKED_ORDER, MARGIN_TERMS, ORDER_DEFINITION, TRAILING, TRIGGER } from "./order-fields.ts";
import type { AttachedLegs, KeyRecord } from "./payloads.ts";

/**
 * Events are facts, and the log consists of them. Codes stay on disk for ever: never reuse one, and only append fields.
 * Units stand in the names of the fields: see base/units.ts.
 */

// ---- events of a symbol (100 to 129) ----

/**
 * An order exists. `rests` 1: all of it went into the book. 0: it took first; what became of the rest is said by a
 * later OrderRested or OrderClosed of the same turn, or it was filled.
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
  ...BOOKED_ORDER,
  byLots: "number",
  resting: "number",
  reason: "number",
});
/** An order ended unfilled or partly filled. `restingLots` is what it took out of the book, as far as that is shown. */
export const OrderClosed = defineMessage(104, "OrderClosed", {
  ...BOOKED_ORDER,
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
export const AttachedQuantityRaised = defineMessage(118, "AttachedQuantityRaised", {
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
  ...MARGIN_TERMS,
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
  ...BOOKED_ORDER,
  shownLots: "number",
  queueSerial: "number",
  /** As of OrderRested; 0 with a queueSerial. */
  ...MARGIN_TERMS,
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
export const TriggersReached = defineMessage(125, "TriggersReached", {
  triggerBy: "number",
  rises: "number",
  priceTicks: "number",
});
/** Of those that came with the order, this one has done its work: further fills bring another one. */
export const LegDetached = defineMessage(126, "LegSpent", { orderId: "number", accountId: "number", legId: "number" });
/** An order that waits has another limit, quantity or price to wait for under its old id; those that stay are named, too. */
export const ConditionalOrderAmended = defineMessage(127, "ConditionalOrderAmended", {
  orderId: "number",
  accountId: "number",
  priceTicks: "number",
  quantityLots: "number",
  triggerTicks: "number",
  /** callbackPpm 0 = both as they were. */
  ...TRAILING,
});
/** Behind the IsolatedMarginSet of a MoveMargin that came with a reference. */
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
  | MessageOf<typeof LedgerUnsound>;
export type Event = SymbolEvent | LedgerEvent;
