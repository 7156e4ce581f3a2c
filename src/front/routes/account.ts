import { idToInstrumentId, LEDGER } from "../../core/base/enums.ts";
import { Deposit, PrepareWithdrawal, Withdraw } from "../../core/protocol/commands.ts";
import { blank, type Message, type MessageOf } from "../../core/protocol/message-schema.ts";
import type { TransferKind } from "../../core/protocol/payloads.ts";
import { Refused, TransferView } from "../../core/protocol/replies.ts";
import { errorsIn } from "../../wire/error-codes.ts";
import {
  Balance,
  DepositBody,
  FillsQuery,
  RequestedTransfer,
  TransferList,
  TransfersQuery,
  WithdrawBody,
} from "../../wire/schema/account.ts";
import { FillList } from "../../wire/schema/orders.ts";
import { KEEPING_COST } from "../auth/limits.ts";
import { readAddress } from "../auth/wallet.ts";
import { ApiError } from "../common/errors.ts";
import { readFigures } from "../exchange/balance-reader.ts";
import { firstReply, replyOf, request, requestFor } from "../exchange/request.ts";
import type { Call } from "../http/call.ts";
import { readAmount } from "../json/amounts.ts";
import { balanceJson, fillJson, listJson, transferJson } from "../json/json-writers.ts";
import type { Context } from "../routing/context.ts";
import { readPage } from "../routing/paging.ts";
import { type Route, route } from "../routing/router.ts";
import { readOrderId } from "../trading/find-orders.ts";
import { ledgerRoute } from "./ledger.ts";

export function accountRoutes(context: Context): Route[] {
  const { engine, symbols, history, log } = context;
  return [
    route({
      method: "GET",
      path: "/account/balance",
      access: "READ",
      summary: "Balance and margin across all symbols",
      replies: { 200: Balance },
      handle({ call, principal }) {
        readFigures(engine, principal.accountId, (figures, sequence) => {
          try {
            call.reply(200, balanceJson(figures, sequence, Date.now()));
          } catch (thrown) {
            call.fail(thrown, log);
          }
        });
      },
    }),
    route({
      method: "POST",
      path: "/account/deposit",
      access: "TRADE",
      summary: "Deposit: in the sandbox the faucet pays, up to its cap per account and day",
      cost: KEEPING_COST,
      body: DepositBody,
      replies: { 201: RequestedTransfer, 200: RequestedTransfer },
      errors: errorsIn("DEPOSIT"),
      handle({ call, principal, body }) {
        requestTransfer(context, call, {
          ...blank(Deposit),
          accountId: principal.accountId,
          amountQuanta: readAmount(body.amount),
          reference: body.reference ?? "",
        });
      },
    }),
    route({
      method: "POST",
      path: "/account/withdraw",
      access: "WITHDRAW",
      summary: "Withdraw to an address",
      description:
        "While the account has margin in use, for a cross position or for orders in the book, in a symbol that is halted " +
        "(REDUCE_ONLY or stricter) or whose index price is too old, it is refused with SYMBOL_HALTED or STALE_PRICE; " +
        "details.symbol names the symbol.",
      cost: KEEPING_COST,
      body: WithdrawBody,
      replies: { 201: RequestedTransfer, 200: RequestedTransfer },
      errors: errorsIn("WITHDRAWAL"),
      async handle({ call, principal, body }) {
        const command = {
          ...blank(Withdraw),
          accountId: principal.accountId,
          amountQuanta: readAmount(body.amount),
          address: readAddress(body.address),
          reference: body.reference ?? "",
        };
        command.refusal = await prepareWithdrawal(context, principal.accountId);
        if (!call.done) requestTransfer(context, call, command);
      },
    }),
    route({
      method: "GET",
      path: "/account/trades",
      access: "READ",
      summary: "Fills, newest first",
      query: FillsQuery,
      replies: { 200: FillList },
      errors: errorsIn("FIND_ORDER"),
      async handle({ call, principal, query }) {
        const page = await readPage(context, call, query, (asked) => {
          if (query.orderId === undefined) return history.fillsOf(principal.accountId, asked);
          const order = history.orderById(readOrderId(context, query.orderId));
          if (order?.accountId !== principal.accountId) throw new ApiError("ORDER_NOT_FOUND", { field: "orderId" });
          return history.fillsOfOrder(order, asked);
        });
        const rows = page.data.map((fill) => fillJson(symbols.byId(idToInstrumentId(fill.tradeId)), fill));
        call.reply(200, listJson(rows, page.nextCursor));
      },
    }),
    ledgerRoute(context),
    transfersRoute(context, "/account/deposits", "DEPOSIT", "Deposits, newest first"),
    transfersRoute(context, "/account/withdrawals", "WITHDRAWAL", "Withdrawals and how far they are, newest first"),
  ];
}

function transfersRoute(context: Context, path: string, kind: TransferKind, summary: string): Route {
  return route({
    method: "GET",
    path,
    access: "READ",
    summary,
    query: TransfersQuery,
    replies: { 200: TransferList },
    async handle({ call, principal, query }) {
      const page = await readPage(context, call, query, (asked) =>
        context.history.transfersOf(principal.accountId, kind, asked),
      );
      const rows = page.data.map((transfer) => transferJson(transfer));
      call.reply(200, listJson(rows, page.nextCursor));
    },
  });
}

/**
 * Asks every symbol. Null, or the first refusal, which the ledger answers with unless the withdrawal has been done before.
 * That a symbol is halted or grows stale behind its answer changes nothing: no risk is taken in it from then on.
 */
async function prepareWithdrawal(
  { engine, symbols }: Context,
  accountId: number,
): Promise<MessageOf<typeof Refused> | null> {
  const command = { ...blank(PrepareWithdrawal), accountId };
  const refusals = await Promise.all(
    symbols.all.map(({ id, symbol }) =>
      request(engine, id, command, (transaction) => {
        const reply: Message = firstReply(transaction);
        if (reply.type !== Refused.code) return null;
        const { type, code, details } = reply as MessageOf<typeof Refused>;
        return { type, code, field: "", details: { symbol, ...details } };
      }),
    ),
  );
  return refusals.find((refusal) => refusal !== null) ?? null;
}

function requestTransfer(
  context: Context,
  call: Call,
  command: MessageOf<typeof Deposit> | MessageOf<typeof Withdraw>,
): void {
  requestFor(context, call, LEDGER, command, (transaction) => {
    const { transfer, duplicate } = replyOf<MessageOf<typeof TransferView>>(transaction, TransferView.code);
    if (duplicate === 1) call.reply(200, transferJson(transfer, ',"duplicate":true'));
    else call.reply(201, transferJson(transfer));
  });
}
