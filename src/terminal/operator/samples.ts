import { signal } from "@preact/signals";
import { perSecond, type Reading } from "./metrics.ts";

/** The data of the charts: one row a second since the page was opened, at most an hour. */

const MOST_SAMPLES = 3600;

type Column = (number | null)[];

/** Seconds since the epoch. */
export const times: number[] = [];
export const columns: Record<"rate" | "roundTripMs" | "loopP99Ms" | "inFlight" | "cpuPercent", Column> = {
  rate: [],
  roundTripMs: [],
  loopP99Ms: [],
  inFlight: [],
  cpuPercent: [],
};
/** Rises with each sample. */
export const sampleCount = signal(0);

export function addSample(before: Reading | null, now: Reading): void {
  const cpu = perSecond(before, now, "cpuSeconds");
  times.push(Date.now() / 1000);
  columns.rate.push(perSecond(before, now, "sequence"));
  columns.roundTripMs.push(now.roundTripMs);
  columns.loopP99Ms.push(now.loopP99Ms);
  columns.inFlight.push(now.inFlight);
  columns.cpuPercent.push(cpu === null ? null : 100 * cpu);
  if (times.length > MOST_SAMPLES) for (const column of [times, ...Object.values(columns)]) column.shift();
  sampleCount.value++;
}
