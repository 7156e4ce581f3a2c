/** Not a slot. */
export const NONE = -1;

const ENTRY = 2;
const SLOT = 1;
/** So many serials that follow each other stand side by side: what is placed at about the same time shares a cache line. */
const GROUP_BITS = 3;

/**
 * Finds the slot of an order's serial. Open addressing, at most half full; an entry is the serial's low 32 bits and the
 * slot + 1, 0 = free. Whoever holds the serials says whether it is really this one.
 */
export class SerialIndex {
  private readonly serialOf: (slot: number) => number;
  private entries = new Int32Array(0);
  private mask = 0;
  private groupShift = 0;

  /** `capacity`: a power of two, of slots. */
  constructor(capacity: number, serialOf: (slot: number) => number) {
    this.serialOf = serialOf;
    this.resize(capacity);
  }

  /** Forgets everything and makes room for so many slots. */
  resize(capacity: number): void {
    const size = Math.max(capacity * 2, 2 << GROUP_BITS);
    this.entries = new Int32Array(size * ENTRY);
    this.mask = size - 1;
    this.groupShift = 32 - (Math.log2(size) - GROUP_BITS);
  }

  /** The slot of a serial, or NONE. */
  find(serial: number): number {
    const { entries, mask } = this;
    const low = serial | 0;
    for (let i = this.home(low); ; i = (i + 1) & mask) {
      const slot = entries[i * ENTRY + SLOT] - 1;
      if (slot === NONE || (entries[i * ENTRY] === low && this.serialOf(slot) === serial)) return slot;
    }
  }

  /** A serial that is not there yet. */
  add(serial: number, slot: number): void {
    const { entries, mask } = this;
    const low = serial | 0;
    let i = this.home(low);
    while (entries[i * ENTRY + SLOT] !== 0) i = (i + 1) & mask;
    entries[i * ENTRY] = low;
    entries[i * ENTRY + SLOT] = slot + 1;
  }

  /** A serial that is there. Closes the gap, so that no tombstones gather. */
  remove(serial: number, slot: number): void {
    const { entries, mask } = this;
    let i = this.home(serial | 0);
    while (entries[i * ENTRY + SLOT] !== slot + 1) i = (i + 1) & mask;
    let gap = i;
    for (;;) {
      i = (i + 1) & mask;
      const moved = entries[i * ENTRY + SLOT];
      if (moved === 0) break;
      const low = entries[i * ENTRY];
      // The entry may move into the gap unless its home lies behind it.
      if (((i - this.home(low)) & mask) < ((i - gap) & mask)) continue;
      entries[gap * ENTRY] = low;
      entries[gap * ENTRY + SLOT] = moved;
      gap = i;
    }
    entries[gap * ENTRY + SLOT] = 0;
  }

  /** Fibonacci hashing of groups: they spread evenly. */
  private home(low: number): number {
    const group = Math.imul(low >>> GROUP_BITS, 0x9e3779b1) >>> this.groupShift;
    return (group << GROUP_BITS) | (low & ((1 << GROUP_BITS) - 1));
  }
}
