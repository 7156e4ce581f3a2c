import { DatabaseCorruptError } from "../../store/files/genesis.ts";
import { LogCorruptError } from "../../store/log/log-segment.ts";

const ADVICE =
  "Nothing was repaired, skipped or begun anew. `perpd verify DIR` says what is sound; `perpd restore BACKUP DIR` brings back a backup.";

/** Work whose errors tell people what to do: of a thread's error only its message reaches the main thread. */
export function withRecoveryAdvice<Task, Result>(
  run: (task: Task) => Result | Promise<Result>,
): (task: Task) => Promise<Result> {
  return async (task) => {
    try {
      return await run(task);
    } catch (error) {
      if (!(error instanceof DatabaseCorruptError || error instanceof LogCorruptError)) throw error;
      throw new Error(`${error.message}\n${ADVICE}`);
    }
  };
}
