import Table from "cli-table3";
import type { Paint } from "./terminal.ts";

/** No borders, so that other programs can cut and sort the output. */
const EDGES = ["top", "bottom", "left", "mid", "right"].flatMap((edge) => [
  edge,
  `${edge}-left`,
  `${edge}-mid`,
  `${edge}-right`,
]);
const NO_BORDERS = { ...Object.fromEntries(EDGES.map((edge) => [edge, ""])), middle: "  " };

/** A table with a bold head. A column name that begins with ">" is right-aligned, for numbers. */
export function table(paint: Paint, columns: readonly string[], rows: readonly (readonly string[])[]): string {
  const head = columns.map((name) => paint("bold", name.replace(/^>/, "")));
  const colAligns = columns.map((name) => (name.startsWith(">") ? ("right" as const) : ("left" as const)));
  return layout({ head, colAligns }, rows);
}

/** A table of the rows, or `none` if there are none. */
export const tableOr = (
  none: string,
  paint: Paint,
  columns: readonly string[],
  rows: readonly (readonly string[])[],
): string => (rows.length === 0 ? none : table(paint, columns, rows));

/** Two columns: names and values. */
export function keyValues(paint: Paint, rows: readonly (readonly [name: string, value: string])[]): string {
  return layout(
    {},
    rows.map(([name, value]) => [paint("bold", name), value]),
  );
}

function layout(options: Table.TableConstructorOptions, rows: readonly (readonly string[])[]): string {
  const style = { head: [], border: [], "padding-left": 0, "padding-right": 0 };
  const printed = new Table({ ...options, chars: NO_BORDERS, style });
  printed.push(...rows.map((row) => [...row]));
  return printed
    .toString()
    .split("\n")
    .map((line) => line.trimEnd())
    .join("\n");
}
