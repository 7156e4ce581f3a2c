import type { Random } from "../../e2e/support/random.ts";

/** Something that happens at a time. */
interface Happening {
  readonly atMs: number;
  readonly order: number;
  work: (() => void) | null;
}

/** Takes a happening back. */
export type Cancel = () => void;

/**
 * Virtual time: what happens next, in the order of its time. All of a run's asynchronous work goes through it, so that one
 * seed is one history.
 */
export class World {
  readonly random: Random;
  /** True time, which no machine knows. */
  nowMs = 0;
  private nextOrder = 0;
  /** A binary heap. */
  private readonly heap: Happening[] = [];

  constructor(random: Random) {
    this.random = random;
  }

  after(delayMs: number, work: () => void): Cancel {
    const happening: Happening = { atMs: this.nowMs + Math.max(0, delayMs), order: this.nextOrder++, work };
    this.push(happening);
    return () => {
      happening.work = null;
    };
  }

  /** Lets time pass until `timeMs`, or until `isOver` says so. */
  async run(timeMs: number, isOver: () => boolean): Promise<void> {
    for (let next = this.heap[0]; next !== undefined && next.atMs <= timeMs; next = this.heap[0]) {
      this.pop();
      const { work } = next;
      if (work === null) continue;
      this.nowMs = next.atMs;
      work();
      // Everything that this has resolved goes on before anything else happens.
      await new Promise((resolve) => setImmediate(resolve));
      if (isOver()) return;
    }
    this.nowMs = timeMs;
  }

  private push(happening: Happening): void {
    const { heap } = this;
    let at = heap.push(happening) - 1;
    for (let above = (at - 1) >> 1; at > 0 && isBefore(happening, heap[above]!); above = (at - 1) >> 1) {
      heap[at] = heap[above]!;
      at = above;
    }
    heap[at] = happening;
  }

  private pop(): void {
    const { heap } = this;
    const last = heap.pop()!;
    if (heap.length === 0) return;
    let at = 0;
    for (;;) {
      let below = 2 * at + 1;
      if (below >= heap.length) break;
      if (below + 1 < heap.length && isBefore(heap[below + 1]!, heap[below]!)) below++;
      if (!isBefore(heap[below]!, last)) break;
      heap[at] = heap[below]!;
      at = below;
    }
    heap[at] = last;
  }
}

const isBefore = (a: Happening, b: Happening): boolean => a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order);
