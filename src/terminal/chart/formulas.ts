import type { IndicatorId } from "../state/indicators.ts";

/**
 * The indicators of the chart. Each keeps what closed candles add up to, so a new price costs a few steps, however many
 * candles the chart has. Pure.
 */

/** The part of a candle that formulas read. */
export interface Bar {
  /** Milliseconds since the epoch. */
  readonly openTime: number;
  readonly high: number;
  readonly low: number;
  readonly close: number;
  /** In the base asset. */
  readonly volume: number;
  /** In the quote asset. */
  readonly turnover: number;
}

/** One for each line. Null while there are too few candles. */
export type Values = readonly (number | null)[];

export interface Formula {
  /** The values of the newest candle. It may still change, so nothing of it is kept. */
  valuesAt(bar: Bar): Values;
  /** Keeps a candle that does not change any more. */
  close(bar: Bar): void;
}

/** The last values, with the newest at the end. */
class Window {
  private readonly length: number;
  private readonly closed: number[] = [];

  constructor(length: number) {
    this.length = length;
  }

  /** Null while there are fewer than `length`. */
  through(newest: number): readonly number[] | null {
    return this.closed.length < this.length - 1 ? null : [...this.closed, newest];
  }

  mean(newest: number): number | null {
    const values = this.through(newest);
    return values === null ? null : mean(values);
  }

  close(value: number): void {
    this.closed.push(value);
    if (this.closed.length === this.length) this.closed.shift();
  }
}

function mean(values: readonly number[]): number {
  let sum = 0;
  for (const value of values) sum += value;
  return sum / values.length;
}

/**
 * Exponential smoothing: s + weight × (value − s). It begins with the mean of the first `length` values, as
 * TA-Lib (ta_EMA.c) and StockCharts ("Moving Averages") have it.
 */
class Smoothing {
  private readonly length: number;
  private readonly weight: number;
  private count = 0;
  /** The sum of the first values, then the smoothed value. */
  private level = 0;

  constructor(length: number, weight: number) {
    this.length = length;
    this.weight = weight;
  }

  at(value: number): number | null {
    if (this.count < this.length - 1) return null;
    if (this.count === this.length - 1) return (this.level + value) / this.length;
    return this.level + this.weight * (value - this.level);
  }

  close(value: number): void {
    this.level = this.at(value) ?? this.level + value;
    this.count++;
  }
}

/** The weight of an exponential moving average is 2 / (length + 1). */
const exponential = (length: number): Smoothing => new Smoothing(length, 2 / (length + 1));
/** J. Welles Wilder, "New Concepts in Technical Trading Systems" (1978): the weight is 1 / length. */
const wilder = (length: number): Smoothing => new Smoothing(length, 1 / length);

/** Simple moving averages of closing prices, one for each length. */
export function sma(lengths: readonly number[]): Formula {
  const windows = lengths.map((length) => new Window(length));
  return {
    valuesAt: ({ close }) => windows.map((window) => window.mean(close)),
    close({ close }) {
      for (const window of windows) window.close(close);
    },
  };
}

/** Exponential moving averages of closing prices, one for each length. */
export function ema(lengths: readonly number[]): Formula {
  const averages = lengths.map(exponential);
  return {
    valuesAt: ({ close }) => averages.map((average) => average.at(close)),
    close({ close }) {
      for (const average of averages) average.close(close);
    },
  };
}

/**
 * Mean, upper and lower band: the mean of `length` closing prices, plus and minus `factor` standard deviations of the
 * same prices. John Bollinger, "Bollinger on Bollinger Bands" (2001): the deviation of a population, divided by n.
 */
export function bollinger(length: number, factor: number): Formula {
  const window = new Window(length);
  return {
    valuesAt({ close }) {
      const prices = window.through(close);
      if (prices === null) return [null, null, null];
      const middle = mean(prices);
      const reach = factor * Math.sqrt(mean(prices.map((price) => (price - middle) ** 2)));
      return [middle, middle + reach, middle - reach];
    },
    close: ({ close }) => window.close(close),
  };
}

/** Turnover and volume that were traded. */
export interface Traded {
  readonly turnover: number;
  readonly volume: number;
}

export const DAY_MS = 86_400_000;

/**
 * Volume-weighted average price since midnight UTC: turnover / volume. Berkowitz, Logue and Noser, "The Total Cost of
 * Transactions on the NYSE" (1988). The exchange tells the turnover, so no typical price stands in for it.
 * `earlier`: trades of the first candle's day before it. Null: not known, so that day has no value.
 */
export function vwap(earlier: Traded | null): Formula {
  let day: number | null = null;
  let sum = earlier;
  const through = ({ openTime, turnover, volume }: Bar): Traded | null => {
    if (day !== null && Math.floor(openTime / DAY_MS) !== day) return { turnover, volume };
    return sum === null ? null : { turnover: sum.turnover + turnover, volume: sum.volume + volume };
  };
  return {
    valuesAt(bar) {
      const traded = through(bar);
      return [traded === null || traded.volume === 0 ? null : traded.turnover / traded.volume];
    },
    close(bar) {
      sum = through(bar);
      day = Math.floor(bar.openTime / DAY_MS);
    },
  };
}

/** Mean of the volumes of the last candles. */
export function volumeAverage(length: number): Formula {
  const window = new Window(length);
  return { valuesAt: ({ volume }) => [window.mean(volume)], close: ({ volume }) => window.close(volume) };
}

/**
 * Relative strength index: 100 × gain / (gain + loss), of smoothed rises and falls of the closing price. Wilder (1978).
 * 50 when the price has not moved.
 */
export function rsi(length: number): Formula {
  const gains = wilder(length);
  const losses = wilder(length);
  let previous: number | null = null;
  return {
    valuesAt({ close }) {
      if (previous === null) return [null];
      const gain = gains.at(Math.max(0, close - previous));
      const loss = losses.at(Math.max(0, previous - close));
      if (gain === null || loss === null) return [null];
      return [gain + loss === 0 ? 50 : (100 * gain) / (gain + loss)];
    },
    close({ close }) {
      if (previous !== null) {
        gains.close(Math.max(0, close - previous));
        losses.close(Math.max(0, previous - close));
      }
      previous = close;
    },
  };
}

/**
 * Moving average convergence/divergence: the difference of two exponential averages, its own exponential average (the
 * signal), and the distance of both (the histogram). Gerald Appel, "Technical Analysis: Power Tools for Active Investors" (2005).
 */
export function macd(fastLength: number, slowLength: number, signalLength: number): Formula {
  const fast = exponential(fastLength);
  const slow = exponential(slowLength);
  const signal = exponential(signalLength);
  const difference = (close: number): number | null => {
    const [quick, calm] = [fast.at(close), slow.at(close)];
    return quick === null || calm === null ? null : quick - calm;
  };
  return {
    valuesAt({ close }) {
      const value = difference(close);
      const average = value === null ? null : signal.at(value);
      return [value, average, value === null || average === null ? null : value - average];
    },
    close({ close }) {
      const value = difference(close);
      if (value !== null) signal.close(value);
      fast.close(close);
      slow.close(close);
    },
  };
}

/**
 * Average true range: the smoothed largest of high − low, |high − previous close| and |low − previous close|.
 * Wilder (1978). The first candle has no close before it: high − low.
 */
export function atr(length: number): Formula {
  const average = wilder(length);
  let previous: number | null = null;
  const range = ({ high, low }: Bar): number => Math.max(high, previous ?? high) - Math.min(low, previous ?? low);
  return {
    valuesAt: (bar) => [average.at(range(bar))],
    close(bar) {
      average.close(range(bar));
      previous = bar.close;
    },
  };
}

/**
 * Stochastic oscillator. The close of a candle lies between the lowest low (0) and the highest high (100) of `length`
 * candles. %K is the mean of `smoothing` such places, and %D the mean of `signalLength` values of %K. George C. Lane, "Lane's
 * Stochastics" (1984). 50 when all prices are equal.
 */
export function stochastic(length: number, smoothing: number, signalLength: number): Formula {
  const highs = new Window(length);
  const lows = new Window(length);
  const places = new Window(smoothing);
  const slow = new Window(signalLength);
  const placeOf = ({ high, low, close }: Bar): number | null => {
    const [tops, bottoms] = [highs.through(high), lows.through(low)];
    if (tops === null || bottoms === null) return null;
    const [top, bottom] = [Math.max(...tops), Math.min(...bottoms)];
    return top === bottom ? 50 : (100 * (close - bottom)) / (top - bottom);
  };
  const mainOf = (place: number | null): number | null => (place === null ? null : places.mean(place));
  return {
    valuesAt(bar) {
      const main = mainOf(placeOf(bar));
      return [main, main === null ? null : slow.mean(main)];
    },
    close(bar) {
      const place = placeOf(bar);
      const main = mainOf(place);
      if (main !== null) slow.close(main);
      if (place !== null) places.close(place);
      highs.close(bar.high);
      lows.close(bar.low);
    },
  };
}

/** `values`: of the indicator's parameters. `earlier`: see vwap(). */
export function formulaOf(id: IndicatorId, values: readonly number[], earlier: Traded | null): Formula {
  const [first = 1, second = 1, third = 1] = values;
  switch (id) {
    case "sma":
      return sma(values.filter((length) => length > 0));
    case "ema":
      return ema(values.filter((length) => length > 0));
    case "bollinger":
      return bollinger(first, second);
    case "vwap":
      return vwap(earlier);
    case "volumeAverage":
      return volumeAverage(first);
    case "rsi":
      return rsi(first);
    case "macd":
      return macd(first, second, third);
    case "atr":
      return atr(first);
    case "stochastic":
      return stochastic(first, second, third);
  }
}

/** The values of a formula at each candle, oldest first. The newest candle may change. */
export class Run {
  readonly rows: Values[] = [];
  private readonly formula: Formula;
  private newest: Bar | null = null;

  constructor(formula: Formula, bars: readonly Bar[]) {
    this.formula = formula;
    for (const bar of bars) this.take(bar);
  }

  /**
   * A candle that is newer than all others, or a change of the newest one. Returns its values; undefined for an older one,
   * which counts already.
   */
  take(bar: Bar): Values | undefined {
    if (this.newest !== null && bar.openTime < this.newest.openTime) return undefined;
    const isNew = this.newest === null || bar.openTime > this.newest.openTime;
    if (isNew && this.newest !== null) this.formula.close(this.newest);
    this.newest = bar;
    const values = this.formula.valuesAt(bar);
    if (isNew) this.rows.push(values);
    else this.rows[this.rows.length - 1] = values;
    return values;
  }
}
