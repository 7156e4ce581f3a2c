import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { set, settings } from "../state/settings.ts";
import { text } from "../text/catalogue.ts";
import { CandleTable } from "./candle-table.tsx";
import { INTERVALS, type Interval } from "./candles.ts";
import { fault, isLoading, orderMenu, shownInterval } from "./chart-state.ts";
import { IndicatorMenu } from "./indicator-menu.tsx";
import { Legends } from "./legend.tsx";
import { OrderButton, OrderMenu } from "./order-menu.tsx";

const FAVOURITES: readonly Interval[] = ["1s", "1m", "5m", "15m", "1h", "4h", "1d"];

const isMenuOpen = signal(false);

export function PriceChart() {
  const host = useRef<HTMLDivElement>(null);
  useEffect(() => (host.current === null ? undefined : openChart(host.current)), []);
  const { showsTable } = settings.value;
  return (
    <section class="panel chart" aria-label={text.chart}>
      <header class="panel-head">
        <Intervals />
        <div class="chart-tools">
          <button
            type="button"
            class="mini"
            aria-haspopup="dialog"
            onClick={() => {
              isMenuOpen.value = true;
            }}
          >
            {text.indicators.open}
          </button>
          <Toggle name="fitsOrders" />
          <Toggle name="showsTable" />
        </div>
      </header>
      <div class="chart-body">
        <div class="chart-view" inert={showsTable} data-off={showsTable || undefined}>
          <div
            class="chart-host"
            role="application"
            tabIndex={0}
            aria-label={text.candles}
            aria-describedby="chart-keys"
            ref={host}
          />
          <p class="hidden" id="chart-keys">
            {text.chartKeys}
          </p>
          <Legends />
          <OrderButton />
        </div>
        {orderMenu.value !== null && <OrderMenu onClose={() => host.current?.focus()} />}
        {showsTable && <CandleTable />}
        {(isLoading.value || fault.value !== null) && (
          <p class="chart-note" role="status">
            {fault.value ?? text.loadingCandles}
          </p>
        )}
      </div>
      {isMenuOpen.value && (
        <IndicatorMenu
          onClose={() => {
            isMenuOpen.value = false;
          }}
        />
      )}
    </section>
  );
}

/** The chart's library is half of all scripts: the book does not wait for it. */
function openChart(host: HTMLElement): () => void {
  let isOver = false;
  let close = (): void => {};
  import("./candle-chart.ts").then(
    ({ runChart }) => {
      if (!isOver) close = runChart(host);
    },
    () => {
      fault.value = text.notLoaded;
    },
  );
  return () => {
    isOver = true;
    close();
  };
}

function Toggle({ name }: { name: "fitsOrders" | "showsTable" }) {
  const isOn = settings.value[name];
  return (
    <button
      type="button"
      class="mini"
      title={text.chartToggles[name].hint}
      aria-pressed={isOn}
      onClick={() => set(name, !isOn)}
    >
      {text.chartToggles[name].name}
    </button>
  );
}

function Intervals() {
  const interval = shownInterval.value;
  return (
    <div class="intervals" role="group" aria-label={text.interval}>
      {FAVOURITES.map((each) => (
        <button
          type="button"
          class="mini"
          aria-pressed={interval === each}
          onClick={() => set("interval", each)}
          key={each}
        >
          {each}
        </button>
      ))}
      <select
        class="bare"
        aria-label={text.allIntervals}
        value={interval === null || FAVOURITES.includes(interval) ? "" : interval}
        onChange={(event) => set("interval", event.currentTarget.value)}
      >
        <option value="" disabled hidden>
          {text.more}
        </option>
        {INTERVALS.filter((each) => !FAVOURITES.includes(each)).map((each) => (
          <option value={each} key={each}>
            {each}
          </option>
        ))}
      </select>
    </div>
  );
}
