export interface LogClockOptions {
  /** The machine's clock, which may be set at any time: milliseconds since the epoch. */
  clock: () => number;
  /** Milliseconds by a clock that nobody sets. */
  monotonic: () => number;
  /** No time is earlier. */
  notBefore: number;
}

/**
 * The time of the log, which never goes back, also between two starts. While the machine's clock is behind it, because it was
 * set back, time goes on at half speed: so everything that waits for time still comes, and the difference shrinks.
 */
export class LogClock {
  private readonly options: LogClockOptions;
  private lastTime: number;
  /** Since when the machine's clock is behind: the last time before, and the monotonic clock. Null: it is not. */
  private behindSince: { time: number; monotonicMs: number } | null = null;

  constructor(options: LogClockOptions) {
    this.options = options;
    this.lastTime = options.notBefore;
  }

  /** The time that read() gave last. */
  get time(): number {
    return this.lastTime;
  }

  /** Returns the time, in whole milliseconds. */
  read(): number {
    const machineTime = this.options.clock();
    if (this.behindSince !== null || machineTime < this.lastTime) return this.goOn(machineTime);
    this.lastTime = machineTime;
    return machineTime;
  }

  private goOn(machineTime: number): number {
    const monotonicMs = this.options.monotonic();
    this.behindSince ??= { time: this.lastTime, monotonicMs };
    const slowTime = this.behindSince.time + Math.floor((monotonicMs - this.behindSince.monotonicMs) / 2);
    if (machineTime >= slowTime) this.behindSince = null;
    this.lastTime = Math.max(machineTime, slowTime);
    return this.lastTime;
  }
}
