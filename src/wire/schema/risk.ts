import Type from "typebox";
import { FUND_MOVEMENTS } from "../../core/base/enums.ts";
import { OPEN_INTEREST_INTERVALS } from "../../core/market-data/candles.ts";
import {
  Asset,
  Cursor,
  DecimalOut,
  listOf,
  nullable,
  object,
  pageQuery,
  Sequence,
  SymbolName,
  Time,
} from "./scalars.ts";

export const FundingQuery = object({ symbol: SymbolName, ...pageQuery });
export const FundingPaymentsQuery = object({ symbol: Type.Optional(SymbolName), ...pageQuery });
export const InsuranceQuery = object({ symbol: Type.Optional(SymbolName), ...pageQuery });
export const OpenInterestQuery = object({ symbol: Type.Optional(SymbolName) });
export const OpenInterestHistoryQuery = object({
  symbol: SymbolName,
  interval: Type.Enum(OPEN_INTEREST_INTERVALS, { description: "Whose ends are shown. UTC." }),
  ...pageQuery,
});

const PriceOrNull = (description: string) => nullable(DecimalOut(description, "65000.5"));

const fundingProperties = {
  symbol: SymbolName,
  fundingRate: DecimalOut("Of the notional; positive: longs paid shorts.", "0.0000125"),
  fundingTime: Time("When the interval ended."),
  markPrice: PriceOrNull("What positions were valued at."),
  indexPrice: PriceOrNull("Of the price source."),
  premium: DecimalOut("Average of the interval's samples, the late ones counting most; of the index.", "0"),
  fundingIntervalHours: Type.Integer({ minimum: 1, examples: [1] }),
};
export const Funding = object(fundingProperties, { description: "An interval of funding." });
export const FundingList = listOf(Funding, "Funding rates, newest first. Times are those when intervals ended.");

export const FundingPayment = object(
  {
    ...fundingProperties,
    positionSize: DecimalOut("Signed.", "0.333"),
    amount: DecimalOut(
      "−positionSize × markPrice × fundingRate, rounded against the account: negative = paid.",
      "-0.270565",
    ),
    time: Time("When it was paid: at the interval's end, or a little later."),
    sequence: Sequence,
  },
  { description: "What one position paid or got for an interval." },
);
export const FundingPaymentList = listOf(FundingPayment, "Payments, newest first. Times are those of the payments.");

const FundMovement = object(
  {
    time: Time("When it happened."),
    symbol: nullable(SymbolName),
    kind: Type.Enum(FUND_MOVEMENTS, {
      description:
        "LIQUIDATION_FEE: paid by liquidated accounts. TAKEOVER, ADL: a position came or went, and this much was " +
        "realised (0 when it only opened one). TRADE: the fund's own trades, less fees. FUNDING: payments pass through " +
        "the fund, so over an interval this is what rounding left and what its own positions got. DEFICIT: paid for " +
        "an account below zero.",
    }),
    amount: DecimalOut("Signed.", "12.5"),
    sequence: Sequence,
  },
  { description: "What one turn did to the fund's money, by kind." },
);
export const Insurance = object(
  {
    asset: Asset,
    balance: DecimalOut("The fund's equity: the sum of all movements ever, and unrealizedPnl.", "1000012.5"),
    unrealizedPnl: DecimalOut("Of positions that it took over and still holds.", "0"),
    data: Type.Array(FundMovement, { description: "Newest first." }),
    nextCursor: nullable(Cursor),
  },
  { description: "The insurance fund and what moved its money." },
);

export const OpenInterest = object(
  {
    symbol: SymbolName,
    openInterest: DecimalOut("Sum of all long positions.", "321.9"),
    notional: nullable(DecimalOut("openInterest × markPrice; null before there is a price.", "20923660.95")),
    time: Time("When this was true."),
  },
  { description: "How much is open in a symbol." },
);
export const OpenInterestList = listOf(OpenInterest, "All symbols.");
export const OpenInterestHistory = listOf(
  OpenInterest,
  "Open interest at the ends of intervals, newest first. While an interval runs, it is shown as of now. One without a " +
    "trade or a price, as while the exchange was down, is left out.",
);
