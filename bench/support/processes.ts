import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

/** A child process of ours: ended by its own handle, never by name. */
export interface Running {
  readonly url: string;
  stop(): Promise<void>;
}

export interface RunningExchange extends Running {
  readonly socketUrl: string;
  readonly token: string;
}

const OPERATOR_TOKEN = "bench";

/** A perpd of its own on a temporary data folder, without bots, with index prices set to `prices` (by symbol). */
export async function startExchange(prices: Record<string, string>): Promise<RunningExchange> {
  const data = mkdtempSync(join(tmpdir(), "perpd-bench-"));
  const flags = ["--port", "0", "--data", data, "--no-bots", "--rate-limit", "off", "--price-source", "operator"];
  const child = spawn(process.execPath, [entry("src/main.js"), "start", ...flags, "--operator-token", OPERATOR_TOKEN], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ready = await lineWith(child, /perpd is ready: (\S+) +(\S+)/);
  const account = await lineWith(child, /token ([\w-]{43})/);
  const [url, socketUrl, token] = [ready[1], ready[2], account[1]];
  if (url === undefined || socketUrl === undefined || token === undefined)
    throw new Error("perpd did not say where it is");
  for (const [symbol, price] of Object.entries(prices)) {
    const headers = { Authorization: `Bearer ${OPERATOR_TOKEN}`, "Content-Type": "application/json" };
    const body = JSON.stringify({ price });
    const reply = await fetch(`${url}/operator/index/${symbol}`, { method: "PUT", headers, body });
    if (reply.status !== 200) throw new Error(`index price of ${symbol}: ${await reply.text()}`);
  }
  const stop = async (): Promise<void> => {
    await end(child);
    rmSync(data, { recursive: true, force: true });
  };
  return { url, socketUrl, token, stop };
}

/** The bare server of bare-server.ts. */
export async function startBare(postBytes: number, getBytes: number): Promise<Running> {
  const child = spawn(process.execPath, [entry("bench/support/bare-server.js"), String(postBytes), String(getBytes)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const port = await lineWith(child, /^(\d+)$/);
  return { url: `http://127.0.0.1:${port[1]}`, stop: () => end(child) };
}

const entry = (path: string): string => new URL(`../../${path}`, import.meta.url).pathname;

function end(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    child.once("exit", () => resolve());
    child.kill("SIGTERM");
  });
}

const lines = new WeakMap<ChildProcess, AsyncIterator<string>>();

/** The first line of the child's output that matches. */
async function lineWith(child: ChildProcess, pattern: RegExp): Promise<RegExpExecArray> {
  if (child.stdout === null) throw new Error("the child's output is not piped");
  let output = lines.get(child);
  if (output === undefined) {
    output = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    lines.set(child, output);
  }
  for (;;) {
    const { value, done } = await output.next();
    if (done === true) throw new Error(`a child ended before it said ${pattern}`);
    const match = pattern.exec(value);
    if (match !== null) return match;
  }
}
