import { computed, effect } from "@preact/signals";
import type {
  IPrimitivePaneView,
  ISeriesPrimitive,
  SeriesAttachedParameter,
  Time,
  UTCTimestamp,
} from "lightweight-charts";
import { look, settings } from "../state/settings.ts";
import { indexAt } from "./candles.ts";
import { candles } from "./chart-state.ts";
import { followOwnFills, ownFills } from "./own-fills.ts";
import { themeColor } from "./theme.ts";

/**
 * Own fills as triangles at their prices: up for what was bought, down for what was sold. One primitive draws those in
 * view. Markers of the library would cost a layout of all of them at each change.
 */

const SIZE_PX = 9;

const shownFills = computed(() => (settings.value.showsFills ? ownFills.value : []));

type Draw = (context: CanvasRenderingContext2D) => void;

export class FillMarks implements ISeriesPrimitive<Time> {
  private target: SeriesAttachedParameter<Time> | null = null;
  private readonly stops: readonly (() => void)[];
  private readonly views: readonly IPrimitivePaneView[];

  constructor() {
    const draw: Draw = (context) => this.draw(context);
    const renderer = {
      draw: (target: { useMediaCoordinateSpace(run: (scope: { context: CanvasRenderingContext2D }) => void): void }) =>
        target.useMediaCoordinateSpace(({ context }) => draw(context)),
    };
    this.views = [{ zOrder: () => "top", renderer: () => renderer }];
    this.stops = [
      followOwnFills(),
      effect(() => {
        void [shownFills.value, look.value];
        this.target?.requestUpdate();
      }),
    ];
  }

  attached(target: SeriesAttachedParameter<Time>): void {
    this.target = target;
  }

  paneViews(): readonly IPrimitivePaneView[] {
    return this.views;
  }

  close(): void {
    for (const stop of this.stops) stop();
  }

  private draw(context: CanvasRenderingContext2D): void {
    if (this.target === null) return;
    const { chart, series } = this.target;
    const { all } = candles.peek();
    const range = chart.timeScale().getVisibleRange();
    if (range === null || all.length === 0 || shownFills.peek().length === 0) return;
    const from = Number(range.from) * 1000;
    const through = all[indexAt(all, Number(range.to) * 1000)]?.closeTime ?? 0;
    const colors = { BUY: themeColor("up"), SELL: themeColor("down") };
    context.strokeStyle = themeColor("text");
    context.lineWidth = 1;
    // Fills of one order are often at one place.
    let last = "";
    for (const { time, price, side } of shownFills.peek()) {
      if (time < from || time > through) continue;
      const candle = all[indexAt(all, time)];
      if (candle === undefined) continue;
      const x = chart.timeScale().timeToCoordinate((candle.openTime / 1000) as UTCTimestamp);
      const y = series.priceToCoordinate(Number(price));
      if (x === null || y === null) continue;
      const place = `${Math.round(x)} ${Math.round(y)} ${side}`;
      if (place === last) continue;
      last = place;
      context.fillStyle = colors[side];
      drawTriangle(context, x, y, side === "BUY" ? 1 : -1);
    }
  }
}

/** With its tip at the price, below it (1) or above it (-1). */
function drawTriangle(context: CanvasRenderingContext2D, x: number, y: number, direction: 1 | -1): void {
  context.beginPath();
  context.moveTo(x, y);
  context.lineTo(x - SIZE_PX / 2, y + direction * SIZE_PX);
  context.lineTo(x + SIZE_PX / 2, y + direction * SIZE_PX);
  context.closePath();
  context.fill();
  context.stroke();
}
