/** Node reads what has arrived before it runs an immediate. Browsers have none, and their timers wait for their turn. */
const afterReading: (run: () => void) => unknown = globalThis.setImmediate ?? ((run) => setTimeout(run, 0));

/** A part of the wait for the ping. Setting a timer for every message would cost more than reading it. */
const MIN_AGE = 0.1;

/** Detects a dead connection: pings after half of `deadAfterMs` without a message, gives up after all of it. */
export class Keepalive {
  private readonly waitMs: number;
  private readonly ping: () => void;
  private readonly onDead: () => void;
  private timer: ReturnType<typeof setTimeout> | undefined;
  /** performance.now() when the timer was set. */
  private setAtMs = 0;
  private pinged = false;
  private stopped = false;

  constructor(deadAfterMs: number, ping: () => void, onDead: () => void) {
    this.waitMs = deadAfterMs / 2;
    this.ping = ping;
    this.onDead = onDead;
    this.wait();
  }

  /** A message has arrived. */
  received(): void {
    this.pinged = false;
    if (performance.now() - this.setAtMs > MIN_AGE * this.waitMs) this.wait();
  }

  /** Call when the connection ends: no callback runs afterwards. */
  stop(): void {
    this.stopped = true;
    clearTimeout(this.timer);
  }

  private wait(): void {
    if (this.stopped) return;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.check(), this.waitMs);
    this.setAtMs = performance.now();
  }

  private check(): void {
    if (this.pinged) {
      // The program itself may have been blocked. Messages that arrived meanwhile are read after the timers, so let
      // them come first.
      afterReading(() => this.giveUp());
      return;
    }
    this.pinged = true;
    this.wait();
    this.ping();
  }

  private giveUp(): void {
    if (this.stopped) return;
    if (this.pinged) this.onDead();
    else this.wait();
  }
}
