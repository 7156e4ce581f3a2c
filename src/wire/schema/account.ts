import { LEDGER_ENTRY_TYPES } from "../../core/base/enums.ts";
import { EQUITY_INTERVALS } from "../../core/market-data/candles.ts";
import Type from "../../packages/typebox.ts";
import { ExecType, PositionMarginMode } from "./orders.ts";
import {
  Address,
  Approval,
  Asset,
  Decimal,
  DecimalOut,
  Duplicate,
  Id,
  listOf,
  listQuery,
  nullable,
  object,
  PositionSide,
  Reference,
  Sequence,
  SymbolName,
  Time,
} from "./scalars.ts";

const TransferReference = Reference(
  "Your own id for the transfer. If you send the same reference and body again, you get the same transfer.",
  "deposit-1",
);

export const DepositBody = object({
  asset: Asset,
  amount: Decimal("At most six decimals.", "10000"),
  reference: Type.Optional(TransferReference),
});
export const WithdrawBody = object({
  asset: Asset,
  amount: Decimal("At most the `withdrawable` of the balance, with at most six decimals.", "250.5"),
  address: Address,
  reference: Type.Optional(TransferReference),
  approval: Type.Optional(Approval),
});

const AddressLabel = Type.String({
  pattern: "^[\\x20-\\x7e]{1,64}$",
  description: "Your own name for the address.",
  examples: ["cold wallet"],
});
export const WithdrawalAddressBody = object({
  address: Address,
  label: AddressLabel,
  approval: Type.Optional(Approval),
});
const withdrawalAddressProperties = {
  address: Address,
  label: AddressLabel,
  addedAt: Time("When it was added."),
  usableAt: Time("When withdrawals may go there, if the exchange requires the address book."),
};
export const WithdrawalAddress = object(withdrawalAddressProperties, {
  description: "An address to which the account may withdraw.",
});
export const WithdrawalAddressList = listOf(WithdrawalAddress, "The address book, oldest entry first.");
export const AddedWithdrawalAddress = object(
  {
    ...withdrawalAddressProperties,
    duplicate: Duplicate("the address was in the book before, and this is that entry."),
  },
  { description: "An entry of the address book." },
);
export const RemovedWithdrawalAddress = object({ address: Address, removed: Type.Boolean() });

const CallRatio = "The margin ratio, maintenance margin ÷ equity, at which the `margin-calls` channel sends a message.";
export const MarginCallBody = object({
  ratio: Decimal(`${CallRatio} 0.01 to 0.99, in steps of 0.000001.`, "0.8"),
});
export const MarginCallSetting = object(
  { ratio: DecimalOut(`${CallRatio} 0.8 until the account sets another.`, "0.8") },
  { description: "When the account gets a margin call." },
);

export const PositionsQuery = object({ symbol: Type.Optional(SymbolName) });
export const FillsQuery = object({
  symbol: Type.Optional(SymbolName),
  orderId: Type.Optional(Id("Only fills of this order.")),
  execType: Type.Optional(ExecType),
  ...listQuery,
});
export const TransfersQuery = object(listQuery);
export const LedgerEntryType = Type.Enum(LEDGER_ENTRY_TYPES, {
  description:
    "WITHDRAWAL: debited when it is requested. REALIZED_PNL: profit or loss of a fill or of auto-deleveraging, before fees. " +
    "FEE: the fee of a fill; a positive amount is a rebate. LIQUIDATION_FEE: instead of a fee, for a fill that liquidated the " +
    "position. FUNDING: a positive amount was received. DEFICIT_COVERED: the insurance fund paid the negative balance of the " +
    "account.",
});
export const EquityInterval = Type.Enum(EQUITY_INTERVALS, {
  description:
    "The list has one row for the end of each interval, and one for now. In UTC. Below 1h it reaches back to the beginning of " +
    "yesterday, below 1d at least 60 days, and 1d to the beginning.",
});
export const EquityHistoryQuery = object({ interval: EquityInterval, ...listQuery });

export const LedgerQuery = object({
  type: Type.Optional(LedgerEntryType),
  symbol: Type.Optional(SymbolName),
  ...listQuery,
});

const PriceOrNull = (description: string, example: string) => nullable(DecimalOut(description, example));

const positionProperties = {
  symbol: SymbolName,
  side: nullable(PositionSide),
  size: DecimalOut("Size of the position, never negative.", "0.5"),
  entryPrice: PriceOrNull("Average entry price of the open position.", "65025.5"),
  markPrice: PriceOrNull("Null before the first price.", "65000.5"),
  notional: DecimalOut("size × markPrice.", "32500.25"),
  leverage: Type.Integer({ minimum: 1, examples: [10] }),
  marginMode: PositionMarginMode,
  isolatedMargin: nullable(
    DecimalOut(
      "The margin set aside for an isolated position, with its unrealizedPnl. The position is liquidated below " +
        "maintenanceMargin. Null for a cross position.",
      "3237.525",
    ),
  ),
  initialMargin: DecimalOut("Margin that the position binds, without open orders.", "3250.025"),
  maintenanceMargin: DecimalOut("This position's part of the margin that equity must stay above.", "130.001"),
  liquidationPrice: PriceOrNull(
    "The price at which the equity of the account, or the margin of an isolated position, reaches its maintenance margin, if " +
      "nothing else changes.",
    "58760.5",
  ),
  bankruptcyPrice: PriceOrNull(
    "The price at which closing leaves nothing of this position's share of equity, or of its isolated margin.",
    "58525.5",
  ),
  breakEvenPrice: PriceOrNull(
    "The price at which closing at market gives neither profit nor loss in this symbol, fees and funding included.",
    "65090.55802",
  ),
  unrealizedPnl: DecimalOut(
    "size × (markPrice − entryPrice) for a long position, the opposite for a short one.",
    "-12.5",
  ),
  realizedPnl: DecimalOut("All profit and loss in this symbol so far, fees and funding included.", "-16.256375"),
  cumulativeFunding: DecimalOut(
    "Funding received since the position was opened. Negative: paid. 0 when no position is open: see `GET /account/funding`.",
    "0",
  ),
  adlRank: nullable(
    Type.Integer({
      minimum: 1,
      maximum: 5,
      description:
        "Auto-deleveraging closes the fifth of each side with rank 5 first, the fifth with rank 1 last. If only other " +
        "accounts' positions change the rank, the positions channel reports it within about 5 seconds.",
    }),
  ),
  openedAt: nullable(Time("When the position was opened. Null when none is open.")),
  updatedAt: nullable(
    Time("When the position, its open orders or its settings last changed. A new price does not count."),
  ),
  sequence: Sequence,
};
export const Position = object(positionProperties, { description: "A position." });
export const MarginCall = object(
  {
    marginMode: PositionMarginMode,
    symbol: nullable(SymbolName, { description: "The isolated position. Null: all cross positions." }),
    active: Type.Boolean({ description: "False: the call has ended." }),
    ratio: nullable(DecimalOut("maintenanceMargin ÷ equity. At 1 liquidation begins. Null without equity.", "0.812")),
    threshold: DecimalOut("The ratio that the account has set.", "0.8"),
    equity: DecimalOut("Equity of the account, or of the isolated position.", "160.5"),
    maintenanceMargin: DecimalOut("Maintenance margin of all cross positions, or of the isolated one.", "130.326"),
    time: Time("When the margin was read."),
  },
  { description: "A warning that liquidation is near, or its end." },
);
export const MovedMargin = object(
  {
    ...positionProperties,
    duplicate: Duplicate(
      "this reference and body were sent before. Nothing was done; this is the position as it is now.",
    ),
  },
  { description: "The position after a change of its margin." },
);
export const PositionList = listOf(Position, "All open positions of the account.");

export const Balance = object(
  {
    asset: Asset,
    walletBalance: DecimalOut("equity − unrealizedPnl.", "10000"),
    equity: DecimalOut(
      "What the account would own if all positions were closed at the mark price, without the margin of isolated positions.",
      "10012.5",
    ),
    unrealizedPnl: DecimalOut("Unrealized profit and loss of all cross positions.", "12.5"),
    positionInitialMargin: DecimalOut("initialMargin − openOrderInitialMargin.", "650"),
    openOrderInitialMargin: DecimalOut(
      "Margin that open orders bind beyond the positions. In each symbol it covers the initial margin of the largest position " +
        "that the buys or the sells may make. Orders that would open a position also bind their taker fee and their loss " +
        "against the mark price at which they were placed. Reduce-only and untriggered orders bind nothing.",
      "0",
    ),
    initialMargin: DecimalOut("Margin that cross positions and all orders bind.", "650"),
    maintenanceMargin: DecimalOut("The margin that equity must stay above.", "26"),
    availableBalance: DecimalOut("The amount that new orders may bind: equity − initialMargin, at least 0.", "9362.5"),
    additionalMargin: DecimalOut(
      "The margin beyond initialMargin that must stay in the account when money is taken out. New orders may use it. In each " +
        "symbol it is the larger of two amounts: what the cross position and its orders would need if they were opened now, by " +
        "openingMarginRate, and what transferMarginRate asks for behind the position.",
      "0",
    ),
    withdrawable: DecimalOut(
      "The smaller of availableBalance − additionalMargin and equity without unrealized gains and without the margin of open " +
        "orders in ISOLATED mode, at least 0. Unrealized gains count as margin but cannot be withdrawn, and unrealized losses " +
        "of other positions are not set off against them.",
      "9362.5",
    ),
    marginRatio: nullable(
      DecimalOut("maintenanceMargin ÷ equity. 0 if maintenanceMargin is 0; otherwise null without equity.", "0.002596"),
    ),
    updatedAt: Time("When the balance was read."),
    sequence: Sequence,
  },
  { description: "The account's balance, across all symbols." },
);

export const TransferKind = Type.Enum(["DEPOSIT", "WITHDRAWAL"], { description: "In or out." });
export const TransferStatus = Type.Enum(["PENDING", "SENT", "COMPLETED", "FAILED"], {
  description: "PENDING: not sent yet. SENT: sent, not confirmed yet.",
});
const transferProperties = {
  transferId: Id("The exchange's id of the transfer."),
  kind: TransferKind,
  asset: Asset,
  amount: DecimalOut("Always positive.", "10000"),
  address: nullable(Address),
  reference: nullable(TransferReference),
  status: TransferStatus,
  txHash: nullable(Type.String({ examples: ["0x7c0f..."] })),
  createdAt: Time("When it was requested."),
  updatedAt: Time("When its status last changed."),
};
export const Transfer = object(transferProperties, { description: "A deposit or withdrawal." });
export const RequestedTransfer = object(
  {
    ...transferProperties,
    duplicate: Duplicate("this reference and body were sent before, and this is that transfer."),
  },
  { description: "A requested deposit or withdrawal." },
);
export const TransferList = listOf(Transfer, "Transfers, newest first.");

export const LedgerEntry = object(
  {
    entryId: Type.String({
      pattern: "^[A-Za-z0-9_\\-]{1,80}$",
      description: "Id of the entry.",
      examples: ["fee-256001-BUY"],
    }),
    type: LedgerEntryType,
    asset: Asset,
    amount: DecimalOut("Negative: the account has less.", "-3.25"),
    symbol: nullable(SymbolName),
    tradeId: nullable(Id("The trade of the fill.")),
    orderId: nullable(Id("The order of the fill. Null if there was no order.")),
    transferId: nullable(Id("The deposit or withdrawal.")),
    fundingTime: nullable(Time("FUNDING: when the funding interval ended.")),
    time: Time("When it happened."),
    sequence: Sequence,
  },
  { description: "One change of an account's money." },
);
export const LedgerList = listOf(
  LedgerEntry,
  "Entries, newest first. The sum of all amounts is walletBalance plus isolatedMargin − unrealizedPnl of each isolated " +
    "position. Setting margin aside moves money within the account and is no entry.",
);

export const EquityPoint = object(
  {
    time: Time("End of an interval, or now."),
    equity: DecimalOut("walletBalance + unrealizedPnl.", "10012.5"),
    walletBalance: DecimalOut(
      "netDeposits, plus what trades, fees and funding have brought. With the margin of isolated positions.",
      "10000",
    ),
    unrealizedPnl: DecimalOut(
      "Unrealized profit and loss of all positions at the mark price, isolated ones included.",
      "12.5",
    ),
    netDeposits: DecimalOut("All deposits until then less all withdrawals.", "9500"),
    pnl: DecimalOut(
      "equity − netDeposits: what the account has earned since it was opened. The difference of two rows is the profit between " +
        "them.",
      "512.5",
    ),
  },
  { description: "The worth of an account at a time." },
);
export const EquityHistory = listOf(EquityPoint, "Equity, newest first.");
