import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { databaseOf, logOf } from "../store/files/data-folder.ts";
import { makeFolder, syncDirectory } from "../store/files/files.ts";
import { GENESIS_FILE, INITIALISED_FILE } from "../store/files/genesis.ts";
import { SECRET_FILE } from "../store/files/secret.ts";
import { INSTRUMENTS_FILE } from "../store/registry/instrument-registry.ts";
import { resultOf, runChildProcess } from "./child-process.ts";
import { checkDatabase } from "./database-check.ts";
import { RefusedError } from "./errors.ts";
import { copyFile, emptyFolder, writeNewFile } from "./files.ts";
import { COPY_FILE, type CopyRecord, readCopyRecord, requireExchange, requireNewFolder } from "./folder.ts";
import { type LogCopy, LogGapError, PinnedLog } from "./log-copy.ts";

/** Far less than a segment lives: it is not removed before the next snapshot. */
const PIN_INTERVAL_MS = 20;
const MAX_ATTEMPTS = 5;

export interface CopyOptions {
  from: string;
  /** Missing or empty. */
  to: string;
  /** Where LMDB reads the database: the folder's own, since only its lock file tells a writer of this reader. */
  environment: string;
  segmentBytes: number;
}

/**
 * Copies an exchange, running or not: everything that was on disk when the call began, as one state that recovers. On disk
 * when it resolves. Until then there is no genesis in the copy, and every command refuses it; if it fails, nothing is left.
 * The first file claims the folder: of two that copy to the same one, the second is refused and leaves it alone.
 *
 * The database is one state of some moment, its snapshots and its index each as of a sequence. The log must begin no later
 * than these need and end no earlier than they are. So the log's files are taken hold of before, and what comes of new
 * ones meanwhile, since the exchange removes those that its database has left behind; and they are read after.
 */
export async function copyExchange(options: CopyOptions): Promise<CopyRecord & LogCopy> {
  const { from, to } = options;
  const genesis = requireExchange(from);
  requireNewFolder(from, to);
  const isNew = !existsSync(to);
  try {
    makeFolder(to);
    copyFile(INITIALISED_FILE, from, to);
    syncDirectory(to);
    const log = await copyState(options);
    copyFile(SECRET_FILE, from, to, 0o600);
    // After the state: it names every instrument that this has. A folder from before there was a record has none.
    if (existsSync(join(from, INSTRUMENTS_FILE))) copyFile(INSTRUMENTS_FILE, from, to);
    const { exchangeId } = genesis;
    const record: CopyRecord = { exchangeId, copiedAt: new Date().toISOString(), throughSequence: log.lastSequence };
    writeNewFile(join(to, COPY_FILE), Buffer.from(`${JSON.stringify(record, null, 2)}\n`));
    for (const dir of [logOf(to), databaseOf(to), to]) syncDirectory(dir);
    copyFile(GENESIS_FILE, from, to);
    syncDirectory(to);
    return { ...record, ...log };
  } catch (error) {
    const { code, path } = error as NodeJS.ErrnoException;
    if (code === "EEXIST" && path === join(to, INITIALISED_FILE))
      throw new RefusedError(`${to}: another copy is being made there`);
    if (existsSync(to)) emptyFolder(to);
    if (isNew) rmSync(to, { recursive: true, force: true });
    throw error;
  }
}

async function copyState(options: CopyOptions): Promise<LogCopy> {
  const { from, to, environment, segmentBytes } = options;
  for (let attempt = 1; ; attempt++) {
    const log = new PinnedLog(logOf(from));
    try {
      await copyDatabaseWhilePinning(log, environment, databaseOf(to));
      const { indexedSequence, snapshotSequences } = await checkDatabase(from, databaseOf(to));
      const storedThrough = Math.max(indexedSequence, ...snapshotSequences.map(([, sequence]) => sequence));
      // What is itself a copy has all that it was made with.
      const copiedThrough = readCopyRecord(from)?.throughSequence ?? 0;
      return log.copyTo(logOf(to), segmentBytes, Math.max(storedThrough, copiedThrough));
    } catch (error) {
      if (!(error instanceof LogGapError) || attempt === MAX_ATTEMPTS) throw error;
      rmSync(databaseOf(to), { recursive: true, force: true });
    } finally {
      log.close();
    }
  }
}

/** In a process of its own: LMDB tells processes apart by their numbers, and of two containers each has one that is 1. */
async function copyDatabaseWhilePinning(log: PinnedLog, from: string, to: string): Promise<void> {
  log.pin();
  const copying = runChildProcess("database-copy-main", from, to).then((outcome) => {
    resultOf(outcome, from);
    return true;
  });
  try {
    for (let isCopied = false; !isCopied; log.pin()) {
      isCopied = await Promise.race([copying, pause(PIN_INTERVAL_MS, false)]);
    }
  } finally {
    await copying;
  }
}
