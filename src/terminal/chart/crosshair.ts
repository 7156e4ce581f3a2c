import type { IChartApi, ISeriesApi, MouseEventParams, UTCTimestamp } from "lightweight-charts";
import { forgetPaint, paintNext } from "../state/frame.ts";
import { instrument, priceDecimals } from "../state/markets.ts";
import { announcement } from "../state/toasts.ts";
import { text } from "../text/catalogue.ts";
import { fixed } from "../text/format.ts";
import { indexAt, isDaily } from "./candles.ts";
import { candles, orderMenu, pointed, pointedTime, shownInterval } from "./chart-state.ts";
import { candleTime } from "./times.ts";

/** The crosshair, by pointer and by keyboard, and the menu of orders at its price. */

/** An arrow up or down moves the price by so many pixels. */
const STEP_PX = 4;
const ZOOM = 1.25;
/** Candles that stay in view beside the crosshair. */
const EDGE = 3;

export class Crosshair {
  private readonly chart: IChartApi;
  private readonly prices: ISeriesApi<"Candlestick">;
  private readonly host: HTMLElement;
  /** Where the keyboard has put it. Null: a pointer moves it. */
  private keyed: { readonly openTime: number; readonly price: number } | null = null;

  constructor(chart: IChartApi, prices: ISeriesApi<"Candlestick">, host: HTMLElement) {
    this.chart = chart;
    this.prices = prices;
    this.host = host;
    chart.subscribeCrosshairMove(this.follow);
    // A tap has no crosshair.
    chart.subscribeClick(this.follow);
    host.addEventListener("contextmenu", this.openAtPointer);
    host.addEventListener("keydown", this.press);
  }

  close(): void {
    this.chart.unsubscribeCrosshairMove(this.follow);
    this.chart.unsubscribeClick(this.follow);
    this.host.removeEventListener("contextmenu", this.openAtPointer);
    this.host.removeEventListener("keydown", this.press);
    forgetPaint(this.restore);
    pointed.value = null;
    orderMenu.value = null;
  }

  private readonly follow = ({ time, point, paneIndex, sourceEvent }: MouseEventParams): void => {
    // The library leaves it at its pixels when candles move. The keyboard's stays at its candle.
    if (this.keyed !== null && sourceEvent === undefined) return paintNext(this.restore);
    this.keyed = null;
    pointedTime.value = time === undefined ? null : Number(time) * 1000;
    // The pointer may have left for the button at the crosshair, so the button stays. CSS hides it.
    if (point !== undefined && paneIndex === 0) this.pointAt(point.y);
  };

  private readonly restore = (): void => {
    const { keyed } = this;
    const { all } = candles.peek();
    const index = keyed === null ? -1 : indexAt(all, keyed.openTime);
    if (keyed !== null && all[index]?.openTime === keyed.openTime) this.put(index, keyed.price);
    else this.keyed = null;
  };

  private pointAt(y: number): void {
    const price = this.prices.coordinateToPrice(y);
    if (price !== null && price > 0) pointed.value = { price, y, axisWidth: this.chart.priceScale("right").width() };
  }

  private readonly openAtPointer = (event: MouseEvent): void => {
    const { left, top } = this.host.getBoundingClientRect();
    const [x, y] = [event.clientX - left, event.clientY - top];
    const { width, height } = this.chart.paneSize(0);
    if (x > width || y > height) return;
    event.preventDefault();
    this.pointAt(y);
    this.openMenu(event.clientX, event.clientY);
  };

  private openMenu(x: number, y: number): void {
    const now = pointed.peek();
    if (now !== null) orderMenu.value = { price: now.price, x, y };
  }

  private readonly press = (event: KeyboardEvent): void => {
    if (event.target !== this.host || event.ctrlKey || event.metaKey || event.altKey) return;
    if (!this.answer(event.key, event.shiftKey)) return;
    event.preventDefault();
    event.stopPropagation();
  };

  /** Returns whether the chart has a use for the key. */
  private answer(key: string, isShift: boolean): boolean {
    const steps = isShift ? 10 : 1;
    switch (key) {
      case "ArrowLeft":
      case "ArrowRight":
        this.moveBy(key === "ArrowLeft" ? -steps : steps);
        return true;
      case "Home":
      case "End":
        this.moveBy(key === "Home" ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY);
        return true;
      case "ArrowUp":
      case "ArrowDown":
        this.movePrice(key === "ArrowUp" ? 1 : -1, isShift);
        return true;
      case "+":
      case "-": {
        const { barSpacing } = this.chart.timeScale().options();
        this.chart.timeScale().applyOptions({ barSpacing: key === "+" ? barSpacing * ZOOM : barSpacing / ZOOM });
        return true;
      }
      case "F10":
        if (!isShift) return false;
        this.openAtCrosshair();
        return true;
      case "Enter":
      case " ":
      case "ContextMenu":
        this.openAtCrosshair();
        return true;
      case "Escape":
        this.keyed = null;
        this.chart.clearCrosshairPosition();
        pointed.value = null;
        pointedTime.value = null;
        return true;
      default:
        return false;
    }
  }

  private openAtCrosshair(): void {
    if (pointed.peek() === null) this.moveBy(0);
    const now = pointed.peek();
    if (now === null) return;
    const { right, top } = this.host.getBoundingClientRect();
    this.openMenu(right - now.axisWidth, top + now.y);
  }

  private moveBy(steps: number): void {
    const { all } = candles.peek();
    const last = all.length - 1;
    if (last < 0) return;
    const time = pointedTime.peek();
    const now = time === null ? last : indexAt(all, time);
    // The first press shows the newest candle.
    const next = Math.max(0, Math.min(last, time === null && Math.abs(steps) === 1 ? last : now + steps));
    this.show(next, this.keyed?.price ?? Number(all[next]?.close));
    const candle = all[next];
    if (candle === undefined) return;
    const interval = shownInterval.peek() ?? "1m";
    const figure = (value: string): string => fixed(Number(value), priceDecimals.peek());
    announcement.value = text.candleAt(
      candleTime(candle.openTime, isDaily(interval), interval === "1s"),
      figure(candle.open),
      figure(candle.high),
      figure(candle.low),
      figure(candle.close),
    );
  }

  /** By some pixels, or by a tick. */
  private movePrice(direction: 1 | -1, isTick: boolean): void {
    const { all } = candles.peek();
    const time = pointedTime.peek();
    const index = time === null ? all.length - 1 : indexAt(all, time);
    const tick = Number(instrument.peek()?.tickSize ?? 0.1);
    const price = this.keyed?.price ?? Number(all[index]?.close ?? 0);
    const y = this.prices.priceToCoordinate(price);
    const moved = y === null ? null : this.prices.coordinateToPrice(y - direction * STEP_PX);
    const next = isTick || moved === null ? price + direction * tick : moved;
    const rounded = Math.round(next / tick) * tick;
    if (index < 0 || rounded <= 0) return;
    this.show(index, rounded);
    announcement.value = fixed(rounded, priceDecimals.peek());
  }

  private show(index: number, price: number): void {
    const scale = this.chart.timeScale();
    const range = scale.getVisibleLogicalRange();
    if (range !== null) {
      const shift = Math.min(0, index - EDGE - range.from) + Math.max(0, index + EDGE - range.to);
      if (shift !== 0) scale.setVisibleLogicalRange({ from: range.from + shift, to: range.to + shift });
    }
    this.put(index, price);
  }

  private put(index: number, price: number): void {
    const openTime = candles.peek().all[index]?.openTime;
    if (openTime === undefined) return;
    this.keyed = { openTime, price };
    this.chart.setCrosshairPosition(price, (openTime / 1000) as UTCTimestamp, this.prices);
    pointedTime.value = openTime;
    const y = this.prices.priceToCoordinate(price);
    if (y !== null) pointed.value = { price, y, axisWidth: this.chart.priceScale("right").width() };
  }
}
