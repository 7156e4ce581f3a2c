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

/** The contents of COPY_FILE, which backup and restore write into a copy. */
export interface CopyRecord {
  readonly exchangeId: string;
  /** ISO 8601. */
  readonly copiedAt: string;
  /** The copy was made with everything through this sequence. Its log may be longer since then, but never shorter. */
  readonly throughSequence: number;
}

export const COPY_FILE = "copied.json";

/** The genesis of the exchange in the folder. Throws RefusedError if there never was one, and DamagedError if parts are missing. */
export function requireExchange(dir: string): Genesis {
  if (!existsSync(dir)) throw new RefusedError(`${dir}: the folder does not exist`);
  const genesis = readGenesis(dir);
  if (genesis === null) {
    if (!existsSync(logOf(dir)) && !existsSync(databaseOf(dir)))
      throw new RefusedError(`${dir}: this is not a data folder of perpd`);
    throw new DamagedError(`${dir}: ${GENESIS_FILE} and ${INITIALISED_FILE} are missing`);
  }
  if (!isInitialised(dir))
    throw new DamagedError(`${dir}: ${INITIALISED_FILE} is missing: the first start did not finish`);
  if (!existsSync(logOf(dir)) || listSegments(logOf(dir)).length === 0)
    throw new DamagedError(`${dir}: the log is missing`);
  requireDatabase(databaseOf(dir));
  return genesis;
}

/** Returns null if the folder is not a copy. */
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

/** Throws RefusedError unless `to` can take a copy of `from`: it must be missing or empty, and not lie within `from`. */
export function requireNewFolder(from: string, to: string): void {
  const link = lstatSync(to, { throwIfNoEntry: false });
  if (link !== undefined && !existsSync(to)) throw new RefusedError(`${to}: this link points to nothing`);
  if (existsSync(to) && readdirSync(to).length > 0)
    throw new RefusedError(`${to}: the folder must be empty or not exist`);
  if (`${realPathOf(to)}${sep}`.startsWith(`${realPathOf(from)}${sep}`))
    throw new RefusedError(`${to}: it lies within ${from}; choose a folder outside`);
}

/** Also for a path that does not exist yet. */
function realPathOf(path: string): string {
  const whole = resolve(path);
  return existsSync(whole) ? realpathSync(whole) : join(realPathOf(dirname(whole)), basename(whole));
}

/**
 * Lets `work` read a database without changing its folder. LMDB keeps a lock file beside a database and writes to it even to
 * read. So `work` gets a temporary folder of links to the genesis files of `dir` and to the database in `databaseDir`.
 * Nobody else may write to the database meanwhile.
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
