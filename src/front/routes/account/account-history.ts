import { idToInstrumentId } from "../../../core/base/enums.ts";
import { errorsIn } from "../../../wire/error-codes.ts";
import { FillsQuery, LedgerList, LedgerQuery } from "../../../wire/schema/account.ts";
import { FillList } from "../../../wire/schema/orders.ts";
import { FundingPaymentList, FundingPaymentsQuery } from "../../../wire/schema/risk.ts";
import { ApiError } from "../../common/errors.ts";
import { fillJson } from "../../json/json-writers.ts";
import { ledgerEntryJson } from "../../json/ledger-json.ts";
import { fundingPaymentJson } from "../../json/risk-json.ts";
import type { Context } from "../../routing/context.ts";
import { listRoute } from "../../routing/paging.ts";
import type { Route } from "../../routing/route.ts";
import { readOrderId } from "../../trading/find-orders.ts";

export const fillsRoute = (context: Context): Route =>
  listRoute(context, {
    path: "/account/trades",
    access: "READ",
    summary: "Fills, newest first",
    query: FillsQuery,
    reply: FillList,
    errors: errorsIn("FIND_ORDER"),
    read(query, { accountId }) {
      const { history } = context;
      if (query.orderId === undefined) return history.fillsOf(accountId, query);
      const order = history.orderById(readOrderId(context, query.orderId));
      if (order?.accountId !== accountId) throw new ApiError("ORDER_NOT_FOUND", { field: "orderId" });
      return history.fillsOfOrder(order, query);
    },
    print: (fill) => fillJson(context.symbols.byId(idToInstrumentId(fill.tradeId)), fill),
  });

export const ledgerRoute = (context: Context): Route =>
  listRoute(context, {
    path: "/account/ledger",
    access: "READ",
    summary: "Every change of the account's money, newest first. The sum of all amounts is the wallet balance",
    query: LedgerQuery,
    reply: LedgerList,
    read: (query, { accountId }) => context.history.ledgerOf(accountId, query),
    print(entry) {
      const { instrumentId } = entry;
      return ledgerEntryJson(instrumentId === 0 ? null : context.symbols.byId(instrumentId).symbol, entry);
    },
  });

export const fundingPaymentsRoute = (context: Context): Route =>
  listRoute(context, {
    path: "/account/funding",
    access: "READ",
    summary: "Funding that the account's positions paid and received, newest first",
    query: FundingPaymentsQuery,
    reply: FundingPaymentList,
    read: (query, { accountId }) => context.history.fundingOf(accountId, query),
    print: (entry) => fundingPaymentJson(context.symbols.byId(entry.payment.instrumentId), entry),
  });
