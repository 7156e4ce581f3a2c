import { randomFillSync } from "node:crypto";
import { CLIENT_ID_HASH_WORDS, ClientIdHash } from "../../core/base/client-id-hash.ts";

const BITS_PER_ID = 16;
/** Of BITS_PER_ID. One in 2000 unknown ids passes the filter. */
const BITS_SET = 6;
/** 256 MB. More ids only let more unknown ids pass. */
const MOST_BITS = 2 ** 31;

// Int32 numbers of the shared memory.
const IS_READY = 0;
const HASH = 1;
const CHECK = HASH + CLIENT_ID_HASH_WORDS;
const BITS = CHECK + CLIENT_ID_HASH_WORDS;

/**
 * A Bloom filter of client order ids, in memory that threads share. It tells most unknown ids without a read of the database.
 * Until it is filled it lets every id pass. Its hashes are random, so a client cannot make ids that pass it.
 */
export class ClientIdFilter {
  /** Everything but the ready flag. The process that fills the filter sends it. */
  readonly bytes: Uint8Array;
  private readonly words: Int32Array;
  private readonly hashes: ClientIdHash;
  private readonly checks: ClientIdHash;
  private readonly bits: Int32Array;

  constructor(buffer: ArrayBufferLike) {
    this.words = new Int32Array(buffer);
    this.bytes = new Uint8Array(buffer, HASH * 4);
    this.hashes = new ClientIdHash(this.words.subarray(HASH, CHECK));
    this.checks = new ClientIdHash(this.words.subarray(CHECK, BITS));
    this.bits = this.words.subarray(BITS);
  }

  /** `count`: how many ids it will hold. Call chooseHashes() before the first add(). */
  static allocate(count: number): SharedArrayBuffer {
    const numbers = Math.ceil(Math.min(MOST_BITS, count * BITS_PER_ID) / 32);
    const buffer = new SharedArrayBuffer((BITS + numbers) * 4);
    if (count === 0) new ClientIdFilter(buffer).setReady();
    return buffer;
  }

  chooseHashes(): void {
    randomFillSync(this.words.subarray(HASH, BITS));
  }

  /** Every id was added. */
  setReady(): void {
    Atomics.store(this.words, IS_READY, 1);
  }

  /** False only if the id was not added. */
  mayHold(accountId: number, clientOrderId: string): boolean {
    const { words, bits } = this;
    if (Atomics.load(words, IS_READY) === 0) return true;
    if (bits.length === 0) return false;
    let at = this.hashes.of(accountId, clientOrderId);
    const step = this.checks.of(accountId, clientOrderId);
    for (let i = 0; i < BITS_SET; i++, at += step) if ((bits[placeOf(at, bits.length)] & (1 << at)) === 0) return false;
    return true;
  }

  add(accountId: number, clientOrderId: string): void {
    const { bits } = this;
    let at = this.hashes.of(accountId, clientOrderId);
    const step = this.checks.of(accountId, clientOrderId);
    for (let i = 0; i < BITS_SET; i++, at += step) bits[placeOf(at, bits.length)] |= 1 << at;
  }
}

/** The lowest five bits of a hash are the place in the number. */
const placeOf = (hash: number, length: number): number => (hash >>> 5) % length;
