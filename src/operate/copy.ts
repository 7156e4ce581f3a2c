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

/** Much shorter than the life of a segment: none is removed before the next snapshot. */
const PIN_INTERVAL_MS = 20;
const MAX_ATTEMPTS = 5;

interface CopyOptions {
  from: string;
  /** Must not exist or be empty. */
  to: string;
  /** The folder that LMDB reads the database from. Its lock file tells a running writer of this reader. */
  environment: string;
  segmentBytes: number;
}

/**
 * Copies an exchange, running or not: everything that was durable when the call began, as one state that can be recovered.
 * Durable when it resolves. Until then the copy has no genesis file, so every command refuses it. A failed copy is removed.
 * The first file claims the folder: a second copy to the same folder is refused and changes nothing there.
 *
 * The copied database is one consistent state, with snapshots and an index that each go through some sequence. The log must
 * begin early enough for them and end no earlier than they do. The running exchange removes segments that its database no
 * longer needs. So all segments are opened before the database is copied, new ones while it is copied, and all are read
 * afterwards.
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
    // Copied after the state, so that it names every instrument of the state. Folders of older versions have no such file.
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
      throw new RefusedError(`${to}: another copy to this folder is in progress`);
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
      // If the source is a copy itself, its log must reach as far as it did when it was made.
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

/**
 * Copies the database in a child process. LMDB tells processes apart by their ids, and in two containers both may have the
 * id 1.
 */
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
