import { Fills, larger } from "./fills.ts";
import { NONE, SerialIndex } from "./serial-index.ts";
import type { PriceTicks, QuantityLots } from "./units.ts";

export { NONE } from "./serial-index.ts";

/**
 * What all that an order passes through looks at, 64 bytes: 32-bit words, and in the room of two of them each a number that
 * may be larger. What changes with every order comes first.
 */
const WORDS = 16;
const NUMBERS = WORDS / 2;
const SERIAL = 0;
const REMAINING = 1;
const ROW = 4;
const ATTRIBUTES = 5;
const PRICE = 6;
const MARGIN_PRICE = 7;
/** Links of its queue in the book, and of its account's list. */
const NEXT = 8;
const PREVIOUS = 9;
const ACCOUNT_NEXT = 10;
const ACCOUNT_PREVIOUS = 11;
const LOSS = 12;
/** Where its fills stand, or 0 as long as there is none. */
const FILLS = 13;
const QUANTITY = 7;

/** When it was made and changed, and its sequence: apart, since only replies and snapshots ask. */
const TIMES = 3;
const CREATED_AT = 0;
const UPDATED_AT = 1;
const SEQUENCE = 2;

/** Attribute bits: side 0, type 1–3, time in force 4–7, flags 8–15, self-trade prevention 16–19, then state bits. */
const RESTING = 1 << 24;
const PERSISTED = 1 << 26;
/** In its account's list. */
const LISTED = 1 << 27;
const WAITING = 1 << 28;
/** It has terms: see order-terms.ts. */
const EXTENDED = 1 << 29;
/** Its terms say how much of it the book shows. */
const ICEBERG = 1 << 30;

/**
 * The orders that a symbol knows: resting ones and the one in hand. Flat arrays and no object for an order; slots are
 * reused. Found by serial.
 */
export class Orders {
  count = 0;
  private capacity: number;
  private words: Int32Array;
  /** The same memory. */
  private numbers: Float64Array;
  private times: Float64Array;
  private readonly fills = new Fills();
  private readonly index: SerialIndex;
  /** As long as the last slot that has one; "" = none. */
  private readonly clientIds: string[] = [];
  private used = 0;
  /** Free slots are chained through the queue's next link. */
  private freeSlot = NONE;
  /** A bit for each slot that has changed since the last snapshot. */
  private dirty: Int32Array;
  private removedSerials: number[] = [];

  constructor(capacity = 1024) {
    this.capacity = capacity;
    this.numbers = new Float64Array(capacity * NUMBERS);
    this.words = new Int32Array(this.numbers.buffer);
    this.times = new Float64Array(capacity * TIMES);
    this.dirty = new Int32Array(Math.ceil(capacity / 32));
    this.index = new SerialIndex(capacity, (slot) => this.numbers[slot * NUMBERS + SERIAL]);
  }

  /** Takes a slot for a new order. The caller sets the rest. */
  add(serial: number, row: number, attributes: number, priceTicks: PriceTicks, quantityLots: QuantityLots): number {
    const slot = this.takeSlot();
    const { numbers, words } = this;
    numbers[slot * NUMBERS + SERIAL] = serial;
    numbers[slot * NUMBERS + REMAINING] = quantityLots;
    numbers[slot * NUMBERS + QUANTITY] = quantityLots;
    const at = slot * WORDS;
    words[at + ROW] = row;
    words[at + ATTRIBUTES] = attributes;
    words[at + PRICE] = priceTicks;
    words[at + MARGIN_PRICE] = 0;
    words[at + LOSS] = 0;
    this.times[slot * TIMES + SEQUENCE] = 0;
    this.index.add(serial, slot);
    this.count++;
    this.touch(slot);
    return slot;
  }

  remove(slot: number): void {
    const { words, numbers } = this;
    const at = slot * WORDS;
    const serial = numbers[slot * NUMBERS + SERIAL];
    if ((words[at + ATTRIBUTES] & PERSISTED) !== 0) this.removedSerials.push(serial);
    this.index.remove(serial, slot);
    if (words[at + FILLS] !== 0) {
      this.fills.free(words[at + FILLS]);
      words[at + FILLS] = 0;
    }
    numbers[slot * NUMBERS + SERIAL] = 0;
    words[at + ATTRIBUTES] = 0;
    this.clean(slot);
    if (slot < this.clientIds.length) this.clientIds[slot] = "";
    words[at + NEXT] = this.freeSlot;
    this.freeSlot = slot;
    this.count--;
  }

  /** The slot of a serial, or NONE. */
  find(serial: number): number {
    return this.index.find(serial);
  }

  serial(slot: number): number {
    return this.numbers[slot * NUMBERS + SERIAL];
  }
  row(slot: number): number {
    return this.words[slot * WORDS + ROW];
  }
  side(slot: number): number {
    return this.words[slot * WORDS + ATTRIBUTES] & 1;
  }
  type(slot: number): number {
    return (this.words[slot * WORDS + ATTRIBUTES] >> 1) & 7;
  }
  timeInForce(slot: number): number {
    return (this.words[slot * WORDS + ATTRIBUTES] >> 4) & 15;
  }
  flags(slot: number): number {
    return (this.words[slot * WORDS + ATTRIBUTES] >> 8) & 255;
  }
  selfTradePrevention(slot: number): number {
    return (this.words[slot * WORDS + ATTRIBUTES] >> 16) & 15;
  }
  priceTicks(slot: number): PriceTicks {
    return this.words[slot * WORDS + PRICE];
  }
  quantityLots(slot: number): QuantityLots {
    return this.numbers[slot * NUMBERS + QUANTITY];
  }
  remainingLots(slot: number): QuantityLots {
    return this.numbers[slot * NUMBERS + REMAINING];
  }
  filledLots(slot: number): QuantityLots {
    return this.fills.lots(this.words[slot * WORDS + FILLS]);
  }
  filledQuanta(slot: number): number {
    return this.fills.quanta(this.words[slot * WORDS + FILLS]);
  }
  feeQuanta(slot: number): number {
    return this.fills.feeQuanta(this.words[slot * WORDS + FILLS]);
  }
  marginPriceTicks(slot: number): PriceTicks {
    return this.words[slot * WORDS + MARGIN_PRICE];
  }
  lossTicks(slot: number): PriceTicks {
    return this.words[slot * WORDS + LOSS];
  }
  createdAt(slot: number): number {
    return this.times[slot * TIMES + CREATED_AT];
  }
  updatedAt(slot: number): number {
    return this.times[slot * TIMES + UPDATED_AT];
  }
  sequence(slot: number): number {
    return this.times[slot * TIMES + SEQUENCE];
  }
  clientOrderId(slot: number): string {
    return slot < this.clientIds.length ? this.clientIds[slot] : "";
  }
  isResting(slot: number): boolean {
    return (this.words[slot * WORDS + ATTRIBUTES] & RESTING) !== 0;
  }
  isListed(slot: number): boolean {
    return (this.words[slot * WORDS + ATTRIBUTES] & LISTED) !== 0;
  }
  /** It waits for its price and is not in the book. */
  isWaiting(slot: number): boolean {
    return (this.words[slot * WORDS + ATTRIBUTES] & WAITING) !== 0;
  }
  isExtended(slot: number): boolean {
    return (this.words[slot * WORDS + ATTRIBUTES] & EXTENDED) !== 0;
  }
  isIceberg(slot: number): boolean {
    return (this.words[slot * WORDS + ATTRIBUTES] & ICEBERG) !== 0;
  }

  /** Another price, quantity and rest of it. The book must not hold it at another price by then. */
  amend(slot: number, priceTicks: PriceTicks, quantityLots: QuantityLots, remainingLots: QuantityLots): void {
    this.words[slot * WORDS + PRICE] = priceTicks;
    this.numbers[slot * NUMBERS + QUANTITY] = quantityLots;
    this.numbers[slot * NUMBERS + REMAINING] = remainingLots;
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
    const at = slot * WORDS + ATTRIBUTES;
    this.words[at] = on ? this.words[at] | bit : this.words[at] & ~bit;
  }
  /** What an order that waited is worth when its price has come. */
  setPriceAndQuantity(slot: number, priceTicks: PriceTicks, quantityLots: QuantityLots): void {
    this.amend(slot, priceTicks, quantityLots, quantityLots);
  }
  setMarginTerms(slot: number, marginPriceTicks: PriceTicks, lossTicks: PriceTicks): void {
    this.words[slot * WORDS + MARGIN_PRICE] = marginPriceTicks;
    this.words[slot * WORDS + LOSS] = lossTicks;
  }
  /** Of a new order. */
  setClientOrderId(slot: number, clientOrderId: string): void {
    if (clientOrderId === "") return;
    while (this.clientIds.length <= slot) this.clientIds.push("");
    this.clientIds[slot] = clientOrderId;
  }
  setTimes(slot: number, createdAt: number, updatedAt: number): void {
    this.times[slot * TIMES + CREATED_AT] = createdAt;
    this.times[slot * TIMES + UPDATED_AT] = updatedAt;
  }
  /** Of an order that has traded nothing yet. */
  setFilled(
    slot: number,
    remainingLots: QuantityLots,
    filledLots: QuantityLots,
    filledQuanta: number,
    feeQuanta: number,
  ): void {
    this.numbers[slot * NUMBERS + REMAINING] = remainingLots;
    if (filledLots !== 0) this.addFill(slot, filledLots, filledQuanta, feeQuanta);
  }
  /** `lots` of the order traded for `quanta` of notional and `feeQuanta`. Returns what remains. */
  fill(slot: number, lots: QuantityLots, quanta: number, feeQuanta: number): QuantityLots {
    this.addFill(slot, lots, quanta, feeQuanta);
    return this.reduce(slot, lots);
  }
  private addFill(slot: number, lots: QuantityLots, quanta: number, feeQuanta: number): void {
    const at = slot * WORDS + FILLS;
    if (this.words[at] === 0) this.words[at] = this.fills.take();
    this.fills.add(this.words[at], lots, quanta, feeQuanta);
  }
  reduce(slot: number, byLots: QuantityLots): QuantityLots {
    const at = slot * NUMBERS + REMAINING;
    const remaining = this.numbers[at] - byLots;
    this.numbers[at] = remaining;
    return remaining;
  }
  settle(slot: number, sequence: number, time: number): void {
    this.times[slot * TIMES + SEQUENCE] = sequence;
    this.times[slot * TIMES + UPDATED_AT] = time;
  }

  next(slot: number): number {
    return this.words[slot * WORDS + NEXT];
  }
  previous(slot: number): number {
    return this.words[slot * WORDS + PREVIOUS];
  }
  setNext(slot: number, next: number): void {
    this.words[slot * WORDS + NEXT] = next;
  }
  setPrevious(slot: number, previous: number): void {
    this.words[slot * WORDS + PREVIOUS] = previous;
  }
  accountNext(slot: number): number {
    return this.words[slot * WORDS + ACCOUNT_NEXT];
  }
  accountPrevious(slot: number): number {
    return this.words[slot * WORDS + ACCOUNT_PREVIOUS];
  }
  setAccountNext(slot: number, next: number): void {
    this.words[slot * WORDS + ACCOUNT_NEXT] = next;
  }
  setAccountPrevious(slot: number, previous: number): void {
    this.words[slot * WORDS + ACCOUNT_PREVIOUS] = previous;
  }

  /** Remembers that the order must be in the next snapshot. */
  touch(slot: number): void {
    this.dirty[slot >> 5] |= 1 << (slot & 31);
  }

  private clean(slot: number): void {
    this.dirty[slot >> 5] &= ~(1 << (slot & 31));
  }

  /** Visits what changed since the last call, in no particular order: live orders, and the serials of persisted ones that are gone. */
  takeChanges(changed: (slot: number) => void, removed: (serial: number) => void): void {
    const { dirty } = this;
    for (let i = 0; i < dirty.length; i++) {
      for (let bits = dirty[i]; bits !== 0; bits &= bits - 1) {
        const slot = i * 32 + 31 - Math.clz32(bits & -bits);
        this.setBit(slot, PERSISTED, true);
        changed(slot);
      }
      dirty[i] = 0;
    }
    for (const serial of this.removedSerials) removed(serial);
    this.removedSerials = [];
  }

  /** An order that came from a snapshot need not go into the next one. */
  markPersisted(slot: number): void {
    this.setBit(slot, PERSISTED, true);
    this.clean(slot);
  }

  /** Every order, in no particular order. */
  each(visit: (slot: number) => void): void {
    for (let slot = 0; slot < this.used; slot++) if (this.serial(slot) !== 0) visit(slot);
  }

  private takeSlot(): number {
    if (this.freeSlot !== NONE) {
      const slot = this.freeSlot;
      this.freeSlot = this.words[slot * WORDS + NEXT];
      return slot;
    }
    if (this.used === this.capacity) this.grow();
    return this.used++;
  }

  private grow(): void {
    this.capacity *= 2;
    this.numbers = larger(this.numbers);
    this.words = new Int32Array(this.numbers.buffer);
    this.times = larger(this.times);
    const dirty = new Int32Array(Math.ceil(this.capacity / 32));
    dirty.set(this.dirty);
    this.dirty = dirty;
    this.index.resize(this.capacity);
    this.each((slot) => this.index.add(this.serial(slot), slot));
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
