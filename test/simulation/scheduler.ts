import type { Random } from "../e2e/support/random.ts";

/** The process has been killed: unwinds whatever was under way. */
export class Killed extends Error {}
/** A thread has run into an error, there where it was. */
export class Thrown extends Error {}

export interface Thread {
  readonly name: string;
  /** Threads of one kind share what real threads do not (scratch objects of their modules): never one within another. */
  readonly kind: string;
  /** A small piece of work. */
  step(): void;
  /** Whether it can come to the end of a step while the named kinds are held up. */
  canRunWithin(kinds: ReadonlySet<string>): boolean;
  /** What becomes of it when it throws; without, the process ends. */
  onThrown?(): void;
}

const MAX_DEPTH = 3;
const OPERATIONS = ["add", "sub", "load", "store", "exchange", "compareExchange"] as const;
type Operation = (array: BigInt64Array, ...rest: never[]) => bigint;

/**
 * Threads on one thread. Each atomic operation on shared memory, each look at an account cell and each call to the disk is
 * a point: there another thread may run a step before the first goes on, and there all of them can be killed.
 */
export class Scheduler {
  threads: readonly Thread[] = [];
  /** How likely another thread gets in between, at each point. */
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

  /** Atomic operations on it are points. */
  share<T extends SharedArrayBuffer>(buffer: T): T {
    this.shared.add(buffer);
    return buffer;
  }

  /** All threads end after so many points; Infinity = never. */
  killAfter(points: number): void {
    this.killAt = this.points + points;
  }

  /** After so many points, the next thread that can do without its memory throws; Infinity = never. */
  throwAfter(points: number): void {
    this.throwAt = this.points + points;
  }

  /** A new process. */
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
      // After a kill nothing goes on.
      if (!(error instanceof Thrown) || thread.onThrown === undefined) throw error;
      thread.onThrown();
    }
    this.running.pop();
  }

  /** Who looks on from outside takes no time. */
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
      // It may well happen again, while the first is being rebuilt.
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

  /** The running thread waits for another. */
  readonly block = (): void => {
    this.point();
    const ready = this.ready();
    if (ready.length === 0) throw new Error(`all threads wait: ${this.running.map(({ name }) => name).join(" in ")}`);
    this.run(this.random.pick(ready));
  };

  /** Runs `work` with points in Atomics. */
  instrument<T>(work: () => T): T {
    const patched = Atomics as unknown as Record<string, Operation>;
    const real = Object.fromEntries(OPERATIONS.map((name) => [name, patched[name]])) as Record<string, Operation>;
    for (const name of OPERATIONS)
      patched[name] = (array, ...rest) => {
        // Nothing throws between a ticket and its turn's commit, which is a store to a ring.
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
