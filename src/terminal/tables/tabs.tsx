import { signal } from "@preact/signals";
import type { ComponentType } from "preact";
import type { PerpdClient } from "../../client/client.ts";
import type { Page } from "../../client/types.ts";
import { account, accountClient, openOrders, positions } from "../state/account.ts";
import { text } from "../text/catalogue.ts";
import { download } from "./download.ts";
import { Fills } from "./fills.tsx";
import { FundingHistory, Ledger, Transfers } from "./money.tsx";
import { OpenOrders, OrderHistory } from "./orders.tsx";
import { Positions } from "./positions.tsx";

/** The account's tables, one at a time. */

interface Tab {
  readonly id: string;
  readonly title: string;
  readonly Panel: ComponentType;
  /** Shown beside the title. */
  count?(): number;
  /** The whole list, for the CSV file. */
  read?(client: PerpdClient, page: { limit: number; cursor?: string }): Promise<Page<object>>;
}

export const TABS: readonly Tab[] = [
  { id: "positions", title: text.positions, Panel: Positions, count: () => positions.value.length },
  { id: "orders", title: text.openOrders, Panel: OpenOrders, count: () => openOrders.value.length },
  {
    id: "history",
    title: text.orderHistory,
    Panel: OrderHistory,
    read: (client, page) => client.orderHistory(page),
  },
  { id: "fills", title: text.fills, Panel: Fills, read: (client, page) => client.fills(page) },
  { id: "funding", title: text.funding, Panel: FundingHistory, read: (client, page) => client.fundingPayments(page) },
  { id: "transfers", title: text.transfers, Panel: Transfers },
  { id: "ledger", title: text.ledger, Panel: Ledger, read: (client, page) => client.ledger(page) },
];

/** The id of a tab. */
export const chosenTab = signal("positions");

export function AccountTables() {
  const index = TABS.findIndex(({ id }) => id === chosenTab.value);
  const { Panel, id, read } = TABS[index] ?? TABS[0]!;
  const client = accountClient.value;
  const move = (event: KeyboardEvent): void => {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (step === 0) return;
    const next = TABS[(index + step + TABS.length) % TABS.length]!;
    chosenTab.value = next.id;
    document.getElementById(`tab-${next.id}`)?.focus();
  };
  return (
    <section class="panel tables" aria-label={text.accountTables}>
      <div class="tabs" role="tablist" aria-label={text.accountTables} onKeyDown={move}>
        {TABS.map((tab) => (
          <button
            type="button"
            role="tab"
            id={`tab-${tab.id}`}
            class="tab"
            aria-selected={tab.id === id}
            aria-controls="tables-panel"
            tabIndex={tab.id === id ? 0 : -1}
            onClick={() => {
              chosenTab.value = tab.id;
            }}
          >
            {tab.title}
            {tab.count !== undefined && tab.count() > 0 && <span class="count">{tab.count()}</span>}
          </button>
        ))}
      </div>
      {read !== undefined && client !== null && (
        <button type="button" class="mini csv" onClick={() => void download(id, (page) => read(client, page))}>
          {text.csv}
        </button>
      )}
      {/* It scrolls, so the keyboard must reach it. */}
      <div class="table-body" role="tabpanel" id="tables-panel" aria-labelledby={`tab-${id}`} tabIndex={0}>
        {account.value === null ? <p class="empty">{text.signInForTables}</p> : <Panel />}
      </div>
    </section>
  );
}
