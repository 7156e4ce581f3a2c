import { existsSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join, resolve, sep } from "node:path";
import { requireDatabase } from "../store/database/database.ts";
import { makeLockFile } from "../store/database/database-lock.ts";
import { databaseOf, logOf } from "../store/files/data-folder.ts";
import { GENESIS_FILE, type Genesis, INITIALISED_FILE, isInitialised, readGenesis } from "../store/files/genesis.ts";
import { readIfPresent } from "../store/files/small-files.ts";
import { listSegments } from "../store/log/log-segment.ts";
import { DamagedError, RefusedError } from "./errors.ts";

/** What a copy must hold; written by backup and restore. */
export interface CopyRecord {
  readonly exchangeId: string;
  /** ISO 8601. */
  readonly copiedAt: string;
  /** The copy was made with everything through this sequence. Its log may have gone on since, but never ends before. */
  readonly throughSequence: number;
}

export const COPY_FILE = "copied.json";

/** The exchange that lives in the folder. Throws RefusedError where there never was one, else what says why it is none. */
export function requireExchange(dir: string): Genesis {
  if (!existsSync(dir)) throw new RefusedError(`${dir}: there is no such folder`);
  const genesis = readGenesis(dir);
  if (genesis === null) {
    if (!existsSync(logOf(dir)) && !existsSync(databaseOf(dir)))
      throw new RefusedError(`${dir}: no data folder of perpd`);
    throw new DamagedError(`${dir}: ${GENESIS_FILE} and ${INITIALISED_FILE} were lost`);
  }
  if (!isInitialised(dir))
    throw new DamagedError(`${dir}: without ${INITIALISED_FILE}; its first start did not finish`);
  if (!existsSync(logOf(dir)) || listSegments(logOf(dir)).length === 0)
    throw new DamagedError(`${dir}: there is no log`);
  requireDatabase(databaseOf(dir));
  return genesis;
}

/** Null where the folder is no copy. */
export function readCopyRecord(dir: string): CopyRecord | null {
  const path = join(dir, COPY_FILE);
  const text = readIfPresent(path);
  if (text === null) return null;
  const record = parseCopyRecord(text);
  if (record === null) throw new DamagedError(`${path}: cannot be read`);
  return record;
}

function parseCopyRecord(text: string): CopyRecord | null {
  try {
    const record = JSON.parse(text) as Partial<CopyRecord> | null;
    if (typeof record?.exchangeId !== "string" || !Number.isSafeInteger(record.throughSequence)) return null;
    return record as CopyRecord;
  } catch {
    return null;
  }
}

/** Throws RefusedError unless a copy of `from` may be made in `to`: missing or empty, and no part of what is copied. */
export function requireNewFolder(from: string, to: string): void {
  const link = lstatSync(to, { throwIfNoEntry: false });
  if (link !== undefined && !existsSync(to)) throw new RefusedError(`${to}: a link that leads nowhere`);
  if (existsSync(to) && readdirSync(to).length > 0) throw new RefusedError(`${to}: it must be empty or not exist`);
  if (`${realPathOf(to)}${sep}`.startsWith(`${realPathOf(from)}${sep}`))
    throw new RefusedError(`${to}: it lies within ${from}, which is not written to`);
}

/** Also of a folder that is yet to be made. */
function realPathOf(path: string): string {
  const whole = resolve(path);
  return existsSync(whole) ? realpathSync(whole) : join(realPathOf(dirname(whole)), basename(whole));
}

/**
 * LMDB keeps a lock file beside a database, and writes to it also in order to read. So whoever must change nothing reads
 * through a folder of links: the genesis of `dir`, and the database in `databaseDir`. `work` gets its path; nobody else
 * may write to the database meanwhile.
 */
export async function withReadOnlyView<T>(
  dir: string,
  databaseDir: string,
  work: (view: string) => T | Promise<T>,
): Promise<T> {
  const view = mkdtempSync(join(tmpdir(), "perpd-view-"));
  try {
    for (const name of [GENESIS_FILE, INITIALISED_FILE]) symlinkSync(resolve(dir, name), join(view, name));
    mkdirSync(databaseOf(view));
    makeLockFile(databaseOf(view));
    symlinkSync(resolve(databaseDir, "data.mdb"), join(databaseOf(view), "data.mdb"));
    return await work(view);
  } finally {
    rmSync(view, { recursive: true });
  }
}
