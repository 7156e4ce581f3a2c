import type { TimeMs } from "./units.ts";

/** Ids with the times at which they expire: a binary heap by time, then by id. Removed entries leave no memory behind. */
export class ExpiryQueue<Id extends number | string = number> {
  /** Infinity when the queue is empty. */
  earliest: TimeMs = Number.POSITIVE_INFINITY;
  private readonly times: TimeMs[] = [];
  private readonly ids: Id[] = [];
  /** The index of each id in the heap. */
  private readonly indexes = new Map<Id, number>();

  get size(): number {
    return this.ids.length;
  }

  /** Undefined when the id is not queued. */
  timeOf(id: Id): TimeMs | undefined {
    const index = this.indexes.get(id);
    return index === undefined ? undefined : this.times[index];
  }

  /** All entries, in no order. */
  entries(): [id: Id, time: TimeMs][] {
    return this.ids.map((id, index) => [id, this.times[index]]);
  }

  /** Adds an id, or gives a queued one another time. */
  add(id: Id, time: TimeMs): void {
    this.put(this.indexes.get(id) ?? this.size, id, time);
    this.earliest = this.times[0];
  }

  remove(id: Id): void {
    const index = this.indexes.get(id);
    if (index === undefined) return;
    this.indexes.delete(id);
    const lastTime = this.times.pop() as TimeMs;
    const lastId = this.ids.pop() as Id;
    if (index < this.size) this.put(index, lastId, lastTime);
    this.earliest = this.size === 0 ? Number.POSITIVE_INFINITY : this.times[0];
  }

  /** The earliest id whose time has come; undefined when there is none. */
  firstDue(now: TimeMs): Id | undefined {
    return this.earliest > now ? undefined : this.ids[0];
  }

  /** Removes and returns firstDue(). */
  takeDue(now: TimeMs): Id | undefined {
    const id = this.firstDue(now);
    if (id !== undefined) this.remove(id);
    return id;
  }

  /** Puts an entry into the heap: moves the free index up or down until the entry fits. */
  private put(free: number, id: Id, time: TimeMs): void {
    let at = free;
    for (let parent = (at - 1) >> 1; at > 0 && this.isBefore(time, id, parent); parent = (at - 1) >> 1) {
      this.set(at, this.ids[parent], this.times[parent]);
      at = parent;
    }
    for (let child = 2 * at + 1; child < this.size; child = 2 * at + 1) {
      if (child + 1 < this.size && this.isBefore(this.times[child + 1], this.ids[child + 1], child)) child++;
      if (this.isBefore(time, id, child)) break;
      this.set(at, this.ids[child], this.times[child]);
      at = child;
    }
    this.set(at, id, time);
  }

  private set(at: number, id: Id, time: TimeMs): void {
    this.times[at] = time;
    this.ids[at] = id;
    this.indexes.set(id, at);
  }

  private isBefore(time: TimeMs, id: Id, at: number): boolean {
    return time < this.times[at] || (time === this.times[at] && id < this.ids[at]);
  }
}
