import { assert } from "../../assert.ts";

/**
 * Encoded rows (wire/codec.ts) as they are stored: most fields of a row are zero or small, and most rows differ little from
 * the row before them under the same key. A row is a string of 64-bit words, the first of them its head; each word is
 * compared with the word at its place in the row before, or with zero.
 *
 *     u8  which of the next eight words are different, the lowest bit first; behind it what these are:
 *         a head     varint: its low half (code, number of fields); varint: words of the row, itself included
 *         a number   varint: how far it is from the other, zigzag; never 0
 *         text       0; then this word and all that follow in the row, as they are
 *     ...             the next eight, until the row ends
 *
 * Nothing here knows the shapes: words that say a whole number as f64 are numbers, whatever else does is text.
 */

/** Encoded rows, each at a multiple of 8. */
export class RowBuffer {
  readonly bytes: Uint8Array;
  readonly view: DataView;
  readonly halves: Int32Array;
  readonly doubles: Float64Array;

  constructor(bytes: number) {
    this.bytes = new Uint8Array(bytes);
    this.view = new DataView(this.bytes.buffer);
    this.halves = new Int32Array(this.bytes.buffer);
    this.doubles = new Float64Array(this.bytes.buffer);
  }

  /** A copy that has room for `bytes`, and for as many again as this one. */
  enlarged(bytes: number): RowBuffer {
    const length = Math.max(2 * this.bytes.length, (bytes + 7) & ~7);
    const larger = new RowBuffer(length);
    larger.bytes.set(this.bytes);
    return larger;
  }
}

const FIRST_BYTES = 1 << 16;

/** Further apart than this, numbers go as text: a zigzag must stay a safe integer. */
const MAX_DIFFERENCE = 2 ** 52;
/** Of rows that one value holds, unpacked: what is asked for beyond it was never written. */
const MAX_UNPACKED_BYTES = 16 * 1024 * 1024;

/** An upper bound of what a row of so many bytes takes packed. */
export const maxPackedBytes = (rowBytes: number): number => rowBytes + (rowBytes >> 3) + 16;

/**
 * Packs the row at byte `at` of `rows` behind the one at `before` (−1 = it is the first), and returns where it ends in `to`.
 */
export function packRow(rows: RowBuffer, at: number, before: number, to: Uint8Array, end: number): number {
  const { halves, doubles } = rows;
  const row = at >> 3;
  const words = wordsAt(halves, row);
  const base = before >> 3;
  const baseWords = before < 0 ? 0 : wordsAt(halves, base);
  let i = 0;
  do {
    const mapAt = end++;
    let map = 0;
    for (let bit = 1; bit < 256 && i < words; bit <<= 1, i++) {
      const low = halves[2 * (row + i)];
      const high = halves[2 * (row + i) + 1];
      const isBased = i < baseWords;
      if (low === (isBased ? halves[2 * (base + i)] : 0) && high === (isBased ? halves[2 * (base + i) + 1] : 0))
        continue;
      map |= bit;
      if (i === 0) {
        end = putVarint(to, putVarint(to, end, low >>> 0), words);
        continue;
      }
      const value = doubles[row + i];
      const difference = value - (isBased ? doubles[base + i] : 0);
      const isNumber = Number.isSafeInteger(value) && (value !== 0 || high === 0) && Number.isSafeInteger(difference);
      if (isNumber && difference !== 0 && Math.abs(difference) < MAX_DIFFERENCE) {
        end = putVarint(to, end, difference < 0 ? -2 * difference - 1 : 2 * difference);
        continue;
      }
      to[end++] = 0;
      to.set(rows.bytes.subarray((row + i) << 3, (row + words) << 3), end);
      end += (words - i) << 3;
      i = words;
      break;
    }
    to[mapAt] = map;
  } while (i < words);
  return end;
}

/** Unpacks values, one after the other. */
export class Unpacker {
  private rows = new RowBuffer(FIRST_BYTES);
  private from: Uint8Array = new Uint8Array(0);
  private at = 0;

  /** The rows that packRow() has left in `from`, back to back. */
  unpack(from: Uint8Array): Uint8Array {
    this.from = from;
    this.at = 0;
    let end = 0;
    let before = -1;
    while (this.at < from.length) {
      const row = end;
      end = this.unpackRow(row, before);
      before = row;
    }
    assert(this.at === from.length, "packed rows end behind their value");
    return this.rows.bytes.slice(0, end << 3);
  }

  /** Unpacks a row to word `row`, behind the one at word `base` (−1 = it is the first). Returns the word behind it. */
  private unpackRow(row: number, base: number): number {
    let map = this.byte();
    const words = this.beginRow(row, base, (map & 1) !== 0);
    const { bytes, doubles } = this.rows;
    map &= ~1;
    for (let group = row; ; map = this.byte()) {
      for (; map !== 0; map &= map - 1) {
        const word = group + 31 - Math.clz32(map & -map);
        const zigzag = this.varint();
        if (zigzag === 0) {
          this.copyText(bytes, word << 3, (row + words) << 3);
          return row + words;
        }
        // It stands there as it is in the row before.
        doubles[word] += (zigzag & 1) === 0 ? zigzag / 2 : -(zigzag + 1) / 2;
      }
      group += 8;
      if (group >= row + words) return row + words;
    }
  }

  /** Sets the row's head, and all words behind it to those of the row before. Returns how many there are with the head. */
  private beginRow(row: number, base: number, hasHead: boolean): number {
    const before = this.rows.halves;
    const baseWords = base < 0 ? 0 : wordsAt(before, base);
    const low = hasHead ? this.varint() : before[2 * base];
    const words = hasHead ? this.varint() : baseWords;
    this.makeRoom(row, words);
    const { halves, doubles } = this.rows;
    const same = Math.min(words, baseWords);
    doubles.copyWithin(row, base, base + same);
    doubles.fill(0, row + same, row + words);
    halves[2 * row] = low;
    halves[2 * row + 1] = (words - 1) << 3;
    return words;
  }

  private copyText(to: Uint8Array, at: number, end: number): void {
    const length = end - at;
    assert(this.at + length <= this.from.length, "packed rows end behind their value");
    to.set(this.from.subarray(this.at, this.at + length), at);
    this.at += length;
  }

  private byte(): number {
    const byte = this.from[this.at++];
    assert(byte !== undefined, "packed rows end behind their value");
    return byte;
  }

  private varint(): number {
    let byte = this.byte();
    let value = byte & 127;
    for (let scale = 128; byte > 127; scale *= 128) {
      byte = this.byte();
      value += (byte & 127) * scale;
    }
    return value;
  }

  private makeRoom(row: number, words: number): void {
    const bytes = (row + words) << 3;
    assert(
      words > 0 && words <= MAX_UNPACKED_BYTES >> 3 && bytes <= MAX_UNPACKED_BYTES,
      "packed rows of no sound size",
    );
    if (bytes <= this.rows.bytes.length) return;
    this.rows = this.rows.enlarged(bytes);
  }
}

/** Of the row whose head is the word at `row`. */
const wordsAt = (halves: Int32Array, row: number): number => 1 + (halves[2 * row + 1] >>> 3);

/** Of a whole number from 0 to 2^53, seven bits a byte. */
function putVarint(to: Uint8Array, at: number, value: number): number {
  let rest = value;
  if (value > 0x7fffffff) {
    const high = Math.floor(value / 2 ** 28);
    const low = value - high * 2 ** 28;
    to[at++] = low | 128;
    to[at++] = (low >>> 7) | 128;
    to[at++] = (low >>> 14) | 128;
    to[at++] = (low >>> 21) | 128;
    rest = high;
  }
  for (; rest > 127; rest >>>= 7) to[at++] = rest | 128;
  to[at++] = rest;
  return at;
}
