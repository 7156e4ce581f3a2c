import type { TimeMs } from "./units.ts";

/** A heap that is mostly of entries that are no longer awaited is built anew. */
const MIN_REBUILT = 64;

/**
 * What ends at a time, by its number: the earliest costs a look, also among many. An entry that is no longer awaited
 * stays until its time comes or until there are more of its kind than of others.
 */
export class Deadlines {
  /** Of what is awaited; Infinity when nothing is, and never late. */
  earliest: TimeMs = Number.POSITIVE_INFINITY;
  /** A binary heap by time, then by number. */
  private times: TimeMs[] = [];
  private ids: number[] = [];
  private readonly awaited = new Map<number, TimeMs>();

  get size(): number {
    return this.awaited.size;
  }

  /** Undefined when it is not awaited. */
  timeOf(id: number): TimeMs | undefined {
    return this.awaited.get(id);
  }

  /** All that is awaited, in no order. */
  entries(): Iterable<[id: number, time: TimeMs]> {
    return this.awaited;
  }

  add(id: number, time: TimeMs): void {
    this.awaited.set(id, time);
    this.push(id, time);
    this.skip();
  }

  remove(id: number): void {
    if (!this.awaited.delete(id)) return;
    if (this.times.length > MIN_REBUILT && this.times.length > 2 * this.awaited.size) this.rebuild();
    this.skip();
  }

  /** The earliest whose time has come; −1 when there is none. */
  firstDue(now: TimeMs): number {
    return this.earliest > now ? -1 : this.ids[0];
  }

  /** The same, which is then no longer awaited. */
  takeDue(now: TimeMs): number {
    const id = this.firstDue(now);
    if (id < 0) return id;
    this.pop();
    this.awaited.delete(id);
    this.skip();
    return id;
  }

  /** Lets the first entry be one that is awaited. */
  private skip(): void {
    while (this.times.length > 0 && this.awaited.get(this.ids[0]) !== this.times[0]) this.pop();
    this.earliest = this.times.length === 0 ? Number.POSITIVE_INFINITY : this.times[0];
  }

  private rebuild(): void {
    this.times = [];
    this.ids = [];
    for (const [id, time] of this.awaited) this.push(id, time);
  }

  private push(id: number, time: TimeMs): void {
    let at = this.times.length;
    for (let parent = (at - 1) >> 1; at > 0 && this.isBefore(time, id, parent); parent = (at - 1) >> 1) {
      this.times[at] = this.times[parent];
      this.ids[at] = this.ids[parent];
      at = parent;
    }
    this.times[at] = time;
    this.ids[at] = id;
  }

  private pop(): void {
    const time = this.times.pop() as TimeMs;
    const id = this.ids.pop() as number;
    const size = this.times.length;
    if (size === 0) return;
    let at = 0;
    for (let child = 1; child < size; child = 2 * at + 1) {
      if (child + 1 < size && this.isBefore(this.times[child + 1], this.ids[child + 1], child)) child++;
      if (this.isBefore(time, id, child)) break;
      this.times[at] = this.times[child];
      this.ids[at] = this.ids[child];
      at = child;
    }
    this.times[at] = time;
    this.ids[at] = id;
  }

  private isBefore(time: TimeMs, id: number, at: number): boolean {
    return time < this.times[at] || (time === this.times[at] && id < this.ids[at]);
  }
}
