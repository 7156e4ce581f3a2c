import { constants } from "node:os";
import { DatabaseCopyError } from "../store/database/database-copy.ts";

/** What was asked cannot be done here, and nothing was changed. */
export class RefusedError extends Error {
  override name = "RefusedError";
}

/** The folder does not hold what it must hold. */
export class DamagedError extends Error {
  override name = "DamagedError";
}

/** The system has not done its part, which says nothing about what is in the folder. */
export class NotDoneError extends Error {
  override name = "NotDoneError";
}

/** Without EFAULT and EINVAL: these are what it says of a file that was cut short. */
const { ENOSPC, EDQUOT, EFBIG, EIO, EACCES, EPERM, EROFS, ENOMEM, EMFILE, ENFILE } = constants.errno;
const ERRNOS: readonly unknown[] = [ENOSPC, EDQUOT, EFBIG, EIO, EACCES, EPERM, EROFS, ENOMEM, EMFILE, ENFILE];

/** Whether it is the system that says no. Of what it tells LMDB only the number comes through. */
export function isNotDone(error: Error): boolean {
  if (error instanceof NotDoneError || error instanceof DatabaseCopyError) return true;
  return "syscall" in error || ("code" in error && ERRNOS.includes(error.code));
}
