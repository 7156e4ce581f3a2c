/** Pads every cell but a row's last to the width of its column; two spaces separate columns. */
export function alignColumns(rows: readonly (readonly string[])[], indent: string): string {
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))) ?? [];
  const lines = rows.map((row) => row.map((cell, i) => (i < row.length - 1 ? cell.padEnd(widths[i] ?? 0) : cell)));
  return lines.map((cells) => indent + cells.join("  ")).join("\n");
}
