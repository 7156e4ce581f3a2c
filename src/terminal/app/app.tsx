import { AccountDialogs } from "../account/account-dialogs.tsx";
import { AccountPanel } from "../account/account-panel.tsx";
import { OrderBook } from "../book/order-book.tsx";
import { Tape } from "../book/tape.tsx";
import { PriceChart } from "../chart/price-chart.tsx";
import { AmendDialog } from "../dialogs/amend.tsx";
import { ConfirmationDialog } from "../dialogs/confirmation.tsx";
import { PositionDialogs } from "../dialogs/position.tsx";
import { Toasts } from "../dialogs/toasts.tsx";
import { OrderForm } from "../order-form/order-form.tsx";
import { marginCalls } from "../state/account.ts";
import { link } from "../state/connection.ts";
import { instruments, marketsFault, unknownMarket } from "../state/markets.ts";
import { type PanelName, panel } from "../state/panel.ts";
import { AccountTables } from "../tables/tabs.tsx";
import { text } from "../text/catalogue.ts";
import { fixed } from "../text/format.ts";
import { Header } from "./header.tsx";
import { Palette } from "./palette.tsx";
import { Separator } from "./separator.tsx";
import { SettingsDialog } from "./settings-dialog.tsx";
import { StatusLine } from "./status-line.tsx";
import { Tour } from "./tour.tsx";

const PANELS: readonly PanelName[] = ["chart", "book", "trade", "account"];

export function App() {
  return (
    <div class="app" data-panel={panel.value}>
      <Header />
      <Banner />
      <main aria-label={text.mainLabel}>
        <PriceChart />
        <Separator name="bookWidth" />
        <div class="book-and-tape">
          <OrderBook />
          <Separator name="tapeHeight" />
          <Tape />
        </div>
        <Separator name="formWidth" />
        <div class="side-column">
          <OrderForm />
          <AccountPanel />
        </div>
        <Separator name="tablesHeight" />
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
      <Tour />
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
  const [call] = marginCalls.value;
  const message = isOld
    ? text.staleBanner
    : call !== undefined
      ? text.marginCall(
          call.symbol === null ? text.crossAccount : text.isolatedPosition(call.symbol),
          call.ratio === null ? text.noEquity : `${fixed(100 * Number(call.ratio), 1)}%`,
        )
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
