import type { ProcessLog } from "./process-log.ts";

/** A stop that takes longer is cut short. Nothing is lost: everything acknowledged is on disk. */
const STOP_DEADLINE_MS = 10_000;

/** SIGHUP: the terminal was closed. */
const SIGNALS = ["SIGTERM", "SIGINT", "SIGHUP"] as const;

/**
 * Stops and ends the process at the first of these signals, with exit code 0. It listens from the beginning, so that a start can
 * be stopped, too: what has not begun yet needs no end.
 */
export class Stopper {
  private processLog: ProcessLog | null = null;
  private readonly steps: (() => unknown)[] = [];
  private hasBegun = false;

  constructor() {
    for (const name of SIGNALS) process.on(name, (signal) => this.stop({ signal }));
  }

  /** A start that fails meanwhile has failed because of the stop. */
  get isStopping(): boolean {
    return this.hasBegun;
  }

  /** From now on a stop is logged there. */
  logTo(processLog: ProcessLog): void {
    this.processLog = processLog;
  }

  /** A stop does this before all that was added earlier. Throws during a stop: a start must go no further. */
  add(step: () => unknown): void {
    if (this.hasBegun) throw new Error("the process stops");
    this.steps.unshift(step);
  }

  /** Stops and ends the process, unless it stops already. `why`: for the log. */
  stop(why: object): void {
    if (this.hasBegun) return;
    this.hasBegun = true;
    if (this.processLog === null) process.exit(0);
    void this.run(this.processLog, why);
  }

  private async run({ log, end }: ProcessLog, why: object): Promise<void> {
    log.info(why, "stopping");
    setTimeout(() => {
      log.error("the stop took too long and was cut short; everything acknowledged is on disk");
      end(1);
    }, STOP_DEADLINE_MS).unref();
    for (const step of this.steps) await step();
    log.info("stopped");
    end(0);
  }
}
