import { signal } from "@preact/signals";
import type { ComponentType } from "preact";
import { account, openOrders, positions } from "../state/account.ts";
import { text } from "../text/catalogue.ts";
import { Equity } from "./equity.tsx";
import { FILLS } from "./fills.tsx";
import { History, type HistoryList } from "./history.tsx";
import { FUNDING_HISTORY, LEDGER_LIST, TRANSFER_LIST } from "./money.tsx";
import { OpenOrders, ORDER_HISTORY } from "./orders.tsx";
import { Positions } from "./positions.tsx";

/** The account's tables, one at a time. */

interface Tab {
  readonly id: string;
  readonly title: string;
  readonly Panel: ComponentType;
  /** Shown beside the title. */
  count?(): number;
}

const historyTab = <Row extends object, Kind extends string>(list: HistoryList<Row, Kind>): Tab => ({
  id: list.id,
  title: list.caption,
  Panel: () => <History key={list.id} list={list as unknown as HistoryList<Row>} />,
});

export const TABS: readonly Tab[] = [
  { id: "positions", title: text.positions, Panel: Positions, count: () => positions.value.length },
  { id: "orders", title: text.openOrders, Panel: OpenOrders, count: () => openOrders.value.length },
  historyTab(ORDER_HISTORY),
  historyTab(FILLS),
  historyTab(FUNDING_HISTORY),
  historyTab(TRANSFER_LIST),
  historyTab(LEDGER_LIST),
  { id: "equity", title: text.equityChart.title, Panel: Equity },
];

/** The id of a tab. */
export const chosenTab = signal("positions");

export function AccountTables() {
  const index = TABS.findIndex(({ id }) => id === chosenTab.value);
  const { Panel, id } = TABS[index] ?? TABS[0]!;
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
      {/* It scrolls, so the keyboard must reach it. */}
      <div class="table-body" role="tabpanel" id="tables-panel" aria-labelledby={`tab-${id}`} tabIndex={0}>
        {account.value === null ? <p class="empty">{text.signInForTables}</p> : <Panel />}
      </div>
    </section>
  );
}
