import * as columns from "../base/columns.ts";
import { OrderIndex } from "../base/order-index.ts";
import type { PriceTicks, Quanta, QuantityLots, TimeMs } from "../base/units.ts";
import { OrderDetails } from "./order-details.ts";

const { NONE } = columns;

/**
 * An order has 64 bytes: doubles, then 32-bit words. Some have details too (order-details.ts). An order without details
 * has not traded or changed, and needs margin at its own price.
 */
const BYTES = 64; // one cache line
const NUMBERS = BYTES / 8;
const SERIAL = 0;
const REMAINING = 1;
const CREATED_AT = 2;
const SEQUENCE = 3;
const WORDS = BYTES / 4;
const ROW = 8;
const ATTRIBUTES = 9;
const PRICE = 10;
/** The place of its details; 0 = it has none. */
const DETAILS = 11;
/** Links of its queue in the book, and of its account's list. */
const NEXT = 12;
const PREVIOUS = 13;
const ACCOUNT_NEXT = 14;
const ACCOUNT_PREVIOUS = 15;

/** The most orders of a symbol. Reserves 4 GiB of addresses, and no memory. */
const MAX_CAPACITY = 2 ** 26;

/** Attribute bits: side 0, type 1–3, time in force 4–7, flags 8–15, self-trade prevention 16–19, then state bits. */
const RESTING = 1 << 24;
const PERSISTED = 1 << 26;
/** In its account's list. */
const LISTED = 1 << 27;
const WAITING = 1 << 28;
/** It has terms: see order-terms.ts. */
const EXTENDED = 1 << 29;
/** The book shows only the lots that its terms say. */
const ICEBERG = 1 << 30;

/** All open orders of a symbol, in flat arrays and without an object for each. Slots are reused. Found by serial. */
export class Orders {
  count = 0;
  private capacity: number;
  /** Shared memory grows in place: no pause for a copy, and the allocator keeps no old copies. */
  private readonly memory: SharedArrayBuffer;
  private words: Int32Array;
  private numbers: Float64Array;
  private readonly details = new OrderDetails();
  private readonly index: OrderIndex;
  /** As long as the last slot that has one; "" = none. */
  private readonly clientIds: string[] = [];
  private used = 0;
  /** Free slots are chained through the queue's next link. */
  private freeSlot = NONE;
  /** A bit for each slot that has changed since the last snapshot. */
  private dirty: Int32Array;
  private readonly removedSerials: number[] = [];
  /** Where the next takeChanges() begins. */
  private shareFrom = 0;

  constructor(capacity = 1024) {
    this.capacity = capacity;
    this.memory = new SharedArrayBuffer(capacity * BYTES, { maxByteLength: MAX_CAPACITY * BYTES });
    this.numbers = new Float64Array(this.memory, 0, capacity * NUMBERS);
    this.words = new Int32Array(this.memory, 0, capacity * WORDS);
    this.dirty = new Int32Array(Math.ceil(capacity / 32));
    this.index = new OrderIndex(capacity, MAX_CAPACITY, this);
  }

  /** Takes a slot for a new order. The caller sets the rest. */
  add(
    serial: number,
    row: number,
    attributes: number,
    priceTicks: PriceTicks,
    quantityLots: QuantityLots,
    createdAt: TimeMs,
  ): number {
    const slot = this.takeSlot();
    const { numbers, words } = this;
    numbers[slot * NUMBERS + SERIAL] = serial;
    numbers[slot * NUMBERS + REMAINING] = quantityLots;
    numbers[slot * NUMBERS + CREATED_AT] = createdAt;
    numbers[slot * NUMBERS + SEQUENCE] = 0;
    words[slot * WORDS + ROW] = row;
    words[slot * WORDS + ATTRIBUTES] = attributes;
    words[slot * WORDS + PRICE] = priceTicks;
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
    if (words[at + DETAILS] !== 0) {
      this.details.free(words[at + DETAILS]);
      words[at + DETAILS] = 0;
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
    const place = this.words[slot * WORDS + DETAILS];
    return place === 0 ? this.remainingLots(slot) : this.details.quantityLots(place);
  }
  remainingLots(slot: number): QuantityLots {
    return this.numbers[slot * NUMBERS + REMAINING];
  }
  filledLots(slot: number): QuantityLots {
    return this.details.filledLots(this.words[slot * WORDS + DETAILS]);
  }
  filledQuanta(slot: number): Quanta {
    return this.details.filledQuanta(this.words[slot * WORDS + DETAILS]);
  }
  feeQuanta(slot: number): Quanta {
    return this.details.feeQuanta(this.words[slot * WORDS + DETAILS]);
  }
  marginPriceTicks(slot: number): PriceTicks {
    const place = this.words[slot * WORDS + DETAILS];
    return place === 0 ? this.priceTicks(slot) : this.details.marginPriceTicks(place);
  }
  lossTicks(slot: number): PriceTicks {
    return this.details.lossTicks(this.words[slot * WORDS + DETAILS]);
  }
  createdAt(slot: number): TimeMs {
    return this.numbers[slot * NUMBERS + CREATED_AT];
  }
  updatedAt(slot: number): TimeMs {
    const place = this.words[slot * WORDS + DETAILS];
    return place === 0 ? this.createdAt(slot) : this.details.updatedAt(place);
  }
  sequence(slot: number): number {
    return this.numbers[slot * NUMBERS + SEQUENCE];
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
  /** A conditional order that has not fired, so it is not in the book. */
  isWaiting(slot: number): boolean {
    return (this.words[slot * WORDS + ATTRIBUTES] & WAITING) !== 0;
  }
  isExtended(slot: number): boolean {
    return (this.words[slot * WORDS + ATTRIBUTES] & EXTENDED) !== 0;
  }
  isIceberg(slot: number): boolean {
    return (this.words[slot * WORDS + ATTRIBUTES] & ICEBERG) !== 0;
  }

  /** Sets price, quantity and remaining lots. The book must not hold the order at another price. */
  amend(slot: number, priceTicks: PriceTicks, quantityLots: QuantityLots, remainingLots: QuantityLots): void {
    this.words[slot * WORDS + PRICE] = priceTicks;
    this.setQuantity(slot, quantityLots, remainingLots);
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
  /** Of an order that has not traded. */
  setPriceAndQuantity(slot: number, priceTicks: PriceTicks, quantityLots: QuantityLots): void {
    this.amend(slot, priceTicks, quantityLots, quantityLots);
  }
  setMarginTerms(slot: number, marginPriceTicks: PriceTicks, lossTicks: PriceTicks): void {
    const place = this.words[slot * WORDS + DETAILS];
    if (place === 0 && marginPriceTicks === this.priceTicks(slot) && lossTicks === 0) return;
    this.details.setMarginTerms(this.detailsOf(slot), marginPriceTicks, lossTicks);
  }
  /** Of a new order. */
  setClientOrderId(slot: number, clientOrderId: string): void {
    if (clientOrderId === "") return;
    while (this.clientIds.length <= slot) this.clientIds.push("");
    this.clientIds[slot] = clientOrderId;
  }
  /** Of an order that has traded nothing yet. */
  setFilled(
    slot: number,
    remainingLots: QuantityLots,
    filledLots: QuantityLots,
    filledQuanta: number,
    feeQuanta: number,
  ): void {
    this.setQuantity(slot, this.quantityLots(slot), remainingLots);
    if (filledLots !== 0) this.details.addFill(this.detailsOf(slot), filledLots, filledQuanta, feeQuanta);
  }
  /** `lots` of the order traded for `quanta` of notional and `feeQuanta`. Returns what remains. */
  fill(slot: number, lots: QuantityLots, quanta: Quanta, feeQuanta: Quanta): QuantityLots {
    this.details.addFill(this.detailsOf(slot), lots, quanta, feeQuanta);
    return this.reduce(slot, lots);
  }
  reduce(slot: number, byLots: QuantityLots): QuantityLots {
    this.detailsOf(slot);
    const at = slot * NUMBERS + REMAINING;
    const remaining = this.numbers[at] - byLots;
    this.numbers[at] = remaining;
    return remaining;
  }
  settle(slot: number, sequence: number, time: TimeMs): void {
    this.numbers[slot * NUMBERS + SEQUENCE] = sequence;
    const place = this.words[slot * WORDS + DETAILS];
    if (place === 0 && time === this.createdAt(slot)) return;
    this.details.setUpdatedAt(this.detailsOf(slot), time);
  }
  private setQuantity(slot: number, quantityLots: QuantityLots, remainingLots: QuantityLots): void {
    const place = this.words[slot * WORDS + DETAILS];
    if (place !== 0 || quantityLots !== remainingLots) this.details.setQuantityLots(this.detailsOf(slot), quantityLots);
    this.numbers[slot * NUMBERS + REMAINING] = remainingLots;
  }
  /** The place of the order's details. Takes one if it has none. */
  private detailsOf(slot: number): number {
    const at = slot * WORDS + DETAILS;
    if (this.words[at] === 0)
      this.words[at] = this.details.take(this.remainingLots(slot), this.createdAt(slot), this.priceTicks(slot));
    return this.words[at];
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

  /** Marks the order for the next snapshot. */
  touch(slot: number): void {
    this.dirty[slot >> 5] |= 1 << (slot & 31);
  }

  private clean(slot: number): void {
    this.dirty[slot >> 5] &= ~(1 << (slot & 31));
  }

  /**
   * Visits orders that have changed since they were last visited, and the serials of persisted orders that are gone. In no
   * particular order. All, or about `most` of them, and the next call goes on. Returns whether it came to the end. Orders
   * that change again after they were passed are left for then.
   */
  takeChanges(
    changed: (slot: number) => void,
    removed: (serial: number) => void,
    most = Number.POSITIVE_INFINITY,
  ): boolean {
    const { dirty } = this;
    let left = most;
    let i = most === Number.POSITIVE_INFINITY ? 0 : this.shareFrom;
    for (; i < dirty.length && left > 0; i++) {
      for (let bits = dirty[i]; bits !== 0; bits &= bits - 1, left--) {
        const slot = i * 32 + 31 - Math.clz32(bits & -bits);
        this.setBit(slot, PERSISTED, true);
        changed(slot);
      }
      dirty[i] = 0;
    }
    this.shareFrom = i < dirty.length ? i : 0;
    while (left-- > 0 && this.removedSerials.length > 0) removed(this.removedSerials.pop() as number);
    return this.shareFrom === 0 && this.removedSerials.length === 0;
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
    this.memory.grow(this.capacity * BYTES);
    this.numbers = new Float64Array(this.memory, 0, this.capacity * NUMBERS);
    this.words = new Int32Array(this.memory, 0, this.capacity * WORDS);
    const dirty = new Int32Array(Math.ceil(this.capacity / 32));
    dirty.set(this.dirty);
    this.dirty = dirty;
    this.index.resize(this.capacity);
    this.each((slot) => this.index.add(this.serial(slot), slot));
  }
}

/** Packs the fields that never change into the attribute bits. */
export function packAttributes(
  side: number,
  type: number,
  timeInForce: number,
  flags: number,
  selfTradePrevention: number,
): number {
  return side | (type << 1) | (timeInForce << 4) | (flags << 8) | (selfTradePrevention << 16);
}
