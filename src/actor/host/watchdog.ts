import { RingGauge } from "../../wire/ring.ts";

/** Looks that a thread may stand still for: with a look every second, as long as no turn, pause or recovery takes. */
const MAX_STILL_LOOKS = 15;

/**
 * Notices a thread that hangs: it has commands and takes none, look after look, though the journal waits for it and not
 * the other way round. Looks are counted, not time: while the whole process is held up nobody looks.
 */
export class Watchdog {
  private readonly commands: RingGauge;
  private readonly out: RingGauge;
  /** How far it had taken its commands at the last look. */
  private read = 0;
  private stillLooks = 0;

  constructor(commands: SharedArrayBuffer, out: SharedArrayBuffer) {
    this.commands = new RingGauge(commands);
    this.out = new RingGauge(out);
  }

  /** Returns whether the thread hangs. `mayStand`: it has been told to, so this look does not count. */
  check(mayStand: boolean): boolean {
    const { commands, out } = this;
    const { read } = commands;
    const isStill = read === this.read && !commands.hasRead(commands.written) && out.hasRead(out.written);
    this.stillLooks = isStill && !mayStand ? this.stillLooks + 1 : 0;
    this.read = read;
    return this.stillLooks >= MAX_STILL_LOOKS;
  }
}
