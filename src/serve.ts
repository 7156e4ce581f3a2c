import type { EventEmitter } from "node:events";
import { type Logger, pino } from "pino";
import { Host, type HostOptions } from "./actor/host/host.ts";
import { openComputePool } from "./actor/host/pools.ts";
import { withRecoveryAdvice } from "./actor/host/recovery-advice.ts";
import type { Config } from "./config.ts";
import { type Exchange, openExchange } from "./exchange.ts";
import { Feed, type FeedLog } from "./feed/feed.ts";
import { openSource } from "./feed/sources.ts";
import { probePort } from "./front/http/port-probe.ts";
import { openDemoAccount } from "./sandbox/accounts.ts";
import { Sandbox } from "./sandbox/sandbox.ts";
import { lockDataFolder } from "./store/files/lock.ts";
import { openSecret } from "./store/files/secret.ts";
import { registerInstruments } from "./store/registry/instrument-registry.ts";
import { tuneV8 } from "./tune-v8.ts";
import { showProgress, welcome } from "./welcome.ts";

/** A stop that takes longer than this is cut off: what was acknowledged is on disk anyway. */
const STOP_DEADLINE_MS = 10_000;
const MAX_WAITING_LOG_BYTES = 1_048_576;

/** The whole exchange, in the order in which it comes up. `version` is the program's. */
export async function serve(
  config: Config,
  warnings: readonly string[],
  version: string,
  options: HostOptions = {},
): Promise<void> {
  const log = openLog(config);
  tuneV8();
  for (const warning of warnings) log.warn(warning);
  await probePort(config.host, config.port);
  const unlocked = await lockDataFolder(config.data, "give another --data");
  if (unlocked !== null) log.warn({ err: unlocked }, "no lock in the data folder: nothing keeps other containers out");
  await withRecoveryAdvice(registerInstruments)(config);
  // Before the database, whose presence says that there must be a secret already.
  const secret = await withRecoveryAdvice(openSecret)(config.data);
  const host = await Host.start(config, showProgress, options);
  if (host.logTruncation !== null)
    log.warn(host.logTruncation, "the log's end was torn, and is cut off: none of it was acknowledged");
  host.onFatal = (error) => {
    log.fatal({ err: error }, `${error.message}; start again to recover`);
    process.exit(1);
  };
  host.onDiskRoom = (freeBytes) => {
    if (host.hasDiskRoom) log.info({ freeBytes }, "there is room on the disk again");
    else log.error({ freeBytes }, "the disk is nearly full: new orders, deposits and the like are refused");
  };
  host.onStall = () => {
    if (host.isStalled) log.error("the disk does not answer: nothing gets into the log, and nobody gets an answer");
    else log.info("the disk answers again");
  };
  host.onRebuild = ({ concerns, error }) => {
    if (error === null) log.warn({ concerns }, "an actor thread that had died has been rebuilt");
    else log.error({ err: error, concerns }, `an actor thread died: ${error.message}; it is being rebuilt`);
  };
  const compute = openComputePool();
  const exchange = await withRecoveryAdvice(openExchange)({ config, secret, host, compute, log, version });
  host.startTicking();
  const sandbox = new Sandbox(host, { ...config, warn: (message) => log.warn(message) });
  await sandbox.start();
  const feed = config.priceSource === "feed" ? await startFeed(config, host, log) : null;
  const demo = await openDemoAccount(host, { ...config, expiresAt: Date.now() + config.sessionTtlMs });
  exchange.setReady();

  let stopping = false;
  const stop = async (signal: string): Promise<void> => {
    if (stopping) return;
    stopping = true;
    log.info({ signal }, "stopping");
    setTimeout(() => {
      log.error("the stop took too long; what was acknowledged is on disk");
      process.exit(1);
    }, STOP_DEADLINE_MS).unref();
    sandbox.stop();
    feed?.stop();
    await stopAll(exchange, host);
    await compute.close();
    log.info("stopped");
    process.exit(0);
  };
  // The last: its terminal was closed.
  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.on(signal, () => void stop(signal));
  // The last thing: who reads that it is ready may stop it.
  console.log(welcome(config, exchange, demo));
}

/**
 * Logs go to standard error: standard output is for the person who started this. An exchange does not end for want of a
 * place to write them: what a full disk does not take waits, and then is left out.
 */
function openLog({ logLevel }: Config): Logger {
  const destination = pino.destination({ dest: 2, sync: true, maxLength: MAX_WAITING_LOG_BYTES });
  const outputs: EventEmitter[] = [destination, process.stdout, process.stderr];
  for (const output of outputs) output.on("error", () => {});
  return pino({ level: logLevel }, destination);
}

async function startFeed(config: Config, engine: Host, log: FeedLog): Promise<Feed> {
  const clocks = { now: Date.now, monotonic: () => performance.now() };
  const feed = await Feed.open({ engine, settings: config.feed, open: openSource, log, ...clocks });
  feed.start();
  return feed;
}

/** Requests first, then the threads in the order in which work flows. */
async function stopAll(exchange: Exchange, host: Host): Promise<void> {
  await exchange.close();
  await host.stop();
  exchange.closeDatabase();
}
