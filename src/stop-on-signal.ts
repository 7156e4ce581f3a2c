import type { ProcessLog } from "./process-log.ts";

/** A stop that takes longer is cut short. Nothing is lost: everything acknowledged is on disk. */
const STOP_DEADLINE_MS = 10_000;

const SIGNALS = ["SIGTERM", "SIGINT", "SIGHUP"] as const;

export interface Stopper {
  /** Stops and ends the process, unless it stops already. `why`: for the log. */
  stop(why: object): void;
  /** Ends the watch for signals. */
  forget(): void;
}

/** Stops and ends the process at the first of these signals. SIGHUP: the terminal was closed. */
export function stopOnSignal({ log, end }: ProcessLog, stop: () => Promise<void>): Stopper {
  let isStopping = false;
  const stopOnce = async (why: object): Promise<void> => {
    if (isStopping) return;
    isStopping = true;
    log.info(why, "stopping");
    setTimeout(() => {
      log.error("the stop took too long and was cut short; everything acknowledged is on disk");
      end(1);
    }, STOP_DEADLINE_MS).unref();
    await stop();
    log.info("stopped");
    end(0);
  };
  const listener = (signal: string): void => void stopOnce({ signal });
  for (const signal of SIGNALS) process.on(signal, listener);
  return {
    stop: (why) => void stopOnce(why),
    forget() {
      for (const signal of SIGNALS) process.off(signal, listener);
    },
  };
}
