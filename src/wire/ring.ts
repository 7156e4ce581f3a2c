import { assert } from "../assert.ts";
import { pad8 } from "./record.ts";

/**
 * A ring buffer in shared memory with one producer, one consumer and a doorbell.
 *
 * Records are contiguous and 8-byte aligned. The producer reserves room, writes in place and commits. The consumer peeks,
 * reads in place and releases. The length WRAP means that the next record begins at byte 0 again. Head and tail count bytes
 * modulo 2^32. They are published with Atomics, so bytes written before commit() are visible after peek().
 */
const HEAD = 0; // total bytes written, set by the producer
const TAIL = 16; // total bytes released, set by the consumer; on another cache line
const CONTROL_BYTES = 128;
const LENGTH_BYTES = 8;
const WRAP = 0xffffffff;

/** Wakes a thread that sleeps in Atomics.wait(), or the main thread through a message port. */
export class Doorbell {
  readonly buffer: SharedArrayBuffer;
  private readonly words: Int32Array;
  /** Called instead of Atomics.notify() for the main thread, which cannot block. */
  private readonly notify: (() => void) | null;

  /** `offset`: of its word in the buffer. */
  constructor(buffer: SharedArrayBuffer = new SharedArrayBuffer(8), notify: (() => void) | null = null, offset = 0) {
    this.buffer = buffer;
    this.words = new Int32Array(buffer, offset, 1);
    this.notify = notify;
  }

  /** Wakes the owner if it has gone to sleep. */
  wake(): void {
    if (Atomics.load(this.words, 0) === 0) return;
    if (Atomics.exchange(this.words, 0, 0) === 0) return;
    if (this.notify === null) Atomics.notify(this.words, 0);
    else this.notify();
  }

  /** The owner sleeps or is about to. */
  get isSleeping(): boolean {
    return Atomics.load(this.words, 0) !== 0;
  }

  /** Announces a sleep. The owner must check its rings once more before wait(), or it misses records committed before. */
  prepareSleep(): void {
    Atomics.store(this.words, 0, 1);
  }

  /** Takes the announcement back, because the owner found records. */
  cancelSleep(): void {
    Atomics.store(this.words, 0, 0);
  }

  /** Blocks until wake(), at most `timeoutMs`. Not on the main thread. */
  wait(timeoutMs: number): void {
    Atomics.wait(this.words, 0, 1, timeoutMs);
    Atomics.store(this.words, 0, 0);
  }

  /** As wait(), for a thread whose event loop must go on. Without a timeout, which V8 makes a task of the thread each time. */
  async waitAsync(): Promise<void> {
    const waiting = Atomics.waitAsync(this.words, 0, 1);
    if (waiting.async) await waiting.value;
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

/** `capacityBytes`: a power of two, at least 4096. */
export function allocateRing(capacityBytes: number): SharedArrayBuffer {
  assert(
    (capacityBytes & (capacityBytes - 1)) === 0 && capacityBytes >= 4096,
    "a ring's capacity must be a power of two, at least 4096",
  );
  return new SharedArrayBuffer(CONTROL_BYTES + capacityBytes);
}

/** Observes a ring as a third party. Counts are bytes modulo 2^32. */
export class RingGauge {
  private readonly control: Int32Array;

  constructor(buffer: SharedArrayBuffer) {
    this.control = new Int32Array(buffer, 0, CONTROL_BYTES / 4);
  }

  get written(): number {
    return Atomics.load(this.control, HEAD);
  }

  /** Bytes that the consumer has released. */
  get read(): number {
    return Atomics.load(this.control, TAIL);
  }

  /** Whether the consumer has released everything up to `written`, an earlier value of this.written. */
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

  /** The largest record that fits. */
  get maxRecordBytes(): number {
    return this.capacity / 2 - LENGTH_BYTES;
  }

  /**
   * Reserves room for a record of up to `maxBytes`. Returns its offset in `bytes` and `view`, or -1 when the ring is full.
   * Nothing is visible until commit(). A reservation without a commit has no effect.
   */
  reserve(maxBytes: number): number {
    assert(maxBytes <= this.maxRecordBytes, "the record is larger than the ring allows");
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

  /** Whether less than a quarter of the ring is free. */
  get isCrowded(): boolean {
    return !this.hasRoom(this.capacity / 4);
  }

  /** Publishes the reserved record with its final size. It does not wake the consumer: see wake(). */
  commit(bytes: number): void {
    this.view.setUint32(this.at, bytes, true);
    this.head = (this.head + LENGTH_BYTES + pad8(bytes)) >>> 0;
    Atomics.store(this.control, HEAD, this.head | 0);
  }

  /** Wakes the consumer if it sleeps. Call it once per batch. */
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
  /** Size in bytes of the record that peek() found. */
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

  /** Offset of the next record, or -1. Its bytes stay valid until release(). */
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

  /** Moves past the record that peek() found. Its bytes stay valid until release(). */
  next(): void {
    this.tail = (this.tail + LENGTH_BYTES + pad8(this.length)) >>> 0;
  }

  /** Returns the room of all records passed with next() to the producer. */
  release(): void {
    if (this.released === this.tail) return;
    this.released = this.tail;
    Atomics.store(this.control, TAIL, this.tail | 0);
  }
}
