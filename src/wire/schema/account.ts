import Type from "typebox";
import { LEDGER_ENTRY_TYPES, MARGIN_MODES } from "../../core/base/enums.ts";
import {
  Address,
  Asset,
  Decimal,
  DecimalOut,
  Id,
  listOf,
  nullable,
  object,
  pageQuery,
  Reference,
  Sequence,
  SymbolName,
  Time,
} from "./scalars.ts";

const TransferReference = Reference(
  "A name of your own for the transfer. The same reference with the same body again is the same transfer.",
  "deposit-1",
);

export const DepositBody = object({
  asset: Asset,
  amount: Decimal("Not finer than 0.000001.", "10000"),
  reference: Type.Optional(TransferReference),
});
export const WithdrawBody = object({
  asset: Asset,
  amount: Decimal("At most what is withdrawable; not finer than 0.000001.", "250.5"),
  address: Address,
  reference: Type.Optional(TransferReference),
});

export const PositionsQuery = object({ symbol: Type.Optional(SymbolName) });
export const FillsQuery = object({
  symbol: Type.Optional(SymbolName),
  orderId: Type.Optional(Id("Those of this order only.")),
  ...pageQuery,
});
export const TransfersQuery = object(pageQuery);
const LedgerType = Type.Enum(LEDGER_ENTRY_TYPES, {
  description:
    "WITHDRAWAL: debited when it is asked for. REALIZED_PNL: profit or loss that a fill took, before fees; of deleveraging, " +
    "too. FEE: of a fill; positive = a rebate. LIQUIDATION_FEE: of a fill that closed the position by force, in the place of " +
    "a fee. FUNDING: positive = received. DEFICIT_COVERED: the insurance fund paid what the account was below zero.",
});
export const LedgerQuery = object({
  type: Type.Optional(LedgerType),
  symbol: Type.Optional(SymbolName),
  ...pageQuery,
});

const PriceOrNull = (description: string, example: string) => nullable(DecimalOut(description, example));

const positionProperties = {
  symbol: SymbolName,
  side: nullable(Type.Enum(["LONG", "SHORT"])),
  size: DecimalOut("Without a sign.", "0.5"),
  entryPrice: PriceOrNull("Average price of what is open now.", "65025.5"),
  markPrice: PriceOrNull("Null before there is a price.", "65000.5"),
  notional: DecimalOut("size × markPrice.", "32500.25"),
  leverage: Type.Integer({ minimum: 1, examples: [10] }),
  marginMode: Type.Enum(MARGIN_MODES),
  isolatedMargin: nullable(
    DecimalOut(
      "What is set aside for an isolated position, with its unrealizedPnl: below maintenanceMargin it is liquidated. " +
        "Null for a cross position.",
      "3237.525",
    ),
  ),
  initialMargin: DecimalOut("What the position binds, without open orders.", "3250.025"),
  maintenanceMargin: DecimalOut("What equity must stay above, for this position's part.", "130.001"),
  liquidationPrice: PriceOrNull(
    "Where the account's equity, or an isolated position's margin, meets its maintenance margin, all else equal.",
    "58760.5",
  ),
  bankruptcyPrice: PriceOrNull(
    "Where closing leaves this position's share of equity, or its own margin, at 0.",
    "58525.5",
  ),
  breakEvenPrice: PriceOrNull(
    "Where closing at market leaves neither gain nor loss in this symbol, fees and funding included.",
    "65090.55802",
  ),
  unrealizedPnl: DecimalOut("size × (markPrice − entryPrice), signed.", "-12.5"),
  realizedPnl: DecimalOut("All that was won or lost in this symbol so far, fees and funding included.", "-16.256375"),
  cumulativeFunding: DecimalOut(
    "Funding received since the position was opened, negative = paid. 0 when none is open: see `GET /account/funding`.",
    "0",
  ),
  adlRank: nullable(
    Type.Integer({
      minimum: 1,
      maximum: 5,
      description:
        "5 = in the fifth of its side that auto-deleveraging would close first, 1 = in the last. Where only others' " +
        "positions have moved it, the positions channel tells within some 5 seconds.",
    }),
  ),
  openedAt: nullable(Time("When the position was opened. Null when none is open.")),
  updatedAt: nullable(
    Time("When it, its open orders or its settings last changed: by a trade, an order, funding, not by a price."),
  ),
  sequence: Sequence,
};
export const Position = object(positionProperties, { description: "A position." });
export const MovedMargin = object(
  {
    ...positionProperties,
    duplicate: Type.Optional(
      Type.Boolean({
        description:
          "True: the reference was used before with this body, nothing was done, and this is the position as it is now.",
      }),
    ),
  },
  { description: "A position whose margin was to be moved." },
);
export const PositionList = listOf(Position, "The account's open positions, all of them.");

export const Balance = object(
  {
    asset: Asset,
    walletBalance: DecimalOut("equity − unrealizedPnl.", "10000"),
    equity: DecimalOut(
      "What the account would own if all positions were closed at mark, without what is set aside for isolated positions.",
      "10012.5",
    ),
    unrealizedPnl: DecimalOut("Of all cross positions.", "12.5"),
    positionInitialMargin: DecimalOut("initialMargin − openOrderInitialMargin.", "650"),
    openOrderInitialMargin: DecimalOut(
      "What open orders bind beyond the positions: in each symbol the initial margin of the largest position that the buys or " +
        "the sells may make, and of those of either side that would open one the taker fee and the loss against the mark at " +
        "which they came. Reduce-only orders and those that wait for a price bind nothing.",
      "0",
    ),
    initialMargin: DecimalOut("What cross positions and all orders bind.", "650"),
    maintenanceMargin: DecimalOut("What equity must stay above.", "26"),
    availableBalance: DecimalOut(
      "equity − initialMargin, or 0 where that is negative: what new orders may bind.",
      "9362.5",
    ),
    withdrawable: DecimalOut(
      "The smaller of availableBalance and of equity without unrealised gains, never below 0: gains may stand for margin, " +
        "but not leave.",
      "9362.5",
    ),
    marginRatio: nullable(
      DecimalOut("maintenanceMargin ÷ equity; 0 while that margin is 0, else null without equity.", "0.002596"),
    ),
    updatedAt: Time("When it was read."),
    sequence: Sequence,
  },
  { description: "The account's balance, across all symbols." },
);

const transferProperties = {
  transferId: Id("The exchange's id."),
  kind: Type.Enum(["DEPOSIT", "WITHDRAWAL"]),
  asset: Asset,
  amount: DecimalOut("Always positive.", "10000"),
  address: nullable(Address),
  reference: nullable(TransferReference),
  status: Type.Enum(["PENDING", "SENT", "COMPLETED", "FAILED"]),
  txHash: nullable(Type.String({ examples: ["0x7c0f..."] })),
  createdAt: Time("When it was asked for."),
  updatedAt: Time("When its status last changed."),
};
export const Transfer = object(transferProperties, { description: "A deposit or withdrawal." });
export const RequestedTransfer = object(
  {
    ...transferProperties,
    duplicate: Type.Optional(
      Type.Boolean({ description: "True: the reference was used before with this body, and this is its transfer." }),
    ),
  },
  { description: "A deposit or withdrawal that was asked for." },
);
export const TransferList = listOf(Transfer, "Transfers, newest first.");

export const LedgerEntry = object(
  {
    entryId: Type.String({
      pattern: "^[A-Za-z0-9_\\-]{1,80}$",
      description: "The entry's own id.",
      examples: ["fee-256001-BUY"],
    }),
    type: LedgerType,
    asset: Asset,
    amount: DecimalOut("Signed: negative = the account has less.", "-3.25"),
    symbol: nullable(SymbolName),
    tradeId: nullable(Id("The fill's.")),
    orderId: nullable(Id("The fill's; null also where there was no order.")),
    transferId: nullable(Id("The deposit's or withdrawal's.")),
    fundingTime: nullable(Time("When the interval ended that FUNDING is for.")),
    time: Time("When it happened."),
    sequence: Sequence,
  },
  { description: "One change of an account's money." },
);
export const LedgerList = listOf(
  LedgerEntry,
  "Entries, newest first. All amounts together are the wallet: walletBalance, and isolatedMargin − unrealizedPnl of each " +
    "isolated position, since what is set aside for one only moves within the account and is no entry.",
);
