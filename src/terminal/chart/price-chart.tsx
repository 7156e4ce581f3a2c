import { computed, effect, signal } from "@preact/signals";
import {
  CandlestickSeries,
  ColorType,
  createChart,
  HistogramSeries,
  type IChartApi,
  type ISeriesApi,
  type UTCTimestamp,
} from "lightweight-charts";
import { useEffect, useRef } from "preact/hooks";
import type { Kline } from "../../client/types.ts";
import { forgetPaint, paintNext } from "../state/frame.ts";
import { instrument, symbol } from "../state/markets.ts";
import { isCalm, look, set, settings } from "../state/settings.ts";
import { text } from "../text/catalogue.ts";
import { decimalsOf } from "../text/decimal.ts";
import { fixed, percent, short, timeZone, zoned } from "../text/format.ts";
import { Candles, firstInterval, INTERVALS, type Interval } from "./candles.ts";
import { ChartLines } from "./lines.ts";

const FAVOURITES: readonly Interval[] = ["1s", "1m", "5m", "15m", "1h", "4h", "1d"];

/** For as long as the settings have none. Null until the exchange has said how many candles there are. */
const proposed = signal<Interval | null>(null);
const shownInterval = computed(() => (settings.value.interval || proposed.value) as Interval | null);

const fault = signal<string | null>(null);
const isLoading = signal(true);
/** The candle below the pointer, otherwise the last one. */
const shown = signal<Kline | null>(null);

export function PriceChart() {
  const host = useRef<HTMLDivElement>(null);
  useEffect(() => (host.current === null ? undefined : runChart(host.current)), []);
  const interval = shownInterval.value;
  return (
    <section class="panel chart" aria-label={text.chart}>
      <header class="panel-head">
        <div class="intervals" role="group" aria-label={text.interval}>
          {FAVOURITES.map((each) => (
            <button type="button" class="mini" aria-pressed={interval === each} onClick={() => set("interval", each)}>
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
              <option value={each}>{each}</option>
            ))}
          </select>
        </div>
        <Legend />
      </header>
      <div class="chart-host" ref={host} />
      {(isLoading.value || fault.value !== null) && (
        <p class="chart-note" role="status">
          {fault.value ?? text.loadingCandles}
        </p>
      )}
    </section>
  );
}

function Legend() {
  const candle = shown.value;
  if (candle === null) return <p class="legend" />;
  const decimals = decimalsOf(instrument.value?.tickSize ?? "0.1");
  const figure = (value: string) => fixed(Number(value), decimals);
  const change = Number(candle.open) === 0 ? 0 : Number(candle.close) / Number(candle.open) - 1;
  const tone = change < 0 ? "down" : "up";
  return (
    <p class="legend num">
      {(["open", "high", "low", "close"] as const).map((name) => (
        <span>
          <span class="muted">{text.ohlc[name]}</span> <span class={tone}>{figure(candle[name])}</span>
        </span>
      ))}
      <span class={tone}>{percent(change)}</span>
      <span>
        <span class="muted">{text.volume}</span> {short(candle.volume)}
      </span>
    </p>
  );
}

/** The value of a CSS variable of the theme. */
const color = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

const timeOf = (candle: Kline): UTCTimestamp => (candle.openTime / 1000) as UTCTimestamp;
const OLDER_BELOW = 30;

/** The chart of a panel. Returns a function that ends it. */
function runChart(host: HTMLElement): () => void {
  const chart = createChart(host, { autoSize: true, layout: { attributionLogo: false }, ...formats() });
  const prices = chart.addSeries(CandlestickSeries, { priceLineStyle: 2 });
  const volumes = chart.addSeries(HistogramSeries, {
    priceScaleId: "volume",
    lastValueVisible: false,
    priceLineVisible: false,
  });
  chart.priceScale("volume").applyOptions({ scaleMargins: { top: 0.85, bottom: 0 } });
  chart.priceScale("right").applyOptions({ scaleMargins: { top: 0.08, bottom: 0.2 } });
  const lines = new ChartLines(chart, prices, host);
  const stopTheme = effect(() => {
    void look.value;
    applyTheme(chart, prices);
  });
  const stopZone = effect(() => {
    void timeZone.value;
    chart.applyOptions({ ...formats(), kineticScroll: { touch: !isCalm.value, mouse: false } });
  });
  const stopFormat = effect(() => {
    const tick = instrument.value?.tickSize;
    if (tick !== undefined)
      prices.applyOptions({ priceFormat: { type: "price", precision: decimalsOf(tick), minMove: Number(tick) } });
  });
  const stopProposal = effect(() => {
    const name = symbol.value;
    if (name === "" || settings.value.interval !== "") return;
    proposed.value = null;
    void firstInterval(name).then((found) => {
      if (symbol.peek() === name) proposed.value = found;
    });
  });
  const stopCandles = effect(() => {
    const name = symbol.value;
    const interval = shownInterval.value;
    if (name === "" || interval === null) return;
    chart.timeScale().applyOptions({ secondsVisible: interval === "1s" });
    return follow(chart, prices, volumes, name, interval);
  });
  return () => {
    stopTheme();
    stopZone();
    stopFormat();
    stopProposal();
    stopCandles();
    lines.close();
    chart.remove();
  };
}

function follow(
  chart: IChartApi,
  prices: ISeriesApi<"Candlestick">,
  volumes: ISeriesApi<"Histogram">,
  name: string,
  interval: Interval,
): () => void {
  isLoading.value = true;
  fault.value = null;
  const changed = new Map<number, Kline>();
  const volumeOf = (candle: Kline) => ({
    time: timeOf(candle),
    value: Number(candle.volume),
    color: color(Number(candle.close) < Number(candle.open) ? "down-faint" : "up-faint"),
  });
  const priceOf = (candle: Kline) => ({
    time: timeOf(candle),
    open: Number(candle.open),
    high: Number(candle.high),
    low: Number(candle.low),
    close: Number(candle.close),
  });
  let isPointed = false;
  const paint = (): void => {
    for (const candle of changed.values()) {
      prices.update(priceOf(candle));
      volumes.update(volumeOf(candle));
      if (!isPointed) shown.value = candle;
    }
    changed.clear();
  };
  const candles: Candles = new Candles(name, interval, {
    onLoad(all) {
      changed.clear();
      const isFirst = isLoading.peek();
      prices.setData(all.map(priceOf));
      volumes.setData(all.map(volumeOf));
      isLoading.value = false;
      fault.value = null;
      shown.value = all.at(-1) ?? null;
      if (isFirst) chart.timeScale().setVisibleLogicalRange({ from: all.length - 120, to: all.length + 8 });
    },
    onUpdate(candle) {
      changed.set(candle.openTime, candle);
      paintNext(paint);
    },
    onFault(message) {
      fault.value = message;
    },
  });
  // Each volume bar has its own colour, unlike the candles.
  const stopColors = effect(() => {
    void look.value;
    volumes.setData(candles.all.map(volumeOf));
  });
  const onRange = (range: { from: number } | null): void => {
    if (range !== null && range.from < OLDER_BELOW && !isLoading.peek()) void candles.loadOlder();
  };
  const onMove = ({ time }: { time?: unknown }): void => {
    isPointed = time !== undefined;
    const found = isPointed ? candles.all.find((each) => timeOf(each) === time) : candles.all.at(-1);
    if (found !== undefined) shown.value = found;
  };
  chart.timeScale().subscribeVisibleLogicalRangeChange(onRange);
  chart.subscribeCrosshairMove(onMove);
  return () => {
    stopColors();
    chart.timeScale().unsubscribeVisibleLogicalRangeChange(onRange);
    chart.unsubscribeCrosshairMove(onMove);
    forgetPaint(paint);
    candles.close();
    prices.setData([]);
    volumes.setData([]);
  };
}

const two = (value: number): string => String(value).padStart(2, "0");

/** In the zone that is chosen: the library itself shows UTC only. */
function formats() {
  return {
    localization: {
      timeFormatter: (time: unknown) => {
        const at = zoned(Number(time) * 1000);
        return `${at.getUTCFullYear()}-${two(at.getUTCMonth() + 1)}-${two(at.getUTCDate())} ${two(at.getUTCHours())}:${two(at.getUTCMinutes())}`;
      },
    },
    timeScale: {
      timeVisible: true,
      secondsVisible: false,
      rightOffset: 8,
      tickMarkFormatter: (time: unknown, kind: number) => {
        const at = zoned(Number(time) * 1000);
        if (kind === 0) return String(at.getUTCFullYear());
        if (kind <= 2) return `${two(at.getUTCMonth() + 1)}-${two(at.getUTCDate())}`;
        const minute = `${two(at.getUTCHours())}:${two(at.getUTCMinutes())}`;
        return kind === 4 ? `${minute}:${two(at.getUTCSeconds())}` : minute;
      },
    },
  };
}

function applyTheme(chart: IChartApi, prices: ISeriesApi<"Candlestick">): void {
  const line = color("line");
  chart.applyOptions({
    layout: {
      background: { type: ColorType.Solid, color: color("panel") },
      textColor: color("muted"),
      fontFamily: color("font"),
      fontSize: 11,
    },
    grid: { vertLines: { color: color("grid") }, horzLines: { color: color("grid") } },
    crosshair: { mode: 0 },
    rightPriceScale: { borderColor: line },
    timeScale: { borderColor: line },
  });
  prices.applyOptions({
    upColor: color("up"),
    downColor: color("down"),
    wickUpColor: color("up"),
    wickDownColor: color("down"),
    borderVisible: false,
  });
}
