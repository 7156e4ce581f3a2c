/** One line of the benchmark's table: a figure of ours beside a limit or a peer of the same run. */
export interface Row {
  stage: string;
  figure: string;
  against: string;
  ratio: number | null;
  /** Lowest and highest ratio of the rounds. */
  spread: [number, number] | null;
}

export const median = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;

/** From rounds in which both were measured side by side. `unit` follows the figures. */
export function ratioRow(stage: string, peer: string, unit: string, ours: number[], theirs: number[]): Row {
  const ratios = ours.map((value, round) => value / theirs[round]);
  return {
    stage,
    figure: `${compact(median(ours))} ${unit}`,
    against: `${peer} ${compact(median(theirs))}`,
    ratio: median(ratios),
    spread: [Math.min(...ratios), Math.max(...ratios)],
  };
}

export function compact(value: number): string {
  if (value >= 1e6) return `${(value / 1e6).toFixed(2)}M`;
  if (value >= 1e3) return `${(value / 1e3).toFixed(1)}k`;
  return value.toFixed(value < 10 ? 2 : 0);
}

export function printTable(rows: readonly Row[]): string {
  const cells = rows.map((row) => [
    row.stage,
    row.figure,
    row.against,
    row.ratio === null ? "" : `${row.ratio.toFixed(2)}×`,
    row.spread === null ? "" : `${row.spread[0].toFixed(2)}–${row.spread[1].toFixed(2)}`,
  ]);
  return [["what", "perpd", "beside", "ratio", "spread"], ["---", "---", "---", "---:", "---:"], ...cells]
    .map((row) => `| ${row.join(" | ")} |`)
    .join("\n");
}
