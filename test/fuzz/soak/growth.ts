/** Decides from samples whether something grows. */

export interface Point {
  /** Milliseconds. */
  at: number;
  value: number;
}

/** How a figure may change under equal load. */
export type Rule =
  /** The last third is at most this much above the middle third. */
  | { kind: "FLAT"; slack: number; share?: number }
  /** The figure may grow with the operations, by at most this much for each, and never faster than before. */
  | { kind: "PER_OPERATION"; most: number; slack: number }
  | { kind: "REPORTED" };

export interface Growth {
  start: number;
  early: number;
  middle: number;
  end: number;
  /** Least-squares slope of the last two thirds. */
  perHour: number;
  /** In words; null when the rule holds. */
  fault: string | null;
}

export const HOUR_MS = 3_600_000;
const EARLY_MS = 600_000;
/** Growth by operation of the last third, relative to that of the middle third. */
const MAX_ACCELERATION = 1.5;

export const median = (values: readonly number[]): number => {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
};

/** `operations`: how many there were until each time; the same load is assumed. At least six points. */
export function growthOf(points: readonly Point[], operations: readonly Point[], rule: Rule): Growth {
  const [first, last] = [points[0], points.at(-1)] as [Point, Point];
  const third = Math.floor(points.length / 3);
  const steady = points.slice(-2 * third);
  const values = (some: readonly Point[]): number[] => some.map(({ value }) => value);
  return {
    start: first.value,
    early: nearest(points, first.at + EARLY_MS),
    middle: nearest(points, (first.at + last.at) / 2),
    end: last.value,
    perHour: slopeOf(steady) * HOUR_MS,
    fault: faultOf(values(steady.slice(0, third)), values(steady.slice(third)), steady, operations, rule),
  };
}

function faultOf(
  middle: readonly number[],
  last: readonly number[],
  steady: readonly Point[],
  operations: readonly Point[],
  rule: Rule,
): string | null {
  if (rule.kind === "REPORTED") return null;
  const grown = median(last) - median(middle);
  if (rule.kind === "FLAT") {
    const allowed = Math.max(rule.slack, (rule.share ?? 0) * median(middle));
    return grown > allowed
      ? `grew by ${Math.round(grown)} within a third of the run, ${Math.round(allowed)} allowed`
      : null;
  }
  const [before, now] = [steady.slice(0, middle.length), steady.slice(-last.length)].map((part) => {
    const [from, to] = [part[0], part.at(-1)] as [Point, Point];
    const count = nearest(operations, to.at) - nearest(operations, from.at);
    return Math.max(0, to.value - from.value - rule.slack) / Math.max(1, count);
  }) as [number, number];
  if (now > rule.most) return `grew by ${now.toFixed(1)} for each operation, ${rule.most} allowed`;
  // One slack of the middle third may be missing there.
  const bound = MAX_ACCELERATION * Math.max(before, rule.most / 2);
  return now > bound ? `grew by ${now.toFixed(1)} for each operation, after ${before.toFixed(1)}` : null;
}

function nearest(points: readonly Point[], at: number): number {
  let best = points[0] as Point;
  for (const point of points) if (Math.abs(point.at - at) < Math.abs(best.at - at)) best = point;
  return best.value;
}

/** Per millisecond. */
function slopeOf(points: readonly Point[]): number {
  const mean = (of: (point: Point) => number): number =>
    points.reduce((sum, point) => sum + of(point), 0) / points.length;
  const [at, value] = [mean((point) => point.at), mean((point) => point.value)];
  const spread = points.reduce((sum, point) => sum + (point.at - at) ** 2, 0);
  return points.reduce((sum, point) => sum + (point.at - at) * (point.value - value), 0) / (spread || 1);
}
