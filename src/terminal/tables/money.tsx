import type { FundingPayment, LedgerEntry, Transfer } from "../../client/types.ts";
import { accountClient, transfers } from "../state/account.ts";
import { text } from "../text/catalogue.ts";
import { dayAndClock, percent, price, signed, tone, usd, words } from "../text/format.ts";
import { History } from "./history.tsx";
import { type Column, Table } from "./table.tsx";

/** The account's money: funding, transfers and the ledger. */

const FUNDING: readonly Column<FundingPayment>[] = [
  { title: text.time, cell: ({ fundingTime }) => dayAndClock(fundingTime) },
  { title: text.market, cell: ({ symbol }) => symbol },
  { title: text.fundingRate, isNumber: true, cell: ({ fundingRate }) => percent(fundingRate, 4) },
  { title: text.position, isNumber: true, cell: ({ positionSize }) => positionSize },
  { title: text.mark, isNumber: true, cell: ({ markPrice }) => price(markPrice, 2) },
  { title: text.amount, isNumber: true, cell: ({ amount }) => <span class={tone(amount)}>{signed(amount, 4)}</span> },
];

export function FundingHistory() {
  const client = accountClient.value;
  if (client === null) return null;
  return (
    <History
      caption={text.funding}
      columns={FUNDING}
      read={(page) => client.fundingPayments(page)}
      keyOf={({ symbol, fundingTime }) => symbol + fundingTime}
      empty={text.noFunding}
    />
  );
}

const LEDGER: readonly Column<LedgerEntry>[] = [
  { title: text.time, cell: ({ time }) => dayAndClock(time) },
  { title: text.type, cell: ({ type }) => words(type) },
  { title: text.market, cell: ({ symbol }) => symbol ?? "–" },
  { title: text.amount, isNumber: true, cell: ({ amount }) => <span class={tone(amount)}>{signed(amount, 6)}</span> },
];

export function Ledger() {
  const client = accountClient.value;
  if (client === null) return null;
  return (
    <History
      caption={text.ledger}
      columns={LEDGER}
      read={(page) => client.ledger(page)}
      keyOf={({ entryId }) => entryId}
      empty={text.noLedger}
    />
  );
}

const TRANSFERS: readonly Column<Transfer>[] = [
  { title: text.time, cell: ({ createdAt }) => dayAndClock(createdAt) },
  { title: text.type, cell: ({ kind }) => words(kind) },
  { title: text.amount, isNumber: true, cell: ({ amount, asset }) => `${usd(amount)} ${asset}` },
  { title: text.address, cell: ({ address }) => address ?? "–" },
  { title: text.status, cell: ({ status }) => words(status) },
];

export function Transfers() {
  return (
    <Table
      caption={text.transfers}
      columns={TRANSFERS}
      rows={transfers.value}
      keyOf={({ transferId }) => transferId}
      empty={text.noTransfers}
    />
  );
}
