import { randomFillSync } from "node:crypto";

/** Characters are ASCII. An account id is read as five characters. */
const CODE_BITS = 7;
const CODES = 1 << CODE_BITS;
const ACCOUNT_CHARS = 5;
/** A client order id has 36 characters at most. */
const TEXT_CHARS = 36;

/**
 * A 32-bit hash of account and client order id: the XOR of one random word per character and place (simple tabulation
 * hashing). The words are random per process, because a client that knew them could create any number of ids with the
 * same hash, and slow down each search. The results of a search do not depend on the hash.
 */
export class ClientIdHash {
  private readonly words = randomFillSync(new Int32Array((ACCOUNT_CHARS + TEXT_CHARS) * CODES));

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
