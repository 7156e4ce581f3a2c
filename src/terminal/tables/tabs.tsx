import { signal } from "@preact/signals";
import type { ComponentType } from "preact";
import { account, fills, openOrders, positions } from "../state/account.ts";
import { text } from "../text/catalogue.ts";
import { Fills } from "./fills.tsx";
import { OpenOrders, OrderHistory } from "./orders.tsx";
import { Positions } from "./positions.tsx";

/** The account's tables, one at a time. */

interface Tab {
  readonly id: string;
  readonly title: string;
  readonly Panel: ComponentType;
  /** Shown beside the title. */
  count?(): number;
}

const TABS: readonly Tab[] = [
  { id: "positions", title: text.positions, Panel: Positions, count: () => positions.value.length },
  { id: "orders", title: text.openOrders, Panel: OpenOrders, count: () => openOrders.value.length },
  { id: "history", title: text.orderHistory, Panel: OrderHistory },
  { id: "fills", title: text.fills, Panel: Fills, count: () => fills.value.length },
];

const chosen = signal("positions");

export function AccountTables() {
  const index = TABS.findIndex(({ id }) => id === chosen.value);
  const { Panel, id } = TABS[index] ?? TABS[0]!;
  const move = (event: KeyboardEvent): void => {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (step === 0) return;
    const next = TABS[(index + step + TABS.length) % TABS.length]!;
    chosen.value = next.id;
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
              chosen.value = tab.id;
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
