import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

/**
 * A replicated exchange on this machine, to try out: a JetStream server, a leader, a standby and two gateways, in a folder
 * that is removed at the end. A process that is killed starts again after a while.
 *     make cluster                                 the leader at port 8080, the others at the ports after it
 *     node dist/src/examples/cluster.js 9000       at other ports
 */
const PERPD = fileURLToPath(new URL("../main.js", import.meta.url));
const NATS = process.env.NATS_SERVER ?? "nats-server";
const RESTART_AFTER_MS = 5_000;
const STOP_WITHIN_MS = 12_000;

const firstPort = Number(process.argv[2] ?? 8080);
const [leaderPort, standbyPort, ...gatewayPorts] = [0, 1, 2, 3].map((i) => firstPort + i) as [number, number];
const [natsPort, monitorPort] = [firstPort + 4, firstPort + 5];
const urlOf = (port: number): string => `http://127.0.0.1:${port}`;

const folder = mkdtempSync(join(tmpdir(), "perpd-cluster-"));
const running = new Map<string, ChildProcess>();
let isStopping = false;

process.on("exit", () => {
  for (const child of running.values()) child.kill("SIGKILL");
  rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
});
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => void stop());
process.on("uncaughtException", fail);

requireNats();
writeFileSync(
  join(folder, "nats.conf"),
  [
    `listen: "127.0.0.1:${natsPort}"`,
    `http: "127.0.0.1:${monitorPort}"`,
    `jetstream { store_dir: "${join(folder, "nats")}", sync_interval: always }`,
  ].join("\n"),
);
const nats = run("nats", NATS, ["-c", join(folder, "nats.conf"), "-l", join(folder, "nats.log")]);
nats.once(
  "exit",
  () => isStopping || fail(new Error(`nats-server has ended: is port ${natsPort} or ${monitorPort} in use?`)),
);
while (!(await isUp(`${urlOf(monitorPort)}/healthz`))) await sleep(50);

console.log("starting a leader, a standby and two gateways ...");
await start("node 1", "start", leaderPort, ["--data", join(folder, "leader")]);
const backup = join(folder, "backup");
// A standby begins with a copy of the leader's folder.
execFileSync(process.execPath, [PERPD, "backup", join(folder, "leader"), backup]);
execFileSync(process.execPath, [PERPD, "restore", backup, join(folder, "standby")]);
await start("node 2", "standby", standbyPort, ["--data", join(folder, "standby")]);
const upstream = `${urlOf(leaderPort)},${urlOf(standbyPort)}`;
for (const [i, port] of gatewayPorts.entries())
  await start(`gateway ${i + 1}`, "gateway", port, ["--upstream", upstream]);

const [gateway = 0] = gatewayPorts;
console.log(`
node 1      ${urlOf(leaderPort)}      leads
node 2      ${urlOf(standbyPort)}      stands by
gateways    ${gatewayPorts.map(urlOf).join("  ")}      trade in the browser at either of them
NATS        nats://127.0.0.1:${natsPort}

In other shells, watch a gateway and kill the leader. The standby takes over within two seconds:
  while sleep 0.2; do curl -s -m 1 ${urlOf(gateway)}/v1/replication; echo; done
  kill -9 ${running.get("node 1")?.pid}

Ctrl-C ends all of it.
`);

/** Starts a perpd. Resolves when it answers. */
async function start(name: string, command: string, port: number, flags: readonly string[]): Promise<void> {
  const child = run(name, process.execPath, [PERPD, command, "--port", String(port), ...flags]);
  if (child.stderr !== null) createInterface({ input: child.stderr }).on("line", (line) => show(name, line));
  child.stdout?.resume();
  let hasStarted = false;
  child.once("exit", async () => {
    if (isStopping) return;
    if (!hasStarted) fail(new Error(`${name} cannot start`));
    console.log(`${name}: it has ended, and starts again in ${RESTART_AFTER_MS / 1000} s`);
    await sleep(RESTART_AFTER_MS);
    if (!isStopping) await start(name, command, port, flags);
    if (!isStopping) console.log(`${name}: it runs again as process ${running.get(name)?.pid}`);
  });
  while (!isStopping && !(await isUp(`${urlOf(port)}/v1/replication`))) await sleep(50);
  hasStarted = true;
}

function run(name: string, program: string, args: readonly string[]): ChildProcess {
  const env = {
    ...process.env,
    PERPD_REPLICATE: `nats://127.0.0.1:${natsPort}`,
    PERPD_REPLICATE_MONITORS: urlOf(monitorPort),
    PERPD_TRUSTED_PROXIES: "127.0.0.1",
    // For the NATS server, which shares this machine's processors with all others: see docs/operating/replication.md.
    GOMAXPROCS: "1",
  };
  // Ctrl-C is for this program: it ends the others in order.
  const child = spawn(program, args, { stdio: ["ignore", "pipe", "pipe"], env, detached: true });
  running.set(name, child);
  child.on("error", fail);
  return child;
}

function show(name: string, line: string): void {
  try {
    const { level, time, pid, hostname, msg, ...facts } = JSON.parse(line) as Record<string, unknown>;
    console.log(`${name}: ${msg} ${JSON.stringify(facts)}`);
  } catch {
    if (line !== "" && !line.startsWith("replaying")) console.log(`${name}: ${line}`);
  }
}

async function stop(): Promise<void> {
  if (isStopping) process.exit(1);
  isStopping = true;
  console.log("stopping ...");
  setTimeout(() => process.exit(1), STOP_WITHIN_MS).unref();
  // The stream is needed until the end.
  for (const name of ["gateway 1", "gateway 2", "node 2", "node 1", "nats"]) {
    const child = running.get(name);
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) continue;
    child.kill("SIGTERM");
    await once(child, "exit");
  }
  process.exit(0);
}

function requireNats(): void {
  let version = "";
  try {
    version = execFileSync(NATS, ["--version"], { encoding: "utf8" });
  } catch {
    // Said below.
  }
  const [, major = 0, minor = 0] = (/v(\d+)\.(\d+)/.exec(version) ?? []).map(Number);
  if (major > 2 || (major === 2 && minor >= 10)) return;
  const found = version === "" ? `there is no program ${NATS}` : `${NATS} is ${version.trim()}`;
  fail(
    new Error(
      `${found}, and nats-server 2.10 or later is needed: install the package nats-server of Debian 13, or one of https://github.com/nats-io/nats-server/releases, or set NATS_SERVER to its path`,
    ),
  );
}

function isUp(url: string): Promise<boolean> {
  return fetch(url).then(
    ({ ok }) => ok,
    () => false,
  );
}

function fail(error: Error): never {
  console.error(error.message);
  process.exit(1);
}
