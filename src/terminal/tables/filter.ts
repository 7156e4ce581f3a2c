/** Which rows of a history a person wants to see. Pure. */

export const RANGES = ["all", "day", "week", "month", "custom"] as const;
export type Range = (typeof RANGES)[number];

export interface Filter {
  /** "" = all. */
  readonly symbol: string;
  /** Such as a status or a type; "" = all. */
  readonly kind: string;
  readonly range: Range;
  /** Of the range "custom", as an input of the type datetime-local has it: "2026-11-24T09:30". "" = open. */
  readonly from: string;
  readonly to: string;
}

export const NO_FILTER: Filter = { symbol: "", kind: "", range: "all", from: "", to: "" };

/** The parts of a filter that every list of the API takes. */
export interface TimeQuery {
  readonly startTime?: number;
  readonly endTime?: number;
}

const DAY_MS = 86_400_000;
const DAYS: Readonly<Record<Range, number>> = { all: 0, day: 1, week: 7, month: 30, custom: 0 };
/** The inputs have minutes: the end is the last millisecond of its minute. */
const LAST_OF_MINUTE_MS = 59_999;

/** Null: the end is before the beginning. */
export function timesOf({ range, from, to }: Filter, zone: "local" | "utc", nowMs: number): TimeQuery | null {
  if (DAYS[range] > 0) return { startTime: nowMs - DAYS[range] * DAY_MS };
  if (range !== "custom") return {};
  const startTime = timeOf(from, zone);
  const end = timeOf(to, zone);
  if (startTime !== null && end !== null && end < startTime) return null;
  return {
    ...(startTime !== null && { startTime }),
    ...(end !== null && { endTime: end + LAST_OF_MINUTE_MS }),
  };
}

/** Null for "", and for what is no time after 1970. */
function timeOf(typed: string, zone: "local" | "utc"): number | null {
  const time = Date.parse(zone === "utc" ? `${typed}Z` : typed);
  return Number.isFinite(time) && time >= 0 ? time : null;
}
