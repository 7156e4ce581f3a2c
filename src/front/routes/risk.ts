import { must } from "../../assert.ts";
import { INSURANCE_ACCOUNT, LEDGER } from "../../core/base/enums.ts";
import { printQuanta } from "../../core/base/units.ts";
import {
  FundingList,
  FundingPaymentList,
  FundingPaymentsQuery,
  FundingQuery,
  Insurance,
  InsuranceQuery,
  OpenInterest,
  OpenInterestHistory,
  OpenInterestHistoryQuery,
  OpenInterestList,
  OpenInterestQuery,
} from "../../wire/schema/risk.ts";
import { readFigures } from "../exchange/balance-reader.ts";
import { listJson } from "../json/json-writers.ts";
import { fundingJson, fundingPaymentJson, fundMovementJson, openInterestJson } from "../json/risk-json.ts";
import type { Context } from "../routing/context.ts";
import { readPage } from "../routing/paging.ts";
import { type Route, route } from "../routing/router.ts";

/** Funding, the insurance fund, open interest. */
export function riskRoutes(context: Context): Route[] {
  const { engine, symbols, market, history, log } = context;
  return [
    route({
      method: "GET",
      path: "/market/funding",
      access: "PUBLIC",
      summary: "Funding rates of past intervals, newest first",
      query: FundingQuery,
      replies: { 200: FundingList },
      async handle({ call, query }) {
        const instrument = symbols.bySymbol(query.symbol);
        const page = await readPage(context, call, query, (asked) => history.fundingRatesOf(instrument.id, asked));
        const rows = page.data.map((rate) => fundingJson(instrument, rate));
        call.reply(200, listJson(rows, page.nextCursor));
      },
    }),
    route({
      method: "GET",
      path: "/account/funding",
      access: "READ",
      summary: "What positions paid and got for funding, newest first",
      query: FundingPaymentsQuery,
      replies: { 200: FundingPaymentList },
      async handle({ call, principal, query }) {
        const page = await readPage(context, call, query, (asked) => history.fundingOf(principal.accountId, asked));
        const rows = page.data.map((entry) => fundingPaymentJson(symbols.byId(entry.payment.instrumentId), entry));
        call.reply(200, listJson(rows, page.nextCursor));
      },
    }),
    route({
      method: "GET",
      path: "/market/insurance",
      access: "PUBLIC",
      summary: "The insurance fund's balance, and what moved it, newest first",
      query: InsuranceQuery,
      replies: { 200: Insurance },
      async handle({ call, query }) {
        const page = await readPage(context, call, query, (asked) => history.fundMovements(asked));
        const rows = page.data.map((movement) => {
          const symbol = movement.actorId === LEDGER ? null : symbols.byId(movement.actorId).symbol;
          return fundMovementJson(symbol, movement);
        });
        readFigures(engine, INSURANCE_ACCOUNT, ({ equity, unrealized }) => {
          try {
            const head = `"asset":"USDC","balance":"${printQuanta(equity)}","unrealizedPnl":"${printQuanta(unrealized)}"`;
            call.reply(200, `{${head},${listJson(rows, page.nextCursor).slice(1)}`);
          } catch (thrown) {
            call.fail(thrown, log);
          }
        });
      },
    }),
    route({
      method: "GET",
      path: "/market/open-interest",
      access: "PUBLIC",
      summary: "Open interest of one symbol, or of all",
      query: OpenInterestQuery,
      replies: { 200: [OpenInterest, OpenInterestList] },
      handle({ call, query }) {
        const now = Date.now();
        const rows = symbols.selected(query.symbol).map((instrument) => {
          const { openInterestLots, markTicks } = market.symbol(instrument.id);
          return openInterestJson(instrument, { openInterestLots, markTicks, time: now });
        });
        call.reply(200, query.symbol === undefined ? listJson(rows, null) : must(rows[0], "the symbol's row"));
      },
    }),
    route({
      method: "GET",
      path: "/market/open-interest/history",
      access: "PUBLIC",
      summary: "Open interest when intervals ended, newest first",
      query: OpenInterestHistoryQuery,
      replies: { 200: OpenInterestHistory },
      async handle({ call, query }) {
        const instrument = symbols.bySymbol(query.symbol);
        // First: what is released while the history catches up may be a part of it only.
        const now = engine.releasedTime(instrument.id);
        const page = await readPage(context, call, query, (asked) => history.openInterestOf(instrument.id, asked, now));
        const rows = page.data.map((figures) => openInterestJson(instrument, figures));
        call.reply(200, listJson(rows, page.nextCursor));
      },
    }),
  ];
}
