import { assert } from "../../assert.ts";

/**
 * The compact form of encoded rows (wire/codec.ts) in the database. Most fields are zero or small, and most rows differ little
 * from the row before them under the same key. A row is a sequence of 64-bit words, the first of which is its head. Each word
 * is compared with the word at the same index of the row before, or with zero.
 *
 *     u8  a bit for each of the next eight words that differ, lowest bit first; then for each of these:
 *         a head     varint: its low half (code, number of fields); varint: the number of words, head included
 *         a number   varint: the difference to the other word, zigzag encoded; never 0
 *         text       0; then this word and all following words of the row, unchanged
 *     ...             the next eight words, until the row ends
 *
 * This module does not know message schemas. A word that is a whole number as f64 counts as a number, any other as text.
 */

/** A buffer of encoded rows, each at an offset that is a multiple of 8. */
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

  /** A copy with room for at least `bytes` and at least twice the size. */
  enlarged(bytes: number): RowBuffer {
    const length = Math.max(2 * this.bytes.length, (bytes + 7) & ~7);
    const larger = new RowBuffer(length);
    larger.bytes.set(this.bytes);
    return larger;
  }
}

const FIRST_BYTES = 1 << 16;

/** Larger differences are stored as text, since a zigzag value must be a safe integer. */
const MAX_DIFFERENCE = 2 ** 52;
/** No value unpacks to more than this. A larger size means damage. */
const MAX_UNPACKED_BYTES = 16 * 1024 * 1024;

/** An upper bound for the packed size of a row of `rowBytes`. */
export const maxPackedBytes = (rowBytes: number): number => rowBytes + (rowBytes >> 3) + 16;

/**
 * Packs the row at byte `at` of `rows` to offset `end` of `to`. `before` is the row before it under the same key, or −1.
 * Returns the new end.
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

/** Unpacks values. Reuses its buffer. */
export class Unpacker {
  private rows = new RowBuffer(FIRST_BYTES);
  private from: Uint8Array = new Uint8Array(0);
  private at = 0;

  /** Returns the rows that packRow() wrote to `from`, back to back, in a new array. Throws AssertionError on damage. */
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
    assert(this.at === from.length, "packed rows do not end with their value");
    return this.rows.bytes.slice(0, end << 3);
  }

  /** Unpacks a row to word `row`. `base` is the word of the row before it, or −1. Returns the word after the row. */
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
        // The word already holds the value of the row before.
        doubles[word] += (zigzag & 1) === 0 ? zigzag / 2 : -(zigzag + 1) / 2;
      }
      group += 8;
      if (group >= row + words) return row + words;
    }
  }

  /** Sets the row's head and copies all other words from the row before. Returns the number of words, head included. */
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
    assert(this.at + length <= this.from.length, "packed rows do not end with their value");
    to.set(this.from.subarray(this.at, this.at + length), at);
    this.at += length;
  }

  private byte(): number {
    const byte = this.from[this.at++];
    assert(byte !== undefined, "packed rows do not end with their value");
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
      "packed rows have an impossible size",
    );
    if (bytes <= this.rows.bytes.length) return;
    this.rows = this.rows.enlarged(bytes);
  }
}

/** The number of words of the row whose head is at word `row`. */
const wordsAt = (halves: Int32Array, row: number): number => 1 + (halves[2 * row + 1] >>> 3);

/** Writes a whole number from 0 to 2^53 with seven bits per byte. Returns the offset after it. */
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
