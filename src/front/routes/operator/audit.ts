import type { ReleasedTransaction } from "../../../actor/engine/engine.ts";
import { LEDGER } from "../../../core/base/enums.ts";
import { printBigQuanta } from "../../../core/base/units.ts";
import { Audit } from "../../../core/protocol/commands.ts";
import { type Instrument, printQuantity } from "../../../core/protocol/instrument.ts";
import { blank, type MessageOf } from "../../../core/protocol/message-schema.ts";
import type { ActorAudit } from "../../../core/protocol/payloads.ts";
import { AuditReport } from "../../../core/protocol/replies.ts";
import { Audit as AuditSchema } from "../../../wire/schema/system.ts";
import { replyOf, request, requestEach } from "../../exchange/request.ts";
import type { Context } from "../../routing/context.ts";
import { type Route, route } from "../../routing/route.ts";

export const auditRoute = ({ engine, symbols }: Context): Route =>
  route({
    method: "GET",
    path: "/operator/audit",
    access: "OPERATOR",
    summary: "Audit the running exchange: sum up all money and all positions",
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
  });

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
