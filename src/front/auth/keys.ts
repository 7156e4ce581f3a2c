import { hash, randomBytes, timingSafeEqual } from "node:crypto";

/** The public half of a new API key: 16 random bytes in hex. */
export const newApiKey = (): string => randomBytes(16).toString("hex");
/** The secret half: 32 random bytes in hex. The text itself is the HMAC key. */
export const newSecret = (): string => randomBytes(32).toString("hex");

const SIGNATURE = /^[0-9a-fA-F]{64}$/;
const BLOCK_BYTES = 64;
const DIGEST_BYTES = 32;

// Reused for every signature.
const expected = Buffer.alloc(DIGEST_BYTES);
const received = Buffer.alloc(DIGEST_BYTES);
let message = Buffer.alloc(4096);

/**
 * HMAC-SHA256 (RFC 2104) with one secret: hash(outer key, hash(inner key, text)). Both keys are computed once. createHmac()
 * computes them for every text and creates two objects, which doubles the cost of a signature.
 */
export class SignatureCheck {
  private readonly innerKey = Buffer.alloc(BLOCK_BYTES, 0x36);
  /** The outer key, followed by room for the inner hash. */
  private readonly outer = Buffer.alloc(BLOCK_BYTES + DIGEST_BYTES, 0x5c);

  /** `secret`: at most 64 bytes. */
  constructor(secret: string) {
    const key = Buffer.from(secret);
    if (key.length > BLOCK_BYTES)
      throw new Error(`a secret longer than ${BLOCK_BYTES} bytes would have to be hashed first`);
    for (const [i, byte] of key.entries()) {
      this.innerKey[i] = this.innerKey[i] ^ byte;
      this.outer[i] = this.outer[i] ^ byte;
    }
  }

  /** Whether `signature` is the hex HMAC-SHA256 of the text. Takes constant time for any 64 hex digits. */
  matches(text: string, signature: string): boolean {
    if (!SIGNATURE.test(signature)) return false;
    const mostBytes = BLOCK_BYTES + 3 * text.length;
    if (message.length < mostBytes) message = Buffer.alloc(mostBytes);
    message.set(this.innerKey);
    const bytes = BLOCK_BYTES + message.write(text, BLOCK_BYTES, "utf8");
    this.outer.write(hash("sha256", message.subarray(0, bytes), "hex"), BLOCK_BYTES, "hex");
    expected.write(hash("sha256", this.outer, "hex"), "hex");
    received.write(signature, "hex");
    return timingSafeEqual(expected, received);
  }
}
