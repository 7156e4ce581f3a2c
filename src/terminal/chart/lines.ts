import { computed, effect } from "@preact/signals";
import type { AutoscaleInfo, IChartApi, IPriceLine, ISeriesApi, ISeriesPrimitive, Time } from "lightweight-charts";
import type { Order } from "../../client/types.ts";
import { amending } from "../dialogs/amend.tsx";
import { openOrders, positions } from "../state/account.ts";
import { paintNext, setText } from "../state/frame.ts";
import { instrument, priceDecimals, symbol, ticker } from "../state/markets.ts";
import { look, settings } from "../state/settings.ts";
import { announcement } from "../state/toasts.ts";
import { amendOrder, askToAmend } from "../state/trading.ts";
import { text } from "../text/catalogue.ts";
import { fromNumber } from "../text/decimal.ts";
import { fixed } from "../text/format.ts";
import { themeColor } from "./theme.ts";

/**
 * Lines across the chart: the account's orders, its entry price and its liquidation price. Each order has a handle that
 * can be dragged to a new price; a click or Enter opens its dialog.
 */

interface Line {
  readonly price: number;
  readonly color: string;
  readonly style: 0 | 1 | 2;
  readonly title: string;
  /** Null: it cannot be moved. */
  readonly order: Order | null;
}

/** The price that a drag changes. A trailing stop follows the market by itself. */
const moves = (order: Order): "triggerPrice" | "price" | null => {
  if (order.callbackRate !== null) return null;
  return order.triggerPrice !== null && order.status === "UNTRIGGERED" ? "triggerPrice" : "price";
};

/** How far from the candles a line may be to be shown, as a share of the price: by itself, and on demand. */
const SHOWN_WITHIN = 0.005;
/** The liquidation price may be near 0: further away it would flatten the candles even on demand. */
const LIQUIDATION_WITHIN = 0.15;
const LIQUIDATION = "liquidation";
const fitsOrders = computed(() => settings.value.fitsOrders);
/** Ticks that a key moves a line by; ten times as many with Shift. */
const STEPS: Readonly<Record<string, number>> = { ArrowUp: 1, ArrowDown: -1, PageUp: 100, PageDown: -100 };
/** Less is a click. */
const DRAG_FROM_PX = 4;

interface Shown {
  line: Line;
  readonly priceLine: IPriceLine;
  readonly handle: HTMLButtonElement | null;
  /** Of the handle. 0: to be measured. To measure at each frame would lay out the page each time. */
  widthPx: number;
  /** Whether a drag has moved it away from its price. */
  isMoved: boolean;
  /** Whether its label is on the price axis. */
  hasAxisLabel: boolean;
}

const isSame = (a: Line, b: Line): boolean =>
  a.price === b.price && a.color === b.color && a.style === b.style && a.title === b.title;

/** Of a line's label that the library draws: it cannot be measured. */
const labelWidthPx = (title: string): number => 6.5 * title.length + 8;
const HANDLE_HEIGHT_PX = 20;
const BESIDE_PX = 4;
/** Further to the left a handle would be far from its price. */
const FURTHEST_SHARE = 0.7;

export class ChartLines {
  private readonly chart: IChartApi;
  private readonly series: ISeriesApi<"Candlestick">;
  private readonly layer = document.createElement("div");
  private readonly shown = new Map<string, Shown>();
  private readonly stop: () => void;
  private readonly stopFit: () => void;
  private fits = false;
  private dragged: { key: string; price: number } | null = null;

  constructor(chart: IChartApi, series: ISeriesApi<"Candlestick">, host: HTMLElement) {
    this.chart = chart;
    this.series = series;
    this.layer.className = "handles";
    host.append(this.layer);
    // The library tells of no change of the price scale, but it has each primitive update its views at every change.
    const primitive: ISeriesPrimitive<Time> = {
      updateAllViews: () => {
        if (this.shown.size > 0) paintNext(this.place);
      },
    };
    series.attachPrimitive(primitive);
    series.applyOptions({ autoscaleInfoProvider: (candles: () => AutoscaleInfo | null) => this.withLines(candles()) });
    this.stop = effect(() => {
      void look.value;
      this.show(wanted());
    });
    this.stopFit = effect(() => {
      this.fits = fitsOrders.value;
      // A scale that was dragged by hand fits again.
      chart.priceScale("right").applyOptions({ autoScale: true });
    });
  }

  close(): void {
    this.stop();
    this.stopFit();
    this.layer.remove();
  }

  /** The price scale shows lines near the candles, too. Those far away would flatten the candles: they are shown on demand. */
  private withLines(info: AutoscaleInfo | null): AutoscaleInfo | null {
    if (info === null || info.priceRange === null) return info;
    let { minValue, maxValue } = info.priceRange;
    const { minValue: least, maxValue: most } = info.priceRange;
    for (const [key, { line }] of this.shown) {
      const within = !this.fits ? SHOWN_WITHIN : key === LIQUIDATION ? LIQUIDATION_WITHIN : Number.POSITIVE_INFINITY;
      if (line.price < least - most * within || line.price > most + most * within) continue;
      minValue = Math.min(minValue, line.price);
      maxValue = Math.max(maxValue, line.price);
    }
    return { ...info, priceRange: { minValue, maxValue } };
  }

  private show(lines: ReadonlyMap<string, Line>): void {
    for (const [key, { priceLine, handle }] of this.shown) {
      if (lines.has(key)) continue;
      paintNext(this.place);
      // Before the handle goes: one with the focus blurs while it is removed, and that gives a move of its line up.
      this.shown.delete(key);
      if (this.dragged?.key === key) this.dragged = null;
      this.series.removePriceLine(priceLine);
      handle?.remove();
    }
    for (const [key, line] of lines) {
      const known = this.shown.get(key);
      const shown = known ?? this.add(key, line);
      const isDrawn = known !== undefined && !known.isMoved && isSame(known.line, line);
      shown.line = line;
      // Equal options would have the library draw the whole chart.
      if (isDrawn) continue;
      paintNext(this.place);
      const { price, color, title, style } = line;
      if (this.dragged?.key !== key) {
        shown.priceLine.applyOptions({ price, color, title: shown.handle === null ? title : "", lineStyle: style });
        shown.isMoved = false;
      }
      if (shown.handle === null) continue;
      this.setTitle(shown, title);
      shown.handle.style.setProperty("--line-color", color);
    }
  }

  private setTitle(shown: Shown, title: string): void {
    if (shown.handle === null || shown.handle.textContent === title) return;
    setText(shown.handle, title);
    shown.widthPx = 0;
  }

  private add(key: string, line: Line): Shown {
    const priceLine = this.series.createPriceLine({ price: line.price, lineWidth: 1, axisLabelVisible: false });
    const handle = line.order === null ? null : this.makeHandle(key);
    const added: Shown = { line, priceLine, handle, widthPx: 0, isMoved: false, hasAxisLabel: false };
    this.shown.set(key, added);
    return added;
  }

  private makeHandle(key: string): HTMLButtonElement {
    const handle = document.createElement("button");
    handle.type = "button";
    handle.className = "handle";
    handle.title = text.dragHint;
    // Until the price scale has room for its line.
    handle.hidden = true;
    let startY: number | null = null;
    /** Whether the pointer has moved the line since it was pressed: no click follows then. */
    let hasMoved = false;
    handle.addEventListener("pointerdown", (event) => {
      handle.setPointerCapture(event.pointerId);
      // For Escape. Not every browser gives it to a button that is pressed.
      handle.focus();
      startY = event.clientY;
      hasMoved = false;
    });
    handle.addEventListener("pointermove", (event) => {
      const order = this.shown.get(key)?.line.order;
      if (startY === null || order == null || moves(order) === null || this.isSending) return;
      // Given up: it does not begin again before the next press.
      if (hasMoved && this.dragged === null) return;
      if (!hasMoved && Math.abs(event.clientY - startY) < DRAG_FROM_PX) return;
      const price = this.series.coordinateToPrice(event.clientY - this.layer.getBoundingClientRect().top);
      if (price === null) return;
      hasMoved = true;
      this.drag(key, price);
    });
    handle.addEventListener("pointerup", () => {
      startY = null;
      if (hasMoved && this.dragged !== null) void this.drop();
    });
    handle.addEventListener("pointercancel", () => {
      startY = null;
      this.cancel(key);
    });
    handle.addEventListener("click", () => {
      if (!hasMoved) amending.value = this.shown.get(key)?.line.order ?? null;
      hasMoved = false;
    });
    handle.addEventListener("keydown", (event) => {
      if (!this.press(key, event)) return;
      event.preventDefault();
      event.stopPropagation();
    });
    handle.addEventListener("blur", () => this.cancel(key));
    this.layer.append(handle);
    return handle;
  }

  /** Moves the line by keyboard. Returns whether the key was one for it. */
  private press(key: string, event: KeyboardEvent): boolean {
    const line = this.shown.get(key)?.line;
    const tick = Number(instrument.peek()?.tickSize);
    const isMoved = this.dragged?.key === key;
    const steps = STEPS[event.key];
    if (event.key === "Escape" && isMoved) this.cancel(key);
    else if (event.key === "Enter" && isMoved) void this.drop();
    else if (steps !== undefined && line?.order != null && moves(line.order) !== null && !this.isSending) {
      const from = isMoved ? (this.dragged?.price ?? line.price) : line.price;
      const to = Math.round(from / tick + steps * (event.shiftKey ? 10 : 1)) * tick;
      if (to <= 0) return true;
      this.drag(key, to);
      announcement.value = fixed(to, priceDecimals.peek());
    } else return false;
    return true;
  }

  /** The line goes back to its order's price. */
  private cancel(key: string): void {
    if (this.dragged?.key !== key || this.isSending) return;
    this.dragged = null;
    this.show(wanted());
  }

  /** While a drop is sent, nothing else moves. */
  private isSending = false;

  private drag(key: string, price: number): void {
    const shown = this.shown.get(key);
    if (shown === undefined) return;
    this.dragged = { key, price };
    shown.priceLine.applyOptions({ price });
    shown.isMoved = true;
    this.setTitle(shown, `${shown.line.title} → ${fixed(price, priceDecimals.peek())}`);
    paintNext(this.place);
  }

  private async drop(): Promise<void> {
    const { dragged } = this;
    const order = dragged === null ? null : this.shown.get(dragged.key)?.line.order;
    const tick = instrument.peek()?.tickSize;
    const field = order == null ? null : moves(order);
    if (dragged !== null && order != null && tick !== undefined && field !== null && !this.isSending) {
      this.isSending = true;
      const changes = { [field]: fromNumber(dragged.price, tick, "NEAREST") };
      if (await askToAmend(order, changes)) await amendOrder(order, changes);
      this.isSending = false;
    }
    // After any answer of the exchange the line shows the order as it is.
    this.dragged = null;
    this.show(wanted());
  }

  /** The library would put the label of a line out of view at the edge of the axis, as if its price were there. */
  private labelAxis(shown: Shown, isInView: boolean): void {
    if (shown.hasAxisLabel === isInView) return;
    shown.hasAxisLabel = isInView;
    shown.priceLine.applyOptions({ axisLabelVisible: isInView });
  }

  /** Puts each handle beside its line, and to the left of those at nearly the same price. */
  private readonly place = (): void => {
    const axis = this.chart.priceScale("right").width();
    const height = this.chart.panes()[0]?.getHeight() ?? 0;
    const furthest = FURTHEST_SHARE * this.chart.timeScale().width();
    const placed: { readonly y: number; readonly end: number }[] = [];
    // Those that the library draws cannot move, and the one that is dragged stays below the pointer.
    const rank = ([key, { handle }]: [string, Shown]): number =>
      handle === null ? 0 : this.dragged?.key === key ? 1 : 2;
    for (const [key, shown] of [...this.shown].sort((a, b) => rank(a) - rank(b))) {
      const { line, handle } = shown;
      const isMoved = this.dragged?.key === key;
      const at = this.series.priceToCoordinate(isMoved ? (this.dragged?.price ?? line.price) : line.price);
      // One that is used waits at the edge of the view: hidden, it would lose the focus, and a move would be given up.
      const isUsed = isMoved || (handle !== null && handle === document.activeElement);
      this.labelAxis(shown, at !== null && at >= 0 && at <= height);
      const y = isUsed && at !== null ? Math.max(0, Math.min(height, at)) : at;
      const isOutside = y === null || y < 0 || y > height;
      if (handle !== null) handle.hidden = isOutside;
      if (isOutside) continue;
      if (handle !== null) shown.widthPx ||= handle.offsetWidth;
      const near = placed.filter((each) => Math.abs(each.y - y) < HANDLE_HEIGHT_PX);
      const wanted = Math.max(0, ...near.map(({ end }) => end + BESIDE_PX));
      const left = wanted > furthest || rank([key, shown]) < 2 ? 0 : wanted;
      placed.push({ y, end: left + (handle === null ? labelWidthPx(line.title) : shown.widthPx) });
      if (handle !== null)
        handle.style.transform = `translate(${Math.round(-axis - 8 - left)}px, ${Math.round(y) - HANDLE_HEIGHT_PX / 2}px)`;
    }
  };
}

/** The library draws each line with its label at each change of a price: a thousand orders took all of a core. */
const MOST_ORDERS = 50;
/** Changes with each move of the mark by about a fifth of a percent. */
const around = computed(() => Math.round(500 * Math.log(Number(ticker.value?.markPrice ?? 1))));

/** The orders with a price in the market; of many those nearest to the mark. */
function nearestOrders(name: string): { readonly order: Order; readonly price: number }[] {
  const all: { order: Order; price: number }[] = [];
  for (const order of openOrders.value) {
    const price = moves(order) === "price" ? order.price : order.triggerPrice;
    if (order.symbol === name && price !== null) all.push({ order, price: Number(price) });
  }
  if (all.length <= MOST_ORDERS) return all;
  void around.value;
  const mark = Number(ticker.peek()?.markPrice ?? 0);
  return all.sort((a, b) => Math.abs(a.price - mark) - Math.abs(b.price - mark)).slice(0, MOST_ORDERS);
}

function wanted(): Map<string, Line> {
  const lines = new Map<string, Line>();
  const name = symbol.value;
  const asset = instrument.value?.baseAsset ?? "";
  for (const { order, price } of nearestOrders(name)) {
    const color = themeColor(order.side === "BUY" ? "up" : "down");
    const size = order.closePosition ? "" : ` ${order.remainingQuantity} ${asset}`;
    const style = order.status === "UNTRIGGERED" ? 1 : 2;
    const title = `${text.kinds[order.type]}${size}`;
    lines.set(`order ${order.orderId}`, { price, color, style, title, order });
  }
  const position = positions.value.find((each) => each.symbol === name);
  if (position?.entryPrice != null) {
    const side = position.side === "SHORT" ? text.short : text.long;
    const title = `${side} ${position.size} ${asset}`;
    lines.set("entry", {
      price: Number(position.entryPrice),
      color: themeColor("accent"),
      style: 0,
      title,
      order: null,
    });
  }
  if (position?.liquidationPrice != null) {
    const price = Number(position.liquidationPrice);
    lines.set(LIQUIDATION, { price, color: themeColor("warn"), style: 2, title: text.liquidationShort, order: null });
  }
  return lines;
}
