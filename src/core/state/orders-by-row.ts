const NO_SLOTS: ReadonlySet<number> = new Set();

/** The orders of each account that its every fill must look at, by its row. They are found without visiting the others. */
export class OrdersByRow {
  private readonly slots = new Map<number, Set<number>>();

  add(row: number, slot: number): void {
    const slots = this.slots.get(row);
    if (slots === undefined) this.slots.set(row, new Set([slot]));
    else slots.add(slot);
  }

  delete(row: number, slot: number): void {
    const slots = this.slots.get(row);
    if (slots?.delete(slot) && slots.size === 0) this.slots.delete(row);
  }

  of(row: number): ReadonlySet<number> {
    return this.slots.get(row) ?? NO_SLOTS;
  }
}
