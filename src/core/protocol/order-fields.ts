/**
 * Groups of fields that several messages and rows have in common. A message spreads them in the place where they stand
 * on disk. The order within a group is on disk, too: append nothing to a group, append to the messages.
 */

/** The order as the client wants it. */
export const ORDER_DEFINITION = {
  side: "number",
  orderType: "number",
  timeInForce: "number",
  flags: "number",
  selfTradePrevention: "number",
  /**
   * The limit. At market 0 in commands of clients. At market in events and rows the cap that the order may not trade
   * beyond. An order that fires, or closes a position, brings a cap of its own: see matching/slippage.ts.
   */
  priceTicks: "number",
  /** As placed or last amended. 0 with CLOSE_POSITION until the order fires: then it becomes the position's size. */
  quantityLots: "number",
} as const;

/** Limits of the API key that signs the command: notional of the order, notional of the position, leverage. 0 = none. */
export const KEY_LIMITS = {
  keyOrderQuanta: "number",
  keyPositionQuanta: "number",
  keyLeverage: "number",
} as const;

/** In every command that places an order. */
export const PLACEMENT = {
  /** The symbol refuses the command when it reads it later than this; 0 = never. */
  expiresAt: "number",
  /** A hash of the request's body: tells a retry from another order with the same client order id. */
  bodyHash: "number",
  /** "" = none. */
  clientOrderId: "string",
  ...KEY_LIMITS,
} as const;

/** The price that a conditional order waits for, and which price that is (TRIGGER_SOURCES). 0 on all other orders. */
export const TRIGGER = {
  triggerTicks: "number",
  triggerBy: "number",
} as const;

/** Of TRAILING_STOP_MARKET, 0 on all other orders. activationTicks 0: the order trails from the first price on. */
export const TRAILING = {
  callbackPpm: "number",
  activationTicks: "number",
} as const;

/** How far an order has come. */
export const FILLS = {
  /** Neither filled nor given up by a reduction. When the order ends early, what it ended with. */
  remainingLots: "number",
  filledLots: "number",
  /** Σ price × lots of the fills. */
  filledQuanta: "number",
  feeQuanta: "number",
} as const;

/** Margin per resting lot: the price at which a lot counts, and the loss that its fill would bring. Fixed when it rests. */
export const MARGIN_TERMS = {
  marginPriceTicks: "number",
  lossTicks: "number",
} as const;

/** Of events about an order that stands in the book, at the front of their fields. */
export const BOOKED_ORDER = {
  orderId: "number",
  accountId: "number",
  side: "number",
  priceTicks: "number",
} as const;

/** An order as clients see it: behind its ids, in the reply and in the history. */
export const ORDER_SUMMARY = {
  ...ORDER_DEFINITION,
  ...FILLS,
  status: "number",
  /** Why it ended early; 0 = it did not. */
  reason: "number",
  createdAt: "number",
  updatedAt: "number",
  /** Of the last transaction that changed the order. In a reply 0 = the transaction that carries the reply. */
  sequence: "number",
  clientOrderId: "string",
  ...TRIGGER,
  /** 0 = none. */
  goodTillDate: "number",
  /** The order that this one is attached to; 0 = none. */
  parentId: "number",
  ...TRAILING,
  /** Lots that an iceberg shows at a time; 0 = it is no iceberg. */
  displayLots: "number",
} as const;
