import { effect } from "@preact/signals";
import type { IPriceLine, ISeriesApi } from "lightweight-charts";
import type { Order } from "../../client/types.ts";
import { openOrders, positions } from "../state/account.ts";
import { instrument, symbol } from "../state/markets.ts";
import { settings } from "../state/settings.ts";
import { text } from "../text/catalogue.ts";

/** Lines across the chart: the account's orders, its entry price and its liquidation price. */

interface Line {
  readonly price: number;
  readonly color: string;
  readonly style: 0 | 1 | 2;
  readonly title: string;
}

const variable = (name: string): string =>
  getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

/** The price at which an order stands on the chart. */
export const linePrice = (order: Order): string | null => order.triggerPrice ?? order.price;

export class ChartLines {
  private readonly series: ISeriesApi<"Candlestick">;
  private readonly shown = new Map<string, IPriceLine>();
  private readonly stop: () => void;

  constructor(series: ISeriesApi<"Candlestick">, _host: HTMLElement) {
    this.series = series;
    this.stop = effect(() => {
      void settings.value.theme;
      this.show(wanted());
    });
  }

  close(): void {
    this.stop();
  }

  private show(lines: ReadonlyMap<string, Line>): void {
    for (const [key, line] of this.shown) {
      if (lines.has(key)) continue;
      this.series.removePriceLine(line);
      this.shown.delete(key);
    }
    for (const [key, { price, color, style, title }] of lines) {
      const options = { price, color, title, lineStyle: style, lineWidth: 1, axisLabelVisible: true } as const;
      const line = this.shown.get(key);
      if (line === undefined) this.shown.set(key, this.series.createPriceLine(options));
      else line.applyOptions(options);
    }
  }
}

function wanted(): Map<string, Line> {
  const lines = new Map<string, Line>();
  const name = symbol.value;
  const asset = instrument.value?.baseAsset ?? "";
  for (const order of openOrders.value) {
    const price = linePrice(order);
    if (order.symbol !== name || price === null) continue;
    const color = variable(order.side === "BUY" ? "up" : "down");
    const size = order.closePosition ? "" : ` ${order.remainingQuantity} ${asset}`;
    const style = order.status === "UNTRIGGERED" ? 1 : 2;
    lines.set(`order ${order.orderId}`, {
      price: Number(price),
      color,
      style,
      title: `${text.kinds[order.type]}${size}`,
    });
  }
  const position = positions.value.find((each) => each.symbol === name);
  if (position?.entryPrice != null) {
    const side = position.side === "SHORT" ? text.short : text.long;
    const title = `${side} ${position.size} ${asset}`;
    lines.set("entry", { price: Number(position.entryPrice), color: variable("accent"), style: 0, title });
  }
  if (position?.liquidationPrice != null)
    lines.set("liquidation", {
      price: Number(position.liquidationPrice),
      color: variable("warn"),
      style: 2,
      title: text.liquidationShort,
    });
  return lines;
}
