import Type, { type Static } from "typebox";
import {
  EXEC_TYPES,
  MARGIN_MODES,
  ORDER_STATUSES,
  ORDER_TYPES,
  PRICE_MATCHES,
  REASONS,
  SELF_TRADE_PREVENTIONS,
  SIDES,
  TIMES_IN_FORCE,
  TRIGGER_SOURCES,
} from "../../core/base/enums.ts";
import { MAX_MARGIN_REFERENCES } from "../../core/protocol/margin-references.ts";
import {
  ClientOrderId,
  Cursor,
  Decimal,
  DecimalOut,
  Id,
  Limit,
  listOf,
  nullable,
  object,
  pageQuery,
  Reference,
  Sequence,
  SignedDecimal,
  SymbolName,
  Time,
} from "./scalars.ts";

const Side = Type.Enum(SIDES, { description: "Buy or sell." });
const OrderType = Type.Enum(ORDER_TYPES, {
  description:
    "A market order trades no further than the price band around the mark and never rests. STOP_ and TAKE_PROFIT_ orders " +
    "wait for triggerPrice, without margin, and then act like a limit or market order: a STOP buys above and sells below " +
    "today's price, a TAKE_PROFIT buys below and sells above it. A TRAILING_STOP_MARKET is a STOP_MARKET whose triggerPrice " +
    "follows the best price since activationPrice was reached: lowest × (1 + callbackRate) to buy, highest × " +
    "(1 − callbackRate) to sell. One that is refused then ends as REJECTED with the reason.",
});
const TriggerBy = Type.Enum(TRIGGER_SOURCES, { description: "The price that is compared with triggerPrice." });
const TimeInForce = Type.Enum(TIMES_IN_FORCE, {
  description:
    "Default GTC for limit orders and IOC for orders at market, which take IOC and FOK only. GTD is GTC with a goodTillDate.",
});
const SelfTradePrevention = Type.Enum(SELF_TRADE_PREVENTIONS, {
  description:
    "What happens where the order would trade with one of the same account that rests; that one's own mode does not count. " +
    "EXPIRE_TAKER (the default): what is left of the order expires. EXPIRE_MAKER: the resting one is canceled. EXPIRE_BOTH: " +
    "both. DECREMENT: both shrink by the smaller of the two, and the one of which nothing is left ends. Closing a position, a " +
    "takeProfit and a stopLoss are EXPIRE_MAKER.",
});
const PriceMatch = Type.Enum(
  PRICE_MATCHES.filter((match) => match !== null),
  {
    description:
      "LIMIT orders, in the place of price: the best price of the other side (OPPONENT) or of the order's own (QUEUE), or the " +
      "5th, 10th or 20th level of it, as the engine's book is when it takes the order. The order has that price from then on. " +
      "NO_PRICE_LEVEL when that side has fewer levels.",
    examples: ["QUEUE"],
  },
);
// From 1 on: inside, 0 stands for none.
const ExpiresAt = Time("The request is refused if the engine sees it later.", 1);

const AttachedLeg = object(
  {
    triggerPrice: Decimal("The price to wait for, a multiple of tickSize.", "68000"),
    triggerBy: Type.Optional(
      Type.Enum(TRIGGER_SOURCES, { description: "The price that is compared with triggerPrice. Default MARK." }),
    ),
    price: Type.Optional(Decimal("A limit; at market when left out.", "68000")),
  },
  {
    description:
      "LIMIT and MARKET orders: a reduce-only order that waits for as much as the order has filled, from its first fill " +
      "on. It ends with the position; when a take-profit or stop fires, the other one is canceled in the same turn. Its " +
      "triggerPrice lies beyond the order's price, of a MARKET order beyond today's (WOULD_TRIGGER).",
  },
);
export type AttachedLeg = Static<typeof AttachedLeg>;

export const PlaceOrderBody = object({
  symbol: SymbolName,
  side: Side,
  type: OrderType,
  timeInForce: Type.Optional(TimeInForce),
  postOnly: Type.Optional(
    Type.Boolean({ description: "Refuse the order if it would trade at once. GTC limit orders." }),
  ),
  reduceOnly: Type.Optional(Type.Boolean({ description: "Clip the order to the position, for as long as it lives." })),
  closePosition: Type.Optional(
    Type.Boolean({
      description:
        "STOP_MARKET, TAKE_PROFIT_MARKET and TRAILING_STOP_MARKET: close all of the position that is there then, without a quantity. " +
        "Canceled when the position is gone, so that a stop and a take-profit of a position cancel each other.",
    }),
  ),
  price: Type.Optional(Decimal("LIMIT, STOP and TAKE_PROFIT: a multiple of tickSize.", "65000.5")),
  priceMatch: Type.Optional(PriceMatch),
  quantity: Type.Optional(Decimal("A multiple of stepSize. Required unless closePosition is true.", "0.01")),
  displayQuantity: Type.Optional(
    Decimal(
      "LIMIT orders, GTC or GTD: an iceberg. The book shows no more than this of the order; when that is used up, the next " +
        "slice stands at the back of its price's queue. At least minQuantity and a hundredth of the quantity, at most all " +
        "of it; a multiple of stepSize.",
      "0.001",
    ),
  ),
  maxSlippage: Type.Optional(
    Decimal(
      "MARKET orders: trade no further than this share of the best price away from it, and never further than the price " +
        "band; what is left expires. 0.000001 to 1, in steps of 0.000001.",
      "0.005",
    ),
  ),
  triggerPrice: Type.Optional(
    Decimal("STOP_ and TAKE_PROFIT_ orders: the price to wait for, a multiple of tickSize.", "64000"),
  ),
  triggerBy: Type.Optional(
    Type.Enum(TRIGGER_SOURCES, { description: "The price that is compared with triggerPrice. Default MARK." }),
  ),
  callbackRate: Type.Optional(
    Decimal(
      "TRAILING_STOP_MARKET: how far the price comes back before the order fires, as a share of the best price: 0.001 to 0.1, " +
        "in steps of 0.000001.",
      "0.01",
    ),
  ),
  activationPrice: Type.Optional(
    Decimal(
      "TRAILING_STOP_MARKET: it trails from this price on, a multiple of tickSize, above today's price to sell and below it " +
        "to buy. At once when left out.",
      "66000",
    ),
  ),
  goodTillDate: Type.Optional(
    Time(
      "LIMIT orders with timeInForce GTD: the order expires in the first turn at or after it, and never trades then.",
      1,
    ),
  ),
  takeProfit: Type.Optional(AttachedLeg),
  stopLoss: Type.Optional(AttachedLeg),
  clientOrderId: Type.Optional(ClientOrderId),
  selfTradePreventionMode: Type.Optional(SelfTradePrevention),
  expiresAt: Type.Optional(ExpiresAt),
  dryRun: Type.Optional(
    Type.Boolean({
      description: "Check the order as ever and answer with what would come of it now, but do nothing.",
    }),
  ),
});

export type PlaceOrderBody = Static<typeof PlaceOrderBody>;

export const AmendOrderBody = object(
  {
    price: Type.Optional(Decimal("The new limit, a multiple of tickSize; as it is when left out.", "65000.5")),
    priceMatch: Type.Optional(PriceMatch),
    quantity: Type.Optional(
      Decimal("The new quantity, what has been filled included; as it is when left out.", "0.01"),
    ),
    displayQuantity: Type.Optional(
      Decimal(
        "The new size of an iceberg's slices; when left out as it is, and never more than the quantity. Less is shown at " +
          "once, more from the next slice on; the order keeps its place.",
        "0.001",
      ),
    ),
    triggerPrice: Type.Optional(
      Decimal(
        "Of a STOP_ or TAKE_PROFIT_ order that waits: another price to wait for, a multiple of tickSize. WOULD_TRIGGER when " +
          "the price is there already.",
        "64100",
      ),
    ),
    callbackRate: Type.Optional(
      Decimal(
        "Of a TRAILING_STOP_MARKET: another one, which counts from the best price that the order has seen since it trails. " +
          "WOULD_TRIGGER when the price has come back by so much already.",
        "0.02",
      ),
    ),
    activationPrice: Type.Optional(
      Decimal(
        "Of a TRAILING_STOP_MARKET that does not trail yet: another price to trail from. WOULD_TRIGGER when the price is " +
          "there already.",
        "66100",
      ),
    ),
    goodTillDate: Type.Optional(
      Time("Of an order with timeInForce GTD: another end, earlier or later. The order keeps its place.", 1),
    ),
    expiresAt: Type.Optional(ExpiresAt),
  },
  {
    description:
      "At least one of price (or priceMatch), quantity, displayQuantity, triggerPrice, callbackRate, activationPrice and " +
      "goodTillDate. An order that waits for its price may have another triggerPrice (one that trails a callbackRate, and " +
      "until it does an activationPrice), price (if it has one) and quantity (unless it closes the whole position or came " +
      "with another order); what else is asked of it is ORDER_WAITS.",
    examples: [{ price: "64999.5", quantity: "0.008" }],
  },
);

export const ClosePositionBody = object({
  quantity: Type.Optional(Decimal("All of the position when left out, up to the maxQuantity of an order.", "0.01")),
  price: Type.Optional(Decimal("At market when left out.", "65000.5")),
  expiresAt: Type.Optional(ExpiresAt),
});

export const LeverageBody = object({
  leverage: Type.Integer({ minimum: 1, maximum: 1000, description: "At most the instrument's.", examples: [10] }),
  expiresAt: Type.Optional(ExpiresAt),
});

export const MarginModeBody = object({
  mode: Type.Enum(MARGIN_MODES, {
    description:
      "ISOLATED: the position can lose no more than what is set aside for it. CROSS: all equity stands for it.",
    examples: ["ISOLATED"],
  }),
  expiresAt: Type.Optional(ExpiresAt),
});

export const MarginBody = object({
  amount: SignedDecimal(
    "Added to the isolated position's margin, or with a sign taken out. Not finer than 0.000001.",
    "-250.5",
  ),
  reference: Type.Optional(
    Reference(
      "A name of your own for the move. The same reference with the same amount again moves nothing. Each symbol remembers " +
        `the account's last ${MAX_MARGIN_REFERENCES}.`,
      "margin-1",
    ),
  ),
  expiresAt: Type.Optional(ExpiresAt),
});

export const OpenOrdersQuery = object({
  symbol: Type.Optional(SymbolName),
  limit: Type.Optional(Limit),
  cursor: Type.Optional(Cursor),
});
export const OrderHistoryQuery = object({ symbol: Type.Optional(SymbolName), ...pageQuery });
export const CancelAllQuery = object({ symbol: Type.Optional(SymbolName), side: Type.Optional(Side) });

export const CancelAfterBody = object({
  timeoutMs: Type.Integer({
    minimum: 0,
    maximum: 86_400_000,
    description: "Milliseconds from now, at least 1000; 0 disarms.",
    examples: [60_000],
  }),
});

/** Fields of an order, without what single replies add to them. */
const orderProperties = {
  orderId: Id("The exchange's id."),
  clientOrderId: nullable(ClientOrderId),
  symbol: SymbolName,
  side: Side,
  type: OrderType,
  timeInForce: TimeInForce,
  postOnly: Type.Boolean(),
  reduceOnly: Type.Boolean(),
  closePosition: Type.Boolean({ description: "Closes all of the position that is there when its price has come." }),
  price: nullable(DecimalOut("Null for orders at market.", "65000.5")),
  quantity: DecimalOut(
    "As placed; of a reduce-only order, what the position left of it. 0 while a closePosition order waits.",
    "0.01",
  ),
  displayQuantity: nullable(
    DecimalOut("Of an iceberg: the most that the book shows of it. Null: all of it is shown.", "0.001"),
    { examples: [null] },
  ),
  filledQuantity: DecimalOut("What has traded.", "0.004"),
  remainingQuantity: DecimalOut("What may still trade: 0 once the order is closed.", "0.006"),
  avgPrice: nullable(DecimalOut("Average price of what has traded; null before.", "65000.25")),
  fee: DecimalOut("Fees paid so far, in USDC.", "0.13"),
  triggerPrice: nullable(
    DecimalOut(
      "What it waits or has waited for. Of a TRAILING_STOP_MARKET null until it trails; where open orders are read it is " +
        "today's, while streams name it as of the order's last change, which its end is.",
      "64000",
    ),
    { examples: [null] },
  ),
  triggerBy: nullable(TriggerBy, { examples: [null] }),
  callbackRate: nullable(DecimalOut("Of a TRAILING_STOP_MARKET.", "0.01"), { examples: [null] }),
  activationPrice: nullable(DecimalOut("Of a TRAILING_STOP_MARKET that has one.", "66000"), { examples: [null] }),
  goodTillDate: nullable(Time("When it expires, with GTD."), { examples: [null] }),
  parentOrderId: nullable(Id("The order that this take-profit or stop came with."), { examples: [null] }),
  selfTradePreventionMode: SelfTradePrevention,
  status: Type.Enum(ORDER_STATUSES, {
    description:
      "UNTRIGGERED, NEW and PARTIALLY_FILLED are open. FILLED: nothing is left to trade. An order that has shrunk while it was " +
      "open (a reduce-only one with its position, or by selfTradePreventionMode DECREMENT) is then FILLED with a " +
      "filledQuantity below its quantity. EXPIRED: what is left may trade no further and not rest, or its goodTillDate has " +
      "come. CANCELED: it was taken away while it was open.",
    examples: ["PARTIALLY_FILLED"],
  }),
  reason: nullable(
    Type.Enum(
      REASONS.filter((reason) => reason !== null),
      { description: "Why it ended early; else null." },
    ),
    { examples: [null] },
  ),
  createdAt: Time("When the engine took it."),
  updatedAt: Time("When it last changed."),
  sequence: Sequence,
};
export const Order = object(orderProperties, { description: "An order." });

export const Fill = object(
  {
    tradeId: Id("One trade has a fill for each of its two accounts."),
    orderId: nullable(Id("The account's order; null where a position was handed over outside the book.")),
    clientOrderId: nullable(ClientOrderId),
    symbol: SymbolName,
    side: Side,
    price: DecimalOut("What was traded at.", "65000.5"),
    quantity: DecimalOut("How much was traded.", "0.004"),
    quoteQuantity: DecimalOut("Price × quantity; of a position that was handed over, the exact amount.", "260.002"),
    fee: DecimalOut("Paid by the account; negative = received.", "0.130001"),
    feeAsset: Type.String({ examples: ["USDC"] }),
    feeRate: DecimalOut(
      "Of quoteQuantity. Of a LIQUIDATION what the price left for it, at most liquidationFeeRate: rounded, other than fee.",
      "0.0005",
    ),
    liquidity: Type.Enum(["MAKER", "TAKER"], { examples: ["TAKER"] }),
    realizedPnl: DecimalOut("Profit of the part that closed a position, before fees.", "0"),
    execType: Type.Enum(EXEC_TYPES),
    positionSize: DecimalOut("Signed position after the fill.", "0.004"),
    time: Time("When it traded."),
    sequence: Sequence,
  },
  { description: "One account's side of a trade." },
);

/** A turn of the exchange holds no more of one order. */
export const MAX_DUPLICATE_FILLS = 10_000;

export const PlacedOrder = object(
  {
    ...orderProperties,
    fills: Type.Array(Fill, {
      description:
        "What traded at once, when it was placed or amended. Of a duplicate all of the order's fills up to now, oldest " +
        `first; of more than ${MAX_DUPLICATE_FILLS}, or with more than 100000 other fills of the account between them, ` +
        "the latest: `GET /account/trades` has all.",
    }),
    duplicate: Type.Optional(
      Type.Boolean({ description: "True: the clientOrderId was used before with this body, and this is its order." }),
    ),
  },
  { description: "An order and what it did when it was placed or amended." },
);

export const ExpectedFill = object(
  {
    price: DecimalOut("What would be traded at.", "65000.5"),
    quantity: DecimalOut("How much.", "0.004"),
    quoteQuantity: DecimalOut("Price × quantity.", "260.002"),
    fee: DecimalOut("What the account would pay.", "0.130001"),
  },
  { description: "A trade that would happen." },
);

export const Outlook = object(
  {
    positionSize: DecimalOut("Signed position in the symbol.", "0.01"),
    liquidationPrice: nullable(DecimalOut("Of that position; null when there is none.", "58000.5")),
    initialMargin: DecimalOut("Of the account, for positions and open orders.", "650.005"),
    availableBalance: DecimalOut("What new risk may use.", "1250.5"),
  },
  { description: "An account's margin, and its position in a symbol." },
);

export const TriedOrder = object(
  {
    dryRun: Type.Literal(true),
    ...orderProperties,
    orderId: Type.Null({ description: "It was not placed." }),
    fills: Type.Array(ExpectedFill, { description: "What would trade at once, as far as the book shows it." }),
    marginRequired: DecimalOut("What it would take of the available balance when it is placed, in USDC.", "65.0005"),
    before: Outlook,
    after: Outlook,
  },
  {
    description:
      "A dry run: the order as it would stand once it had been placed, or an error as it would have been refused with. " +
      "`sequence` is the state of the exchange that this is true of.",
  },
);

export const OrderList = listOf(Order, "Orders, newest first.");
export const FillList = listOf(Fill, "Fills, newest first.");

export const CanceledOrders = object(
  { canceled: Type.Integer({ minimum: 0, description: "How many." }), data: Type.Array(Order) },
  { description: "The orders that were canceled, as they ended." },
);

export const CancelSwitch = object(
  {
    timeoutMs: Type.Integer({ minimum: 0, description: "As asked.", examples: [60_000] }),
    cancelAt: nullable(
      Time("When the orders are canceled, by the exchange's time; of several symbols the first. Null when disarmed."),
    ),
  },
  { description: "The account's dead man's switch." },
);

export const Leverage = object(
  { symbol: SymbolName, leverage: Type.Integer({ minimum: 1, examples: [10] }) },
  { description: "The account's leverage in a symbol." },
);

export const MarginMode = object(
  { symbol: SymbolName, marginMode: Type.Enum(MARGIN_MODES) },
  { description: "The account's margin mode in a symbol." },
);
