import Type, { type Static } from "typebox";
import type { Engine, ReleasedTransaction } from "../../actor/engine/engine.ts";
import { LEDGER } from "../../core/base/enums.ts";
import { printBigQuanta } from "../../core/base/units.ts";
import { Audit, SetIndexPrice } from "../../core/protocol/commands.ts";
import { type Instrument, printQuantity } from "../../core/protocol/instrument.ts";
import { blank, type MessageOf } from "../../core/protocol/message-schema.ts";
import type { ActorAudit } from "../../core/protocol/payloads.ts";
import { AuditReport, Done } from "../../core/protocol/replies.ts";
import { errorsIn } from "../../wire/error-codes.ts";
import { SymbolName } from "../../wire/schema/scalars.ts";
import { Audit as AuditSchema, Health, IndexPrice, IndexPriceBody, ServerTime } from "../../wire/schema/system.ts";
import { ApiError } from "../common/errors.ts";
import { replyOf, request, requestEach, requestFor } from "../exchange/request.ts";
import { readPrice } from "../json/amounts.ts";
import type { Context } from "../routing/context.ts";
import { createMetrics } from "../routing/metrics.ts";
import { type Route, route } from "../routing/router.ts";

export function systemRoutes(context: Context): Route[] {
  const { engine, symbols } = context;
  const startedAt = performance.now();
  const metrics = createMetrics(context);
  return [
    route({
      method: "GET",
      path: "/time",
      access: "PUBLIC",
      summary: "The server's clock",
      replies: { 200: ServerTime },
      handle: ({ call }) => call.reply(200, `{"serverTime":${Date.now()}}`),
    }),
    route({
      method: "GET",
      path: "/health",
      access: "PUBLIC",
      summary: "Whether the exchange takes orders",
      replies: { 200: Health },
      handle({ call }) {
        const serverTime = Date.now();
        if (!context.isReady()) throw new ApiError("NOT_READY");
        const sequence = engine.releasedSequence();
        const faults = symbols.all.flatMap(({ id }) => context.market.symbol(id).faults);
        const status = healthOf(engine, faults);
        const { rebuilds } = engine;
        const uptimeMs = Math.round(performance.now() - startedAt);
        call.reply(200, JSON.stringify({ status, faults, rebuilds, sequence, uptimeMs, serverTime }));
      },
    }),
    route({
      method: "GET",
      path: "/metrics",
      access: "OPERATOR",
      summary: "Figures for Prometheus",
      replies: { 200: Type.String({ description: "The text format of Prometheus." }) },
      contentType: metrics.contentType,
      async handle({ call }) {
        call.reply(200, await metrics.metrics(), metrics.contentType);
      },
    }),
    route({
      method: "GET",
      path: "/operator/audit",
      access: "OPERATOR",
      summary: "Count the exchange: all money and all positions, live",
      replies: { 200: AuditSchema },
      async handle({ call }) {
        const read = (transaction: ReleasedTransaction): ActorAudit =>
          replyOf<MessageOf<typeof AuditReport>>(transaction, AuditReport.code).report;
        const audit = () => blank(Audit);
        const [ledger, reports] = await Promise.all([
          request(engine, LEDGER, audit(), read),
          requestEach(engine, call, symbols.all, audit, read),
        ]);
        call.reply(200, JSON.stringify(sumUp(ledger, symbols.all, reports, engine.releasedSequence())));
      },
    }),
    route({
      method: "PUT",
      path: "/operator/index/:symbol",
      access: "OPERATOR",
      summary: "Give a symbol's index price",
      parameter: SymbolName,
      body: IndexPriceBody,
      replies: { 200: IndexPrice },
      errors: errorsIn("SET_INDEX_PRICE"),
      handle({ call, parameter, body }) {
        const instrument = symbols.bySymbol(parameter);
        const isGuarded = body.guarded === true ? 1 : 0;
        const command = { ...blank(SetIndexPrice), indexTicks: readPrice(instrument, body.price), isGuarded };
        requestFor(context, call, instrument.id, command, (transaction) => {
          replyOf(transaction, Done.code, instrument);
          call.reply(200, JSON.stringify({ symbol: instrument.symbol, indexPrice: body.price }));
        });
      },
    }),
  ];
}

/** The worst of what is amiss. */
function healthOf(engine: Engine, faults: readonly string[]): Static<typeof Health>["status"] {
  if (engine.isStalled) return "STALLED";
  if (faults.length > 0) return "UNSOUND";
  return engine.hasDiskRoom ? "OK" : "STORAGE_FULL";
}

function sumUp(
  ledger: ActorAudit,
  instruments: readonly Instrument[],
  reports: readonly ActorAudit[],
  sequence: number,
) {
  const money = reports.reduce((sum, report) => sum + BigInt(report.moneyQuanta), BigInt(ledger.moneyQuanta));
  const due = BigInt(ledger.depositsMinusWithdrawalsQuanta ?? "0");
  const faults = [ledger, ...reports].flatMap((report) => report.faults);
  return {
    balanced: money === due && reports.every((report) => report.sizeLots === 0) && faults.length === 0,
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
