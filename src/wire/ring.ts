import { assert } from "../assert.ts";
import { pad8 } from "./record.ts";

/**
 * A ring on shared memory with one producer and one consumer, and a bell.
 *
 * Records are contiguous and 8-byte aligned: the producer reserves room, writes in place and commits; the consumer
 * peeks, reads in place and releases. A length of WRAP says that the next record starts at byte 0 again. Head and tail
 * are byte counts modulo 2^32, published with Atomics: what was written before commit() is seen after peek().
 */
const HEAD = 0; // bytes ever written, by the producer
const TAIL = 16; // bytes ever released, by the consumer; on another cache line
const CONTROL_BYTES = 128;
const LENGTH_BYTES = 8;
const WRAP = 0xffffffff;

/** A thread that waits in Atomics.wait, or the main thread behind a message port, is woken through its bell. */
export class Doorbell {
  readonly buffer: SharedArrayBuffer;
  private readonly words: Int32Array;
  /** Called instead of Atomics.notify where the sleeper cannot block (the main thread). */
  private readonly notify: (() => void) | null;

  constructor(buffer: SharedArrayBuffer = new SharedArrayBuffer(8), knock: (() => void) | null = null) {
    this.buffer = buffer;
    this.words = new Int32Array(buffer);
    this.notify = knock;
  }

  /** Wakes the owner if it has gone to sleep. */
  wake(): void {
    if (Atomics.load(this.words, 0) === 0) return;
    if (Atomics.exchange(this.words, 0, 0) === 0) return;
    if (this.notify === null) Atomics.notify(this.words, 0);
    else this.notify();
  }

  /** The owner sleeps, or is about to. */
  get isSleeping(): boolean {
    return Atomics.load(this.words, 0) !== 0;
  }

  /** Says "I am about to sleep"; the owner must look at its rings once more before wait(). */
  prepareSleep(): void {
    Atomics.store(this.words, 0, 1);
  }

  /** Found something after all. */
  cancelSleep(): void {
    Atomics.store(this.words, 0, 0);
  }

  /** Blocks until rung, at most `timeoutMs`. Not on the main thread. */
  wait(timeoutMs: number): void {
    Atomics.wait(this.words, 0, 1, timeoutMs);
    Atomics.store(this.words, 0, 0);
  }
}

class RingEnd {
  readonly bytes: Uint8Array;
  readonly view: DataView;
  protected readonly control: Int32Array;
  protected readonly capacity: number;

  constructor(buffer: SharedArrayBuffer) {
    this.control = new Int32Array(buffer, 0, CONTROL_BYTES / 4);
    this.capacity = buffer.byteLength - CONTROL_BYTES;
    this.bytes = new Uint8Array(buffer, CONTROL_BYTES);
    this.view = new DataView(buffer, CONTROL_BYTES);
  }
}

/** `capacityBytes` must be a power of two. */
export function allocateRing(capacityBytes: number): SharedArrayBuffer {
  assert((capacityBytes & (capacityBytes - 1)) === 0 && capacityBytes >= 4096, "ring capacity: a power of two");
  return new SharedArrayBuffer(CONTROL_BYTES + capacityBytes);
}

/** Looks at a ring from outside, as a third party. Counts are bytes modulo 2^32. */
export class RingGauge {
  private readonly control: Int32Array;

  constructor(buffer: SharedArrayBuffer) {
    this.control = new Int32Array(buffer, 0, CONTROL_BYTES / 4);
  }

  get written(): number {
    return Atomics.load(this.control, HEAD);
  }

  /** How far the consumer has given room back. */
  get read(): number {
    return Atomics.load(this.control, TAIL);
  }

  /** The consumer is done with all that had been written when `written` was read. */
  hasRead(written: number): boolean {
    return ((this.read - written) | 0) >= 0;
  }
}

export class RingProducer extends RingEnd {
  private readonly doorbell: Doorbell;
  private head: number;
  private tailSeen: number;
  private at = 0;

  constructor(buffer: SharedArrayBuffer, doorbell: Doorbell) {
    super(buffer);
    this.doorbell = doorbell;
    this.head = Atomics.load(this.control, HEAD) >>> 0;
    this.tailSeen = Atomics.load(this.control, TAIL) >>> 0;
  }

  /** The largest record that can ever fit. */
  get maxRecordBytes(): number {
    return this.capacity / 2 - LENGTH_BYTES;
  }

  /**
   * The offset at which a record of up to `maxBytes` may be written (in `bytes`/`view`), or −1 when the ring is full.
   * Until commit() nothing is visible; a reservation may be dropped by simply not committing it.
   */
  reserve(maxBytes: number): number {
    assert(maxBytes <= this.maxRecordBytes, "record larger than the ring allows");
    const need = LENGTH_BYTES + pad8(maxBytes);
    let position = this.head & (this.capacity - 1);
    const toEnd = this.capacity - position;
    const skip = toEnd < need ? toEnd : 0;
    if (!this.hasRoom(need + skip)) return -1;
    if (skip > 0) {
      this.view.setUint32(position, WRAP, true);
      this.head = (this.head + skip) >>> 0;
      position = 0;
    }
    this.at = position;
    return position + LENGTH_BYTES;
  }

  /** Less than a quarter of the ring is free. */
  get isCrowded(): boolean {
    return !this.hasRoom(this.capacity / 4);
  }

  /** Publishes the reserved record with its true size. The consumer is not woken: see wake(). */
  commit(bytes: number): void {
    this.view.setUint32(this.at, bytes, true);
    this.head = (this.head + LENGTH_BYTES + pad8(bytes)) >>> 0;
    Atomics.store(this.control, HEAD, this.head | 0);
  }

  /** Wakes the consumer if it sleeps: once per batch. */
  wake(): void {
    this.doorbell.wake();
  }

  private hasRoom(bytes: number): boolean {
    if (this.roomSeen >= bytes) return true;
    this.tailSeen = Atomics.load(this.control, TAIL) >>> 0;
    return this.roomSeen >= bytes;
  }

  private get roomSeen(): number {
    return this.capacity - ((this.head - this.tailSeen) >>> 0);
  }
}

export class RingConsumer extends RingEnd {
  /** Size of the record that peek() found. */
  length = 0;
  private tail: number;
  private headSeen: number;
  private released: number;

  constructor(buffer: SharedArrayBuffer) {
    super(buffer);
    this.tail = Atomics.load(this.control, TAIL) >>> 0;
    this.released = this.tail;
    this.headSeen = Atomics.load(this.control, HEAD) >>> 0;
  }

  /** The offset of the next record, or −1 when there is none. Stays valid until release(). */
  peek(): number {
    for (;;) {
      if (this.tail === this.headSeen) {
        this.headSeen = Atomics.load(this.control, HEAD) >>> 0;
        if (this.tail === this.headSeen) return -1;
      }
      const position = this.tail & (this.capacity - 1);
      const length = this.view.getUint32(position, true);
      if (length !== WRAP) {
        this.length = length;
        return position + LENGTH_BYTES;
      }
      this.tail = (this.tail + this.capacity - position) >>> 0;
    }
  }

  /** Done with the record that peek() found: go to the next. Its bytes stay until release(). */
  next(): void {
    this.tail = (this.tail + LENGTH_BYTES + pad8(this.length)) >>> 0;
  }

  /** Gives the room of everything passed by next() back to the producer. */
  release(): void {
    if (this.released === this.tail) return;
    this.released = this.tail;
    Atomics.store(this.control, TAIL, this.tail | 0);
  }
}
