import { accessSync, constants, linkSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const LOCK_FILE = "lock.mdb";
/** At least what LMDB asks for: it makes a shorter one longer. */
const LOCK_FILE_BYTES = 16_384;
/** With these LMDB reads without a lock file. */
const MAY_NOT_WRITE = ["EACCES", "EROFS"];

/**
 * Makes the file beside a database by which LMDB's writer and readers know of one another, unless it is there. LMDB maps one
 * that it makes itself before anything is written to it, and where the disk has no room left for that, the process dies
 * (SIGBUS): here it is an error. False where the file may not be written to, and no writer would know of a reader.
 */
export function makeLockFile(databaseDir: string): boolean {
  const path = join(databaseDir, LOCK_FILE);
  const made = `${path}-${process.pid}`;
  try {
    if (isWritable(path)) return true;
    writeFileSync(made, Buffer.alloc(LOCK_FILE_BYTES));
    // Whole at once, and never in the place of one that another process has made meanwhile.
    linkSync(made, path);
    return true;
  } catch (error) {
    const { code = "", message } = error as NodeJS.ErrnoException;
    if (MAY_NOT_WRITE.includes(code)) return false;
    if (code === "EEXIST") return true;
    throw Object.assign(error as Error, { message: `${path}: ${message}` });
  } finally {
    rmSync(made, { force: true });
  }
}

/** False where it is missing. */
function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.R_OK | constants.W_OK);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return false;
    throw error;
  }
}
