import type { Random } from "../e2e/support/random.ts";

/** Kills the process: unwinds all running threads. */
export class Killed extends Error {}
/** An error at an arbitrary point of a thread. */
export class Thrown extends Error {}

export interface Thread {
  readonly name: string;
  /** Threads of one kind share module state that real threads do not share, so none of them runs within another. */
  readonly kind: string;
  /** A small piece of work. */
  step(): void;
  /** Whether it can finish a step while threads of these kinds are stopped. */
  canRunWithin(kinds: ReadonlySet<string>): boolean;
  /** Called when it throws. Without it, an error ends the process. */
  onThrown?(): void;
}

const MAX_DEPTH = 3;
const OPERATIONS = ["add", "sub", "load", "store", "exchange", "compareExchange"] as const;
type Operation = (array: BigInt64Array, ...rest: never[]) => bigint;

/**
 * Simulates threads on one thread. Each atomic operation on shared memory, each access to the margin table and each disk
 * call is a point. At a point another thread may run a step first, the thread may throw, or all threads may be killed.
 */
export class Scheduler {
  threads: readonly Thread[] = [];
  /** The probability of a switch at each point. */
  chance = 0;
  points = 0;
  switches = 0;
  throws = 0;
  private readonly random: Random;
  private readonly shared = new Set<SharedArrayBuffer>();
  private readonly running: Thread[] = [];
  private killAt = Number.POSITIVE_INFINITY;
  private throwAt = Number.POSITIVE_INFINITY;
  private paused = 0;

  constructor(random: Random) {
    this.random = random;
  }

  /** Makes atomic operations on the buffer points. */
  share<T extends SharedArrayBuffer>(buffer: T): T {
    this.shared.add(buffer);
    return buffer;
  }

  /** Kills all threads after this many points; Infinity = never. */
  killAfter(points: number): void {
    this.killAt = this.points + points;
  }

  /** After this many points the next thread that can be rebuilt throws; Infinity = never. */
  throwAfter(points: number): void {
    this.throwAt = this.points + points;
  }

  /** Forgets the threads of the process that has ended. */
  reset(): void {
    this.running.length = 0;
    this.shared.clear();
    this.threads = [];
    this.killAt = Number.POSITIVE_INFINITY;
    this.throwAt = Number.POSITIVE_INFINITY;
  }

  run(thread: Thread, work: () => void = () => thread.step()): void {
    this.running.push(thread);
    try {
      work();
    } catch (error) {
      // A kill ends all threads.
      if (!(error instanceof Thrown) || thread.onThrown === undefined) throw error;
      thread.onThrown();
    }
    this.running.pop();
  }

  /** Runs `work` without points: code of the test is no part of the simulation. */
  quietly<T>(work: () => T): T {
    this.paused++;
    try {
      return work();
    } finally {
      this.paused--;
    }
  }

  readonly point = (canThrow = true): void => {
    if (this.paused > 0) return;
    this.points++;
    if (this.points >= this.killAt) throw new Killed();
    if (canThrow && this.points >= this.throwAt && this.running.at(-1)?.onThrown !== undefined) {
      // Sometimes another thread throws while the first one is being rebuilt.
      const isLast = this.random.next() < 0.7;
      this.throwAt = isLast ? Number.POSITIVE_INFINITY : this.points + this.random.between(1, 300);
      this.throws++;
      throw new Thrown();
    }
    if (this.running.length === 0 || this.running.length >= MAX_DEPTH || this.random.next() >= this.chance) return;
    const ready = this.ready();
    if (ready.length === 0) return;
    this.switches++;
    this.run(this.random.pick(ready));
  };

  /** The running thread sleeps: another one must run. */
  readonly block = (): void => {
    this.point();
    const ready = this.ready();
    if (ready.length === 0) throw new Error(`all threads wait: ${this.running.map(({ name }) => name).join(" in ")}`);
    this.run(this.random.pick(ready));
  };

  /** Runs `work` with Atomics patched, so that their operations are points. */
  instrument<T>(work: () => T): T {
    const patched = Atomics as unknown as Record<string, Operation>;
    const real = Object.fromEntries(OPERATIONS.map((name) => [name, patched[name]])) as Record<string, Operation>;
    for (const name of OPERATIONS)
      patched[name] = (array, ...rest) => {
        // No real code throws between taking a sequence and the commit, which is a store to a ring.
        if (this.shared.has(array.buffer as SharedArrayBuffer))
          this.point(!(name === "store" && (array as object) instanceof Int32Array));
        return (real[name] as Operation)(array, ...rest);
      };
    try {
      return work();
    } finally {
      Object.assign(Atomics, real);
    }
  }

  private ready(): Thread[] {
    const kinds = new Set(this.running.map(({ kind }) => kind));
    return this.threads.filter((thread) => !kinds.has(thread.kind) && thread.canRunWithin(kinds));
  }
}
