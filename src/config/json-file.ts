import { readFileSync } from "node:fs";
import { ConfigError } from "./error.ts";

/** What a JSON file says. Of one that is none the message names the place, not the text: secrets may stand there. */
export function readJson(path: string): unknown {
  const text = readText(path);
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new ConfigError(`${path} is not JSON: the fault is in ${placeOf(text, faultAt(text, error as Error))}`);
  }
}

/** Without the mark that some editors put in front. */
function readText(path: string): string {
  try {
    return readFileSync(path, "utf8").replace(/^\uFEFF/, "");
  } catch (error) {
    throw new ConfigError(`cannot read the configuration file ${path}: ${(error as NodeJS.ErrnoException).code}`);
  }
}

/** Its index. An unexpected token is quoted with its neighbours and no index: it ends the shortest part that has it, too. */
function faultAt(text: string, { message }: Error): number {
  // Later versions of Node name line and column behind it.
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

/** A part that is sound but ends too early has another message. */
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
