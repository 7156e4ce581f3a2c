import { computed, effect, signal, untracked } from "@preact/signals";
import { type IChartApi, type ISeriesApi, LineSeries } from "lightweight-charts";
import type { Kline } from "../../client/types.ts";
import { CANDLES_PACE_MS, forgetPaint, prepareNext } from "../state/frame.ts";
import { priceDecimals } from "../state/markets.ts";
import { look, settings } from "../state/settings.ts";
import { text } from "../text/catalogue.ts";
import { fixed } from "../text/format.ts";
import { Candles, hasOverlays, type Interval, indexAt } from "./candles.ts";
import { type Plot, tellPlots } from "./chart-state.ts";
import { lineOptions, priceFormat, themeColor } from "./theme.ts";
import { timeOf } from "./times.ts";

/** Mark and index prices as lines over the candles. */

const TYPES = ["MARK", "INDEX"] as const;
type OverlayType = (typeof TYPES)[number];

const SHOWN = {
  MARK: computed(() => settings.value.showsMark),
  INDEX: computed(() => settings.value.showsIndex),
} as const;
/** The variables of the theme. */
const COLORS = { MARK: "warn", INDEX: "accent" } as const;
const TITLES = { MARK: text.mark, INDEX: text.index } as const;

/** The line of its candles' closes. */
class Overlay {
  readonly plot: Plot;
  private readonly type: OverlayType;
  private readonly candles: Candles;
  private readonly chart: IChartApi;
  private readonly series: ISeriesApi<"Line">;
  private readonly prices: readonly Kline[];
  private shownUntil = 0;

  constructor(chart: IChartApi, symbol: string, interval: Interval, type: OverlayType, prices: readonly Kline[]) {
    this.chart = chart;
    this.type = type;
    this.prices = prices;
    const color = COLORS[type];
    this.series = chart.addSeries(LineSeries, { ...lineOptions(color), lineStyle: 1, lastValueVisible: true }, 0);
    this.series.applyOptions({ priceFormat: priceFormat(priceDecimals.peek()) });
    this.candles = new Candles(symbol, interval, type, {
      onLoad: () => this.show(),
      onUpdate: () => prepareNext(this.paint, CANDLES_PACE_MS),
      onFault: () => {},
    });
    this.plot = {
      id: type,
      title: TITLES[type],
      pane: 0,
      lines: [{ title: "", color }],
      format: (value) => fixed(value, priceDecimals.peek()),
      valuesAt: (index) => {
        const time = this.prices[index]?.openTime;
        const { all } = this.candles;
        const found = time === undefined ? undefined : all[indexAt(all, time)];
        return [found?.openTime === time && found !== undefined ? Number(found.close) : null];
      },
    };
  }

  /** Only where there are candles of trades: their first one is the chart's first. */
  show(): void {
    const from = this.prices[0]?.openTime ?? Number.POSITIVE_INFINITY;
    const shown = this.candles.all.filter(({ openTime }) => openTime >= from);
    this.series.setData(shown.map((candle) => ({ time: timeOf(candle), value: Number(candle.close) })));
    this.shownUntil = shown.at(-1)?.openTime ?? 0;
    tellPlots();
    if ((this.candles.all[0]?.openTime ?? from) > from) void this.candles.loadOlder();
  }

  /** In the colour of the theme that is on now. */
  recolor(): void {
    this.series.applyOptions({ color: themeColor(COLORS[this.type]) });
  }

  close(): void {
    forgetPaint(this.paint);
    this.candles.close();
    this.chart.removeSeries(this.series);
  }

  private readonly paint = (): void => {
    const from = Math.max(this.shownUntil, this.prices[0]?.openTime ?? 0);
    // A page that was hidden has more than one new candle to show.
    for (const candle of this.candles.all.slice(Math.max(0, indexAt(this.candles.all, from)))) {
      if (candle.openTime < from) continue;
      this.series.update({ time: timeOf(candle), value: Number(candle.close) });
      this.shownUntil = candle.openTime;
    }
    tellPlots();
  };
}

/** Those that are chosen. Each has a stream, so it stays open while anything else changes. */
export class Overlays {
  readonly plots = signal<readonly Plot[]>([]);
  private readonly open = new Map<OverlayType, Overlay>();
  private readonly stops: readonly (() => void)[];

  /** `prices`: the chart's own candles, oldest first. */
  constructor(chart: IChartApi, symbol: string, interval: Interval, prices: readonly Kline[]) {
    const choose = (chosen: readonly OverlayType[]): void => {
      for (const [type, overlay] of this.open) {
        if (chosen.includes(type)) continue;
        overlay.close();
        this.open.delete(type);
      }
      for (const type of chosen)
        if (!this.open.has(type)) this.open.set(type, new Overlay(chart, symbol, interval, type, prices));
      this.plots.value = chosen.flatMap((type) => this.open.get(type)?.plot ?? []);
    };
    this.stops = [
      effect(() => {
        const chosen = hasOverlays(interval) ? TYPES.filter((type) => SHOWN[type].value) : [];
        untracked(() => choose(chosen));
      }),
      effect(() => {
        void look.value;
        for (const overlay of this.open.values()) overlay.recolor();
      }),
    ];
  }

  /** After other candles were loaded. */
  show(): void {
    for (const overlay of this.open.values()) overlay.show();
  }

  close(): void {
    for (const stop of this.stops) stop();
    for (const overlay of this.open.values()) overlay.close();
  }
}
