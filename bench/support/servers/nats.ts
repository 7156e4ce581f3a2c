import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { freePort } from "../../../test/e2e/support/free-port.ts";
import { temporaryFolder } from "../folder.ts";
import { endProcess, spawnProgram } from "../processes.ts";

const PLACES = [process.env.NATS_SERVER ?? "", "/usr/local/bin/nats-server", "/usr/sbin/nats-server"];

/** A nats-server of version 2.10 or later; null = none is installed. */
export const NATS_SERVER = PLACES.find((path) => path !== "" && existsSync(path)) ?? null;

export interface RunningNats {
  readonly url: string;
  readonly monitor: string;
  stop(): Promise<void>;
}

/** Starts a server that writes to its disk before it answers. */
export async function startNats(): Promise<RunningNats> {
  const folder = temporaryFolder();
  const [port, monitorPort] = [await freePort(), await freePort()];
  const config = join(folder.path, "nats.conf");
  const lines = [
    `listen: "127.0.0.1:${port}"`,
    `http: "127.0.0.1:${monitorPort}"`,
    `jetstream { store_dir: "${join(folder.path, "data")}", sync_interval: always }`,
  ];
  writeFileSync(config, lines.join("\n"));
  const child = spawnProgram(NATS_SERVER ?? "", ["-c", config, "-l", join(folder.path, "nats.log")], {
    // As docs/operating/replication.md says for a machine that it shares.
    GOMAXPROCS: "1",
  });
  const monitor = `http://127.0.0.1:${monitorPort}`;
  while (!(await isUp(monitor))) await new Promise((resolve) => setTimeout(resolve, 20));
  const stop = async (): Promise<void> => {
    await endProcess(child, "SIGTERM");
    folder.remove();
  };
  return { url: `nats://127.0.0.1:${port}`, monitor, stop };
}

const isUp = (monitor: string): Promise<boolean> =>
  fetch(`${monitor}/healthz`).then(
    ({ ok }) => ok,
    () => false,
  );
