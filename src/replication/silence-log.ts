/** Of a process: it does not know yet what its folder and the stream have, it follows, or it leads. */
export type ReplicationPhase = "starting" | "following" | "leading";

/** It holds until NATS answers. */
const MEANING: Record<ReplicationPhase, string> = {
  starting: "this start waits",
  following: "this process hears no leader and cannot take over",
  leading: "nothing is acknowledged",
};

/** The log says at most this often that NATS does not answer. The reason names the stream or the lease. */
const LOG_EVERY_MS = 5000;
/** Longer than a process that runs takes to ask again: without a failure for so long, NATS answers. */
const QUIET_MS = 5000;

export interface SilenceLogOptions {
  readonly log: {
    error(fields: object, message: string): void;
    info(message: string): void;
  };
  readonly phase: () => ReplicationPhase;
}

/** Logs that NATS JetStream does not answer, and what follows from that; then that it answers again. */
export class SilenceLog {
  private readonly options: SilenceLogOptions;
  private loggedAtMs = Number.NEGATIVE_INFINITY;
  /** Null: nothing was logged that is not over. */
  private quiet: NodeJS.Timeout | null = null;

  constructor(options: SilenceLogOptions) {
    this.options = options;
  }

  /** A request was not answered. */
  readonly note = (reason: string): void => {
    const { log, phase } = this.options;
    const nowMs = performance.now();
    if (this.quiet === null || nowMs - this.loggedAtMs >= LOG_EVERY_MS) {
      this.loggedAtMs = nowMs;
      log.error({ reason }, `NATS JetStream does not answer: ${MEANING[phase()]} until it does`);
    }
    if (this.quiet !== null) clearTimeout(this.quiet);
    // A connection may take longer to fail. A start says itself when it goes on.
    this.quiet = setTimeout(() => phase() !== "starting" && this.end(), QUIET_MS).unref();
  };

  /** NATS has answered. */
  readonly end = (): void => {
    if (this.quiet === null) return;
    clearTimeout(this.quiet);
    this.quiet = null;
    this.options.log.info("NATS JetStream answers again");
  };
}
