/** Notices that nothing has come over a line for too long: asks for a sign after half of that, and gives up after all of it. */
export class Pulse {
  private readonly timer: NodeJS.Timeout;
  private asked = false;

  constructor(deadAfterMs: number, ask: () => void, giveUp: () => void) {
    this.timer = setTimeout(() => {
      if (this.asked) return giveUp();
      this.asked = true;
      this.timer.refresh();
      ask();
    }, deadAfterMs / 2);
  }

  /** Something has come. */
  beat(): void {
    this.asked = false;
    this.timer.refresh();
  }

  /** Nothing may come behind this. */
  stop(): void {
    clearTimeout(this.timer);
  }
}
