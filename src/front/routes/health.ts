import { LEDGER } from "../../core/base/enums.ts";
import Type, { type Static } from "../../packages/typebox.ts";
import { SymbolName } from "../../wire/schema/scalars.ts";
import { Alive, Health, Ready, Replication } from "../../wire/schema/system.ts";
import { CPU_COST } from "../auth/limits.ts";
import { ApiError } from "../common/errors.ts";
import { isFollower, stalledPart } from "../exchange/leader.ts";
import { packSymbolPage } from "../exchange/symbol-page.ts";
import { printSolvency } from "../json/ledger-json.ts";
import { printReplication, roleOf } from "../json/replication-json.ts";
import type { Context } from "../routing/context.ts";
import { get, type Route } from "../routing/route.ts";

/** A reason why the exchange cannot do a part of its work. */
export type Problem = Static<typeof Health>["problems"][number];

/** The parts of the exchange that health depends on. */
type HealthContext = Pick<Context, "engine" | "symbols" | "market" | "solvency">;

export function healthRoute(context: Context): Route {
  const { engine, symbols, market, solvency, isReady } = context;
  const startedAt = performance.now();
  return get("/health", {
    access: "PUBLIC",
    summary: "Whether the exchange accepts orders",
    replies: { 200: Health },
    handle({ call }) {
      const serverTime = Date.now();
      const { replication } = engine;
      if (!isReady() && !isFollower(engine)) throw new ApiError("NOT_READY");
      const sequence = engine.releasedSequence();
      const problems = problemsOf(context);
      const { gateReason, figures } = solvency;
      const health: Static<typeof Health> = {
        status: problems[0]?.code ?? "OK",
        faults: symbols.all.flatMap(({ id }) => market.symbol(id).faults),
        solvent: gateReason === null,
        solvency: { gateReason, ...printSolvency(figures) },
        rebuilds: engine.rebuilds,
        sequence,
        role: roleOf(replication),
        lagMs: replication?.lagMs ?? null,
        historySince: engine.historySince || null,
        uptimeMs: Math.round(performance.now() - startedAt),
        serverTime,
        problems,
      };
      call.reply(200, JSON.stringify(health));
    },
  });
}

export const liveRoute = (): Route =>
  get("/health/live", {
    access: "PUBLIC",
    isFree: true,
    summary: "Whether the process serves",
    description: "It is answered while the exchange cannot do its work, too. Restart the process if it gets no answer.",
    replies: { 200: Alive },
    handle: ({ call }) => call.reply(200, `{"live":true,"serverTime":${Date.now()}}`),
  });

export const replicationRoute = ({ engine }: Context): Route =>
  get("/replication", {
    access: "PUBLIC",
    isFree: true,
    summary: "Whether this process leads",
    description: "A standby answers it, too: see docs/operating/replication.md.",
    replies: { 200: Replication },
    handle: ({ call }) => call.reply(200, printReplication(engine)),
  });

export const symbolPageRoute = ({ engine, symbols, market, exchangeId }: Context): Route =>
  get("/replication/symbols/:symbol", {
    access: "PUBLIC",
    cost: CPU_COST,
    summary: "The public data of a symbol, for a gateway",
    description: "A gateway starts with it and follows the replicated log. The format is that of one version of perpd.",
    parameter: SymbolName,
    replies: { 200: Type.String({ description: "Bytes in MessagePack." }) },
    contentType: PAGE_TYPE,
    errors: ["NOT_FOUND", "NOT_LEADER"],
    handle({ call, parameter }) {
      const { id, config } = symbols.bySymbol(parameter);
      const epoch = engine.replication?.epoch;
      if (epoch === undefined) throw new ApiError("NOT_FOUND", { message: "This exchange is not replicated." });
      if (epoch === 0) throw new ApiError("NOT_LEADER");
      const isTrustedProxy = call.proxies?.has(call.peerAddress()) === true;
      const page = { exchangeId, epoch, config, isTrustedProxy, state: market.symbol(id).capture() };
      const [sequence, time] = [engine.releasedSequence(), engine.releasedTime(id)];
      call.reply(200, packSymbolPage({ ...page, sequence, time }), PAGE_TYPE);
    },
  });

const PAGE_TYPE = "application/msgpack";

export const readyRoute = (context: Context): Route =>
  get("/health/ready", {
    access: "PUBLIC",
    isFree: true,
    summary: "Whether the exchange can do all of its work",
    description:
      "The status code says it: 200, or 503 `NOT_READY`. `details.codes` of the error has the reasons, worst first: those of `problems` " +
      "in `GET /health`. `details.reasons` has them in words. A symbol that an operator or the circuit breaker has " +
      "halted, or that has no fresh price, is no reason.",
    replies: { 200: Ready },
    handle({ call }) {
      if (!context.isReady() && !isFollower(context.engine)) throw notReady(STARTING);
      const problems = problemsOf(context);
      if (problems.length > 0) throw notReady(problems);
      call.reply(200, `{"ready":true,"serverTime":${Date.now()}}`);
    },
  });

/** The gateway listens only after the recovery, so this is the last part of a start, or a stop. */
const STARTING = [{ code: "STARTING", message: "The exchange starts or stops." }];

function notReady(problems: readonly { readonly code: string; readonly message: string }[]): ApiError {
  return new ApiError("NOT_READY", {
    message: "The exchange cannot do a part of its work. details.reasons says why.",
    details: { codes: [...new Set(problems.map(({ code }) => code))], reasons: problems.map(({ message }) => message) },
  });
}

/** The most serious problem first. */
export function problemsOf({ engine, symbols, market, solvency }: HealthContext): Problem[] {
  const problems: Problem[] = [];
  const add = (code: Problem["code"], concerns: string, message: string): void =>
    void problems.push({ code, concerns, message });
  const actors = [{ id: LEDGER, name: "ledger" }, ...symbols.all.map(({ id, symbol }) => ({ id, name: symbol }))];
  const { replication } = engine;
  if (replication?.isFollowing)
    add("NOT_LEADER", EXCHANGE, `Another process takes orders${at(replication.leaderUrl)}.`);
  else if (replication !== null && replication.leaseLeftMs < 0)
    add("NOT_LEADER", EXCHANGE, "This process cannot tell at the moment whether it still leads.");
  if (engine.isStalled)
    add("STALLED", EXCHANGE, `No request is answered, because ${stalledPart(engine)} accepts no writes.`);
  for (const { id, name } of actors)
    if (engine.isDown(id)) add("REBUILDING", name, `The thread of ${name} has died. It is rebuilt from the log.`);
  for (const { id, name } of actors)
    if (engine.isUnresponsive(id)) add("UNRESPONSIVE", name, `The thread of ${name} takes no commands.`);
  for (const { id, symbol } of symbols.all)
    for (const fault of market.symbol(id).faults)
      add("UNSOUND", symbol, `The self-check has stopped trading. ${fault}`);
  const { gateReason } = solvency;
  if (gateReason !== null) add("INSOLVENT", "ledger", `Withdrawals are refused: ${gateReason}`);
  if (!engine.hasDiskRoom)
    add("STORAGE_FULL", EXCHANGE, "The disk is nearly full, so requests that store data are refused.");
  if (engine.isHistoryStalled)
    add("HISTORY_STALLED", EXCHANGE, "The history index makes no progress, so reads of recent history time out.");
  return problems;
}

/** The problem concerns every symbol and the ledger. */
const EXCHANGE = "exchange";

const at = (leaderUrl: string | null): string => (leaderUrl === null ? "" : `, at ${leaderUrl}`);
