import { AccountDialogs } from "../account/account-dialogs.tsx";
import { AccountPanel } from "../account/account-panel.tsx";
import { OrderBook } from "../book/order-book.tsx";
import { Tape } from "../book/tape.tsx";
import { PriceChart } from "../chart/price-chart.tsx";
import { AmendDialog } from "../dialogs/amend.tsx";
import { ConfirmationDialog } from "../dialogs/confirmation.tsx";
import { PositionDialogs } from "../dialogs/position.tsx";
import { OrderForm } from "../order-form/order-form.tsx";
import { link } from "../state/connection.ts";
import { instruments, marketsFault, unknownMarket } from "../state/markets.ts";
import { AccountTables } from "../tables/tabs.tsx";
import { text } from "../text/catalogue.ts";
import { Header } from "./header.tsx";
import { Palette } from "./palette.tsx";
import { type PanelName, panel } from "./panel.ts";
import { SettingsDialog } from "./settings-dialog.tsx";
import { StatusLine } from "./status-line.tsx";
import { Toasts } from "./toasts.tsx";

const PANELS: readonly PanelName[] = ["chart", "book", "trade", "account"];

export function App() {
  return (
    <div class="app" data-panel={panel.value}>
      <Header />
      <Banner />
      <main aria-label={text.mainLabel}>
        <PriceChart />
        <div class="book-and-tape">
          <OrderBook />
          <Tape />
        </div>
        <div class="side-column">
          <OrderForm />
          <AccountPanel />
        </div>
        <AccountTables />
      </main>
      <nav class="panel-tabs" aria-label={text.panels}>
        {PANELS.map((name) => (
          <button
            type="button"
            aria-pressed={panel.value === name}
            onClick={() => {
              panel.value = name;
            }}
          >
            {text.panelNames[name]}
          </button>
        ))}
      </nav>
      <StatusLine />
      <Toasts />
      <AmendDialog />
      <PositionDialogs />
      <AccountDialogs />
      <SettingsDialog />
      <ConfirmationDialog />
      <Palette />
    </div>
  );
}

function Banner() {
  const isOld = link.value === "LOST" && instruments.value.length > 0;
  const message = isOld
    ? text.staleBanner
    : marketsFault.value !== null
      ? text.marketsFault(marketsFault.value)
      : unknownMarket.value !== null
        ? text.unknownMarket(unknownMarket.value)
        : null;
  return (
    <div role="alert" class="banner" data-on={message !== null || undefined}>
      {message}
    </div>
  );
}
