import { readFileSync } from "node:fs";
import { ConfigError } from "./error.ts";

/** Parses a JSON file. The error names the place of a fault and does not quote the text, which may hold secrets. */
export function readJson(path: string): unknown {
  const text = readText(path);
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new ConfigError(`${path} is not JSON: the fault is in ${placeOf(text, faultAt(text, error as Error))}`);
  }
}

/** Removes the byte order mark that some editors write. */
function readText(path: string): string {
  try {
    return readFileSync(path, "utf8").replace(/^\uFEFF/, "");
  } catch (error) {
    throw new ConfigError(`cannot read the configuration file ${path}: ${(error as NodeJS.ErrnoException).code}`);
  }
}

/**
 * The index of the fault. For an unexpected token Node may name no index. Then a binary search finds the shortest prefix of
 * the text that fails in the same way.
 */
function faultAt(text: string, { message }: Error): number {
  // Later versions of Node add the line and the column.
  const named = / JSON at position ([0-9]+)( \(line [0-9]+ column [0-9]+\))?$/.exec(message)?.[1];
  if (named !== undefined) return Number(named);
  let soundLength = 0;
  let faultyLength = text.length;
  while (faultyLength - soundLength > 1) {
    const length = (soundLength + faultyLength) >> 1;
    if (hasUnexpectedToken(text.slice(0, length))) faultyLength = length;
    else soundLength = length;
  }
  return faultyLength - 1;
}

/** A valid prefix that ends too early has another message. */
function hasUnexpectedToken(text: string): boolean {
  try {
    JSON.parse(text);
    return false;
  } catch (error) {
    return (error as Error).message.startsWith("Unexpected token");
  }
}

function placeOf(text: string, index: number): string {
  const lines = text.slice(0, Math.max(0, index)).split("\n");
  return `line ${lines.length}, column ${(lines.at(-1) ?? "").length + 1}`;
}
