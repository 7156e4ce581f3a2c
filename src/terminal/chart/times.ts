import type { UTCTimestamp } from "lightweight-charts";
import { zoned } from "../text/format.ts";

/** Times on the chart's axis, in the zone that is shown: the library itself knows UTC only. */

/** As the library counts. */
export const timeOf = ({ openTime }: { openTime: number }): UTCTimestamp => (openTime / 1000) as UTCTimestamp;

const two = (value: number): string => String(value).padStart(2, "0");

/** A candle of a day or more is one of the exchange's days, which begin at midnight UTC. */
const shown = (timeMs: number, isDaily: boolean): Date => (isDaily ? new Date(timeMs) : zoned(timeMs));

const dateOf = (at: Date): string => `${two(at.getUTCMonth() + 1)}-${two(at.getUTCDate())}`;
const minuteOf = (at: Date): string => `${two(at.getUTCHours())}:${two(at.getUTCMinutes())}`;

/** "2026-11-24 21:05", with seconds where candles have them. */
export function candleTime(timeMs: number, isDaily: boolean, hasSeconds = false): string {
  const at = shown(timeMs, isDaily);
  const date = `${at.getUTCFullYear()}-${dateOf(at)}`;
  if (isDaily) return date;
  return `${date} ${minuteOf(at)}${hasSeconds ? `:${two(at.getUTCSeconds())}` : ""}`;
}

/** The axis names the year or the day where one begins in the zone that is shown, and the time elsewhere. */
export function axisLabel(timeMs: number, isDaily: boolean): string {
  const at = shown(timeMs, isDaily);
  const isMidnight = at.getUTCHours() + at.getUTCMinutes() + at.getUTCSeconds() === 0;
  if (!isMidnight) return at.getUTCSeconds() === 0 ? minuteOf(at) : `${minuteOf(at)}:${two(at.getUTCSeconds())}`;
  const isNewYear = at.getUTCMonth() === 0 && at.getUTCDate() === 1;
  return isNewYear ? String(at.getUTCFullYear()) : dateOf(at);
}
