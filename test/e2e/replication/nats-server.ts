import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "../support/free-port.ts";
import { until } from "../support/wait.ts";

/** The first version that can write to its disk before it answers. */
const OLDEST = [2, 10];

const PLACES = [
  process.env.NATS_SERVER ?? "",
  "/usr/local/bin/nats-server",
  "/usr/sbin/nats-server",
  "/usr/bin/nats-server",
];

/** The path of a nats-server that is new enough; null = there is none. */
export const NATS_SERVER = PLACES.find((path) => existsSync(path) && isNewEnough(path)) ?? null;

function isNewEnough(path: string): boolean {
  const version = /v(\d+)\.(\d+)/.exec(execFileSync(path, ["--version"], { encoding: "utf8" }));
  const [major, minor] = [Number(version?.[1]), Number(version?.[2])];
  return major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1]);
}

export interface NatsOptions {
  /** Default true: it writes to its disk before it answers. */
  isSync?: boolean;
  /** Default: everybody may connect. */
  password?: string;
  /** What all streams may hold. Default: as much as the disk has. */
  diskBytes?: number;
  /** More lines of its configuration. */
  lines?: readonly string[];
  /** For clients, and for monitoring. Default: free ones. */
  ports?: readonly [number, number];
}

/** A real NATS server with JetStream, on free ports and a folder of its own. */
export class Nats {
  url = "";
  monitor = "";
  readonly folder = mkdtempSync(join(tmpdir(), "perpd-nats-"));
  private readonly options: NatsOptions;
  private child: ChildProcess | null = null;

  constructor(options: NatsOptions = {}) {
    this.options = options;
  }

  /** At the second start it has the ports and the data of the first. */
  async start(): Promise<void> {
    const config = join(this.folder, "nats.conf");
    if (this.url === "") {
      const { isSync = true, password, diskBytes, lines: more = [], ports } = this.options;
      const [port, monitorPort] = ports ?? [await freePort(), await freePort()];
      this.url = `nats://127.0.0.1:${port}`;
      this.monitor = `http://127.0.0.1:${monitorPort}`;
      const lines = [
        `listen: "127.0.0.1:${port}"`,
        `http: "127.0.0.1:${monitorPort}"`,
        `jetstream { store_dir: "${join(this.folder, "data")}"`,
        ...(isSync ? ["sync_interval: always"] : []),
        ...(diskBytes === undefined ? [] : [`max_file_store: ${diskBytes}`]),
        "}",
        ...(password === undefined ? [] : [`authorization { user: perpd, password: "${password}" }`]),
        ...more,
      ];
      writeFileSync(config, lines.join("\n"));
    }
    this.child = spawn(NATS_SERVER ?? "", ["-c", config], { stdio: "ignore" });
    alive.add(this.child);
    await until("the NATS server", () => {
      if (this.child?.exitCode !== null) throw new Error(`the NATS server has ended; its configuration is ${config}`);
      return fetch(`${this.monitor}/healthz`).then(
        ({ ok }) => ok,
        () => false,
      );
    });
  }

  /** Before the first start. */
  add(line: string): void {
    this.options.lines = [...(this.options.lines ?? []), line];
  }

  /** The server comes back without the stream. */
  async loseStream(name: string): Promise<void> {
    await this.kill();
    rmSync(this.folderOf(name), { recursive: true });
    await this.start();
  }

  folderOf(stream: string): string {
    const names = readdirSync(this.folder, { recursive: true, encoding: "utf8" });
    return join(this.folder, names.find((name) => name.endsWith(`streams/${stream}`)) ?? "no such stream");
  }

  signal(signal: NodeJS.Signals): void {
    this.child?.kill(signal);
  }

  async kill(): Promise<void> {
    const { child } = this;
    if (child === null) return;
    this.child = null;
    alive.delete(child);
    child.kill("SIGKILL");
    if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
  }

  async dispose(): Promise<void> {
    await this.kill();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

const alive = new Set<ChildProcess>();
process.on("exit", () => {
  for (const child of alive) child.kill("SIGKILL");
});
