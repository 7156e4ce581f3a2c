import { computed, effect, untracked } from "@preact/signals";
import { CandlestickSeries, createChart, HistogramSeries, type IChartApi, type ISeriesApi } from "lightweight-charts";
import type { Kline } from "../../client/types.ts";
import { CANDLES_PACE_MS, forgetPaint, paintNext, prepareNext } from "../state/frame.ts";
import { instrument, symbol } from "../state/markets.ts";
import { isCalm, look, settings } from "../state/settings.ts";
import { decimalsOf } from "../text/decimal.ts";
import { timeZone } from "../text/format.ts";
import { Candles, firstInterval, type Interval } from "./candles.ts";
import {
  candles,
  fault,
  isLoading,
  NO_CANDLES,
  paneTops,
  pointed,
  pointedTime,
  proposedInterval,
  shownInterval,
} from "./chart-state.ts";
import { Crosshair } from "./crosshair.ts";
import { FillMarks } from "./fill-marks.ts";
import { ChartLines } from "./lines.ts";
import { Studies } from "./studies.ts";
import { applyTheme, formats, priceFormat, themeColor } from "./theme.ts";
import { timeOf } from "./times.ts";

/** The candles and volumes of the chosen market and interval, drawn by lightweight-charts. */

/** Older candles are loaded when fewer are left of the view. */
const OLDER_BELOW = 30;
const SEPARATOR_PX = 1;

interface Series {
  readonly prices: ISeriesApi<"Candlestick">;
  readonly volumes: ISeriesApi<"Histogram">;
}

/** Draws into `host`. Returns a function that ends it. */
export function runChart(host: HTMLElement): () => void {
  const chart = createChart(host, {
    autoSize: true,
    layout: { attributionLogo: false },
    // A finger that moves up or down over the chart scrolls the page, where the page has more to show.
    handleScroll: { vertTouchDrag: false },
  });
  const prices = chart.addSeries(CandlestickSeries, { priceLineStyle: 2 });
  const quiet = { lastValueVisible: false, priceLineVisible: false };
  const volumes = chart.addSeries(HistogramSeries, {
    priceScaleId: "volume",
    priceFormat: { type: "volume" },
    ...quiet,
  });
  chart.priceScale("volume").applyOptions({ scaleMargins: { top: 0.85, bottom: 0 } });
  chart.priceScale("right").applyOptions({ scaleMargins: { top: 0.08, bottom: 0.2 } });
  const lines = new ChartLines(chart, prices, host);
  const measure = (): void => {
    paneTops.value = topsOf(chart);
  };
  prices.attachPrimitive({
    updateAllViews: () => {
      if (topsOf(chart).join() !== paneTops.peek().join()) paintNext(measure);
    },
  });
  const crosshair = new Crosshair(chart, prices, host);
  const fillMarks = new FillMarks();
  prices.attachPrimitive(fillMarks);
  const stops = [
    effect(() => {
      void look.value;
      applyTheme(chart, prices);
    }),
    effect(() => {
      void timeZone.value;
      const scroll = { kineticScroll: { touch: !isCalm.value, mouse: false } };
      chart.applyOptions({ ...formats(shownInterval.value ?? "1m"), ...scroll });
    }),
    effect(() => {
      const tick = instrument.value?.tickSize;
      if (tick !== undefined) prices.applyOptions({ priceFormat: priceFormat(decimalsOf(tick), Number(tick)) });
    }),
    effect(proposeInterval),
    effect(() => {
      const name = symbol.value;
      const interval = shownInterval.value;
      return name === "" || interval === null ? undefined : follow(chart, { prices, volumes }, name, interval);
    }),
  ];
  return () => {
    for (const stop of stops) stop();
    lines.close();
    crosshair.close();
    fillMarks.close();
    forgetPaint(measure);
    chart.remove();
  };
}

/** The edges of the panes, for what stands on top of them. */
function topsOf(chart: IChartApi): number[] {
  const tops = [0];
  for (const pane of chart.panes()) tops.push((tops.at(-1) ?? 0) + pane.getHeight() + SEPARATOR_PX);
  return tops;
}

const isIntervalChosen = computed(() => settings.value.interval !== "");

function proposeInterval(): void {
  const name = symbol.value;
  if (name === "" || isIntervalChosen.value) return;
  proposedInterval.value = null;
  void firstInterval(name).then((found) => {
    if (symbol.peek() === name) proposedInterval.value = found;
  });
}

const hasStudies = computed(
  () => settings.value.indicators.length > 0 || settings.value.showsMark || settings.value.showsIndex,
);

const volumeOf = (candle: Kline) => ({
  time: timeOf(candle),
  value: Number(candle.volume),
  color: themeColor(Number(candle.close) < Number(candle.open) ? "down-faint" : "up-faint"),
});

const priceOf = (candle: Kline) => ({
  time: timeOf(candle),
  open: Number(candle.open),
  high: Number(candle.high),
  low: Number(candle.low),
  close: Number(candle.close),
});

const RIGHT_OFFSET = 8;
const MOST_AT_FIRST = 120;
const LEAST_AT_FIRST = 30;
/** Less and a candle has no body that can be seen. */
const CANDLE_WIDTH_PX = 6;

/** How many candles a chart shows at first: as many as there are, as far as they have room. Before it is laid out: few. */
function shownAtFirst(count: number, widthPx: number): number {
  const most = Math.min(MOST_AT_FIRST, Math.floor(widthPx / CANDLE_WIDTH_PX) - RIGHT_OFFSET);
  return Math.max(LEAST_AT_FIRST, Math.min(count, most));
}

function follow(chart: IChartApi, { prices, volumes }: Series, name: string, interval: Interval): () => void {
  isLoading.value = true;
  fault.value = null;
  pointedTime.value = null;
  pointed.value = null;
  let studies: Studies | null = null;
  const changed = new Map<number, Kline>();
  const show = (): void => {
    candles.value = { all: source.all, loadOlder: () => source.loadOlder() };
  };
  const addChanged = (): void => {
    for (const candle of changed.values()) {
      prices.update(priceOf(candle));
      volumes.update(volumeOf(candle));
      studies?.update(candle);
    }
    changed.clear();
  };
  const paint = (): void => {
    addChanged();
    show();
  };
  const source: Candles = new Candles(name, interval, "LAST", {
    onLoad(all) {
      changed.clear();
      const isFirst = isLoading.peek();
      prices.setData(all.map(priceOf));
      volumes.setData(all.map(volumeOf));
      studies?.load();
      show();
      isLoading.value = false;
      fault.value = null;
      if (!isFirst) return;
      const shown = shownAtFirst(all.length, chart.timeScale().width());
      chart.timeScale().setVisibleLogicalRange({ from: all.length - shown, to: all.length + RIGHT_OFFSET });
    },
    onUpdate(candle) {
      changed.set(candle.openTime, candle);
      prepareNext(paint, CANDLES_PACE_MS);
    },
    onFault(message) {
      fault.value = message;
    },
  });
  const stopStudies = effect(() => {
    if (!hasStudies.value) return;
    studies = untracked(() => new Studies(chart, name, interval, source.all));
    return () => {
      studies?.close();
      studies = null;
    };
  });
  // Each volume bar has its own colour, unlike the candles.
  const stopColors = effect(() => {
    void look.value;
    // A series takes no candle that is older than its last one.
    untracked(addChanged);
    volumes.setData(source.all.map(volumeOf));
  });
  const onRange = (range: { from: number } | null): void => {
    if (range !== null && range.from < OLDER_BELOW && !isLoading.peek()) void source.loadOlder();
  };
  chart.timeScale().subscribeVisibleLogicalRangeChange(onRange);
  return () => {
    stopColors();
    stopStudies();
    chart.timeScale().unsubscribeVisibleLogicalRangeChange(onRange);
    forgetPaint(paint);
    source.close();
    candles.value = NO_CANDLES;
    prices.setData([]);
    volumes.setData([]);
  };
}
