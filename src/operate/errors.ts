import { constants } from "node:os";
import { DatabaseCopyError } from "../store/database/database-copy.ts";

/** The command cannot be done here. Nothing was changed. */
export class RefusedError extends Error {
  override name = "RefusedError";
}

/** Data in the folder is damaged or missing. */
export class DamagedError extends Error {
  override name = "DamagedError";
}

/** The system failed, which says nothing about the data in the folder. */
export class NotDoneError extends Error {
  override name = "NotDoneError";
}

/** Not EFAULT and EINVAL: a file that was cut short gives these. */
const { ENOSPC, EDQUOT, EFBIG, EIO, EACCES, EPERM, EROFS, ENOMEM, EMFILE, ENFILE } = constants.errno;
const ERRNOS: readonly unknown[] = [ENOSPC, EDQUOT, EFBIG, EIO, EACCES, EPERM, EROFS, ENOMEM, EMFILE, ENFILE];

/** Whether the error comes from the system. LMDB's errors carry only its number. */
export function isNotDone(error: Error): boolean {
  if (error instanceof NotDoneError || error instanceof DatabaseCopyError) return true;
  return "syscall" in error || ("code" in error && ERRNOS.includes(error.code));
}
