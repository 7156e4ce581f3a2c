import Type from "typebox";
import { Status, StatusReason } from "./market.ts";
import { Decimal, DecimalOut, nullable, object, Sequence, SymbolName, Time } from "./scalars.ts";

export const ServerTime = object({ serverTime: Time("Now.") });

export const Health = object({
  status: Type.Enum(["OK", "STALLED", "UNSOUND", "STORAGE_FULL"], {
    description:
      "STALLED: the disk takes nothing, so what is asked ends in TIMEOUT. UNSOUND: the self-check has stopped trading " +
      "somewhere. STORAGE_FULL: new orders, deposits and the like are refused with this code.",
  }),
  faults: Type.Array(Type.String(), { description: "What the self-check has found, in words." }),
  rebuilds: Type.Integer({
    minimum: 0,
    description:
      "How often a fault has ended a thread of the engine since the start, and its symbols were rebuilt from the log: " +
      "0 unless something is wrong with perpd. The log of the program says what it was.",
  }),
  sequence: Sequence,
  uptimeMs: Type.Integer({ minimum: 0 }),
  serverTime: Time("Now."),
});

const Detail = Type.Union([
  Type.String(),
  Type.Number(),
  Type.Boolean(),
  Type.Null(),
  Type.Array(Type.Union([Type.String(), Type.Number()])),
]);
export const ErrorBody = object(
  {
    code: Type.String({ description: "Stable: see the list of codes.", examples: ["INSUFFICIENT_MARGIN"] }),
    message: Type.String({ description: "For people." }),
    field: Type.Optional(Type.String({ description: "The field that was wrong.", examples: ["quantity"] })),
    details: Type.Optional(
      Type.Object(
        {},
        {
          description: "What was required, what is available, the limit, the nearest valid value, by name.",
          additionalProperties: Detail,
          examples: [{ required: "650.005", available: "12.5" }],
        },
      ),
    ),
    retryable: Type.Boolean({ description: "The same request may well succeed a moment later." }),
    requestId: Type.String({
      description: "Also the header X-Request-Id. The log has what ended in `INTERNAL` under it.",
      examples: ["5f0c8a1b-2s"],
    }),
    serverTime: Time("Now."),
  },
  { description: "Any answer other than success." },
);

export const IndexPriceBody = object({
  price: Decimal("A multiple of tickSize.", "65000.5"),
  guarded: Type.Optional(
    Type.Boolean({
      description: "A machine says so: a jump must be confirmed by others, and may trip the circuit breaker.",
    }),
  ),
});
export const IndexPrice = object({ symbol: SymbolName, indexPrice: DecimalOut("As it was set.", "65000.5") });

export const HaltBody = object({
  mode: Type.Optional(
    Type.Enum(["REDUCE_ONLY", "CANCEL_ONLY", "HALTED"], {
      description: "What remains possible; CANCEL_ONLY when left out.",
    }),
  ),
});
export const TradingStatus = object(
  {
    symbol: SymbolName,
    status: Status,
    statusReason: StatusReason,
    until: nullable(Time("When the halt ends by itself; null = it does not.")),
    sequence: Sequence,
  },
  { description: "What a symbol lets happen." },
);

const SymbolAudit = object({
  symbol: SymbolName,
  size: DecimalOut("Σ of all positions: 0 when sound.", "0"),
  openOrders: Type.Integer({ minimum: 0 }),
  positions: Type.Integer({ minimum: 0 }),
  digest: Type.String({ description: "A hash over the symbol's whole state." }),
});
export const Audit = object(
  {
    balanced: Type.Boolean({ description: "All sums hold and no actor found a fault." }),
    money: DecimalOut("Σ of balances and position cash, over all accounts.", "3000000"),
    depositsMinusWithdrawals: DecimalOut("What money must be equal to.", "3000000"),
    accounts: Type.Integer({ minimum: 0 }),
    symbols: Type.Array(SymbolAudit),
    faults: Type.Array(Type.String(), { description: "Each difference found, in words." }),
    ledgerDigest: Type.String({ description: "A hash over the ledger's whole state." }),
    sequence: Sequence,
  },
  { description: "The exchange, counted." },
);
