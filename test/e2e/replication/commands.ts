import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const TOP = fileURLToPath(new URL("../../../../", import.meta.url));
const MAIN = fileURLToPath(new URL("../../../src/main.js", import.meta.url));

/** A process of its own, while this one goes on: the leader closes connections that a client does not use for ten seconds. */
const execute = promisify(execFile);

/** Runs a command of perpd. */
export const runPerpd = (args: readonly string[], env: NodeJS.ProcessEnv = process.env) =>
  execute(process.execPath, [MAIN, ...args], { env });

/** Copies the folder of a running exchange, for standbys. */
export async function seed(from: string, backup: string, ...standbys: readonly string[]): Promise<void> {
  await runPerpd(["backup", from, backup]);
  for (const standby of standbys) await runPerpd(["restore", backup, standby]);
}

/** Removes the messages of the stream but for the last ones, as somebody with rights in NATS can do. */
export async function purgeStream(natsUrl: string, keep: number, login: object = {}): Promise<void> {
  const script = `
    import { connect } from "@nats-io/transport-node";
    import { jetstreamManager } from "@nats-io/jetstream";
    const connection = await connect(${JSON.stringify({ servers: natsUrl, ...login })});
    await (await jetstreamManager(connection)).streams.purge("perpd", ${JSON.stringify(keep === 0 ? {} : { keep })});
    await connection.close();`;
  await execute(process.execPath, ["--input-type=module", "-e", script], { cwd: TOP });
}
