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

/** Any number of this many digits is exact in a double. */
const MAX_DIGITS = 15;

/** A set of expected strings. It finds the bytes of one without creating a string. */
export class Words {
  private readonly words: readonly Uint8Array[];
  /** Indices by hash, with open addressing. -1: free. */
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

  /** Index in the constructor's list of the word at `from` to `to`, or -1. `hash`: of these bytes, by mix(). */
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
 * Reads JSON with known fields in one pass over its bytes, for the most frequent requests. It allocates nothing but the
 * strings that text() returns. It accepts JSON as programs print it: printable ASCII without escapes, no white space but a
 * space after a colon or comma, only whole numbers. At anything else it sets `failed` and stays failed. The caller checks
 * that once at the end, and then parses the request with parseJson() and the schema instead.
 */
export class JsonScanner {
  /** Nothing that was read can be used. */
  failed = false;
  /** The last decimal: digits × 10^-decimals. */
  digits = 0;
  decimals = 0;
  private bytes: Uint8Array = new Uint8Array(0);
  private at = 0;
  // The last string, without its quotes.
  private from = 0;
  private to = 0;
  private hash = 0;

  begin(bytes: Uint8Array): void {
    this.bytes = bytes;
    this.at = 0;
    this.failed = false;
  }

  /** All bytes were read, and nothing failed. */
  get isWhole(): boolean {
    return !this.failed && this.at === this.bytes.length;
  }

  openObject(): void {
    this.take(OPEN_BRACE);
  }

  /** Reads a field name and its colon. Returns its index in `names`. */
  field(names: Words): number {
    const index = this.word(names);
    this.take(COLON);
    this.skipSpace();
    return index;
  }

  /** Reads a comma or the end of the object. Returns whether another field follows. */
  hasMore(): boolean {
    const byte = this.bytes[this.at++];
    if (byte === COMMA) {
      this.skipSpace();
      return !this.failed;
    }
    if (byte !== CLOSE_BRACE) this.failed = true;
    return false;
  }

  /** Reads a string. Returns its index in `words`. */
  word(words: Words): number {
    this.string();
    const index = words.find(this.bytes, this.from, this.to, this.hash);
    if (index < 0) this.failed = true;
    return index;
  }

  /** Reads any string of at most `maxLength` characters. */
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

  /** Reads a whole number, at least 0. */
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

  /** Reads a whole number in quotes. */
  quotedInteger(): number {
    this.take(QUOTE);
    const value = this.integer();
    this.take(QUOTE);
    return value;
  }

  /** Whether the next value is a string. */
  get isString(): boolean {
    return this.bytes[this.at] === QUOTE;
  }

  /** Reads a string of the form DECIMAL_PATTERN into `digits` and `decimals`. */
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
    // At most 12 digits on either side of the point.
    this.checkWhole(from, point, 12);
    if (to - from > MAX_DIGITS || to - point > 12) this.failed = true;
    this.digits = digits;
    this.decimals = point === to ? 0 : to - point - 1;
  }

  /** Fails unless there are 1 to maxDigits digits without a leading zero. */
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
