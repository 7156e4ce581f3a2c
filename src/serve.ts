import { Host, type HostOptions } from "./actor/host/host.ts";
import { openComputePool } from "./actor/host/pools.ts";
import { RECOVERY_ADVICE, withRecoveryAdvice } from "./actor/host/recovery-advice.ts";
import { checkTlsFiles } from "./config/tls.ts";
import type { Config } from "./config.ts";
import { openExchange } from "./exchange.ts";
import { Feed, type FeedLog } from "./feed/feed.ts";
import { PremiumSampler } from "./feed/premium-sampler.ts";
import { openSource } from "./feed/sources.ts";
import { probePort } from "./front/http/port-probe.ts";
import { openProcessLog, type ProcessLog } from "./process-log.ts";
import { openDemoAccount } from "./sandbox/accounts.ts";
import { Sandbox } from "./sandbox/sandbox.ts";
import { DEFAULT_MAP_BYTES } from "./store/database/database.ts";
import { requireAddressSpace } from "./store/files/address-space.ts";
import { DatabaseCorruptError } from "./store/files/genesis.ts";
import { lockDataFolder } from "./store/files/lock.ts";
import { GROUP_AND_OTHERS, restrictToOwner } from "./store/files/permissions.ts";
import { openSecret } from "./store/files/secret.ts";
import { registerInstruments } from "./store/registry/instrument-registry.ts";
import { tuneV8 } from "./tune-v8.ts";
import { showProgress, welcome } from "./welcome.ts";

/** Address space that a thread reserves, measured and doubled. */
const THREAD_BYTES = 4 * 2 ** 30;
/** The threads besides the workers: journal, store, signatures, and those of the system. */
const OTHER_THREADS = 4;

/** A stop that takes longer is cut short. Nothing is lost: everything acknowledged is on disk. */
const STOP_DEADLINE_MS = 10_000;

/** Runs the whole exchange. `version` is the program's. Rejects with the reason when it cannot start. */
export async function serve(
  config: Config,
  warnings: readonly string[],
  version: string,
  options: HostOptions = {},
): Promise<void> {
  const processLog = openProcessLog(config);
  try {
    await start(config, warnings, version, options, processLog);
  } catch (error) {
    // The caller prints the error and ends the process.
    await processLog.flush();
    throw error;
  }
}

/** The order of the steps matters. */
async function start(
  config: Config,
  warnings: readonly string[],
  version: string,
  options: HostOptions,
  processLog: ProcessLog,
): Promise<void> {
  const { log, stdout, stderr } = processLog;
  // First: without it any later step could end the process.
  requireAddressSpace(DEFAULT_MAP_BYTES + (config.workers + OTHER_THREADS) * THREAD_BYTES);
  process.umask(GROUP_AND_OTHERS);
  tuneV8();
  for (const warning of warnings) log.warn(warning);
  if (config.tls !== null) for (const warning of checkTlsFiles(config.tls, Date.now())) log.warn(warning);
  await probePort(config.host, config.port);
  if (config.operatorPort !== 0) await probePort(config.operatorHost, config.operatorPort);
  const lockError = await lockDataFolder(config.data, "give another --data");
  if (lockError !== null)
    log.warn(
      { err: lockError },
      "cannot create a lock in the data folder: perpd in another container could open it at the same time",
    );
  const accessError = restrictToOwner(config.data);
  if (accessError !== null)
    log.warn({ err: accessError }, "other users of this machine may be able to read the data folder");
  await withRecoveryAdvice(registerInstruments)(config);
  // Before the database is made: once it exists, a missing secret is an error.
  const secret = await withRecoveryAdvice(openSecret)(config.data);
  const host = await Host.start(config, (progress) => showProgress(progress, stderr), options);
  logEvents(host, processLog);
  const compute = openComputePool();
  const exchange = await withRecoveryAdvice(openExchange)({
    ...{ config, secret, host, compute, log, version },
    droppedLogLines: () => stderr.droppedLines,
  });
  host.startTicking();
  const sandbox = new Sandbox(host, { ...config, warn: (message) => log.warn(message) });
  await sandbox.start();
  const feed = config.priceSource === "feed" ? await startFeed(config, host, log) : null;
  const sampler = new PremiumSampler(host);
  sampler.start();
  const demo = await openDemoAccount(host, { ...config, expiresAt: Date.now() + config.sessionTtlMs });
  exchange.setReady();
  stopOnSignal(processLog, async () => {
    sandbox.stop();
    feed?.stop();
    sampler.stop();
    // Requests first, then the threads in the order in which data flows.
    await exchange.close();
    await host.stop();
    exchange.closeDatabase();
    await compute.close();
  });
  // Printed last: a program that reads it may send a signal at once.
  stdout.write(`${welcome(config, exchange, demo)}\n`);
}

/** Logs what happens to threads and disk. Ends the process when the exchange cannot go on. */
function logEvents(host: Host, { log, end }: ProcessLog): void {
  if (host.logTruncation !== null)
    log.warn(
      host.logTruncation,
      "cut off a torn record at the end of the log; nothing proves that it was acknowledged",
    );
  host.onFatal = (error) => {
    const advice = error instanceof DatabaseCorruptError ? RECOVERY_ADVICE : "start again to recover";
    log.fatal({ err: error }, `${error.message}; ${advice}`);
    end(1);
  };
  host.onDiskRoom = (free) => {
    if (host.hasDiskRoom) log.info(free, "the disk has enough free space again");
    else log.error(free, "the disk is nearly full: new orders, deposits and the like are refused");
  };
  host.onSegmentKept = (reason) => {
    log.warn({ reason }, "a log segment that is no longer needed cannot be removed; it is tried again");
  };
  host.onCheckNotDone = (reason) => {
    log.warn({ reason }, "the client order ids on disk were not checked: look-ups of unknown ids stay slow");
  };
  host.onStall = () => {
    if (host.isStalled) log.error("the disk does not answer: no request is answered until it does");
    else log.info("the disk answers again");
  };
  host.onRebuild = ({ concerns, error }) => {
    if (error === null) log.warn({ concerns }, "an actor thread that had died has been rebuilt");
    else log.error({ err: error, concerns }, `an actor thread died: ${error.message}; it is being rebuilt`);
  };
}

async function startFeed(config: Config, engine: Host, log: FeedLog): Promise<Feed> {
  const clocks = { now: Date.now, monotonic: () => performance.now() };
  const feed = await Feed.open({ engine, settings: config.feed, open: openSource, log, ...clocks });
  feed.start();
  return feed;
}

/** Stops and ends the process at the first of these signals. SIGHUP: the terminal was closed. */
function stopOnSignal({ log, end }: ProcessLog, stop: () => Promise<void>): void {
  let isStopping = false;
  const onSignal = async (signal: string): Promise<void> => {
    if (isStopping) return;
    isStopping = true;
    log.info({ signal }, "stopping");
    setTimeout(() => {
      log.error("the stop took too long and was cut short; everything acknowledged is on disk");
      end(1);
    }, STOP_DEADLINE_MS).unref();
    await stop();
    log.info("stopped");
    end(0);
  };
  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.on(signal, () => void onSignal(signal));
}
