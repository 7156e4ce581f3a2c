import { build, type Histogram } from "hdr-histogram-js";

/** Nanoseconds up to a minute, with three significant digits. */
export const newHistogram = (): Histogram =>
  build({ lowestDiscernibleValue: 1, highestTrackableValue: 60e9, numberOfSignificantValueDigits: 3 });

/** Microseconds. */
export interface Latency {
  p50: number;
  p99: number;
  p999: number;
}

export const latencyOf = (histogram: Histogram): Latency => ({
  p50: histogram.getValueAtPercentile(50) / 1e3,
  p99: histogram.getValueAtPercentile(99) / 1e3,
  p999: histogram.getValueAtPercentile(99.9) / 1e3,
});
