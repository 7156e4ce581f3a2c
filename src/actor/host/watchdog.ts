import { RingGauge } from "../../wire/ring.ts";

/** Checks without progress until a thread counts as hung. At one check a second no transaction or pause lasts so long. */
const MAX_STILL_CHECKS = 15;
/** Checks without progress until clients and load balancers hear of it. */
const UNRESPONSIVE_STILL_CHECKS = 3;

/**
 * Notices a thread that hangs: it has commands and takes none, and the journal has read everything that it wrote. It
 * counts checks instead of time, because nothing is checked while the whole process is suspended.
 */
export class Watchdog {
  private readonly commands: RingGauge;
  private readonly out: RingGauge;
  /** How far it had read its commands at the last check. */
  private read = 0;
  private stillChecks = 0;

  constructor(commands: SharedArrayBuffer, out: SharedArrayBuffer) {
    this.commands = new RingGauge(commands);
    this.out = new RingGauge(out);
  }

  /** The thread has taken no command for some checks, and may still go on. */
  get isUnresponsive(): boolean {
    return this.stillChecks >= UNRESPONSIVE_STILL_CHECKS;
  }

  /** Returns whether the thread hangs. `isPaused`: it stands still on purpose, so this check does not count. */
  check(isPaused: boolean): boolean {
    const { commands, out } = this;
    const { read } = commands;
    const isStill = read === this.read && !commands.hasRead(commands.written) && out.hasRead(out.written);
    this.stillChecks = isStill && !isPaused ? this.stillChecks + 1 : 0;
    this.read = read;
    return this.stillChecks >= MAX_STILL_CHECKS;
  }
}
