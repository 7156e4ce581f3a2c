import { RingGauge } from "../wire/ring.ts";

/** Looks that a thread may stand still for: with a look every second, as long as no turn, pause or recovery takes. */
const MAX_STILL_LOOKS = 15;

/**
 * Notices a thread that hangs: it has commands and takes none, look after look, though the journal waits for it and not
 * the other way round. Looks are counted, not time: while the whole process is held up nobody looks.
 */
export class Watchdog {
  private readonly commands: RingGauge;
  private readonly out: RingGauge;
  /** How far the ring was filled when the thread was first seen to have commands; null = it had none. */
  private mark: number | null = null;
  private stillLooks = 0;

  constructor(commands: SharedArrayBuffer, out: SharedArrayBuffer) {
    this.commands = new RingGauge(commands);
    this.out = new RingGauge(out);
  }

  /** Returns whether the thread hangs. `mayStand`: it has been told to, so this look does not count. */
  look(mayStand: boolean): boolean {
    const { commands, out, mark } = this;
    if (mayStand || mark === null || commands.hasRead(mark) || !out.hasRead(out.written)) {
      this.mark = commands.hasRead(commands.written) ? null : commands.written;
      this.stillLooks = 0;
    } else this.stillLooks++;
    return this.stillLooks >= MAX_STILL_LOOKS;
  }
}
