import { computed, effect, signal, untracked } from "@preact/signals";
import { HistogramSeries, type IChartApi, type ISeriesApi, LineSeries } from "lightweight-charts";
import type { Kline } from "../../client/types.ts";
import type { IndicatorId } from "../state/indicators.ts";
import { priceDecimals } from "../state/markets.ts";
import { look, settings } from "../state/settings.ts";
import { text } from "../text/catalogue.ts";
import { fixed, short } from "../text/format.ts";
import { type Interval, tradedOfDay } from "./candles.ts";
import { type Plot, plots, tellPlots } from "./chart-state.ts";
import { type Bar, formulaOf, Run, type Traded, type Values } from "./formulas.ts";
import { Overlays } from "./overlays.ts";
import { lineOptions, priceFormat, themeColor } from "./theme.ts";
import { timeOf } from "./times.ts";

/** Indicators as lines over the candles and in panes below them. */

type Place = "PRICES" | "VOLUMES" | "PANE";

interface Shape {
  readonly place: Place;
  /** The variable of the theme for each line. */
  readonly colors: readonly string[];
  /** A line that is a histogram around 0. */
  readonly histogram?: number;
  /** The scale is fixed to 0 to 100 and has these guides. */
  readonly guides?: readonly [low: number, high: number];
}

const SHAPES: Readonly<Record<IndicatorId, Shape>> = {
  sma: { place: "PRICES", colors: ["study-1", "study-2", "study-3"] },
  ema: { place: "PRICES", colors: ["study-4", "study-5", "study-6"] },
  bollinger: { place: "PRICES", colors: ["study-5", "study-3", "study-3"] },
  vwap: { place: "PRICES", colors: ["study-4"] },
  volumeAverage: { place: "VOLUMES", colors: ["study-1"] },
  rsi: { place: "PANE", colors: ["study-2"], guides: [30, 70] },
  macd: { place: "PANE", colors: ["study-3", "study-1", "muted"], histogram: 2 },
  atr: { place: "PANE", colors: ["study-4"] },
  stochastic: { place: "PANE", colors: ["study-3", "study-1"], guides: [20, 80] },
};

/** Of the height of the candles' pane. */
const PANE_HEIGHT = 0.3;

const barOf = ({ openTime, high, low, close, volume, turnover }: Kline): Bar => ({
  openTime,
  high: Number(high),
  low: Number(low),
  close: Number(close),
  volume: Number(volume),
  turnover: Number(turnover),
});

type AnySeries = ISeriesApi<"Line"> | ISeriesApi<"Histogram">;

/** One indicator. */
class Study {
  readonly plot: Plot;
  private readonly id: IndicatorId;
  private readonly chart: IChartApi;
  private readonly series: AnySeries[] = [];
  private run: Run | null = null;

  constructor(chart: IChartApi, id: IndicatorId, pane: number) {
    this.chart = chart;
    this.id = id;
    const { names, lines } = text.indicators;
    const isMoving = id === "sma" || id === "ema";
    const values = settings.peek().indicatorValues[id].filter((value) => value > 0);
    const colors = isMoving ? SHAPES[id].colors.slice(0, values.length) : SHAPES[id].colors;
    // Each moving average has its length beside its value.
    const titles: readonly string[] = isMoving ? values.map(String) : lines[id];
    this.plot = {
      id,
      title: [names[id], ...(isMoving ? [] : values)].join(" "),
      pane,
      lines: colors.map((color, index) => ({ title: titles[index] ?? "", color })),
      format: formatOf(id),
      valuesAt: (index) => this.run?.rows[index] ?? [],
    };
    for (const [index, color] of colors.entries()) this.series[index] = this.addSeries(index, color, pane);
  }

  load(candles: readonly Kline[], earlier: Traded | null): void {
    const run = new Run(formulaOf(this.id, settings.peek().indicatorValues[this.id], earlier), candles.map(barOf));
    this.run = run;
    for (const [line, series] of this.series.entries())
      series.setData(candles.map((candle, index) => this.pointOf(candle, line, run.rows[index] ?? [])));
  }

  update(candle: Kline): void {
    const values = this.run?.take(barOf(candle));
    if (values === undefined) return;
    for (const [line, series] of this.series.entries()) series.update(this.pointOf(candle, line, values));
  }

  close(): void {
    for (const series of this.series) this.chart.removeSeries(series);
  }

  private pointOf(candle: Kline, line: number, values: Values) {
    const time = timeOf(candle);
    const value = values[line] ?? null;
    if (value === null) return { time };
    if (line !== SHAPES[this.id].histogram) return { time, value };
    return { time, value, color: themeColor(value < 0 ? "down-faint" : "up-faint") };
  }

  private addSeries(line: number, color: string, pane: number): AnySeries {
    const { place, histogram, guides } = SHAPES[this.id];
    const quiet = { priceLineVisible: false, lastValueVisible: false };
    if (line === histogram) return this.chart.addSeries(HistogramSeries, quiet, pane);
    const series = this.chart.addSeries(LineSeries, lineOptions(color), pane);
    if (place === "VOLUMES") series.applyOptions({ priceScaleId: "volume" });
    // A price of this morning may be far from the candles, and would flatten them.
    else if (this.id === "vwap") series.applyOptions({ autoscaleInfoProvider: () => null });
    if (place !== "VOLUMES") series.applyOptions({ priceFormat: priceFormatOf(this.id) });
    if (guides !== undefined) {
      const priceRange = { minValue: 0, maxValue: 100 };
      series.applyOptions({ autoscaleInfoProvider: () => ({ priceRange }) });
      if (line === 0)
        for (const price of guides)
          series.createPriceLine({
            price,
            color: themeColor("line"),
            lineWidth: 1,
            lineStyle: 2,
            // In a low pane it would lie over the labels of the axis.
            axisLabelVisible: false,
          });
    }
    return series;
  }
}

const isOfPrice = (id: IndicatorId): boolean => SHAPES[id].guides === undefined;

const priceFormatOf = (id: IndicatorId) => priceFormat(isOfPrice(id) ? priceDecimals.peek() : 2);

const formatOf =
  (id: IndicatorId): Plot["format"] =>
  (value) =>
    id === "volumeAverage" ? short(value) : fixed(value, isOfPrice(id) ? priceDecimals.peek() : 2);

/** The chosen indicators. Changes of other settings leave it as it is. */
const chosen = computed(() => {
  const { indicators, indicatorValues } = settings.value;
  return JSON.stringify([indicators, indicatorValues]);
});

/** Everything of one market and interval. */
export class Studies {
  private readonly chart: IChartApi;
  private readonly symbol: string;
  private readonly candles: readonly Kline[];
  private readonly overlays: Overlays;
  private readonly studies = signal<readonly Study[]>([]);
  private readonly stops: readonly (() => void)[];
  /** Trades of the first candle's day before `earlierThan`. */
  private earlier: Traded | null = null;
  private earlierThan = 0;
  private isClosed = false;

  /** `candles`: the chart's own array, oldest first. */
  constructor(chart: IChartApi, symbol: string, interval: Interval, candles: readonly Kline[]) {
    this.chart = chart;
    this.symbol = symbol;
    this.candles = candles;
    this.overlays = new Overlays(chart, symbol, interval, candles);
    this.stops = [
      effect(() => {
        void [chosen.value, look.value];
        untracked(() => this.build());
      }),
      effect(() => {
        plots.value = [...this.overlays.plots.value, ...this.studies.value.map(({ plot }) => plot)];
      }),
    ];
  }

  /** After other candles were loaded. */
  load(): void {
    this.loadStudies();
    this.overlays.show();
  }

  update(candle: Kline): void {
    for (const study of this.studies.peek()) study.update(candle);
  }

  close(): void {
    this.isClosed = true;
    for (const stop of this.stops) stop();
    this.overlays.close();
    this.clear();
    plots.value = [];
  }

  private build(): void {
    this.clear();
    let panes = 0;
    this.studies.value = settings
      .peek()
      .indicators.map((id) => new Study(this.chart, id, SHAPES[id].place === "PANE" ? ++panes : 0));
    for (const pane of this.chart.panes().slice(1)) pane.setStretchFactor(PANE_HEIGHT);
    this.loadStudies();
  }

  private loadStudies(): void {
    for (const study of this.studies.peek()) study.load(this.candles, this.earlier);
    if (this.studies.peek().some(({ plot }) => plot.id === "vwap")) void this.readEarlier();
    tellPlots();
  }

  private clear(): void {
    // From the last pane to the first: an empty pane goes, and those below it move up.
    for (const study of [...this.studies.peek()].reverse()) study.close();
    this.studies.value = [];
  }

  private async readEarlier(): Promise<void> {
    const first = this.candles[0]?.openTime;
    if (first === undefined || first === this.earlierThan) return;
    this.earlierThan = first;
    this.earlier = null;
    try {
      const earlier = await tradedOfDay(this.symbol, first);
      if (this.isClosed || this.earlierThan !== first) return;
      this.earlier = earlier;
      this.loadStudies();
    } catch {
      // The day that the chart begins in has no average then. The next load asks again.
      this.earlierThan = 0;
    }
  }
}
