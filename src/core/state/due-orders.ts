import { NONE } from "../base/columns.ts";

/** Where a waiting order stands among those whose price has come; 0 = it has not. */
export interface DueTerms {
  dueSerial: number;
}

/** The orders of a symbol whose price has come, in the order in which it did: they fire, whatever the price does by then. */
export class DueOrders {
  private slots = new Set<number>();
  private lastSerial = 0;

  get size(): number {
    return this.slots.size;
  }

  /** The last of them from here on. */
  append(slot: number, terms: DueTerms): void {
    terms.dueSerial = ++this.lastSerial;
    this.slots.add(slot);
  }

  remove(slot: number): void {
    this.slots.delete(slot);
    if (this.slots.size === 0) this.lastSerial = 0;
  }

  /** The one that fires next, or NONE. */
  first(): number {
    for (const slot of this.slots) return slot;
    return NONE;
  }

  /** One that stands where a snapshot says. Call inOrder() behind the last. */
  load(slot: number, terms: DueTerms): void {
    this.lastSerial = Math.max(this.lastSerial, terms.dueSerial);
    this.slots.add(slot);
  }

  inOrder(termsOf: (slot: number) => DueTerms): void {
    this.slots = new Set([...this.slots].sort((a, b) => termsOf(a).dueSerial - termsOf(b).dueSerial));
  }
}
