import type { FundingPayment, LedgerEntry, LedgerQuery, Transfer } from "../../client/types.ts";
import { balance, messagesOf } from "../state/account.ts";
import { decimalsOfMarket } from "../state/markets.ts";
import { text } from "../text/catalogue.ts";
import { dayAndClock, percent, price, signed, tone, usd, words } from "../text/format.ts";
import type { HistoryList } from "./history.tsx";
import { mergePages } from "./merged-pages.ts";
import type { Column } from "./table.tsx";

/** The account's money: funding, transfers and the ledger. */

const FUNDING: readonly Column<FundingPayment>[] = [
  { title: text.time, cell: ({ fundingTime }) => dayAndClock(fundingTime) },
  { title: text.market, cell: ({ symbol }) => symbol },
  { title: text.fundingRate, isNumber: true, cell: ({ fundingRate }) => percent(fundingRate, 4) },
  { title: text.position, isNumber: true, cell: ({ positionSize }) => positionSize },
  {
    title: text.mark,
    isNumber: true,
    cell: ({ markPrice, symbol }) => price(markPrice, decimalsOfMarket(symbol).price),
  },
  { title: text.amount, isNumber: true, cell: ({ amount }) => <span class={tone(amount)}>{signed(amount, 4)}</span> },
];

/** The money of isolated positions is not in the wallet balance. */
function readMoney(): void {
  void balance.value?.walletBalance;
  messagesOf("positions");
}

export const FUNDING_HISTORY: HistoryList<FundingPayment> = {
  id: "funding",
  caption: text.funding,
  columns: FUNDING,
  empty: text.noFunding,
  hasSymbols: true,
  keyOf: ({ symbol, fundingTime }) => symbol + fundingTime,
  read: (client, query) => client.fundingPayments(query),
  news: readMoney,
};

const LEDGER: readonly Column<LedgerEntry>[] = [
  { title: text.time, cell: ({ time }) => dayAndClock(time) },
  { title: text.type, cell: ({ type }) => words(type) },
  { title: text.market, cell: ({ symbol }) => symbol ?? "–" },
  { title: text.amount, isNumber: true, cell: ({ amount }) => <span class={tone(amount)}>{signed(amount, 6)}</span> },
];

export const LEDGER_LIST: HistoryList<LedgerEntry, NonNullable<LedgerQuery["type"]>> = {
  id: "ledger",
  caption: text.ledger,
  columns: LEDGER,
  empty: text.noLedger,
  hasSymbols: true,
  kinds: ["DEPOSIT", "WITHDRAWAL", "REALIZED_PNL", "FEE", "LIQUIDATION_FEE", "FUNDING", "DEFICIT_COVERED"],
  keyOf: ({ entryId }) => entryId,
  read: (client, query, type) => client.ledger({ ...query, ...(type !== null && { type }) }),
  news: readMoney,
};

const TRANSFERS: readonly Column<Transfer>[] = [
  { title: text.time, cell: ({ createdAt }) => dayAndClock(createdAt) },
  { title: text.type, cell: ({ kind }) => words(kind) },
  { title: text.amount, isNumber: true, cell: ({ amount, asset }) => `${usd(amount)} ${asset}` },
  { title: text.address, cell: ({ address }) => address ?? "–" },
  { title: text.status, cell: ({ status }) => words(status) },
];

export const TRANSFER_LIST: HistoryList<Transfer, Transfer["kind"]> = {
  id: "transfers",
  caption: text.transfers,
  columns: TRANSFERS,
  empty: text.noTransfers,
  kinds: ["DEPOSIT", "WITHDRAWAL"],
  keyOf: ({ transferId }) => transferId,
  read: async (client, query, kind) => {
    if (kind === "DEPOSIT") return client.deposits(query);
    if (kind === "WITHDRAWAL") return client.withdrawals(query);
    const { cursor, ...rest } = query;
    const page = { ...rest, ...(cursor !== undefined && { endTime: Number(cursor) }) };
    return mergePages(await Promise.all([client.deposits(page), client.withdrawals(page)]));
  },
  news: () => messagesOf("transfers"),
};
