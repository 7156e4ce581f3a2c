import { DatabaseCorruptError } from "../../store/files/genesis.ts";
import { LogCorruptError } from "../../store/log/log-segment.ts";

export const RECOVERY_ADVICE =
  "Run `perpd verify DIR` to check the folder, or `perpd restore BACKUP DIR` to restore a backup.";

/**
 * Wraps `run` so that its corruption errors also say what to do. The advice is part of the message, because only the
 * message of a thread's error reaches the main thread.
 */
export function withRecoveryAdvice<Task, Result>(
  run: (task: Task) => Result | Promise<Result>,
): (task: Task) => Promise<Result> {
  return async (task) => {
    try {
      return await run(task);
    } catch (error) {
      if (!(error instanceof DatabaseCorruptError || error instanceof LogCorruptError)) throw error;
      throw new Error(`${error.message}\nperpd has changed nothing. ${RECOVERY_ADVICE}`);
    }
  };
}
