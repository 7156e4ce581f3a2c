import { type ChildProcess, fork, type StdioOptions, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { type TemporaryFolder, temporaryFolder } from "./folder.ts";

/** A child process, ended through its own handle, never by name. */
export interface Running {
  readonly url: string;
  readonly socketUrl: string;
  readonly pid: number;
  stop(): Promise<void>;
}

export interface RunningExchange extends Running {
  /** Session token of the demo account. */
  readonly token: string;
  readonly operatorToken: string;
}

const OPERATOR_TOKEN = "operator-token-of-the-benchmarks-only";
const children = new Set<ChildProcess>();
process.on("exit", () => {
  for (const child of children) child.kill("SIGKILL");
});

interface ExchangeOptions {
  /** The caller removes it. Default: a temporary one. */
  data?: TemporaryFolder;
  rateLimit?: "on" | "off";
  /** Settings without a flag. */
  environment?: Record<string, string>;
}

/** Starts perpd without bots. `prices`: index prices by symbol. */
export async function startExchange(
  prices: Record<string, string>,
  { data: given, rateLimit = "off", environment = {} }: ExchangeOptions = {},
): Promise<RunningExchange> {
  const data = given ?? temporaryFolder();
  const limits = ["--rate-limit", rateLimit, "--price-source", "operator"];
  const flags = ["--port", "0", "--data", data.path, "--no-bots", ...limits];
  const args = ["start", ...flags, "--operator-token", OPERATOR_TOKEN];
  const child = spawnProgram(process.execPath, [scriptPath("src/main.js"), ...args], environment);
  const ready = await waitForLine(child, /perpd is ready: (\S+) +(\S+)/);
  const account = await waitForLine(child, /token ([\w-]{43})/);
  const [url, socketUrl, token] = [ready[1] as string, ready[2] as string, account[1] as string];
  for (const [symbol, price] of Object.entries(prices)) {
    const headers = { Authorization: `Bearer ${OPERATOR_TOKEN}`, "Content-Type": "application/json" };
    const body = JSON.stringify({ price });
    const reply = await fetch(`${url}/operator/index/${symbol}`, { method: "PUT", headers, body });
    if (reply.status !== 200) throw new Error(`index price of ${symbol}: ${await reply.text()}`);
  }
  const stop = async (): Promise<void> => {
    await endProcess(child, "SIGTERM");
    if (given === undefined) data.remove();
  };
  return { url, socketUrl, token, operatorToken: OPERATOR_TOKEN, pid: child.pid as number, stop };
}

/** Starts a gateway of a replicated exchange. */
export async function startGateway(upstream: string, environment: Record<string, string>): Promise<Running> {
  const flags = ["--port", "0", "--upstream", upstream, "--rate-limit", "off"];
  const child = spawnProgram(process.execPath, [scriptPath("src/main.js"), "gateway", ...flags], environment);
  const ready = await waitForLine(child, /perpd gateway is ready: (\S+) +(\S+)/);
  const stop = () => endProcess(child, "SIGTERM");
  return { url: ready[1] as string, socketUrl: ready[2] as string, pid: child.pid as number, stop };
}

export interface BareSizes {
  /** Bytes of the replies to POST and GET. */
  post: number;
  get: number;
  /** Bytes of the two messages together that each POST publishes to every WebSocket; 0 = none. */
  published: number;
  /** Bytes of the replies to an order and to its cancel at /quote. */
  placed?: number;
  canceled?: number;
}

/** Starts the bare server (servers/bare-server.ts). */
export async function startBare({ post, get, published, placed = 0, canceled = 0 }: BareSizes): Promise<Running> {
  const sizes = [post, get, published, placed, canceled];
  const child = spawnScript("bench/support/servers/bare-server.js", sizes.map(String));
  const port = await waitForLine(child, /^(\d+)$/);
  const address = `127.0.0.1:${port[1]}`;
  const stop = () => endProcess(child, "SIGTERM");
  return { url: `http://${address}`, socketUrl: `ws://${address}/`, pid: child.pid as number, stop };
}

/** Starts a program; read its output with waitForLine() or outputOf(). */
export function spawnProgram(
  program: string,
  args: readonly string[],
  environment: Record<string, string> = {},
): ChildProcess {
  const stdio: StdioOptions = ["ignore", "pipe", "inherit"];
  return track(spawn(program, args, { stdio, env: { ...process.env, PERPD_LOG_LEVEL: "warn", ...environment } }));
}

/** Starts a script in dist/. */
export const spawnScript = (script: string, args: readonly string[]): ChildProcess =>
  spawnProgram(process.execPath, [scriptPath(script), ...args]);

/** Starts a script in dist/ with a message channel. */
export const forkScript = (script: string, args: readonly string[]): ChildProcess =>
  track(fork(scriptPath(script), args));

/** Sends a message and resolves with the reply. Rejects when the child exits first. */
export function request<T>(child: ChildProcess, question: object | number): Promise<T> {
  return new Promise((resolve, reject) => {
    const died = (code: number): void => reject(new Error(`${child.spawnargs.join(" ")} ended with ${code}`));
    child.once("exit", died);
    child.once("message", (answer) => {
      child.off("exit", died);
      resolve(answer as T);
    });
    child.send(question);
  });
}

/** Resolves with the whole output of a child when it ends; rejects when it failed. */
export async function outputOf(child: ChildProcess): Promise<string> {
  let output = "";
  child.stdout?.setEncoding("utf8").on("data", (text) => {
    output += text;
  });
  const code = await new Promise((resolve) => child.once("close", resolve));
  if (code !== 0) throw new Error(`${child.spawnargs.join(" ")} ended with ${code}: ${output}`);
  return output;
}

export function endProcess(child: ChildProcess, signal: "SIGTERM" | "SIGKILL"): Promise<void> {
  return new Promise((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) return resolve();
    child.once("exit", () => resolve());
    child.kill(signal);
  });
}

function track(child: ChildProcess): ChildProcess {
  children.add(child);
  child.once("exit", () => children.delete(child));
  return child;
}

const scriptPath = (path: string): string => new URL(`../../${path}`, import.meta.url).pathname;

const lines = new WeakMap<ChildProcess, AsyncIterator<string>>();

/** Resolves with the first line of the child's output that matches; rejects when the output ends first. */
export async function waitForLine(child: ChildProcess, pattern: RegExp): Promise<RegExpExecArray> {
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
