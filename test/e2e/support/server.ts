import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { DEFAULT_INSTRUMENTS } from "../../../src/config/instruments.ts";
import type { InstrumentConfig } from "../../../src/core/protocol/instrument.ts";
import { until } from "./wait.ts";

const MAIN = fileURLToPath(new URL("../../../src/main.js", import.meta.url));
const READY = /(https?:\/\/[^\s"',]+?\/v1)(?![/\w]).*?(wss?:\/\/[^\s"',]+?\/v1\/ws)(?![/\w])/;
const START_DEADLINE_MS = 60_000;

export const OPERATOR_TOKEN = "operator-token-of-the-end-to-end-tests";

export interface ServerOptions {
  /** Flags in addition to those of every test server. */
  flags?: string[];
  /** Default: start. A standby is ready when it leads, a gateway when it has market data. */
  command?: "start" | "standby" | "gateway";
  /** Default: any free port. */
  port?: number;
  /** Settings without a flag: PERPD_... */
  environment?: Record<string, string>;
  /** The data folder of another server. */
  dataFolder?: string;
  /**
   * Default true: no bots, operator prices, no rate limit, and a funding rate of 0, so that figures do not change on
   * the hour.
   */
  quiet?: boolean;
  /** Fields of default instruments with another value, by symbol. Not with `quiet: false`. */
  instruments?: Record<string, Partial<InstrumentConfig>>;
  /** A module in mains/ to run instead of perpd. */
  program?: string;
}

export interface Exit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

/** The built server as a child process, on a free port and its own data folder. */
export class TestServer {
  /** `http://127.0.0.1:PORT/v1`; another one after each start, unless the port is given. */
  url: string;
  wsUrl = "";
  readonly dataFolder: string;
  /** All output so far, over all starts. */
  stdout = "";
  stderr = "";
  /** Settings of the next start. */
  environment: Record<string, string>;
  private readonly options: ServerOptions;
  private readonly folder = mkdtempSync(join(tmpdir(), "perpd-test-"));
  private child: ChildProcess | null = null;
  private exited: Promise<Exit> = Promise.resolve({ code: null, signal: null });

  constructor(options: ServerOptions = {}) {
    this.options = options;
    this.url = options.port === undefined ? "" : `http://127.0.0.1:${options.port}/v1`;
    this.environment = options.environment ?? {};
    this.dataFolder = options.dataFolder ?? join(this.folder, "data");
  }

  get port(): number {
    return Number(new URL(this.url).port);
  }

  /** Process id; undefined when it does not run. */
  get pid(): number | undefined {
    return this.child?.pid;
  }

  get isRunning(): boolean {
    return this.child !== null;
  }

  /** Starts the server. Resolves when it is ready; rejects with its output when it ends or hangs. */
  async start(): Promise<void> {
    const { flags = [], quiet = true, program, command = "start", port = 0 } = this.options;
    const child = spawn(
      process.execPath,
      [
        program === undefined ? MAIN : fileURLToPath(new URL(`./mains/${program}.js`, import.meta.url)),
        ...[command, "--port", String(port), "--data", this.dataFolder, "--operator-token", OPERATOR_TOKEN],
        ...(quiet ? this.quietFlags() : []),
        ...flags,
      ],
      { env: { ...process.env, ...this.environment }, stdio: ["ignore", "pipe", "pipe"] },
    );
    this.child = child;
    alive.add(child);
    this.exited = once(child, "close").then(([code, signal]) => {
      alive.delete(child);
      if (this.child === child) this.child = null;
      return { code, signal };
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      this.stderr += text;
    });
    const ready = new Promise<void>((resolve) => {
      createInterface({ input: child.stdout }).on("line", (line) => {
        this.stdout += `${line}\n`;
        const urls = READY.exec(line);
        if (urls === null) return;
        this.url = urls[1] as string;
        this.wsUrl = urls[2] as string;
        resolve();
      });
    });
    const failed = this.exited.then(({ code, signal }) => {
      throw new Error(`the server ended (${code ?? signal}) before it was ready:\n${this.stderr}\n${this.stdout}`);
    });
    failed.catch(() => {});
    let timer: NodeJS.Timeout | undefined;
    const hung = new Promise<never>((_resolve, reject) => {
      const say = () => reject(new Error(`the server is not ready in time:\n${this.stderr}\n${this.stdout}`));
      timer = setTimeout(say, START_DEADLINE_MS);
    });
    await Promise.race([ready, failed, hung]).finally(() => clearTimeout(timer));
  }

  private quietFlags(): string[] {
    const config = join(this.folder, "config.json");
    const changes = this.options.instruments ?? {};
    const instruments = DEFAULT_INSTRUMENTS.map((each) => ({ ...each, fundingRateCap: "0", ...changes[each.symbol] }));
    writeFileSync(config, JSON.stringify({ instruments }));
    return ["--config", config, "--no-bots", "--price-source", "operator", "--rate-limit", "off"];
  }

  /** Lines of the log, but for those about a disk that other work on the machine keeps busy for seconds. */
  get loggedErrors(): string[] {
    const lines = this.stderr.split("\n").filter((line) => /"level":(50|60)/.test(line));
    return lines.filter((line) => !line.includes("the disk does not answer"));
  }

  /** Resolves when the log contains the line, which may be later than a reply. */
  async logs(line: RegExp): Promise<void> {
    await until(`${line} in the log`, () => line.test(this.stderr));
  }

  /** Sends a signal and waits for the end. */
  async stop(signal: "SIGTERM" | "SIGINT" | "SIGHUP" = "SIGTERM"): Promise<Exit> {
    this.child?.kill(signal);
    return this.exited;
  }

  /** Waits until the server ends by itself. */
  exit(): Promise<Exit> {
    return this.exited;
  }

  /** Sends a signal. */
  signal(signal: NodeJS.Signals): void {
    this.child?.kill(signal);
  }

  /** Kills the server with SIGKILL. */
  async kill(): Promise<void> {
    this.child?.kill("SIGKILL");
    await this.exited;
  }

  /** Kills the server if it runs and removes its data folder. */
  async dispose(): Promise<void> {
    await this.kill();
    await removeFolder(this.folder);
  }
}

export async function startServer(options: ServerOptions = {}): Promise<TestServer> {
  const server = new TestServer(options);
  try {
    await server.start();
  } catch (error) {
    await server.dispose();
    throw error;
  }
  return server;
}

/**
 * Removes a folder of servers that may have been killed. The process that checks the past in the background ends a moment after
 * its server, and writes LMDB's lock file. rm() looks for new files whenever it tries again; rmSync() of Node 20 does not.
 */
export const removeFolder = (path: string): Promise<void> =>
  rm(path, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });

/** Starts a server that must fail, but not crash; resolves with its exit code and output. */
export async function startAndFail(options: ServerOptions): Promise<{ code: number | null; output: string }> {
  const server = new TestServer(options);
  try {
    await server.start();
  } catch {
    const { code, signal } = await server.stop();
    const output = server.stderr + server.stdout;
    if (signal !== null) throw new Error(`${signal} ended the server:\n${output}`);
    return { code, output };
  } finally {
    await server.dispose();
  }
  throw new Error("the server has started");
}

// Tests set every setting themselves.
for (const name of Object.keys(process.env)) if (name.startsWith("PERPD_")) delete process.env[name];

// A test that dies or times out must not leave servers behind.
const alive = new Set<ChildProcess>();
const killAll = (): void => {
  for (const child of alive) child.kill("SIGKILL");
};
process.on("exit", killAll);
for (const signal of ["SIGTERM", "SIGINT"] as const)
  process.once(signal, () => {
    killAll();
    process.kill(process.pid, signal);
  });
// For `| head`: otherwise Node ends by the failed write without an exit event.
process.stdout.once("error", () => process.exit(1));
