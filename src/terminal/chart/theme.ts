import { ColorType, type IChartApi, type ISeriesApi, type LineSeriesPartialOptions } from "lightweight-charts";
import { fixed } from "../text/format.ts";
import { type Interval, isDaily } from "./candles.ts";
import { axisLabel, candleTime } from "./times.ts";

/** Colours and formats of the chart. */

/** The value of a CSS variable of the theme. */
export const themeColor = (name: string): string =>
  getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

export const lineOptions = (color: string): LineSeriesPartialOptions => ({
  color: themeColor(color),
  lineWidth: 1,
  priceLineVisible: false,
  lastValueVisible: false,
  crosshairMarkerVisible: false,
});

/** Of the axis, written as everywhere else on the page. */
export const priceFormat = (decimals: number, minMove = 10 ** -decimals) =>
  ({ type: "custom", formatter: (value: number) => fixed(value, decimals), minMove }) as const;

/** Times in the zone that is shown. */
export function formats(interval: Interval) {
  const daily = isDaily(interval);
  const hasSeconds = interval === "1s";
  return {
    localization: { timeFormatter: (time: unknown) => candleTime(Number(time) * 1000, daily, hasSeconds) },
    timeScale: {
      timeVisible: true,
      secondsVisible: hasSeconds,
      rightOffset: 8,
      tickMarkFormatter: (time: unknown) => axisLabel(Number(time) * 1000, daily),
    },
  };
}

export function applyTheme(chart: IChartApi, prices: ISeriesApi<"Candlestick">): void {
  const line = themeColor("line");
  const grid = { color: themeColor("grid") };
  chart.applyOptions({
    layout: {
      background: { type: ColorType.Solid, color: themeColor("panel") },
      textColor: themeColor("muted"),
      fontFamily: themeColor("font"),
      fontSize: 11,
      panes: { separatorColor: line, separatorHoverColor: themeColor("raised") },
    },
    grid: { vertLines: grid, horzLines: grid },
    crosshair: { mode: 0 },
    rightPriceScale: { borderColor: line },
    timeScale: { borderColor: line },
  });
  const [up, down] = [themeColor("up"), themeColor("down")];
  prices.applyOptions({ upColor: up, downColor: down, wickUpColor: up, wickDownColor: down, borderVisible: false });
}
