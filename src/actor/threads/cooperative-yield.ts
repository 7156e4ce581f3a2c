import { Doorbell } from "../../wire/ring.ts";

const WORK_MS = 0.2;
const SLEEP_MS = 0.05;
const CALLS_PER_LOOK = 16;
/** Orders are on their way if one has come through within this: the next may be waiting for this very thread. */
const RECENT_MS = 10;
/** Further behind the log than this nobody takes breath. */
const MAX_LAG = 32_768;

/** Nobody rings it. */
const doorbell = new Doorbell();
const clock = (): number => performance.now();
const sleep = (): void => {
  doorbell.prepareSleep();
  doorbell.wait(SLEEP_MS);
};

/**
 * Small sleeps in long work for which nobody waits, while orders are on their way: where all processors are busy, a
 * scheduler lets a thread work on for milliseconds before the next thread of an order's way gets its turn.
 */
export class CooperativeYield {
  private readonly log: { readonly durable: number };
  private readonly now: () => number;
  private readonly sleep: () => void;
  private calls = 0;
  private lastAt = 0;
  private lastDurable: number;
  private movedAt = Number.NEGATIVE_INFINITY;

  constructor(log: { readonly durable: number }, now = clock, sleepShortly = sleep) {
    this.log = log;
    this.now = now;
    this.sleep = sleepShortly;
    this.lastDurable = log.durable;
  }

  /** Call it every few microseconds of work. `doneThrough` is the last sequence that the thread is done with. */
  yieldIfDue(doneThrough: number): void {
    if (++this.calls % CALLS_PER_LOOK !== 0) return;
    const now = this.now();
    if (now - this.lastAt < WORK_MS) return;
    const { durable } = this.log;
    if (durable !== this.lastDurable) this.movedAt = now;
    this.lastDurable = durable;
    if (now - this.movedAt < RECENT_MS && durable - doneThrough <= MAX_LAG) this.sleep();
    this.lastAt = this.now();
  }
}
