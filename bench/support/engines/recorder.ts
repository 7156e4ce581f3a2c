import { Host } from "../../../src/actor/host/host.ts";
import { Commands } from "../orders/commands.ts";
import { recordedStream } from "../orders/order-stream.ts";
import { benchConfig, benchInstrument, prepareEngine, requestAll, startEngine } from "./exchange-engine.ts";

/**
 * An exchange without a gateway, on the folder of the first argument. "record": runs the recorded stream and prints its
 * last sequence. "start": prints how long the start took, in ms. Then it waits for a signal; SIGTERM stops it in order.
 */
const IN_FLIGHT = 256;
/** Longer than any benchmark. */
const SNAPSHOT_INTERVAL_MS = 3_600_000;

const [dataFolder = "", task] = process.argv.slice(2);
const config = benchConfig(dataFolder, { snapshotIntervalMs: SNAPSHOT_INTERVAL_MS });
const from = performance.now();
const host = task === "record" ? await startEngine(config) : await Host.start(config, () => {});
const startMs = performance.now() - from;
process.on("SIGTERM", async () => {
  await host.stop();
  process.exit(0);
});
if (task === "record") {
  await record();
  console.log(`recorded ${host.releasedSequence()}`);
} else console.log(`started in ${startMs}`);

async function record(): Promise<void> {
  await prepareEngine(host);
  const stream = recordedStream();
  const { id } = benchInstrument(host);
  const commands = new Commands(stream, id);
  await requestAll(host, id, (i) => commands.at(i), 0, stream.length, IN_FLIGHT);
  await host.historyCaughtUp();
}
