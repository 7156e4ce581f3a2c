import * as columns from "./columns.ts";

const { NONE } = columns;

/** 2^3 consecutive serials are neighbours: orders that were placed at about the same time share a cache line. */
const GROUP_BITS = 3;

/** The owner of the serials. An object, not a closure, so that all symbols of a thread share compiled code. */
interface Serials {
  serial(slot: number): number;
}

/**
 * A hash index from an order's serial to its slot: open addressing, at most half full. An entry has 32 bits. The low bits are
 * the slot + 1 (0 = free). The high bits are the distance from the entry's ideal place; their highest value means "at least
 * this far". The serial itself is compared in the order table.
 */
export class OrderIndex {
  private readonly serials: Serials;
  private readonly memory: SharedArrayBuffer;
  private entries: Int32Array = new Int32Array(0);
  private mask = 0;
  private groupShift = 0;
  private slotBits = 0;
  private slotMask = 0;
  private maxProbe = 0;

  /** `capacity`: slots, a power of two; it can grow to `maxCapacity`. */
  constructor(capacity: number, maxCapacity: number, serials: Serials) {
    this.serials = serials;
    this.memory = new SharedArrayBuffer(0, { maxByteLength: sizeFor(maxCapacity) * Int32Array.BYTES_PER_ELEMENT });
    this.resize(capacity);
  }

  /** Removes all entries and makes room for `capacity` slots, which must not be fewer than before. */
  resize(capacity: number): void {
    const size = sizeFor(capacity);
    this.entries.fill(0);
    this.memory.grow(size * Int32Array.BYTES_PER_ELEMENT);
    this.entries = new Int32Array(this.memory, 0, size);
    this.mask = size - 1;
    this.groupShift = 32 - (Math.log2(size) - GROUP_BITS);
    this.slotBits = Math.log2(capacity) + 1;
    this.slotMask = 2 ** this.slotBits - 1;
    this.maxProbe = 2 ** (32 - this.slotBits) - 1;
  }

  /** The slot of a serial, or NONE. */
  find(serial: number): number {
    const { entries, mask, slotBits } = this;
    const ideal = this.idealEntry(serial);
    for (let distance = 0; ; distance++) {
      const entry = entries[(ideal + distance) & mask];
      if (entry === 0) return NONE;
      if (entry >>> slotBits !== Math.min(distance, this.maxProbe)) continue;
      const slot = (entry & this.slotMask) - 1;
      if (this.serials.serial(slot) === serial) return slot;
    }
  }

  /** Adds a serial that the index does not hold. */
  add(serial: number, slot: number): void {
    const { entries, mask } = this;
    const ideal = this.idealEntry(serial);
    let distance = 0;
    while (entries[(ideal + distance) & mask] !== 0) distance++;
    entries[(ideal + distance) & mask] = this.entry(slot + 1, distance);
  }

  /** Removes a serial that the index holds. Closes the gap, so there are no tombstones. */
  remove(serial: number, slot: number): void {
    const { entries, mask, slotMask } = this;
    let gap = this.idealEntry(serial);
    while ((entries[gap] & slotMask) !== slot + 1) gap = (gap + 1) & mask;
    for (let i = (gap + 1) & mask; entries[i] !== 0; i = (i + 1) & mask) {
      const distance = this.distance(i);
      const back = (i - gap) & mask;
      // The entry may move into the gap, unless its ideal place is after the gap.
      if (distance < back) continue;
      entries[gap] = this.entry(entries[i] & slotMask, distance - back);
      gap = i;
    }
    entries[gap] = 0;
  }

  private entry(slotPlus1: number, distance: number): number {
    return (Math.min(distance, this.maxProbe) << this.slotBits) | slotPlus1;
  }

  /** The distance of the entry at `i` from its ideal place. */
  private distance(i: number): number {
    const entry = this.entries[i];
    const distance = entry >>> this.slotBits;
    if (distance < this.maxProbe) return distance;
    return (i - this.idealEntry(this.serials.serial((entry & this.slotMask) - 1))) & this.mask;
  }

  /** Fibonacci hashing of the groups spreads them evenly. */
  private idealEntry(serial: number): number {
    const low = serial | 0;
    const group = Math.imul(low >>> GROUP_BITS, 0x9e3779b1) >>> this.groupShift;
    return (group << GROUP_BITS) | (low & ((1 << GROUP_BITS) - 1));
  }
}

const sizeFor = (capacity: number): number => Math.max(capacity * 2, 2 << GROUP_BITS);
