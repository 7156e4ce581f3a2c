import { LedgerList, LedgerQuery } from "../../wire/schema/account.ts";
import { listJson } from "../json/json-writers.ts";
import { ledgerEntryJson } from "../json/ledger-json.ts";
import type { Context } from "../routing/context.ts";
import { readPage } from "../routing/paging.ts";
import { type Route, route } from "../routing/router.ts";

/** Everything that changed an account's money, in one list. */
export function ledgerRoute(context: Context): Route {
  const { symbols, history } = context;
  return route({
    method: "GET",
    path: "/account/ledger",
    access: "READ",
    summary: "Everything that changed the account's money, newest first: all amounts together are its wallet",
    query: LedgerQuery,
    replies: { 200: LedgerList },
    async handle({ call, principal, query }) {
      const page = await readPage(context, call, query, (asked) => history.ledgerOf(principal.accountId, asked));
      const symbolOf = (id: number): string | null => (id === 0 ? null : symbols.byId(id).symbol);
      const rows = page.data.map((entry) => ledgerEntryJson(symbolOf(entry.instrumentId), entry));
      call.reply(200, listJson(rows, page.nextCursor));
    },
  });
}
