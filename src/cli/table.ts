import Table from "cli-table3";
import type { Paint } from "./terminal.ts";

/** Without lines: what is printed can be cut and sorted by other programs. */
const NO_LINES = {
  top: "",
  "top-mid": "",
  "top-left": "",
  "top-right": "",
  bottom: "",
  "bottom-mid": "",
  "bottom-left": "",
  "bottom-right": "",
  left: "",
  "left-mid": "",
  mid: "",
  "mid-mid": "",
  right: "",
  "right-mid": "",
  middle: "  ",
};

/** A column's name; a name that begins with ">" stands over numbers, which end under each other. */
export function table(paint: Paint, columns: readonly string[], rows: readonly (readonly string[])[]): string {
  const printed = new Table({
    head: columns.map((name) => paint("bold", name.replace(/^>/, ""))),
    colAligns: columns.map((name) => (name.startsWith(">") ? "right" : "left")),
    chars: NO_LINES,
    style: { head: [], border: [], "padding-left": 0, "padding-right": 0 },
  });
  printed.push(...rows.map((row) => [...row]));
  return printed
    .toString()
    .split("\n")
    .map((line) => line.trimEnd())
    .join("\n");
}

/** Two columns: names, and what they are. */
export function keyValues(paint: Paint, rows: readonly (readonly [name: string, value: string])[]): string {
  const width = Math.max(...rows.map(([name]) => name.length));
  return rows.map(([name, value]) => `${paint("bold", name.padEnd(width))}  ${value}`).join("\n");
}
