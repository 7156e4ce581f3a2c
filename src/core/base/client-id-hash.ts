import { randomFillSync } from "node:crypto";

/** Characters are ASCII. An account's number is read as five of them. */
const CODE_BITS = 7;
const CODES = 1 << CODE_BITS;
const ACCOUNT_PLACES = 5;
/** A client order id has 36 characters at most. */
const TEXT_PLACES = 36;

/**
 * 32 bits over account and client order id: a random word for each character in each place, put together by XOR (simple
 * tabulation). Whoever knew the hash could have any number of ids with the same one, and each look-up among them would
 * walk through them all; so it is another one in each process. What is found does not depend on it.
 */
export class ClientIdHash {
  private readonly words = randomFillSync(new Int32Array((ACCOUNT_PLACES + TEXT_PLACES) * CODES));

  of(accountId: number, clientOrderId: string): number {
    const { words } = this;
    let hash = 0;
    let place = 0;
    for (let rest = accountId; place < ACCOUNT_PLACES * CODES; place += CODES) {
      hash ^= words[place + (rest & (CODES - 1))];
      rest >>>= CODE_BITS;
    }
    for (let i = 0; i < clientOrderId.length; i++, place += CODES) hash ^= words[place + clientOrderId.charCodeAt(i)];
    return hash;
  }
}
