import type { PriceTicks, QuantityLots } from "./units.ts";

/**
 * The orders that a symbol knows: resting ones and the one in hand. One flat array of numbers, sixteen to an order, so
 * that an order is two cache lines and no object; slots are reused. Found by serial through a hash of slots.
 */
export const NONE = -1;

/** What matching and canceling touch stands in the first eight numbers. */
const STRIDE = 16;
const SERIAL = 0;
const ROW = 1;
const ATTRIBUTES = 2;
const PRICE = 3;
const REMAINING = 4;
const MARGIN_PRICE = 5;
/** Two numbers' room holds four links: next and previous of the queue (book), next and previous of the account's list. */
const LINKS = 6;
const QUANTITY = 8;
const FILLED_LOTS = 9;
const FILLED_QUANTA = 10;
const FEE = 11;
const LOSS = 12;
const CREATED_AT = 13;
const UPDATED_AT = 14;
const SEQUENCE = 15;

/** The same memory in 32-bit words, for the links. */
const WORDS = STRIDE * 2;
const NEXT = LINKS * 2;
const PREVIOUS = NEXT + 1;
const ACCOUNT_NEXT = NEXT + 2;
const ACCOUNT_PREVIOUS = NEXT + 3;

/** Attribute bits: side 0, type 1–3, time in force 4–7, flags 8–15, self-trade prevention 16–19, then state bits. */
const RESTING = 1 << 24;
const DIRTY = 1 << 25;
const PERSISTED = 1 << 26;
/** In its account's list. */
const LISTED = 1 << 27;
const WAITING = 1 << 28;
/** It has terms: see order-terms.ts. */
const EXTENDED = 1 << 29;
/** Its terms say how much of it the book shows. */
const ICEBERG = 1 << 30;

export class Orders {
  count = 0;
  private numbers: Float64Array;
  private links: Int32Array;
  private clientIds: string[] = [];
  private capacity: number;
  private used = 0;
  /** Free slots are chained through the queue's next link. */
  private freeSlot = NONE;
  /** Open addressing, slot + 1 or 0; at most half full; a power of two. */
  private index: Int32Array;
  private indexShift: number;
  /** Slots that became dirty since the last snapshot; a slot may stand here twice. */
  private dirtySlots: number[] = [];
  private removedSerials: number[] = [];

  constructor(capacity = 1024) {
    this.capacity = capacity;
    this.numbers = new Float64Array(capacity * STRIDE);
    this.links = new Int32Array(this.numbers.buffer);
    this.index = new Int32Array(capacity * 2);
    this.indexShift = 32 - Math.log2(capacity * 2);
  }

  /** Takes a slot for a new order. The caller sets the rest. */
  add(serial: number, row: number, attributes: number, priceTicks: PriceTicks, quantityLots: QuantityLots): number {
    const slot = this.takeSlot();
    const at = slot * STRIDE;
    const n = this.numbers;
    n[at + SERIAL] = serial;
    n[at + ROW] = row;
    n[at + ATTRIBUTES] = attributes;
    n[at + PRICE] = priceTicks;
    n[at + QUANTITY] = quantityLots;
    n[at + REMAINING] = quantityLots;
    n[at + FILLED_LOTS] = 0;
    n[at + FILLED_QUANTA] = 0;
    n[at + FEE] = 0;
    n[at + MARGIN_PRICE] = 0;
    n[at + LOSS] = 0;
    n[at + SEQUENCE] = 0;
    this.insert(serial, slot);
    this.count++;
    this.touch(slot);
    return slot;
  }

  remove(slot: number): void {
    const at = slot * STRIDE;
    const serial = this.numbers[at + SERIAL];
    if ((this.numbers[at + ATTRIBUTES] & PERSISTED) !== 0) this.removedSerials.push(serial);
    this.erase(serial);
    this.numbers[at + SERIAL] = 0;
    this.numbers[at + ATTRIBUTES] = 0;
    if (this.clientIds[slot] !== "") this.clientIds[slot] = "";
    this.links[slot * WORDS + NEXT] = this.freeSlot;
    this.freeSlot = slot;
    this.count--;
  }

  /** The slot of a serial, or NONE. */
  find(serial: number): number {
    const mask = this.index.length - 1;
    let i = this.home(serial);
    for (;;) {
      const entry = this.index[i];
      if (entry === 0) return NONE;
      if (this.numbers[(entry - 1) * STRIDE + SERIAL] === serial) return entry - 1;
      i = (i + 1) & mask;
    }
  }

  serial(slot: number): number {
    return this.numbers[slot * STRIDE + SERIAL];
  }
  row(slot: number): number {
    return this.numbers[slot * STRIDE + ROW];
  }
  side(slot: number): number {
    return this.numbers[slot * STRIDE + ATTRIBUTES] & 1;
  }
  type(slot: number): number {
    return (this.numbers[slot * STRIDE + ATTRIBUTES] >> 1) & 7;
  }
  timeInForce(slot: number): number {
    return (this.numbers[slot * STRIDE + ATTRIBUTES] >> 4) & 15;
  }
  flags(slot: number): number {
    return (this.numbers[slot * STRIDE + ATTRIBUTES] >> 8) & 255;
  }
  selfTradePrevention(slot: number): number {
    return (this.numbers[slot * STRIDE + ATTRIBUTES] >> 16) & 15;
  }
  priceTicks(slot: number): PriceTicks {
    return this.numbers[slot * STRIDE + PRICE];
  }
  quantityLots(slot: number): QuantityLots {
    return this.numbers[slot * STRIDE + QUANTITY];
  }
  remainingLots(slot: number): QuantityLots {
    return this.numbers[slot * STRIDE + REMAINING];
  }
  filledLots(slot: number): QuantityLots {
    return this.numbers[slot * STRIDE + FILLED_LOTS];
  }
  filledQuanta(slot: number): number {
    return this.numbers[slot * STRIDE + FILLED_QUANTA];
  }
  feeQuanta(slot: number): number {
    return this.numbers[slot * STRIDE + FEE];
  }
  marginPriceTicks(slot: number): PriceTicks {
    return this.numbers[slot * STRIDE + MARGIN_PRICE];
  }
  lossTicks(slot: number): PriceTicks {
    return this.numbers[slot * STRIDE + LOSS];
  }
  createdAt(slot: number): number {
    return this.numbers[slot * STRIDE + CREATED_AT];
  }
  updatedAt(slot: number): number {
    return this.numbers[slot * STRIDE + UPDATED_AT];
  }
  sequence(slot: number): number {
    return this.numbers[slot * STRIDE + SEQUENCE];
  }
  clientOrderId(slot: number): string {
    return this.clientIds[slot];
  }
  isResting(slot: number): boolean {
    return (this.numbers[slot * STRIDE + ATTRIBUTES] & RESTING) !== 0;
  }

  isListed(slot: number): boolean {
    return (this.numbers[slot * STRIDE + ATTRIBUTES] & LISTED) !== 0;
  }
  /** It waits for its price and is not in the book. */
  isWaiting(slot: number): boolean {
    return (this.numbers[slot * STRIDE + ATTRIBUTES] & WAITING) !== 0;
  }
  isExtended(slot: number): boolean {
    return (this.numbers[slot * STRIDE + ATTRIBUTES] & EXTENDED) !== 0;
  }

  isIceberg(slot: number): boolean {
    return (this.numbers[slot * STRIDE + ATTRIBUTES] & ICEBERG) !== 0;
  }

  /** Another price, quantity and rest of it. The book must not hold it at another price by then. */
  amend(slot: number, priceTicks: PriceTicks, quantityLots: QuantityLots, remainingLots: QuantityLots): void {
    const at = slot * STRIDE;
    this.numbers[at + PRICE] = priceTicks;
    this.numbers[at + QUANTITY] = quantityLots;
    this.numbers[at + REMAINING] = remainingLots;
  }

  setResting(slot: number, resting: boolean): void {
    this.setBit(slot, RESTING, resting);
  }
  setListed(slot: number, listed: boolean): void {
    this.setBit(slot, LISTED, listed);
  }
  setWaiting(slot: number, waiting: boolean): void {
    this.setBit(slot, WAITING, waiting);
  }
  setExtended(slot: number): void {
    this.setBit(slot, EXTENDED, true);
  }
  setIceberg(slot: number): void {
    this.setBit(slot, ICEBERG, true);
  }
  private setBit(slot: number, bit: number, on: boolean): void {
    const at = slot * STRIDE + ATTRIBUTES;
    this.numbers[at] = on ? this.numbers[at] | bit : this.numbers[at] & ~bit;
  }
  /** What an order that waited is worth when its price has come. */
  setPriceAndQuantity(slot: number, priceTicks: PriceTicks, quantityLots: QuantityLots): void {
    const at = slot * STRIDE;
    this.numbers[at + PRICE] = priceTicks;
    this.numbers[at + QUANTITY] = quantityLots;
    this.numbers[at + REMAINING] = quantityLots;
  }
  setMarginTerms(slot: number, marginPriceTicks: PriceTicks, lossTicks: PriceTicks): void {
    this.numbers[slot * STRIDE + MARGIN_PRICE] = marginPriceTicks;
    this.numbers[slot * STRIDE + LOSS] = lossTicks;
  }
  setClientOrderId(slot: number, clientOrderId: string): void {
    this.clientIds[slot] = clientOrderId;
  }
  setTimes(slot: number, createdAt: number, updatedAt: number): void {
    this.numbers[slot * STRIDE + CREATED_AT] = createdAt;
    this.numbers[slot * STRIDE + UPDATED_AT] = updatedAt;
  }
  setFilled(
    slot: number,
    remainingLots: QuantityLots,
    filledLots: QuantityLots,
    filledQuanta: number,
    fee: number,
  ): void {
    const at = slot * STRIDE;
    this.numbers[at + REMAINING] = remainingLots;
    this.numbers[at + FILLED_LOTS] = filledLots;
    this.numbers[at + FILLED_QUANTA] = filledQuanta;
    this.numbers[at + FEE] = fee;
  }
  /** `lots` of the order traded for `quanta` of notional and `feeQuanta`. Returns what remains. */
  fill(slot: number, lots: QuantityLots, quanta: number, feeQuanta: number): QuantityLots {
    const at = slot * STRIDE;
    const n = this.numbers;
    n[at + FILLED_LOTS] = n[at + FILLED_LOTS] + lots;
    n[at + FILLED_QUANTA] = n[at + FILLED_QUANTA] + quanta;
    n[at + FEE] = n[at + FEE] + feeQuanta;
    const remaining = n[at + REMAINING] - lots;
    n[at + REMAINING] = remaining;
    return remaining;
  }
  reduce(slot: number, byLots: QuantityLots): QuantityLots {
    const at = slot * STRIDE + REMAINING;
    const remaining = this.numbers[at] - byLots;
    this.numbers[at] = remaining;
    return remaining;
  }
  settle(slot: number, sequence: number, time: number): void {
    const at = slot * STRIDE;
    this.numbers[at + SEQUENCE] = sequence;
    this.numbers[at + UPDATED_AT] = time;
  }

  next(slot: number): number {
    return this.links[slot * WORDS + NEXT];
  }
  previous(slot: number): number {
    return this.links[slot * WORDS + PREVIOUS];
  }
  setNext(slot: number, next: number): void {
    this.links[slot * WORDS + NEXT] = next;
  }
  setPrevious(slot: number, previous: number): void {
    this.links[slot * WORDS + PREVIOUS] = previous;
  }
  accountNext(slot: number): number {
    return this.links[slot * WORDS + ACCOUNT_NEXT];
  }
  accountPrevious(slot: number): number {
    return this.links[slot * WORDS + ACCOUNT_PREVIOUS];
  }
  setAccountNext(slot: number, next: number): void {
    this.links[slot * WORDS + ACCOUNT_NEXT] = next;
  }
  setAccountPrevious(slot: number, previous: number): void {
    this.links[slot * WORDS + ACCOUNT_PREVIOUS] = previous;
  }

  /** Remembers that the order must be in the next snapshot. */
  touch(slot: number): void {
    const at = slot * STRIDE + ATTRIBUTES;
    const attributes = this.numbers[at];
    if ((attributes & DIRTY) !== 0) return;
    this.numbers[at] = attributes | DIRTY;
    this.dirtySlots.push(slot);
  }

  /** Visits what changed since the last call: live orders, and the serials of persisted ones that are gone. */
  takeChanges(changed: (slot: number) => void, removed: (serial: number) => void): void {
    for (const slot of this.dirtySlots) {
      const at = slot * STRIDE + ATTRIBUTES;
      const attributes = this.numbers[at];
      if ((attributes & DIRTY) === 0) continue;
      this.numbers[at] = (attributes & ~DIRTY) | PERSISTED;
      changed(slot);
    }
    for (const serial of this.removedSerials) removed(serial);
    this.dirtySlots = [];
    this.removedSerials = [];
  }

  /** An order that came from a snapshot need not go into the next one. */
  markPersisted(slot: number): void {
    const at = slot * STRIDE + ATTRIBUTES;
    this.numbers[at] = (this.numbers[at] & ~DIRTY) | PERSISTED;
  }

  /** Every order, in no particular order. */
  each(visit: (slot: number) => void): void {
    for (let slot = 0; slot < this.used; slot++) if (this.numbers[slot * STRIDE + SERIAL] !== 0) visit(slot);
  }

  private takeSlot(): number {
    if (this.freeSlot !== NONE) {
      const slot = this.freeSlot;
      this.freeSlot = this.links[slot * WORDS + NEXT];
      return slot;
    }
    if (this.used === this.capacity) this.grow();
    this.clientIds.push("");
    return this.used++;
  }

  private grow(): void {
    this.capacity *= 2;
    const numbers = new Float64Array(this.capacity * STRIDE);
    numbers.set(this.numbers);
    this.numbers = numbers;
    this.links = new Int32Array(numbers.buffer);
    this.index = new Int32Array(this.capacity * 2);
    this.indexShift--;
    for (let slot = 0; slot < this.used; slot++) {
      const serial = numbers[slot * STRIDE + SERIAL];
      if (serial !== 0) this.insert(serial, slot);
    }
  }

  /** Fibonacci hashing: consecutive serials spread evenly. */
  private home(serial: number): number {
    return Math.imul(serial, 0x9e3779b1) >>> this.indexShift;
  }

  private insert(serial: number, slot: number): void {
    const mask = this.index.length - 1;
    let i = this.home(serial);
    while (this.index[i] !== 0) i = (i + 1) & mask;
    this.index[i] = slot + 1;
  }

  /** Removes an entry and closes the gap, so that no tombstones gather. */
  private erase(serial: number): void {
    const mask = this.index.length - 1;
    let i = this.home(serial);
    while (this.numbers[(this.index[i] - 1) * STRIDE + SERIAL] !== serial) i = (i + 1) & mask;
    let gap = i;
    for (;;) {
      i = (i + 1) & mask;
      const entry = this.index[i];
      if (entry === 0) break;
      const home = this.home(this.numbers[(entry - 1) * STRIDE + SERIAL]);
      // The entry may move into the gap unless its home lies behind it.
      if (((i - home) & mask) >= ((i - gap) & mask)) {
        this.index[gap] = entry;
        gap = i;
      }
    }
    this.index[gap] = 0;
  }
}

/** Packs what never changes in an order's life. */
export function packAttributes(
  side: number,
  type: number,
  timeInForce: number,
  flags: number,
  selfTradePrevention: number,
): number {
  return side | (type << 1) | (timeInForce << 4) | (flags << 8) | (selfTradePrevention << 16);
}
