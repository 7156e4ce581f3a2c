import type { TestContext } from "node:test";

const HOUR_MS = 3_600_000;

/** Timers of one length, which run at the test's word alone: no machine is too slow for them. All other timers run as ever. */
export class HeldTimers {
  private readonly calls = new Map<NodeJS.Timeout, () => void>();

  constructor(t: TestContext, heldMs: number) {
    const { setTimeout, clearTimeout } = globalThis;
    t.mock.method(globalThis, "setTimeout", (call: () => void, ms: number) => {
      if (ms !== heldMs) return setTimeout(call, ms);
      const timer = setTimeout(call, HOUR_MS);
      this.calls.set(timer, call);
      return timer;
    });
    t.mock.method(globalThis, "clearTimeout", (timer: NodeJS.Timeout) => {
      this.calls.delete(timer);
      clearTimeout(timer);
    });
  }

  /** So many are set. */
  get count(): number {
    return this.calls.size;
  }

  /** The time of all that are set is over. */
  pass(): void {
    for (const [timer, call] of [...this.calls]) {
      clearTimeout(timer);
      call();
    }
  }
}
