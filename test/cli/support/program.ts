import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

const MAIN = fileURLToPath(new URL("../../../src/main.js", import.meta.url));

export interface Ended {
  code: number | null;
  out: string;
  error: string;
}

export type Environment = Record<string, string>;

/** Nothing of the test's own environment reaches the program. `output`: the file that it writes its results to. */
export function start(
  args: readonly string[],
  env: Environment,
  output: number | "pipe" = "pipe",
): { child: ChildProcess; ended: Promise<Ended>; said: Ended } {
  const child = spawn(process.execPath, [MAIN, ...args], { env, stdio: ["ignore", output, "pipe"] });
  const said: Ended = { code: null, out: "", error: "" };
  child.stdout?.setEncoding("utf8").on("data", (text: string) => {
    said.out += text;
  });
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    said.error += text;
  });
  const ended = once(child, "close").then(([code]) => ({ ...said, code }));
  return { child, ended, said };
}
