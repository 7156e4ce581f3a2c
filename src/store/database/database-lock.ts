import { accessSync, constants, linkSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { unlessMissing } from "../files/files.ts";

const LOCK_FILE = "lock.mdb";
/** At least LMDB's size. It extends a shorter file. */
const LOCK_FILE_BYTES = 16_384;
/** With these errors LMDB reads without a lock file. */
const MAY_NOT_WRITE = ["EACCES", "EROFS"];

/**
 * Creates LMDB's lock file, by which its writer and readers know of each other, unless it exists. LMDB would create it sparse
 * and map it, and on a full disk the process would die with SIGBUS. Here that is an error. Returns false if the file cannot be
 * written to: then a writer would not know of this reader.
 */
export function makeLockFile(databaseDir: string): boolean {
  const path = join(databaseDir, LOCK_FILE);
  const temporary = `${path}-${process.pid}`;
  try {
    if (isWritable(path)) return true;
    writeFileSync(temporary, Buffer.alloc(LOCK_FILE_BYTES));
    // A link appears with its full size, and never replaces a file that another process has created meanwhile.
    linkSync(temporary, path);
    return true;
  } catch (error) {
    const { code = "", message } = error as NodeJS.ErrnoException;
    if (MAY_NOT_WRITE.includes(code)) return false;
    if (code === "EEXIST") return true;
    throw Object.assign(error as Error, { message: `${path}: ${message}` });
  } finally {
    rmSync(temporary, { force: true });
  }
}

/** Returns false if the file is missing. */
function isWritable(path: string): boolean {
  return unlessMissing(() => accessSync(path, constants.R_OK | constants.W_OK)) !== null;
}
