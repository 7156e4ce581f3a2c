import {
  CLOSED_STATUSES,
  EXEC_TYPES,
  MARGIN_MODES,
  ORDER_CREATORS,
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
import Type, { type Static } from "../../packages/typebox.ts";
import {
  ClientOrderId,
  Cursor,
  Decimal,
  DecimalOut,
  Duplicate,
  Id,
  Limit,
  listOf,
  listQuery,
  nullable,
  object,
  Reference,
  Sequence,
  SignedDecimal,
  SymbolName,
  Time,
} from "./scalars.ts";

export const Side = Type.Enum(SIDES, { description: "Buy or sell." });
export const OrderType = Type.Enum(ORDER_TYPES, {
  description:
    "A market order trades only within the price band around the mark price and never rests. STOP and TAKE_PROFIT orders " +
    "wait for their triggerPrice without margin. Then they act like a limit order, or with _MARKET like a market order. A " +
    "STOP buys above and sells below the current price; a TAKE_PROFIT buys below and sells above it. A " +
    "TRAILING_STOP_MARKET is a STOP_MARKET whose triggerPrice follows the best price since activationPrice was reached: " +
    "lowest × (1 + callbackRate) to buy, highest × (1 − callbackRate) to sell. A triggered order that is refused ends as " +
    "REJECTED with the reason.",
});
const WHICH_PRICE =
  "Which price is compared with triggerPrice. LAST counts only while it is within the instrument's lastTriggerLimit of the " +
  "mark price.";
export const TriggerBy = Type.Enum(TRIGGER_SOURCES, { description: WHICH_PRICE });
export const TimeInForce = Type.Enum(TIMES_IN_FORCE, {
  description:
    "Default: GTC for limit orders, IOC for orders that execute at market, which take IOC and FOK only. GTD is GTC with a " +
    "goodTillDate.",
});
export const SelfTradePreventionMode = Type.Enum(SELF_TRADE_PREVENTIONS, {
  description:
    "What happens when the order would trade with a resting order of the same account. The mode of the resting order does " +
    "not matter. EXPIRE_TAKER (default): the rest of this order expires. EXPIRE_MAKER: the resting order is canceled. " +
    "EXPIRE_BOTH: both end. DECREMENT: both shrink by the smaller quantity, and an order with nothing left ends. A request " +
    "that closes a position, a takeProfit and a stopLoss use EXPIRE_MAKER.",
});
export const PriceMatch = Type.Enum(
  PRICE_MATCHES.filter((match) => match !== null),
  {
    description:
      "LIMIT orders, instead of price. OPPONENT: the best price of the other side. QUEUE: the best price of the order's own " +
      "side. The number asks for the 5th, 10th or 20th level of that side. The engine reads its book when it takes the order, " +
      "and the order keeps that price. NO_PRICE_LEVEL if that side has fewer levels.",
    examples: ["QUEUE"],
  },
);
// At least 1, because internally 0 means none.
const ExpiresAt = Time("The request is refused if it reaches the engine after this time.", 1);

const SLIPPAGE_RANGE =
  "The price band applies as well. The rest of the order expires. 0.000001 to 1, in steps of 0.000001.";
/** Of an order that trades at market, but not at once. */
const MaxSlippage = Decimal(
  "Without a limit price: how far from the mark price of that moment the order may trade, as a share of the mark price. " +
    SLIPPAGE_RANGE,
  "0.005",
);

export const AttachedLeg = object(
  {
    triggerPrice: Decimal("The order triggers at this price. A multiple of tickSize.", "68000"),
    triggerBy: Type.Optional(Type.Enum(TRIGGER_SOURCES, { description: `${WHICH_PRICE} Default: MARK.` })),
    price: Type.Optional(Decimal("Limit price. A market order when left out.", "68000")),
    maxSlippage: Type.Optional(MaxSlippage),
  },
  {
    description:
      "LIMIT and MARKET orders: attaches a reduce-only order. It waits from the first fill on, with the quantity that the " +
      "order has filled. It ends with the position. When the take-profit or the stop-loss fires, the other one is canceled " +
      "in the same transaction. Its triggerPrice must lie beyond the order's price, or beyond the current price for a " +
      "MARKET order; otherwise WOULD_TRIGGER.",
  },
);
export type AttachedLeg = Static<typeof AttachedLeg>;

/** The fields of an order that hold its attached legs. */
export const LegName = Type.Enum(["takeProfit", "stopLoss"]);

export const ShownLeg = object(
  {
    triggerPrice: DecimalOut("The attached order triggers at this price.", "68000"),
    triggerBy: TriggerBy,
    price: nullable(DecimalOut("Its limit price. Null: it trades at market.", "68000")),
    maxSlippage: nullable(DecimalOut("As in the request. Null: there is none.", "0.005"), { examples: [null] }),
  },
  { description: "An attached take-profit or stop-loss as an order shows it. A request takes it as it is." },
);
const shownLeg = (description: string) => nullable(ShownLeg, { description, examples: [null] });

export const PlaceOrderBody = object({
  symbol: SymbolName,
  side: Side,
  type: OrderType,
  timeInForce: Type.Optional(TimeInForce),
  postOnly: Type.Optional(
    Type.Boolean({ description: "Limit orders with GTC: refuse the order if it would trade at once." }),
  ),
  reduceOnly: Type.Optional(
    Type.Boolean({ description: "The order never exceeds the position that it reduces, as long as it is open." }),
  ),
  closePosition: Type.Optional(
    Type.Boolean({
      description:
        "STOP_MARKET, TAKE_PROFIT_MARKET and TRAILING_STOP_MARKET, without a quantity: close the whole position when the order " +
        "triggers. The order is canceled when the position ends, so a stop and a take-profit cancel each other.",
    }),
  ),
  price: Type.Optional(Decimal("LIMIT, STOP and TAKE_PROFIT: the limit price, a multiple of tickSize.", "65000.5")),
  priceMatch: Type.Optional(PriceMatch),
  quantity: Type.Optional(Decimal("A multiple of stepSize. Required unless closePosition is true.", "0.01")),
  displayQuantity: Type.Optional(
    Decimal(
      "LIMIT orders with GTC or GTD: makes the order an iceberg. The book shows at most this quantity of it. When that has " +
        "traded, the next slice goes to the back of the queue at its price. At least minQuantity and a hundredth of the " +
        "quantity, at most the quantity, and a multiple of stepSize.",
      "0.001",
    ),
  ),
  maxSlippage: Type.Optional(
    Decimal(
      "Orders that trade at market: how far the order may trade from a price, as a share of that price. For MARKET it is the " +
        "best price of the other side. For STOP_MARKET, TAKE_PROFIT_MARKET and TRAILING_STOP_MARKET it is the mark price when " +
        `the order triggers. ${SLIPPAGE_RANGE}`,
      "0.005",
    ),
  ),
  triggerPrice: Type.Optional(
    Decimal("STOP and TAKE_PROFIT orders: the order triggers at this price. A multiple of tickSize.", "64000"),
  ),
  triggerBy: Type.Optional(Type.Enum(TRIGGER_SOURCES, { description: `${WHICH_PRICE} Default: MARK.` })),
  callbackRate: Type.Optional(
    Decimal(
      "TRAILING_STOP_MARKET: how far the price must move back from the best price to trigger the order, as a share of the " +
        "best price. 0.001 to 0.1, in steps of 0.000001.",
      "0.01",
    ),
  ),
  activationPrice: Type.Optional(
    Decimal(
      "TRAILING_STOP_MARKET: the order trails from this price on, or at once when left out. A multiple of tickSize, above " +
        "the current price to sell and below it to buy.",
      "66000",
    ),
  ),
  goodTillDate: Type.Optional(
    Time(
      "LIMIT orders with timeInForce GTD: the order expires in the symbol's first transaction at or after this time, before " +
        "it could trade.",
      1,
    ),
  ),
  takeProfit: Type.Optional(AttachedLeg),
  stopLoss: Type.Optional(AttachedLeg),
  clientOrderId: Type.Optional(ClientOrderId),
  selfTradePreventionMode: Type.Optional(SelfTradePreventionMode),
  expiresAt: Type.Optional(ExpiresAt),
  dryRun: Type.Optional(
    Type.Boolean({
      description: "Check the order and answer with what it would do now, but do not place it.",
    }),
  ),
});

export type PlaceOrderBody = Static<typeof PlaceOrderBody>;

export const AmendOrderBody = object(
  {
    price: Type.Optional(Decimal("The new limit price, a multiple of tickSize. Unchanged when left out.", "65000.5")),
    priceMatch: Type.Optional(PriceMatch),
    quantity: Type.Optional(
      Decimal("The new quantity, including what has been filled. Unchanged when left out.", "0.01"),
    ),
    displayQuantity: Type.Optional(
      Decimal(
        "The new size of an iceberg's slices, at most the quantity. Unchanged when left out. A smaller size applies at once, " +
          "a larger one from the next slice on. The order keeps its place in the queue.",
        "0.001",
      ),
    ),
    triggerPrice: Type.Optional(
      Decimal(
        "Untriggered STOP and TAKE_PROFIT orders: the new trigger price, a multiple of tickSize. WOULD_TRIGGER if it is " +
          "reached already.",
        "64100",
      ),
    ),
    callbackRate: Type.Optional(
      Decimal(
        "TRAILING_STOP_MARKET: the new rate, counted from the best price since the order trails. WOULD_TRIGGER if the price " +
          "has moved back that far already.",
        "0.02",
      ),
    ),
    activationPrice: Type.Optional(
      Decimal(
        "TRAILING_STOP_MARKET that does not trail yet: the new price to trail from. WOULD_TRIGGER if it is reached already.",
        "66100",
      ),
    ),
    maxSlippage: Type.Optional(
      Decimal(
        "Untriggered orders that trade at market: how far from the mark price the order may trade when it triggers. 1: as far " +
          "as the price band.",
        "0.01",
      ),
    ),
    goodTillDate: Type.Optional(
      Time("Orders with timeInForce GTD: the new expiry, earlier or later. The order keeps its place in the queue.", 1),
    ),
    takeProfit: Type.Optional(AttachedLeg),
    stopLoss: Type.Optional(AttachedLeg),
    remove: Type.Optional(
      Type.Array(LegName, {
        minItems: 1,
        maxItems: 2,
        description:
          "The attached takeProfit, stopLoss or both, to remove from the order. A field that is null changes nothing.",
        examples: [["stopLoss"]],
      }),
    ),
    expiresAt: Type.Optional(ExpiresAt),
  },
  {
    description:
      "At least one of price (or priceMatch), quantity, displayQuantity, triggerPrice, callbackRate, activationPrice, " +
      "maxSlippage, goodTillDate, takeProfit, stopLoss and remove. A takeProfit or stopLoss replaces that of the order as a " +
      "whole, or adds it, until the first fill (then ORDER_PARTIALLY_FILLED); the order keeps its place in the queue. An untriggered order takes only these: triggerPrice; callbackRate for a trailing one, " +
      "and activationPrice until it trails; price if it has one, otherwise maxSlippage; quantity, unless the order closes the whole position or was " +
      "attached to another order. Other fields are answered ORDER_WAITS.",
    examples: [{ price: "64999.5", quantity: "0.008" }],
  },
);

export const ClosePositionBody = object({
  quantity: Type.Optional(Decimal("When left out, the whole position, up to the maxQuantity of an order.", "0.01")),
  price: Type.Optional(Decimal("Limit price. A market order when left out.", "65000.5")),
  maxSlippage: Type.Optional(MaxSlippage),
  expiresAt: Type.Optional(ExpiresAt),
});

export const LeverageBody = object({
  leverage: Type.Integer({
    minimum: 1,
    maximum: 1000,
    description: "At most the maxLeverage of the instrument.",
    examples: [10],
  }),
  expiresAt: Type.Optional(ExpiresAt),
});

/** The setting of a position. MarginMode is the answer that shows it. */
export const PositionMarginMode = Type.Enum(MARGIN_MODES, {
  description:
    "ISOLATED: the position can lose only the margin set aside for it. CROSS: all equity backs the position.",
  examples: ["ISOLATED"],
});

export const MarginModeBody = object({
  mode: PositionMarginMode,
  expiresAt: Type.Optional(ExpiresAt),
});

export const MarginBody = object({
  amount: SignedDecimal(
    "Added to the margin of the isolated position; taken out when negative. At most six decimals.",
    "-250.5",
  ),
  reference: Type.Optional(
    Reference(
      "Your own id for the change. If you send the same reference and amount again, nothing is moved. Each symbol remembers " +
        `the account's last ${MAX_MARGIN_REFERENCES} references.`,
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
/** Of a fill. */
export const ExecType = Type.Enum(EXEC_TYPES, {
  description:
    "TRADE: an order of the account traded. LIQUIDATION with liquidity TAKER: the exchange liquidated a part of the " +
    "position, in the book or, without an order, outside of it. LIQUIDATION with MAKER: an order of the account traded " +
    "with another account that was liquidated. ADL: auto-deleveraging closed a part of the position, because another " +
    "account was liquidated.",
});

export const ClosedOrderStatus = Type.Enum(CLOSED_STATUSES, { description: "How an order ended." });
export const OrderHistoryQuery = object({
  symbol: Type.Optional(SymbolName),
  status: Type.Optional(
    Type.Array(ClosedOrderStatus, {
      minItems: 1,
      maxItems: 4,
      description:
        "Only orders that ended with one of these, with commas between. A request examines some thousand orders: if few match, " +
        "a page may be short while a cursor follows.",
      examples: [["FILLED"]],
    }),
  ),
  ...listQuery,
});
export const CancelAllQuery = object({ symbol: Type.Optional(SymbolName), side: Type.Optional(Side) });

export const CancelAfterBody = object({
  timeoutMs: Type.Integer({
    minimum: 0,
    maximum: 86_400_000,
    description: "Milliseconds from now, at least 1000. 0 disarms the switch.",
    examples: [60_000],
  }),
});

export const OrderCreator = Type.Enum(ORDER_CREATORS, {
  description:
    "LIQUIDATION: the exchange placed the order to close the position, because margin was too low. USER: the account " +
    "placed it. Also USER for liquidations by versions of the exchange without this field.",
});
export const OrderStatus = Type.Enum(ORDER_STATUSES, {
  description:
    "UNTRIGGERED, NEW and PARTIALLY_FILLED are open. FILLED: nothing is left to trade. A reduce-only order shrinks with " +
    "its position, and selfTradePreventionMode DECREMENT shrinks orders, too. Such an order may be FILLED with a " +
    "filledQuantity below its quantity. EXPIRED: the rest may neither trade further nor rest, or the goodTillDate was " +
    "reached. CANCELED: the order was removed while it was open.",
  examples: ["PARTIALLY_FILLED"],
});
export const OrderReason = Type.Enum(
  REASONS.filter((reason) => reason !== null),
  { description: "Why the order ended early. Otherwise null." },
);
export const Liquidity = Type.Enum(["MAKER", "TAKER"], {
  description: "Whether the order rested in the book or came to it.",
  examples: ["TAKER"],
});

/** The fields of an order that all its answers share. */
const orderProperties = {
  orderId: Id("The exchange's id of the order."),
  clientOrderId: nullable(ClientOrderId),
  symbol: SymbolName,
  side: Side,
  type: OrderType,
  timeInForce: TimeInForce,
  postOnly: Type.Boolean(),
  reduceOnly: Type.Boolean(),
  closePosition: Type.Boolean({ description: "Closes the whole position when the order triggers." }),
  createdBy: OrderCreator,
  price: nullable(DecimalOut("Limit price. Null for orders that execute at market.", "65000.5")),
  quantity: DecimalOut(
    "As placed. A reduce-only order may have shrunk with its position. 0 for an untriggered closePosition order.",
    "0.01",
  ),
  displayQuantity: nullable(
    DecimalOut("Iceberg orders: the most that the book shows. Null: the whole order is shown.", "0.001"),
    { examples: [null] },
  ),
  filledQuantity: DecimalOut("The quantity that has traded.", "0.004"),
  remainingQuantity: DecimalOut("The quantity that may still trade. 0 once the order is closed.", "0.006"),
  avgPrice: nullable(DecimalOut("Average price of the filled quantity. Null before the first fill.", "65000.25")),
  fee: DecimalOut("Fees paid so far, in USDC.", "0.13"),
  triggerPrice: nullable(
    DecimalOut(
      "The price that triggers or triggered the order. For a TRAILING_STOP_MARKET it is null until the order trails. A " +
        "request for open orders shows the current one; streams show it as of the order's last change, its end included.",
      "64000",
    ),
    { examples: [null] },
  ),
  triggerBy: nullable(TriggerBy, { examples: [null] }),
  callbackRate: nullable(DecimalOut("TRAILING_STOP_MARKET orders only.", "0.01"), { examples: [null] }),
  activationPrice: nullable(DecimalOut("TRAILING_STOP_MARKET orders that have one.", "66000"), { examples: [null] }),
  maxSlippage: nullable(
    DecimalOut(
      "STOP_MARKET, TAKE_PROFIT_MARKET and TRAILING_STOP_MARKET orders that have one. Null for a MARKET order, which trades " +
        "at once.",
      "0.005",
    ),
    { examples: [null] },
  ),
  goodTillDate: nullable(Time("Orders with GTD: when the order expires."), { examples: [null] }),
  parentOrderId: nullable(Id("The order to which this take-profit or stop-loss was attached."), { examples: [null] }),
  takeProfit: shownLeg(
    "The take-profit that each fill attaches, as an order of its own with this order as its parentOrderId.",
  ),
  stopLoss: shownLeg("The stop-loss that each fill attaches. See takeProfit."),
  selfTradePreventionMode: SelfTradePreventionMode,
  status: OrderStatus,
  reason: nullable(OrderReason, { examples: [null] }),
  createdAt: Time("When the engine took the order."),
  updatedAt: Time("When the order last changed."),
  sequence: Sequence,
};
export const Order = object(orderProperties, { description: "An order." });

export const Fill = object(
  {
    tradeId: Id("A trade has one fill for each of its two accounts."),
    orderId: nullable(Id("The account's order. Null when a position was transferred outside the book.")),
    clientOrderId: nullable(ClientOrderId),
    symbol: SymbolName,
    side: Side,
    price: DecimalOut("Price of the trade.", "65000.5"),
    quantity: DecimalOut("Quantity of the trade.", "0.004"),
    quoteQuantity: DecimalOut("Price × quantity. For a transferred position, the exact amount.", "260.002"),
    fee: DecimalOut("Paid by the account. Negative: received.", "0.130001"),
    feeAsset: Type.String({ examples: ["USDC"] }),
    feeRate: DecimalOut(
      "Share of quoteQuantity. For a LIQUIDATION, the share that the price left for the fee, at most liquidationFeeRate. This " +
        "rate is rounded; fee is exact.",
      "0.0005",
    ),
    liquidity: Liquidity,
    realizedPnl: DecimalOut("Profit or loss of the part that reduced a position, before fees.", "0"),
    execType: ExecType,
    positionSize: DecimalOut("Position after the fill. Negative: short.", "0.004"),
    time: Time("When the trade happened."),
    sequence: Sequence,
  },
  { description: "One account's side of a trade." },
);

/** Bounds the fills of one order in a transaction. */
export const MAX_DUPLICATE_FILLS = 10_000;

export const PlacedOrder = object(
  {
    ...orderProperties,
    fills: Type.Array(Fill, {
      description:
        "The fills of the moment in which the order was placed or amended. A duplicate shows all fills of the order up to now, " +
        `oldest first. If there are more than ${MAX_DUPLICATE_FILLS}, or more than 100000 other fills of the account between ` +
        "them, it shows the latest; `GET /account/trades` has all.",
    }),
    duplicate: Duplicate("this clientOrderId and body were sent before, and this is that order."),
  },
  { description: "An order and its fills when it was placed or amended." },
);

export const ExpectedFill = object(
  {
    price: DecimalOut("Price of the trade.", "65000.5"),
    quantity: DecimalOut("Quantity of the trade.", "0.004"),
    quoteQuantity: DecimalOut("Price × quantity.", "260.002"),
    fee: DecimalOut("The fee that the account would pay.", "0.130001"),
  },
  { description: "A trade that would happen." },
);

export const AccountProjection = object(
  {
    positionSize: DecimalOut("Position in the symbol. Negative: short.", "0.01"),
    liquidationPrice: nullable(DecimalOut("Liquidation price of that position. Null when there is none.", "58000.5")),
    initialMargin: DecimalOut("Initial margin of all positions and open orders of the account.", "650.005"),
    availableBalance: DecimalOut("The amount that new orders may use.", "1250.5"),
  },
  { description: "An account's margin, and its position in a symbol." },
);

export const DryRunOrder = object(
  {
    dryRun: Type.Literal(true),
    ...orderProperties,
    orderId: Type.Null({ description: "Null, because the order was not placed." }),
    fills: Type.Array(ExpectedFill, { description: "The trades that would happen at once, as far as the book shows." }),
    marginRequired: DecimalOut("The part of the available balance that the order would bind, in USDC.", "65.0005"),
    before: AccountProjection,
    after: AccountProjection,
  },
  {
    description:
      "The result of a dry run: the order as it would be after it was placed. An order that would be refused is answered with " +
      "that error. `sequence` names the state of the exchange for which this holds.",
  },
);

export const OrderList = listOf(Order, "Orders, newest first.");
export const FillList = listOf(Fill, "Fills, newest first.");

export const CanceledOrders = object(
  { canceled: Type.Integer({ minimum: 0, description: "Number of canceled orders." }), data: Type.Array(Order) },
  { description: "The canceled orders in their final state." },
);

export const CancelSwitch = object(
  {
    timeoutMs: Type.Integer({ minimum: 0, description: "As requested.", examples: [60_000] }),
    cancelAt: nullable(
      Time("When the orders are canceled, by the exchange's clock: the first time of all symbols. Null when disarmed."),
    ),
  },
  { description: "The account's dead man's switch." },
);

export const Leverage = object(
  { symbol: SymbolName, leverage: Type.Integer({ minimum: 1, examples: [10] }) },
  { description: "The account's leverage in a symbol." },
);

export const MarginMode = object(
  { symbol: SymbolName, marginMode: PositionMarginMode },
  { description: "The account's margin mode in a symbol." },
);
