/** Detects a dead connection: pings after half of `deadAfterMs` without a message, gives up after all of it. */
export class Keepalive {
  private readonly timer: NodeJS.Timeout;
  private pinged = false;
  private end: NodeJS.Immediate | undefined;

  constructor(deadAfterMs: number, ping: () => void, onDead: () => void) {
    this.timer = setTimeout(() => {
      if (this.pinged) {
        // The program itself may have been blocked. Messages that arrived meanwhile are read after the timers, so let
        // them come first.
        this.end = setImmediate(onDead);
        return;
      }
      this.pinged = true;
      this.timer.refresh();
      ping();
    }, deadAfterMs / 2);
  }

  /** A message has arrived. */
  received(): void {
    clearImmediate(this.end);
    this.pinged = false;
    this.timer.refresh();
  }

  /** Call when the connection ends: no callback runs afterwards. */
  stop(): void {
    clearImmediate(this.end);
    clearTimeout(this.timer);
  }
}
