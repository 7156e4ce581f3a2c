import type { EquityHistoryQuery, EquityPoint } from "../../client/types.ts";

/** The worth of an account over a time, for a chart and for a table. Pure. */

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

export const EQUITY_RANGES = ["1h", "1d", "1w", "1m", "all"] as const;
export type EquityRange = (typeof EQUITY_RANGES)[number];

/** How the API is asked for each range. `spanMs` 0: from the beginning. */
export const ASKED: Readonly<
  Record<EquityRange, { interval: EquityHistoryQuery["interval"]; intervalMs: number; spanMs: number }>
> = {
  "1h": { interval: "1m", intervalMs: 60_000, spanMs: HOUR_MS },
  "1d": { interval: "5m", intervalMs: 300_000, spanMs: DAY_MS },
  "1w": { interval: "1h", intervalMs: HOUR_MS, spanMs: 7 * DAY_MS },
  "1m": { interval: "4h", intervalMs: 4 * HOUR_MS, spanMs: 30 * DAY_MS },
  all: { interval: "1d", intervalMs: DAY_MS, spanMs: 0 },
};

export interface Worth {
  readonly timeMs: number;
  readonly equity: number;
  /** Since the beginning of the range; deposits and withdrawals do not count. */
  readonly profit: number;
}

/**
 * Oldest first. `points` are newest first, as the API sends them. Profit is counted from the first of them, or from 0 when the
 * account is younger than the range. `nowEquity` takes the place of the last point, which is already a little old; null: it
 * is not known.
 */
export function worthOf(
  points: readonly EquityPoint[],
  range: EquityRange,
  nowMs: number,
  nowEquity: number | null,
): Worth[] {
  const [newest] = points;
  const oldest = points.at(-1);
  if (newest === undefined || oldest === undefined) return [];
  const { spanMs, intervalMs } = ASKED[range];
  const isYounger = spanMs === 0 || nowMs - oldest.time < spanMs - 2 * intervalMs;
  const start = isYounger ? 0 : Number(oldest.pnl);
  const rows: Worth[] = points
    .slice(nowEquity === null ? 0 : 1)
    .map(({ time, equity, pnl }) => ({ timeMs: time, equity: Number(equity), profit: Number(pnl) - start }))
    .reverse();
  if (nowEquity !== null) {
    const profit = nowEquity - Number(newest.netDeposits) - start;
    rows.push({ timeMs: Math.max(nowMs, newest.time), equity: nowEquity, profit });
  }
  // An account of less than an interval has one row: a line begins at what was paid in.
  if (rows.length === 1)
    rows.unshift({ timeMs: oldest.time - intervalMs, equity: Number(oldest.netDeposits), profit: 0 });
  return rows;
}

/** The deepest fall of the profit below an earlier value, or below its beginning at 0. Never negative. */
export function largestFall(rows: readonly Worth[]): number {
  let most = 0;
  let fall = 0;
  for (const { profit } of rows) {
    most = Math.max(most, profit);
    fall = Math.max(fall, most - profit);
  }
  return fall;
}
