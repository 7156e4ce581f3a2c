import { withdrawalLines } from "../../client/approval.ts";
import { EXEC_TYPES, idToInstrumentId, LEDGER } from "../../core/base/enums.ts";
import { PPM_DECIMALS, printFixed } from "../../core/base/units.ts";
import { Deposit, PrepareWithdrawal, ReadMarginCall, SetMarginCall, Withdraw } from "../../core/protocol/commands.ts";
import { blank, type Message, type MessageOf } from "../../core/protocol/message-schema.ts";
import type { TransferKind } from "../../core/protocol/payloads.ts";
import { MarginCallView, Refused, TransferView } from "../../core/protocol/replies.ts";
import type { Static } from "../../packages/typebox.ts";
import { errorsIn } from "../../wire/error-codes.ts";
import * as schema from "../../wire/schema/account.ts";
import { FillList } from "../../wire/schema/orders.ts";
import { FundingPaymentList, FundingPaymentsQuery } from "../../wire/schema/risk.ts";
import { KEEPING_COST } from "../auth/limits.ts";
import { readAddress } from "../auth/wallet.ts";
import { ApiError, printDetails } from "../common/errors.ts";
import { replyFigures } from "../exchange/balance-reader.ts";
import { firstReply, replyOf, request, requestFor } from "../exchange/request.ts";
import type { Call } from "../http/call.ts";
import { readAmount, readShare } from "../json/amounts.ts";
import { balanceJson, fillJson, transferJson } from "../json/json-writers.ts";
import { equityJson, ledgerEntryJson } from "../json/ledger-json.ts";
import { fundingPaymentJson } from "../json/risk-json.ts";
import type { Context } from "../routing/context.ts";
import { listRoute } from "../routing/paging.ts";
import { get, post, type Route } from "../routing/route.ts";
import { readOrderId } from "../trading/find-orders.ts";

export const balanceRoute = (context: Context): Route =>
  get("/account/balance", {
    access: "READ",
    summary: "Balance and margin across all symbols",
    replies: { 200: schema.Balance },
    handle({ call, principal }) {
      replyFigures(context, call, principal.accountId, (figures, sequence) =>
        balanceJson(figures, sequence, Date.now()),
      );
    },
  });

export const equityHistoryRoute = (context: Context): Route =>
  listRoute(context, "/account/equity/history", {
    access: "READ",
    summary: "Equity and profit at the end of past intervals, newest first",
    query: schema.EquityHistoryQuery,
    reply: schema.EquityHistory,
    read: (query, { accountId }) =>
      context.history.equityOf(accountId, query, (instrumentId) => context.symbols.byId(instrumentId)),
    print: (equity) => equityJson(equity),
  });

export const depositRoute = (context: Context): Route =>
  post("/account/deposit", {
    access: "TRADE",
    summary: "Deposit. In the sandbox the faucet pays, up to a limit per account and day",
    cost: KEEPING_COST,
    body: schema.DepositBody,
    replies: { 201: schema.RequestedTransfer, 200: schema.RequestedTransfer },
    errors: errorsIn("DEPOSIT"),
    handle({ call, principal, body }) {
      requestTransfer(context, call, {
        ...blank(Deposit),
        accountId: principal.accountId,
        amountQuanta: readAmount(body.amount),
        reference: body.reference ?? "",
      });
    },
  });

export const withdrawRoute = (context: Context): Route =>
  post("/account/withdraw", {
    access: "WITHDRAW",
    summary: "Withdraw to an address",
    description:
      "Refused while the account uses margin in a symbol that takes no new risk: with SYMBOL_HALTED if it is halted " +
      "(REDUCE_ONLY or stricter), with STALE_PRICE if its index price is too old, with PRICE_PENDING if that waits for " +
      "confirmation. A cross position and orders in the book use margin. " +
      "details.symbol names the symbol. details.retryAfterMs and the header Retry-After say when it is looked at again: at the " +
      "end of the halt, or after the next index price. They are left out when an operator must end the halt.\n\n" +
      "Refused with WITHDRAWALS_GATED while the exchange might not be able to pay everybody. It is looked at again every second.",
    cost: KEEPING_COST,
    body: schema.WithdrawBody,
    replies: { 201: schema.RequestedTransfer, 200: schema.RequestedTransfer },
    errors: errorsIn("WITHDRAWAL", "APPROVAL"),
    async handle({ call, principal: { accountId }, body }) {
      const command = {
        ...blank(Withdraw),
        accountId,
        amountQuanta: readAmount(body.amount),
        address: readAddress(body.address),
        reference: body.reference ?? "",
      };
      await checkApproval(context, call.remoteAddress(), accountId, body);
      command.refusal = await prepareWithdrawal(context, accountId);
      if (!call.done) requestTransfer(context, call, command);
    },
  });

/**
 * The reference makes the approval take effect once, for ever and across restarts. A retry with the same approval gets the
 * first withdrawal.
 */
async function checkApproval(
  { approvals }: Context,
  remoteAddress: string,
  accountId: number,
  body: Static<typeof schema.WithdrawBody>,
): Promise<void> {
  const { approval, reference } = body;
  if (approvals.concerns(approval) && reference === undefined)
    throw new ApiError("MISSING_FIELD", {
      field: "reference",
      message: "A withdrawal that the wallet approves needs a reference. Send one that you have not used.",
    });
  await approvals.check({ accountId, lines: withdrawalLines(body), approval, remoteAddress });
}

/** Liquidation begins at a ratio of 1, so a call must come before. */
const MIN_CALL_PPM = 10_000;
const MAX_CALL_PPM = 990_000;

export const marginCallRoute = (context: Context): Route =>
  get("/account/margin-call", {
    access: "READ",
    summary: "The margin ratio at which the account gets a margin call",
    replies: { 200: schema.MarginCallSetting },
    handle({ call, principal: { accountId } }) {
      requestMarginCall(context, call, { ...blank(ReadMarginCall), accountId });
    },
  });

export const setMarginCallRoute = (context: Context): Route =>
  post("/account/margin-call", {
    access: "TRADE",
    summary: "Set the margin ratio at which the account gets a margin call",
    description: "The channel `margin-calls` sends the calls.",
    body: schema.MarginCallBody,
    replies: { 200: schema.MarginCallSetting },
    handle({ call, principal: { accountId }, body }) {
      const ratioPpm = readShare(body.ratio, "ratio", MIN_CALL_PPM, MAX_CALL_PPM);
      requestMarginCall(context, call, { ...blank(SetMarginCall), accountId, ratioPpm });
    },
  });

function requestMarginCall(
  context: Context,
  call: Call,
  command: MessageOf<typeof ReadMarginCall> | MessageOf<typeof SetMarginCall>,
): void {
  requestFor(context, call, LEDGER, command, (transaction) => {
    const { ratioPpm } = replyOf(transaction, MarginCallView);
    call.reply(200, `{"ratio":"${printFixed(ratioPpm, PPM_DECIMALS)}"}`);
  });
}

export const depositsRoute = (context: Context): Route =>
  transfersRoute(context, "/account/deposits", "DEPOSIT", "Deposits, newest first");

export const withdrawalsRoute = (context: Context): Route =>
  transfersRoute(context, "/account/withdrawals", "WITHDRAWAL", "Withdrawals with their status, newest first");

const transfersRoute = (context: Context, path: string, kind: TransferKind, summary: string): Route =>
  listRoute(context, path, {
    access: "READ",
    summary,
    query: schema.TransfersQuery,
    reply: schema.TransferList,
    read: (query, { accountId }) => context.history.transfersOf(accountId, kind, query),
    print: (transfer) => transferJson(transfer),
  });

/**
 * Asks every symbol whether it allows the withdrawal. Returns the first refusal, or null. The ledger answers with the
 * refusal, unless the same withdrawal was made before. A symbol may be halted or get a stale price after its reply: that
 * does no harm, because it takes no new risk from then on.
 */
async function prepareWithdrawal(
  { engine, market, symbols }: Context,
  accountId: number,
): Promise<MessageOf<typeof Refused> | null> {
  const command = { ...blank(PrepareWithdrawal), accountId };
  const refusals = await Promise.all(
    symbols.all.map((instrument) =>
      request(engine, instrument.id, command, (transaction) => {
        const reply: Message = firstReply(transaction);
        if (reply.type !== Refused.code) return null;
        const { type, code, details } = reply as MessageOf<typeof Refused>;
        // The ledger answers with it, and knows no instruments to print prices by.
        const printed = printDetails(details ?? {}, instrument);
        const retryAfterMs = market.symbol(instrument.id).retryAfterMs(Date.now());
        const retry = retryAfterMs === null ? {} : { retryAfterMs };
        return { type, code, field: "", details: { symbol: instrument.symbol, ...printed, ...retry } };
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
    const { transfer, duplicate } = replyOf(transaction, TransferView);
    if (duplicate === 1) call.reply(200, transferJson(transfer, ',"duplicate":true'));
    else call.reply(201, transferJson(transfer));
  });
}

export const fillsRoute = (context: Context): Route =>
  listRoute(context, "/account/trades", {
    access: "READ",
    summary: "Fills, newest first",
    query: schema.FillsQuery,
    reply: FillList,
    errors: errorsIn("FIND_ORDER"),
    read({ execType: name, ...asked }, { accountId }) {
      const { history } = context;
      const query = { ...asked, execType: name && EXEC_TYPES.indexOf(name) };
      if (query.orderId === undefined) return history.fillsOf(accountId, query);
      const order = history.orderById(readOrderId(context, query.orderId));
      if (order?.accountId !== accountId) throw new ApiError("ORDER_NOT_FOUND", { field: "orderId" });
      return history.fillsOfOrder(order, query);
    },
    print: (fill) => fillJson(context.symbols.byId(idToInstrumentId(fill.tradeId)), fill),
  });

export const ledgerRoute = (context: Context): Route =>
  listRoute(context, "/account/ledger", {
    access: "READ",
    summary: "Every change of the account's money, newest first. The sum of all amounts is the wallet balance",
    query: schema.LedgerQuery,
    reply: schema.LedgerList,
    read: (query, { accountId }) => context.history.ledgerOf(accountId, query),
    print(entry) {
      const { instrumentId } = entry;
      return ledgerEntryJson(instrumentId === 0 ? null : context.symbols.byId(instrumentId).symbol, entry);
    },
  });

export const fundingPaymentsRoute = (context: Context): Route =>
  listRoute(context, "/account/funding", {
    access: "READ",
    summary: "Funding that the account's positions paid and received, newest first",
    query: FundingPaymentsQuery,
    reply: FundingPaymentList,
    read: (query, { accountId }) => context.history.fundingOf(accountId, query),
    print: (entry) => fundingPaymentJson(context.symbols.byId(entry.payment.instrumentId), entry),
  });
