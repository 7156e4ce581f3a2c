/** One row of the report: a figure of perpd and the baseline or peer of the same run. */
export interface Row {
  what: string;
  /** Unit of both figures. For rates ("…/s") more is better, for times and sizes less. */
  unit: string;
  perpd: number;
  /** Name of the other figure; "" = none. */
  beside: string;
  other: number | null;
  /** Median over the rounds of perpd ÷ other. */
  ratio: number | null;
  /** Lowest and highest ratio of the rounds. */
  spread: [number, number] | null;
}

export const median = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;

/** A row from rounds in which both were measured alternately. */
export function ratioRow(
  what: string,
  unit: string,
  beside: string,
  ours: readonly number[],
  theirs: readonly number[],
): Row {
  const ratios = ours.map((value, round) => value / theirs[round]);
  return {
    what,
    unit,
    perpd: median(ours),
    beside,
    other: median(theirs),
    ratio: median(ratios),
    spread: ratios.length < 2 ? null : [Math.min(...ratios), Math.max(...ratios)],
  };
}

/** A row whose figure is to be at most the goal. */
export function goalRow(what: string, unit: string, goal: number, values: readonly number[]): Row {
  const row = ratioRow(what, unit, "at most", values, new Array(values.length).fill(goal));
  return goal > 0 ? row : { ...row, ratio: null, spread: null };
}

/**
 * Runs each measurement once per round, rotating which goes first, so that disturbances of the machine affect all.
 * Returns the results of each measurement, by round.
 */
export async function interleave<T>(rounds: number, ...measures: (() => T | Promise<T>)[]): Promise<T[][]> {
  const results = measures.map((): T[] => []);
  for (let round = 0; round < rounds; round++) {
    for (let i = 0; i < measures.length; i++) {
      const who = (round + i) % measures.length;
      results[who].push(await measures[who]());
    }
  }
  return results;
}

/** Measures several sizes, each against the smallest. */
export function compareSizes(
  what: string,
  things: string,
  unit: string,
  sizes: readonly number[],
  rounds: number,
  measure: (size: number) => number,
): Row[] {
  const results = sizes.map((): number[] => []);
  for (let round = 0; round < rounds; round++) for (const [i, size] of sizes.entries()) results[i].push(measure(size));
  return sizes.map((size, i) => {
    const row = ratioRow(`${what}, ${compact(size)} ${things}`, unit, `with ${sizes[0]}`, results[i], results[0]);
    return i > 0 ? row : { ...row, beside: "", other: null, ratio: null, spread: null };
  });
}

export function compact(value: number): string {
  if (value >= 1e6) return `${(value / 1e6).toFixed(2)}M`;
  if (value >= 1e4) return `${(value / 1e3).toFixed(1)}k`;
  if (Number.isInteger(value)) return String(value);
  return value.toFixed(value < 10 ? 2 : value < 100 ? 1 : 0);
}

const ratioText = (ratio: number): string => ratio.toFixed(ratio < 0.1 ? 3 : 2);

export function markdownTable(rows: readonly Row[]): string {
  const cells = rows.map((row) => [
    row.what,
    `${compact(row.perpd)} ${row.unit}`,
    row.other === null ? "" : `${compact(row.other)} ${row.beside}`,
    row.ratio === null ? "" : `${ratioText(row.ratio)}×`,
    row.spread === null ? "" : `${ratioText(row.spread[0])}–${ratioText(row.spread[1])}`,
  ]);
  return [["what", "perpd", "beside", "ratio", "spread"], ["---", "---:", "---", "---:", "---:"], ...cells]
    .map((row) => `| ${row.join(" | ")} |`)
    .join("\n");
}
