const QUOTE = 34;
const COMMA = 44;
const POINT = 46;
const ZERO = 48;
const NINE = 57;
const COLON = 58;
const BACKSLASH = 92;
const OPEN_BRACE = 123;
const CLOSE_BRACE = 125;
const SPACE = 32;
const LAST_PRINTABLE = 126;
const TRUE = [116, 114, 117, 101];
const FALSE = [102, 97, 108, 115, 101];

/** So many digits are exact in a number, whatever they are. */
const MAX_DIGITS = 15;

/** Strings of which one is expected, found by their bytes without making a string of them. */
export class Words {
  private readonly words: readonly Uint8Array[];
  /** Indices by hash, open addressing; −1 = free. */
  private readonly table: Int16Array;

  constructor(words: readonly string[]) {
    this.words = words.map((word) => new TextEncoder().encode(word));
    let capacity = 16;
    while (capacity < 4 * words.length) capacity *= 2;
    this.table = new Int16Array(capacity).fill(-1);
    for (const [index, word] of this.words.entries()) {
      let place = word.reduce(mix, 0) & (capacity - 1);
      while (this.table[place] >= 0) place = (place + 1) & (capacity - 1);
      this.table[place] = index;
    }
  }

  /** The word's index in the list that it was declared in, or −1. `hash` is that of its bytes. */
  find(bytes: Uint8Array, from: number, to: number, hash: number): number {
    const { table, words } = this;
    const mask = table.length - 1;
    for (let place = hash & mask; table[place] >= 0; place = (place + 1) & mask)
      if (isAt(bytes, from, to, words[table[place]])) return table[place];
    return -1;
  }
}

const mix = (hash: number, byte: number): number => (Math.imul(hash, 31) + byte) | 0;

function isAt(bytes: Uint8Array, from: number, to: number, word: Uint8Array): boolean {
  if (to - from !== word.length) return false;
  for (let i = 0; i < word.length; i++) if (bytes[from + i] !== word[i]) return false;
  return true;
}

/**
 * Reads JSON of known fields in one pass over its bytes, for requests that come by the hundred thousand: nothing is
 * allocated but the strings that are asked for. It takes JSON as programs print it: printable ASCII without escapes, no
 * white space but a space behind a colon or comma, no numbers but whole ones. At anything else it fails, and stays so:
 * whoever asks looks once, at the end, and then lets the general way decide (parseJson and the schema).
 */
export class JsonScanner {
  /** What has been read so far is worth nothing. */
  failed = false;
  /** The decimal that was read last: digits × 10^-decimals. */
  digits = 0;
  decimals = 0;
  private bytes: Uint8Array = new Uint8Array(0);
  private at = 0;
  // The string that was read last, without its quotes.
  private from = 0;
  private to = 0;
  private hash = 0;

  begin(bytes: Uint8Array): void {
    this.bytes = bytes;
    this.at = 0;
    this.failed = false;
  }

  /** All bytes have been read, and nothing failed. */
  get isWhole(): boolean {
    return !this.failed && this.at === this.bytes.length;
  }

  openObject(): void {
    this.take(OPEN_BRACE);
  }

  /** The next field's index among these. Its value is next. */
  field(names: Words): number {
    const index = this.word(names);
    this.take(COLON);
    this.skipSpace();
    return index;
  }

  /** Whether another field follows in the object, which ends otherwise. */
  hasMore(): boolean {
    const byte = this.bytes[this.at++];
    if (byte === COMMA) {
      this.skipSpace();
      return !this.failed;
    }
    if (byte !== CLOSE_BRACE) this.failed = true;
    return false;
  }

  /** A string, as its index among these. */
  word(words: Words): number {
    this.string();
    const index = words.find(this.bytes, this.from, this.to, this.hash);
    if (index < 0) this.failed = true;
    return index;
  }

  /** Any string of at most so many characters. */
  text(maxLength: number): string {
    this.string();
    const { bytes, from, to } = this;
    if (to - from > maxLength) this.failed = true;
    return this.failed ? "" : Buffer.from(bytes.buffer, bytes.byteOffset + from, to - from).toString("latin1");
  }

  boolean(): boolean {
    const isTrue = this.bytes[this.at] === TRUE[0];
    for (const byte of isTrue ? TRUE : FALSE) this.take(byte);
    return isTrue;
  }

  /** A whole number, not below 0. */
  integer(): number {
    const { bytes } = this;
    const from = this.at;
    let value = 0;
    for (let byte = bytes[this.at]; byte >= ZERO && byte <= NINE; byte = bytes[this.at]) {
      value = value * 10 + (byte - ZERO);
      this.at++;
    }
    this.checkWhole(from, this.at, MAX_DIGITS);
    return value;
  }

  /** The same in quotes. */
  quotedInteger(): number {
    this.take(QUOTE);
    const value = this.integer();
    this.take(QUOTE);
    return value;
  }

  /** The next value is a string. */
  get isString(): boolean {
    return this.bytes[this.at] === QUOTE;
  }

  /** A string of the form of DECIMAL_PATTERN, into `digits` and `decimals`. */
  decimal(): void {
    this.string();
    const { bytes, from, to } = this;
    let digits = 0;
    let point = to;
    for (let i = from; i < to; i++) {
      const byte = bytes[i];
      if (byte >= ZERO && byte <= NINE) digits = digits * 10 + (byte - ZERO);
      else if (byte === POINT && point === to && i < to - 1) point = i;
      else this.failed = true;
    }
    // Of 15 digits in all at most 12 may stand on either side of the point.
    this.checkWhole(from, point, 12);
    if (to - from > MAX_DIGITS || to - point > 12) this.failed = true;
    this.digits = digits;
    this.decimals = point === to ? 0 : to - point - 1;
  }

  /** Digits from here to there, not too many, no zero in front of others. */
  private checkWhole(from: number, to: number, maxDigits: number): void {
    const length = to - from;
    if (length < 1 || length > maxDigits || (length > 1 && this.bytes[from] === ZERO)) this.failed = true;
  }

  private string(): void {
    const { bytes } = this;
    this.take(QUOTE);
    let at = this.at;
    let hash = 0;
    for (let byte = bytes[at]; byte !== QUOTE; byte = bytes[++at]) {
      if (!(byte >= SPACE && byte <= LAST_PRINTABLE) || byte === BACKSLASH) {
        this.failed = true;
        break;
      }
      hash = mix(hash, byte);
    }
    this.from = this.at;
    this.to = at;
    this.hash = hash;
    this.at = at + 1;
  }

  private take(byte: number): void {
    if (this.bytes[this.at++] !== byte) this.failed = true;
  }

  private skipSpace(): void {
    if (this.bytes[this.at] === SPACE) this.at++;
  }
}
