import { NONE } from "../base/columns.ts";

/** The place of a conditional order among the due ones; 0 = it is not due. */
export interface DueTerms {
  dueSerial: number;
}

/** Conditional orders whose trigger was reached, in that order. They fire even if the price moves back. */
export class DueOrders {
  private slots = new Set<number>();
  private lastSerial = 0;

  get size(): number {
    return this.slots.size;
  }

  /** Adds an order at the end. */
  append(slot: number, terms: DueTerms): void {
    terms.dueSerial = ++this.lastSerial;
    this.slots.add(slot);
  }

  remove(slot: number): void {
    this.slots.delete(slot);
    if (this.slots.size === 0) this.lastSerial = 0;
  }

  /** The order that fires next, or NONE. */
  first(): number {
    for (const slot of this.slots) return slot;
    return NONE;
  }

  /** Adds an order of a snapshot, which has its dueSerial. Call inOrder() after the last. */
  load(slot: number, terms: DueTerms): void {
    this.lastSerial = Math.max(this.lastSerial, terms.dueSerial);
    this.slots.add(slot);
  }

  inOrder(termsOf: (slot: number) => DueTerms): void {
    this.slots = new Set([...this.slots].sort((a, b) => termsOf(a).dueSerial - termsOf(b).dueSerial));
  }
}
