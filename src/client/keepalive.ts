/** Notices that nothing has come over a line for too long: asks for a sign after half of that, and gives up after all of it. */
export class Keepalive {
  private readonly timer: NodeJS.Timeout;
  private pinged = false;
  private end: NodeJS.Immediate | undefined;

  constructor(deadAfterMs: number, ask: () => void, giveUp: () => void) {
    this.timer = setTimeout(() => {
      if (this.pinged) {
        // A program that was held up itself finds only behind its timers what has come meanwhile.
        this.end = setImmediate(giveUp);
        return;
      }
      this.pinged = true;
      this.timer.refresh();
      ask();
    }, deadAfterMs / 2);
  }

  /** Something has come. */
  received(): void {
    clearImmediate(this.end);
    this.pinged = false;
    this.timer.refresh();
  }

  /** Nothing may come behind this. */
  stop(): void {
    clearImmediate(this.end);
    clearTimeout(this.timer);
  }
}
