import { Host, type HostOptions } from "./actor/host/host.ts";
import { openComputePool } from "./actor/host/pools.ts";
import { RECOVERY_ADVICE, withRecoveryAdvice } from "./actor/host/recovery-advice.ts";
import type { ReplicationMode } from "./config/replication.ts";
import { checkTlsFiles } from "./config/tls.ts";
import type { Config } from "./config.ts";
import { openExchange } from "./exchange.ts";
import { Feed, type FeedLog } from "./feed/feed.ts";
import { PremiumSampler } from "./feed/premium-sampler.ts";
import { openSource } from "./feed/sources.ts";
import { stalledPart } from "./front/exchange/leader.ts";
import { probePort } from "./front/http/port-probe.ts";
import { openProcessLog, type ProcessLog } from "./process-log.ts";
import type { CutTail } from "./replication/reconcile.ts";
import { type ReplicationPhase, SilenceLog } from "./replication/silence-log.ts";
import { untilAnswered } from "./replication/until-answered.ts";
import { openDemoAccount } from "./sandbox/accounts.ts";
import { Sandbox } from "./sandbox/sandbox.ts";
import type { Stopper } from "./stopper.ts";
import { DEFAULT_MAP_BYTES } from "./store/database/database.ts";
import { requireAddressSpace } from "./store/files/address-space.ts";
import { DatabaseCorruptError, readGenesis } from "./store/files/genesis.ts";
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

/** Runs the whole exchange. `version` is the program's. Rejects with the reason when it cannot start. */
export async function serve(
  config: Config,
  warnings: readonly string[],
  version: string,
  stopper: Stopper,
  options: HostOptions = {},
): Promise<void> {
  const processLog = openProcessLog(config);
  stopper.logTo(processLog);
  try {
    await start(config, warnings, version, stopper, options, processLog);
  } catch (error) {
    if (stopper.isStopping) return;
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
  stopper: Stopper,
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
  // Before anything is written.
  await withRecoveryAdvice(requireSeed)(config);
  await probePort(config.host, config.port);
  if (config.operatorPort !== 0) await probePort(config.operatorHost, config.operatorPort);
  let phase = (): ReplicationPhase => "starting";
  const silence = new SilenceLog({ log, phase: () => phase() });
  const onStreamSilence = silence.note;
  await withRecoveryAdvice(refuseForeignStream)({ config, onStreamSilence });
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
  const host = await Host.start(config, (progress) => showProgress(progress, stderr), {
    onStreamSilence,
    onUncheckedServers: (monitors) =>
      log.warn(
        { monitors },
        "these NATS servers did not say yet whether they write to their disks before they answer; they are asked again",
      ),
    ...options,
  });
  phase = () => (host.leadership.epoch > 0 ? "leading" : "following");
  silence.end();
  logEvents(host, processLog);
  const compute = openComputePool();
  const exchange = await withRecoveryAdvice(openExchange)({
    ...{ config, secret, host, compute, log, version },
    droppedLogLines: () => stderr.droppedLines,
    // The answer leaves first.
    stepDown: () => setImmediate(() => stopper.stop({ reason: "an operator has this process step down" })),
  });
  // Requests first, then the threads in the order in which data flows.
  stopper.add(async () => {
    await exchange.drain();
    // A standby waits for the host, and not for the last goodbye.
    await Promise.all([host.stop(), exchange.close()]);
    exchange.closeDatabase();
    await compute.close();
  });
  host.startWatching();
  await lead(host, config, processLog);
  if (config.replication !== null) exchange.beginToLead();
  const sandbox = new Sandbox(host, { ...config, warn: (message) => log.warn(message) });
  stopper.add(() => sandbox.stop());
  host.startTicking();
  await sandbox.start();
  if (config.priceSource === "feed") {
    const feed = await openFeed(config, host, log);
    stopper.add(() => feed.stop());
    feed.start();
  }
  const sampler = new PremiumSampler(host);
  stopper.add(() => sampler.stop());
  sampler.start();
  const demo = await openDemoAccount(host, { ...config, expiresAt: Date.now() + config.sessionTtlMs });
  exchange.setReady();
  // Printed last: a program that reads it may send a signal at once.
  stdout.write(`${welcome(config, exchange, demo)}\n`);
}

/** Throws if a standby has no copy of the exchange: a new one would not be that of the leader. */
function requireSeed({ role, data }: Config): void {
  if (role === "standby" && readGenesis(data) === null)
    throw new Error(
      `${data} holds no exchange: seed the standby with a backup of the leader (perpd restore BACKUP ${data})`,
    );
}

interface NewExchange {
  config: Config;
  onStreamSilence: (reason: string) => void;
}

/** Throws if a new exchange would be replicated in the stream of another one. Waits while no server answers. */
async function refuseForeignStream({ config, onStreamSilence }: NewExchange): Promise<void> {
  const { data, replication } = config;
  if (replication === null || readGenesis(data) !== null) return;
  const { requireNoStream } = await import("./replication/nats.ts");
  await untilAnswered(() => requireNoStream(replication), onStreamSilence);
}

/** About requests that a deposed process had answered. */
const DEPOSED: Record<ReplicationMode, string> = {
  sync: "nothing that it had answered is lost",
  async: "its next start says what only this process had answered",
};

/** Waits until this process leads. Meanwhile it follows the leader. */
async function lead(host: Host, config: Config, { log, end }: ProcessLog): Promise<void> {
  if (config.replication === null) return;
  host.onLeadership = () => {
    const { leader, epoch } = host.leadership;
    if (epoch > 0) log.info({ epoch }, "this process leads");
    else if (leader !== null) log.info({ leader: leader.url, epoch: leader.epoch }, "this process follows a leader");
  };
  host.onLeadership();
  host.onLost = (lost) =>
    log.error(
      lost,
      "these transactions of the leader before were answered and never came into the stream: they are lost",
    );
  host.onWrongClock = (difference) =>
    log.warn(difference, "the clock of a standby differs from this machine's: set it right before that standby leads");
  host.onPossibleLoss = (withinMs) =>
    log.warn(
      { withinMs },
      "the leader before did not release its lease: in mode async, what it answered after the last renewal may be lost, unless it is in the log of this machine",
    );
  const { mode } = config.replication;
  host.onDeposed = (reason) => {
    log.fatal(`${reason}. This process was deposed and ends; ${DEPOSED[mode]}. Start it again: it follows`);
    end(1);
  };
  if (host.cutTail !== null) logCutTail(host.cutTail, log);
  host.startFollowing();
  await host.whenLeading();
}

function logCutTail(cut: CutTail, log: ProcessLog["log"]): void {
  if (cut.answeredThrough < cut.first)
    log.warn(cut, "cut off transactions that are not in the stream: nobody was told of them; the file has them");
  else log.error(cut, "cut off transactions that were answered and never came into the stream: only the file has them");
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
  let stalled = "";
  host.onStall = () => {
    if (!host.isStalled) return log.info(`${stalled} answers again`);
    stalled = stalledPart(host);
    log.error(`${stalled} does not answer: no request is answered until it does`);
  };
  host.onRebuild = ({ concerns, error }) => {
    if (error === null) log.warn({ concerns }, "an actor thread that had died has been rebuilt");
    else log.error({ err: error, concerns }, `an actor thread died: ${error.message}; it is being rebuilt`);
  };
}

function openFeed(config: Config, engine: Host, log: FeedLog): Promise<Feed> {
  const clocks = { now: Date.now, monotonic: () => performance.now() };
  return Feed.open({ engine, settings: config.feed, open: openSource, log, ...clocks });
}
