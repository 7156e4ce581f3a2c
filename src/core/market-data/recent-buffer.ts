/** The newest `capacity` items that were pushed. */
export class RecentBuffer<T> {
  private readonly items: T[] = [];
  private readonly capacity: number;
  private start = 0;

  constructor(capacity: number) {
    this.capacity = capacity;
  }

  push(item: T): void {
    if (this.items.length < this.capacity) {
      this.items.push(item);
      return;
    }
    this.items[this.start] = item;
    this.start = (this.start + 1) % this.capacity;
  }

  /** It still holds all that was pushed. */
  get isWhole(): boolean {
    return this.items.length < this.capacity;
  }

  /** At most `limit` items, newest first. */
  newest(limit: number): T[] {
    const count = Math.min(limit, this.items.length);
    const taken: T[] = [];
    for (let back = 1; back <= count; back++)
      taken.push(this.items[(this.start + this.items.length - back) % this.items.length]);
    return taken;
  }
}
