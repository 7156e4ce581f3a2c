import type { TimeMs } from "./units.ts";

/** What ends at a time, by its id: the earliest costs a look, also among many. What is given up leaves nothing behind. */
export class ExpiryQueue<Id extends number | string = number> {
  /** Infinity when nothing is awaited. */
  earliest: TimeMs = Number.POSITIVE_INFINITY;
  /** A binary heap by time, then by id. */
  private readonly times: TimeMs[] = [];
  private readonly ids: Id[] = [];
  /** Where each stands in the heap. */
  private readonly places = new Map<Id, number>();

  get size(): number {
    return this.ids.length;
  }

  /** Undefined when it is not awaited. */
  timeOf(id: Id): TimeMs | undefined {
    const place = this.places.get(id);
    return place === undefined ? undefined : this.times[place];
  }

  /** All that is awaited, in no order. */
  entries(): [id: Id, time: TimeMs][] {
    return this.ids.map((id, place) => [id, this.times[place]]);
  }

  /** One that is awaited already has another time from now on. */
  add(id: Id, time: TimeMs): void {
    this.put(this.places.get(id) ?? this.size, id, time);
    this.earliest = this.times[0];
  }

  remove(id: Id): void {
    const place = this.places.get(id);
    if (place === undefined) return;
    this.places.delete(id);
    const lastTime = this.times.pop() as TimeMs;
    const lastId = this.ids.pop() as Id;
    if (place < this.size) this.put(place, lastId, lastTime);
    this.earliest = this.size === 0 ? Number.POSITIVE_INFINITY : this.times[0];
  }

  /** The earliest whose time has come; undefined when there is none. */
  firstDue(now: TimeMs): Id | undefined {
    return this.earliest > now ? undefined : this.ids[0];
  }

  /** The same, which is then no longer awaited. */
  takeDue(now: TimeMs): Id | undefined {
    const id = this.firstDue(now);
    if (id !== undefined) this.remove(id);
    return id;
  }

  /** Puts an entry where it belongs, towards the top or the bottom of a place that is free. */
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
    this.places.set(id, at);
  }

  private isBefore(time: TimeMs, id: Id, at: number): boolean {
    return time < this.times[at] || (time === this.times[at] && id < this.ids[at]);
  }
}
