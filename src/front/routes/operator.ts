import type { ReleasedTransaction } from "../../actor/engine/engine.ts";
import { must } from "../../assert.ts";
import {
  GATE,
  HALT_REASON,
  HALT_REASONS,
  LEDGER,
  OPERATOR_ACT,
  OPERATOR_ACTS,
  TRADING_STATUSES,
} from "../../core/base/enums.ts";
import { printBigQuanta } from "../../core/base/units.ts";
import { gateOf } from "../../core/ledger/solvency-check.ts";
import { Audit, HaltSymbol, ResumeSymbol, SetIndexPrice } from "../../core/protocol/commands.ts";
import { type Instrument, printPrice, printQuantity } from "../../core/protocol/instrument.ts";
import { blank, type Message } from "../../core/protocol/message-schema.ts";
import type { ActorAudit } from "../../core/protocol/payloads.ts";
import { AuditReport, Done, StatusView } from "../../core/protocol/replies.ts";
import type { OperatorActRecord } from "../../store/database/history-schema.ts";
import { errorsIn } from "../../wire/error-codes.ts";
import { SymbolName } from "../../wire/schema/scalars.ts";
import {
  Audit as AuditSchema,
  HaltBody,
  IndexPrice,
  IndexPriceBody,
  OperatorActList,
  OperatorActsQuery,
  StepDown,
  StepDownBody,
  TradingStatus,
} from "../../wire/schema/system.ts";
import { ApiError } from "../common/errors.ts";
import { isFollower, notLeader } from "../exchange/leader.ts";
import { replyOf, request, requestEach, requestFor } from "../exchange/request.ts";
import type { Call } from "../http/call.ts";
import { readPrice } from "../json/amounts.ts";
import { printSolvency } from "../json/ledger-json.ts";
import type { Context } from "../routing/context.ts";
import { listRoute } from "../routing/paging.ts";
import { get, post, put, type Route } from "../routing/route.ts";

export const auditRoute = ({ engine, symbols }: Context): Route =>
  get("/operator/audit", {
    access: "OPERATOR",
    summary: "Audit the running exchange: sum up all money and all positions",
    replies: { 200: AuditSchema },
    async handle({ call }) {
      const read = (transaction: ReleasedTransaction): ActorAudit => replyOf(transaction, AuditReport).report;
      const audit = () => blank(Audit);
      const [ledger, reports] = await Promise.all([
        request(engine, LEDGER, audit(), read),
        requestEach(engine, call, symbols.all, audit, read),
      ]);
      call.reply(200, JSON.stringify(sumUp(ledger, symbols.all, reports, engine.releasedSequence())));
    },
  });

function sumUp(
  ledger: ActorAudit,
  instruments: readonly Instrument[],
  reports: readonly ActorAudit[],
  sequence: number,
) {
  const money = reports.reduce((sum, report) => sum + BigInt(report.moneyQuanta), BigInt(ledger.moneyQuanta));
  const due = BigInt(ledger.depositsMinusWithdrawalsQuanta ?? "0");
  const solvency = must(ledger.solvency, "the ledger's figures");
  const faults = [ledger, ...reports].flatMap((report) => report.faults);
  return {
    balanced: money === due && reports.every((report) => report.sizeLots === 0) && faults.length === 0,
    solvent: gateOf(solvency) === GATE.OPEN,
    solvency: printSolvency(solvency),
    money: printBigQuanta(money),
    depositsMinusWithdrawals: printBigQuanta(due),
    accounts: ledger.accounts ?? 0,
    symbols: instruments.map((instrument, index) => {
      const { sizeLots = 0, openOrders = 0, positions = 0, digest = "" } = reports[index] ?? {};
      return { symbol: instrument.symbol, size: printQuantity(instrument, sizeLots), openOrders, positions, digest };
    }),
    faults,
    ledgerDigest: ledger.digest,
    sequence,
  };
}

export const haltRoute = (context: Context): Route =>
  post("/operator/symbols/:symbol/halt", {
    access: "OPERATOR",
    summary: "Halt trading in a symbol until it is resumed",
    description:
      "`REDUCE_ONLY` accepts cancels and orders that only reduce a position. `CANCEL_ONLY`, the default, accepts cancels; " +
      "nobody is liquidated. `HALTED` accepts nothing. A halt survives a restart. Halting a halted symbol changes the mode.",
    parameter: SymbolName,
    body: HaltBody,
    bodyOptional: true,
    replies: { 200: TradingStatus },
    handle({ call, operator, parameter, body }) {
      const mode = TRADING_STATUSES.indexOf(body.mode ?? "CANCEL_ONLY");
      const command = { ...blank(HaltSymbol), mode, reason: HALT_REASON.OPERATOR, operator };
      setStatus(context, call, parameter, command);
    },
  });

export const resumeRoute = (context: Context): Route =>
  post("/operator/symbols/:symbol/resume", {
    access: "OPERATOR",
    summary: "Resume trading in a halted symbol",
    description:
      "Ends any halt: by the operator, the circuit breaker or the self-check. A symbol without a price, or with a stale " +
      "one, stays restricted until it gets a price.",
    parameter: SymbolName,
    replies: { 200: TradingStatus },
    handle({ call, operator, parameter }) {
      const command = { ...blank(ResumeSymbol), operator };
      setStatus(context, call, parameter, command);
    },
  });

/** Answers with the symbol's trading status after the command, once it is durable. */
function setStatus(context: Context, call: Call, symbol: string, command: Message): void {
  const instrument = context.symbols.bySymbol(symbol);
  requestFor(context, call, instrument.id, command, (transaction) => {
    const { mode, reason, until } = replyOf(transaction, StatusView, instrument);
    const status = {
      symbol: instrument.symbol,
      status: TRADING_STATUSES[mode],
      statusReason: HALT_REASONS[reason],
      until: until === 0 ? null : until,
      sequence: transaction.sequence,
    };
    call.reply(200, JSON.stringify(status));
  });
}

export const indexPriceRoute = (context: Context): Route =>
  put("/operator/index/:symbol", {
    access: "OPERATOR",
    summary: "Set a symbol's index price",
    parameter: SymbolName,
    body: IndexPriceBody,
    isFrequent: true,
    replies: { 200: IndexPrice },
    errors: errorsIn("SET_INDEX_PRICE"),
    handle({ call, operator, parameter, body }) {
      const instrument = context.symbols.bySymbol(parameter);
      const isGuarded = body.guarded === true ? 1 : 0;
      const command = { ...blank(SetIndexPrice), indexTicks: readPrice(instrument, body.price), isGuarded, operator };
      requestFor(context, call, instrument.id, command, (transaction) => {
        replyOf(transaction, Done, instrument);
        call.reply(200, JSON.stringify({ symbol: instrument.symbol, indexPrice: body.price }));
      });
    },
  });

/** A standby that is further behind would keep everybody waiting. */
const MAX_LAG_TRANSACTIONS = 10_000;

export const stepDownRoute = (context: Context): Route =>
  post("/operator/step-down", {
    access: "OPERATOR",
    summary: "Hand over to a standby, and end this process",
    description:
      "The process finishes what it has begun, publishes it, releases its lease and ends with exit code 0. A standby leads " +
      "within a second. Start the process again: it follows then.",
    body: StepDownBody,
    bodyOptional: true,
    replies: { 200: StepDown },
    errors: errorsIn("STEP_DOWN"),
    handle({ call, body }) {
      if (isFollower(context.engine)) throw notLeader(context.engine);
      // It has just taken over, or ends already.
      if (!context.isReady()) throw new ApiError("NOT_READY");
      const { replication } = context.engine;
      const { epoch = 0, standbys = [] } = replication ?? {};
      const isReady = standbys.some(
        ({ healthy, lagTransactions }) => healthy && lagTransactions <= MAX_LAG_TRANSACTIONS,
      );
      if (replication === null)
        throw new ApiError("NO_STANDBY", { message: "The log is on this machine only, so nobody could take over." });
      if (!isReady && body.force !== true) throw new ApiError("NO_STANDBY", { details: { standbys: standbys.length } });
      call.reply(200, JSON.stringify({ epoch, standbys }));
      context.stepDown();
    },
  });

export const operatorActsRoute = (context: Context): Route =>
  listRoute(context, "/operator/acts", {
    access: "OPERATOR",
    summary: "Actions of operators, newest first",
    query: OperatorActsQuery,
    reply: OperatorActList,
    read: (query) => context.history.operatorActs({ ...query, isPrice: query.kind === "INDEX_PRICE" }),
    print: (act) => printAct(context.symbols.byId(act.instrumentId), act),
  });

function printAct(instrument: Instrument, { act, operator, value, time, sequence }: OperatorActRecord): string {
  return JSON.stringify({
    time,
    operator,
    act: OPERATOR_ACTS[act],
    symbol: instrument.symbol,
    mode: act === OPERATOR_ACT.HALT ? TRADING_STATUSES[value] : null,
    price: act === OPERATOR_ACT.INDEX_PRICE ? printPrice(instrument, value) : null,
    sequence,
  });
}
