import { Doorbell } from "../../wire/ring.ts";

const WORK_MS = 0.2;
const SLEEP_MS = 0.05;
const CALLS_PER_CHECK = 16;
/** If the log moved within this time orders are on their way, and the next may wait for this processor. */
const RECENT_MS = 10;
/** A thread that is further behind the log than this does not yield. */
const MAX_LAG = 32_768;

/** Nobody wakes it: it only serves to sleep. */
const doorbell = new Doorbell();
const clock = (): number => performance.now();
const sleep = (): void => {
  doorbell.prepareSleep();
  doorbell.wait(SLEEP_MS);
};

/**
 * Sleeps briefly within long work that no order waits for, while orders are on their way. When all processors are busy, a
 * scheduler would otherwise let the thread work for milliseconds before a thread that an order needs.
 */
export class CooperativeYield {
  private readonly log: { readonly durable: number };
  private readonly now: () => number;
  private readonly sleep: () => void;
  private calls = 0;
  private lastAt = 0;
  private lastDurable: number;
  private movedAt = Number.NEGATIVE_INFINITY;

  constructor(log: { readonly durable: number }, now = clock, sleepBriefly = sleep) {
    this.log = log;
    this.now = now;
    this.sleep = sleepBriefly;
    this.lastDurable = log.durable;
  }

  /** Call it every few microseconds of work. `doneThrough` is the last sequence that the thread has finished. */
  yieldIfDue(doneThrough: number): void {
    if (++this.calls % CALLS_PER_CHECK !== 0) return;
    const now = this.now();
    if (now - this.lastAt < WORK_MS) return;
    const { durable } = this.log;
    if (durable !== this.lastDurable) this.movedAt = now;
    this.lastDurable = durable;
    if (now - this.movedAt < RECENT_MS && durable - doneThrough <= MAX_LAG) this.sleep();
    this.lastAt = this.now();
  }
}
