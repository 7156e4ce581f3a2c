import { randomFillSync } from "node:crypto";

/** Characters are ASCII. An account id is read as five characters. */
const CODE_BITS = 7;
const CODES = 1 << CODE_BITS;
const ACCOUNT_CHARS = 5;
/** A client order id has 36 characters at most. */
const TEXT_CHARS = 36;
/** The number of random words behind a hash. */
export const CLIENT_ID_HASH_WORDS = (ACCOUNT_CHARS + TEXT_CHARS) * CODES;

/**
 * A 32-bit hash of account and client order id: the XOR of one random word per character and place (simple tabulation
 * hashing). The words are random per process, because a client that knew them could create any number of ids with the
 * same hash, and slow down each search. The results of a search do not depend on the hash.
 */
export class ClientIdHash {
  private readonly words: Int32Array;

  /** Equal words give equal hashes. By default they are new. */
  constructor(words: Int32Array = randomFillSync(new Int32Array(CLIENT_ID_HASH_WORDS))) {
    this.words = words;
  }

  of(accountId: number, clientOrderId: string): number {
    const { words } = this;
    let hash = 0;
    let place = 0;
    for (let rest = accountId; place < ACCOUNT_CHARS * CODES; place += CODES) {
      hash ^= words[place + (rest & (CODES - 1))];
      rest >>>= CODE_BITS;
    }
    for (let i = 0; i < clientOrderId.length; i++, place += CODES) hash ^= words[place + clientOrderId.charCodeAt(i)];
    return hash;
  }
}
