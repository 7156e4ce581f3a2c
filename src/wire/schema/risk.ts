import { FUND_MOVEMENTS } from "../../core/base/enums.ts";
import { OPEN_INTEREST_INTERVALS } from "../../core/market-data/candles.ts";
import Type from "../../packages/typebox.ts";
import {
  Asset,
  Cursor,
  DecimalOut,
  listOf,
  listQuery,
  nullable,
  object,
  Sequence,
  SymbolName,
  Time,
} from "./scalars.ts";

export const FundingQuery = object({ symbol: SymbolName, ...listQuery });
export const FundingPaymentsQuery = object({ symbol: Type.Optional(SymbolName), ...listQuery });
export const InsuranceQuery = object({ symbol: Type.Optional(SymbolName), ...listQuery });
export const OpenInterestQuery = object({ symbol: Type.Optional(SymbolName) });
export const OpenInterestInterval = Type.Enum(OPEN_INTEREST_INTERVALS, {
  description: "The list has one row for the end of each interval. In UTC.",
});
export const OpenInterestHistoryQuery = object({
  symbol: SymbolName,
  interval: OpenInterestInterval,
  ...listQuery,
});

const PriceOrNull = (description: string) => nullable(DecimalOut(description, "65000.5"));

const fundingProperties = {
  symbol: SymbolName,
  fundingRate: DecimalOut("Share of the notional. Positive: longs paid shorts.", "0.0000125"),
  fundingTime: Time("When the interval ended."),
  markPrice: PriceOrNull("The price at which positions were valued."),
  indexPrice: PriceOrNull("Price of the price source."),
  premium: DecimalOut(
    "Average of the interval's samples, as a share of the index price. A sample weighs as long as it stood, at most 10 s.",
    "0",
  ),
  fundingIntervalHours: Type.Integer({ minimum: 1, examples: [1] }),
};
export const Funding = object(fundingProperties, { description: "The funding rate of an interval." });
export const FundingList = listOf(Funding, "Funding rates, newest first. startTime and endTime refer to fundingTime.");

export const FundingPayment = object(
  {
    ...fundingProperties,
    positionSize: DecimalOut("Negative: short.", "0.333"),
    amount: DecimalOut(
      "−positionSize × markPrice × fundingRate, rounded against the account. Negative: paid.",
      "-0.270565",
    ),
    time: Time("When it was paid: at the end of the interval or a little later."),
    sequence: Sequence,
  },
  { description: "The funding payment of one position for an interval." },
);
export const FundingPaymentList = listOf(
  FundingPayment,
  "Payments, newest first. startTime and endTime refer to time.",
);

export const FundMovementKind = Type.Enum(FUND_MOVEMENTS, {
  description:
    "LIQUIDATION_FEE: fees of liquidated accounts. TAKEOVER and ADL: profit or loss when the fund took over or passed on " +
    "a position, 0 if that only opened one. TRADE: the fund's own trades, less fees. FUNDING: all payments pass through " +
    "the fund, so over an interval this is the rounding and the funding of its own positions. DEFICIT: paid for an " +
    "account with a negative balance.",
});

export const FundMovement = object(
  {
    time: Time("When it happened."),
    symbol: nullable(SymbolName),
    kind: FundMovementKind,
    amount: DecimalOut("Negative: the fund has less.", "12.5"),
    sequence: Sequence,
  },
  { description: "The change of the fund's money of one kind in one transaction." },
);
export const Insurance = object(
  {
    asset: Asset,
    balance: DecimalOut("The fund's equity: the sum of all movements ever plus unrealizedPnl.", "1000012.5"),
    unrealizedPnl: DecimalOut("Unrealized profit and loss of the positions that the fund holds.", "0"),
    data: Type.Array(FundMovement, { description: "Newest first." }),
    nextCursor: nullable(Cursor),
  },
  { description: "The insurance fund and the movements of its money." },
);

export const OpenInterest = object(
  {
    symbol: SymbolName,
    openInterest: DecimalOut("Sum of all long positions.", "321.9"),
    notional: nullable(DecimalOut("openInterest × markPrice. Null before the first price.", "20923660.95")),
    time: Time("The time of these values."),
  },
  { description: "Open interest of a symbol." },
);
export const OpenInterestList = listOf(OpenInterest, "All symbols.");
export const OpenInterestHistory = listOf(
  OpenInterest,
  "Open interest at the end of each interval, newest first. The running interval is shown as of now. An interval without a " +
    "trade or a price is left out, for example while the exchange was down.",
);
