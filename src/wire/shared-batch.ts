const FIRST = 0;
const LAST = 1;
const BYTES = 2;
const HEADER_BYTES = 64;

/**
 * Records of the log, back to back, in shared memory. It orders nothing by itself: an atomic counter tells the reader that a batch is
 * there, and another one the writer that it may put the next.
 */
export class SharedBatch {
  private readonly header: Float64Array;
  private readonly bytes: Uint8Array;

  constructor(buffer: SharedArrayBuffer) {
    this.header = new Float64Array(buffer, 0, HEADER_BYTES / 8);
    this.bytes = new Uint8Array(buffer, HEADER_BYTES);
  }

  static allocate(maxBytes: number): SharedArrayBuffer {
    return new SharedArrayBuffer(HEADER_BYTES + maxBytes);
  }

  /** In place of the batch before. Throws RangeError if it is larger than `maxBytes`. */
  put(first: number, last: number, bytes: Uint8Array): void {
    this.bytes.set(bytes);
    this.header[FIRST] = first;
    this.header[LAST] = last;
    this.header[BYTES] = bytes.length;
  }

  /** The batch, if it begins with this sequence. Its bytes are valid until the next put(). */
  from(first: number): { first: number; last: number; bytes: Uint8Array } | null {
    if (this.header[FIRST] !== first) return null;
    return { first, last: this.header[LAST], bytes: this.bytes.subarray(0, this.header[BYTES]) };
  }
}
