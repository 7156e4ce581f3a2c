/** No row. */
export const NO_ROW = -1;

const HASH = 0;
/** The next row of the same bucket, + 1; 0 = none. */
const NEXT = 1;
const LINKS = 2;

const SEGMENT_BITS = 10;
const SEGMENT = 1 << SEGMENT_BITS;
const IN_SEGMENT = SEGMENT - 1;

/**
 * A FIFO queue of rows that can be found by a 32-bit hash. A row holds numbers and short texts. No operation is slow because
 * the queue is long: rows live in segments and never move, and the hash table grows by one bucket per row instead of all
 * at once (linear hashing, W. Litwin, VLDB 1980). The hash table does not shrink.
 */
export class HashFifo {
  /** The number of the oldest row. */
  first = 0;
  /** The number that the next row gets. */
  end = 0;
  private readonly width: number;
  private readonly segments: Float64Array[] = [];
  /** The same memory as `segments`. */
  private readonly bytes: Uint8Array[] = [];
  /** The number of the first row of the first segment. */
  private origin = 0;
  /** The first row of each bucket, + 1; 0 = none. */
  private readonly heads: Float64Array[] = [new Float64Array(SEGMENT)];
  /** Buckets below `split` use one more bit of the hash than `mask` has. */
  private mask = SEGMENT - 1;
  private split = 0;

  /** `width`: numbers in a row. A text takes the place of some: see setText(). */
  constructor(width: number) {
    this.width = width + LINKS;
  }

  get length(): number {
    return this.end - this.first;
  }

  /** Adds a row of zeros at the end. Returns its number. */
  append(hash: number): number {
    const row = this.end++;
    if (row - this.origin === this.segments.length * SEGMENT) this.addSegment();
    this.link(row, hash >>> 0, this.bucketOf(hash));
    if (this.length > this.mask + 1 + this.split) this.splitBucket();
    return row;
  }

  /** Removes the oldest row. The queue must not be empty. */
  dropFirst(): void {
    const row = this.first++;
    const bucket = this.bucketOf(this.number(row, HASH));
    const after = this.number(row, NEXT);
    let at = this.head(bucket) - 1;
    if (at === row) this.setHead(bucket, after);
    else {
      while (this.number(at, NEXT) - 1 !== row) at = this.number(at, NEXT) - 1;
      this.setNumber(at, NEXT, after);
    }
    if (this.first - this.origin < SEGMENT) return;
    this.segments.shift();
    this.bytes.shift();
    this.origin += SEGMENT;
  }

  /** Makes the oldest row the newest one. It gets a new number. The queue must not be empty. */
  moveFirst(): void {
    const { first } = this;
    const row = this.append(this.number(first, HASH));
    const from = this.at(first, LINKS);
    const values = this.numbersOf(first).subarray(from, from + this.width - LINKS);
    this.numbersOf(row).set(values, this.at(row, LINKS));
    this.dropFirst();
  }

  /** A row with this hash, or NO_ROW. */
  find(hash: number): number {
    return this.withHash(this.head(this.bucketOf(hash)) - 1, hash >>> 0);
  }

  /** The next row with the hash of `row`, or NO_ROW. From find() on, each row comes once. */
  findNext(row: number): number {
    return this.withHash(this.number(row, NEXT) - 1, this.number(row, HASH));
  }

  get(row: number, field: number): number {
    return this.number(row, LINKS + field);
  }

  set(row: number, field: number, value: number): void {
    this.setNumber(row, LINKS + field, value);
  }

  /** Stores an ASCII text in the field and those after it: a byte for the length, then the characters, eight bytes a number. */
  setText(row: number, field: number, text: string): void {
    const bytes = this.bytesOf(row);
    let at = this.at(row, LINKS + field) * 8;
    bytes[at++] = text.length;
    for (let i = 0; i < text.length; i++) bytes[at++] = text.charCodeAt(i);
  }

  hasText(row: number, field: number, text: string): boolean {
    const bytes = this.bytesOf(row);
    let at = this.at(row, LINKS + field) * 8;
    if (bytes[at++] !== text.length) return false;
    for (let i = 0; i < text.length; i++) if (bytes[at++] !== text.charCodeAt(i)) return false;
    return true;
  }

  text(row: number, field: number): string {
    const bytes = this.bytesOf(row);
    const at = this.at(row, LINKS + field) * 8;
    return String.fromCharCode(...bytes.subarray(at + 1, at + 1 + bytes[at]));
  }

  private addSegment(): void {
    const numbers = new Float64Array(SEGMENT * this.width);
    this.segments.push(numbers);
    this.bytes.push(new Uint8Array(numbers.buffer));
  }

  /** Splits one bucket into it and a new one, so that a bucket holds one row on average. */
  private splitBucket(): void {
    const { mask, split } = this;
    const added = split + mask + 1;
    if (added === this.heads.length * SEGMENT) this.heads.push(new Float64Array(SEGMENT));
    let row = this.head(split) - 1;
    this.setHead(split, 0);
    while (row !== NO_ROW) {
      const next = this.number(row, NEXT) - 1;
      const hash = this.number(row, HASH);
      this.link(row, hash, (hash & (mask + 1)) === 0 ? split : added);
      row = next;
    }
    this.split++;
    if (this.split <= mask) return;
    this.mask = 2 * mask + 1;
    this.split = 0;
  }

  private link(row: number, hash: number, bucket: number): void {
    this.setNumber(row, HASH, hash);
    this.setNumber(row, NEXT, this.head(bucket));
    this.setHead(bucket, row + 1);
  }

  private withHash(from: number, hash: number): number {
    let row = from;
    while (row !== NO_ROW && this.number(row, HASH) !== hash) row = this.number(row, NEXT) - 1;
    return row;
  }

  private bucketOf(hash: number): number {
    const bucket = hash & this.mask;
    return bucket < this.split ? hash & (2 * this.mask + 1) : bucket;
  }

  private head(bucket: number): number {
    return this.heads[bucket >>> SEGMENT_BITS][bucket & IN_SEGMENT];
  }
  private setHead(bucket: number, head: number): void {
    this.heads[bucket >>> SEGMENT_BITS][bucket & IN_SEGMENT] = head;
  }
  private number(row: number, at: number): number {
    return this.numbersOf(row)[this.at(row, at)];
  }
  private setNumber(row: number, at: number, value: number): void {
    this.numbersOf(row)[this.at(row, at)] = value;
  }
  private numbersOf(row: number): Float64Array {
    return this.segments[(row - this.origin) >>> SEGMENT_BITS];
  }
  private bytesOf(row: number): Uint8Array {
    return this.bytes[(row - this.origin) >>> SEGMENT_BITS];
  }
  private at(row: number, at: number): number {
    return ((row - this.origin) & IN_SEGMENT) * this.width + at;
  }
}
