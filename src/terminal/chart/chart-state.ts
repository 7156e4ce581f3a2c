import { computed, signal } from "@preact/signals";
import type { Kline } from "../../client/types.ts";
import { settings } from "../state/settings.ts";
import { type Interval, indexAt } from "./candles.ts";
import type { Values } from "./formulas.ts";

/** The chart as its parts share it: candles, the crosshair, and lines on top of the candles. */

/** For as long as the settings have none. Null until the exchange has said how many candles there are. */
export const proposedInterval = signal<Interval | null>(null);
export const shownInterval = computed(() => (settings.value.interval || proposedInterval.value) as Interval | null);

/** Why there are no candles. */
export const fault = signal<string | null>(null);
export const isLoading = signal(true);

interface Loaded {
  /** Oldest first. */
  readonly all: readonly Kline[];
  /** Loads a page of candles before the first one. */
  loadOlder(): Promise<void>;
}
export const NO_CANDLES: Loaded = { all: [], loadOlder: () => Promise.resolve() };
/** A new object after each change of a candle, around the same array. */
export const candles = signal<Loaded>(NO_CANDLES);
/** The opening time of the candle below the crosshair. Null: no crosshair. */
export const pointedTime = signal<number | null>(null);
/** The index of the candle that the legend describes: the pointed one, otherwise the newest. -1 = none. */
export const describedIndex = computed(() => {
  const { all } = candles.value;
  return pointedTime.value === null ? all.length - 1 : indexAt(all, pointedTime.value);
});

/** An indicator or another price, drawn over the candles or below them. */
export interface Plot {
  readonly id: string;
  /** Such as "RSI 14". */
  readonly title: string;
  /** 0 = the pane of the candles. */
  readonly pane: number;
  readonly lines: readonly { readonly title: string; readonly color: string }[];
  format(value: number): string;
  /** Of the candle with this index. */
  valuesAt(index: number): Values;
}
export const plots = signal<readonly Plot[]>([]);
/** Their figures have changed, though no candle of trades has. */
export const tellPlots = (): void => {
  plots.value = [...plots.peek()];
};
/** The upper edge of each pane, in pixels of the chart. */
export const paneTops = signal<readonly number[]>([0]);

/** Where the crosshair is, or was last: the price, and its place in pixels of the chart. Null: it was nowhere yet. */
export const pointed = signal<{ readonly price: number; readonly y: number; readonly axisWidth: number } | null>(null);
/** The menu of orders that is open: its price, and its place in the window. */
export const orderMenu = signal<{ readonly price: number; readonly x: number; readonly y: number } | null>(null);
