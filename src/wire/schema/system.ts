import { OPERATOR_ACTS } from "../../core/base/enums.ts";
import Type from "../../packages/typebox.ts";
import { StatusReason, SymbolStatus } from "./market.ts";
import { Decimal, DecimalOut, listOf, listQuery, nullable, object, Sequence, SymbolName, Time } from "./scalars.ts";

export const ServerTime = object({ serverTime: Time("Time of the answer.") });

const SOLVENCY_FIGURES = {
  fundEquity: DecimalOut("Equity of the insurance fund in USDC. It must not be negative.", "1000000"),
  fundNotional: DecimalOut(
    "Notional of the insurance fund's positions at the mark, in USDC. It must not be above `fundEquity`.",
    "0",
  ),
};

export const Alive = object({ live: Type.Literal(true), serverTime: Time("Time of the answer.") });
export const Ready = object({ ready: Type.Literal(true), serverTime: Time("Time of the answer.") });

export const ReplicationRole = Type.Enum(["ALONE", "LEADER", "LEADER_WITHOUT_LEASE", "STANDBY", "GATEWAY"], {
  description:
    "ALONE: the log is on one machine only. LEADER: this process decides, and no other one says so at the same time. " +
    "LEADER_WITHOUT_LEASE: it led, and cannot tell whether another process leads since, because it does not reach the stream; it answers nothing that only a leader may. STANDBY: it follows the leader, and answers nothing else or, with the setting `serveReads`, only reads. " +
    "GATEWAY: it answers market data itself, and passes the rest on to the leader.",
});
const LagMs = nullable(
  Type.Integer({
    minimum: 0,
    description:
      "Of a standby: so many milliseconds ago it had everything that the leader had answered. Null: it leads, or has not read all of the stream yet.",
    examples: [12],
  }),
);
export const Standby = object({
  url: Type.String({ description: "Where its clients would reach it.", examples: ["http://10.0.0.2:8080"] }),
  sequence: Type.Integer({ description: "Sequence of the last transaction there.", examples: [48210] }),
  lagTransactions: Type.Integer({
    description: "So many transactions it was behind when it was last heard.",
    examples: [3],
  }),
  healthy: Type.Boolean({
    description: "Its disk has room and all of its threads work. The leader steps down only if one standby is healthy.",
    examples: [true],
  }),
  heardMsAgo: Type.Integer({ description: "When it was last heard, in ms before this answer.", examples: [640] }),
});
export const Standbys = Type.Array(Standby, {
  description: "Of the leader: the standbys that it has heard in the last seconds, the furthest ahead first.",
});
export const Replication = object({
  role: ReplicationRole,
  leader: Type.Union([Type.String(), Type.Null()], {
    description:
      "Of a standby: where the leader's clients reach it. Null if this process leads, or no leader is known.",
    examples: [null],
  }),
  epoch: Type.Integer({
    description:
      "The epoch in which this process leads, or led until its lease ended. It grows with each leader. 0: it follows.",
    examples: [0],
  }),
  sequence: Type.Integer({ description: "Sequence of the last transaction here.", examples: [48213] }),
  lagTransactions: Type.Integer({
    description:
      "Transactions on this machine that the stream does not hold yet. In mode `sync` none of them is answered.",
    examples: [0],
  }),
  lagMs: LagMs,
  standbys: Standbys,
  serverTime: Time("Time of the answer."),
});

/** The most serious first. */
const PROBLEMS = [
  "NOT_LEADER",
  "STALLED",
  "REBUILDING",
  "UNRESPONSIVE",
  "UNSOUND",
  "INSOLVENT",
  "STORAGE_FULL",
  "HISTORY_STALLED",
] as const;

export const ProblemCode = Type.Enum([...PROBLEMS], { description: "See `status` of `GET /health`." });
export const Problem = object({
  code: ProblemCode,
  concerns: Type.String({ description: "A symbol, `ledger` or `exchange`.", examples: ["BTC-PERP"] }),
  message: Type.String({ description: "The problem in words." }),
});

export const HealthStatus = Type.Enum(["OK", ...PROBLEMS], {
  description:
    "OK, or the most serious of `problems`. NOT_LEADER: another process takes the orders, or may do so. STALLED: the disk or the replicated stream accepts no writes, so requests end in TIMEOUT. " +
    "REBUILDING: the thread of a symbol or of the ledger has died and is rebuilt; requests to it end in UNAVAILABLE. " +
    "UNRESPONSIVE: such a thread takes no commands; it is ended and rebuilt after some seconds. UNSOUND: the self-check has stopped trading in at " +
    "least one symbol. INSOLVENT: withdrawals are refused with WITHDRAWALS_GATED; see `solvency`. STORAGE_FULL: requests that need disk space, such as new orders and deposits, are refused with this " +
    "code. HISTORY_STALLED: the history index makes no progress, so reads of recent history end in TIMEOUT.",
});

/** Of the last check of the ledger. */
export const Solvency = object({
  gateReason: nullable(Type.String({ description: "Why withdrawals are refused, in words. Null: they are not." })),
  ...SOLVENCY_FIGURES,
  deficit: DecimalOut(
    "USDC that accounts below zero owe, for a second or longer. It must not be above `fundEquity`, except for rounding.",
    "0",
  ),
});

export const Health = object({
  status: HealthStatus,
  faults: Type.Array(Type.String(), { description: "The faults that the self-check has found, in words." }),
  solvent: Type.Boolean({
    description: "False while withdrawals are refused because the exchange might not be able to pay everybody.",
  }),
  solvency: Solvency,
  rebuilds: Type.Integer({
    minimum: 0,
    description:
      "How often a fault ended a thread of the engine since the start, so that its symbols were rebuilt from the log. 0 unless " +
      "perpd itself has a fault. The program's log names the fault.",
  }),
  sequence: Sequence,
  role: ReplicationRole,
  lagMs: LagMs,
  historySince: nullable(
    Time(
      "The history begins here. Orders that closed earlier are unknown, and lists end here. Null: all of it is kept.",
    ),
  ),
  uptimeMs: Type.Integer({ minimum: 0 }),
  serverTime: Time("Time of the answer."),
  problems: Type.Array(Problem, {
    description: "All reasons why the exchange cannot do a part of its work, the most serious first.",
  }),
});

const Detail = Type.Union([
  Type.String(),
  Type.Number(),
  Type.Boolean(),
  Type.Null(),
  Type.Array(Type.Union([Type.String(), Type.Number()])),
]);
export const ErrorDetails = Type.Object(
  {},
  {
    description: "Facts by name, such as the required and the available amount, the limit or the nearest valid value.",
    additionalProperties: Detail,
    examples: [{ required: "650.005", available: "12.5" }],
  },
);
export const ErrorBody = object(
  {
    code: Type.String({ description: "Stable code: see the list of codes.", examples: ["INSUFFICIENT_MARGIN"] }),
    message: Type.String({ description: "What is wrong and what to do, for people. The text may change." }),
    field: Type.Optional(Type.String({ description: "The field at fault.", examples: ["quantity"] })),
    details: Type.Optional(ErrorDetails),
    retryable: Type.Boolean({ description: "The same request may succeed a moment later." }),
    requestId: Type.String({
      description: "The same as the header X-Request-Id. The log names the cause of an `INTERNAL` under this id.",
      examples: ["5f0c8a1b-2s"],
    }),
    serverTime: Time("Time of the answer."),
  },
  { description: "The body of every error." },
);

export const IndexPriceBody = object({
  price: Decimal("A multiple of tickSize.", "65000.5"),
  guarded: Type.Optional(
    Type.Boolean({
      description:
        "True for an automatic source: a jump must be confirmed by further prices, and may trip the circuit breaker.",
    }),
  ),
});
export const IndexPrice = object({ symbol: SymbolName, indexPrice: DecimalOut("The price that was set.", "65000.5") });

export const HaltMode = Type.Enum(["REDUCE_ONLY", "CANCEL_ONLY", "HALTED"], {
  description: "What remains possible. Default: CANCEL_ONLY.",
});
export const HaltBody = object({
  mode: Type.Optional(HaltMode),
});
export const StepDownBody = object({
  force: Type.Optional(
    Type.Boolean({ description: "Step down although no standby is ready. Then nobody leads until a process starts." }),
  ),
});
export const StepDown = object({
  epoch: Type.Integer({ description: "The epoch that ends.", examples: [3] }),
  standbys: Standbys,
});
export const TradingStatus = object(
  {
    symbol: SymbolName,
    status: SymbolStatus,
    statusReason: StatusReason,
    until: nullable(Time("When the halt ends by itself. Null: it does not.")),
    sequence: Sequence,
  },
  { description: "The trading status of a symbol." },
);

export const SymbolAudit = object({
  symbol: SymbolName,
  size: DecimalOut("Sum of all positions. It must be 0.", "0"),
  openOrders: Type.Integer({ minimum: 0 }),
  positions: Type.Integer({ minimum: 0 }),
  digest: Type.String({ description: "A hash over the symbol's whole state." }),
});
export const AuditedSolvency = object({
  ...SOLVENCY_FIGURES,
  deficit: DecimalOut(
    "USDC that accounts below zero owe. It must not be above `fundEquity`, except for rounding.",
    "0",
  ),
});
export const Audit = object(
  {
    balanced: Type.Boolean({ description: "True: all sums agree and no actor has found a fault." }),
    solvent: Type.Boolean({
      description:
        "True: by the figures of `solvency` the exchange can pay everybody. False for milliseconds while a mark is settled.",
    }),
    solvency: AuditedSolvency,
    money: DecimalOut("Sum of balances and position cash over all accounts.", "3000000"),
    depositsMinusWithdrawals: DecimalOut("All deposits minus all withdrawals. It must be equal to `money`.", "3000000"),
    accounts: Type.Integer({ minimum: 0 }),
    symbols: Type.Array(SymbolAudit),
    faults: Type.Array(Type.String(), { description: "The faults found, in words." }),
    ledgerDigest: Type.String({ description: "A hash over the ledger's whole state." }),
    sequence: Sequence,
  },
  { description: "An audit of all money and positions." },
);

export const OperatorActKind = Type.Enum(["SYMBOL_STATUS", "INDEX_PRICE"], {
  description: "SYMBOL_STATUS, the default: halts and resumes. INDEX_PRICE: index prices that operators set.",
});
export const OperatorActsQuery = object({
  kind: Type.Optional(OperatorActKind),
  symbol: Type.Optional(SymbolName),
  ...listQuery,
});
export const OperatorActName = Type.Enum(OPERATOR_ACTS, {
  description: "INDEX_PRICE is also one that was held back, since it jumped.",
});
export const OperatorAct = object(
  {
    time: Time("When it was done."),
    operator: Type.String({
      description: "The operator's name. `operator` is the holder of `operatorToken`.",
      examples: ["alice"],
    }),
    act: OperatorActName,
    symbol: SymbolName,
    mode: nullable(HaltMode, { description: "Of a HALT: what remained possible." }),
    price: nullable(DecimalOut("", "65000.5"), { description: "Of an INDEX_PRICE." }),
    sequence: Sequence,
  },
  { description: "A change that an operator asked for." },
);
export const OperatorActList = listOf(OperatorAct, "Actions of operators, newest first.");
