import * as columns from "./columns.ts";

const { NONE } = columns;

/** So many serials that follow each other stand side by side: what is placed at about the same time shares a cache line. */
const GROUP_BITS = 3;

/** Whoever holds the serials: an object and no closure, so that all symbols of a thread share compiled code. */
interface Serials {
  serial(slot: number): number;
}

/**
 * Finds the slot of an order's serial. Open addressing, at most half full. An entry is 32 bits: the slot + 1, 0 = free, and
 * above it how far it stands from its home, as far as there is room to say so: the highest number means at least so far.
 * Whoever holds the serials says whether it is really this one.
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

  /** `capacity`: a power of two, of slots, and it never grows beyond `maxCapacity`. */
  constructor(capacity: number, maxCapacity: number, serials: Serials) {
    this.serials = serials;
    this.memory = new SharedArrayBuffer(0, { maxByteLength: sizeFor(maxCapacity) * Int32Array.BYTES_PER_ELEMENT });
    this.resize(capacity);
  }

  /** Forgets everything and makes room for so many slots, which are no fewer than before. */
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
    const home = this.idealEntry(serial);
    for (let distance = 0; ; distance++) {
      const entry = entries[(home + distance) & mask];
      if (entry === 0) return NONE;
      if (entry >>> slotBits !== Math.min(distance, this.maxProbe)) continue;
      const slot = (entry & this.slotMask) - 1;
      if (this.serials.serial(slot) === serial) return slot;
    }
  }

  /** A serial that is not there yet. */
  add(serial: number, slot: number): void {
    const { entries, mask } = this;
    const home = this.idealEntry(serial);
    let distance = 0;
    while (entries[(home + distance) & mask] !== 0) distance++;
    entries[(home + distance) & mask] = this.entry(slot + 1, distance);
  }

  /** A serial that is there. Closes the gap, so that no tombstones gather. */
  remove(serial: number, slot: number): void {
    const { entries, mask, slotMask } = this;
    let gap = this.idealEntry(serial);
    while ((entries[gap] & slotMask) !== slot + 1) gap = (gap + 1) & mask;
    for (let i = (gap + 1) & mask; entries[i] !== 0; i = (i + 1) & mask) {
      const distance = this.distance(i);
      const back = (i - gap) & mask;
      // The entry may move into the gap unless its home lies behind it.
      if (distance < back) continue;
      entries[gap] = this.entry(entries[i] & slotMask, distance - back);
      gap = i;
    }
    entries[gap] = 0;
  }

  private entry(slotPlus1: number, distance: number): number {
    return (Math.min(distance, this.maxProbe) << this.slotBits) | slotPlus1;
  }

  /** How far the entry at `i` stands from its home. */
  private distance(i: number): number {
    const entry = this.entries[i];
    const distance = entry >>> this.slotBits;
    if (distance < this.maxProbe) return distance;
    return (i - this.idealEntry(this.serials.serial((entry & this.slotMask) - 1))) & this.mask;
  }

  /** Fibonacci hashing of groups: they spread evenly. */
  private idealEntry(serial: number): number {
    const low = serial | 0;
    const group = Math.imul(low >>> GROUP_BITS, 0x9e3779b1) >>> this.groupShift;
    return (group << GROUP_BITS) | (low & ((1 << GROUP_BITS) - 1));
  }
}

const sizeFor = (capacity: number): number => Math.max(capacity * 2, 2 << GROUP_BITS);
