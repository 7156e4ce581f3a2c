import { hash, randomBytes, timingSafeEqual } from "node:crypto";
import { BlockList, isIPv4, isIPv6 } from "node:net";

/** A new API key's public half: 16 random bytes in hex. */
export const newApiKey = (): string => randomBytes(16).toString("hex");
/** Its secret half: 32 random bytes in hex. Signatures are made with this text as it is. */
export const newSecret = (): string => randomBytes(32).toString("hex");

const SIGNATURE = /^[0-9a-fA-F]{64}$/;
const BLOCK_BYTES = 64;
const DIGEST_BYTES = 32;

// Filled in again for each signature.
const expected = Buffer.alloc(DIGEST_BYTES);
const given = Buffer.alloc(DIGEST_BYTES);
let message = Buffer.alloc(4096);

/**
 * HMAC-SHA256 (RFC 2104) under one secret: hash(outer key, hash(inner key, text)). The two keys are made once; with
 * createHmac(), which makes them and two objects for every text, a signature costs twice as much.
 */
export class SignatureCheck {
  private readonly innerKey = Buffer.alloc(BLOCK_BYTES, 0x36);
  /** The outer key, with room for the inner hash behind it. */
  private readonly outer = Buffer.alloc(BLOCK_BYTES + DIGEST_BYTES, 0x5c);

  /** The secret has 64 bytes at most. */
  constructor(secret: string) {
    const key = Buffer.from(secret);
    if (key.length > BLOCK_BYTES) throw new Error("a longer secret would have to be hashed first");
    for (const [i, byte] of key.entries()) {
      this.innerKey[i] = this.innerKey[i] ^ byte;
      this.outer[i] = this.outer[i] ^ byte;
    }
  }

  /** True when `signature` is the hex HMAC-SHA256 of the text. In constant time once it has the form of one. */
  matches(text: string, signature: string): boolean {
    if (!SIGNATURE.test(signature)) return false;
    const mostBytes = BLOCK_BYTES + 3 * text.length;
    if (message.length < mostBytes) message = Buffer.alloc(mostBytes);
    message.set(this.innerKey);
    const bytes = BLOCK_BYTES + message.write(text, BLOCK_BYTES, "utf8");
    this.outer.write(hash("sha256", message.subarray(0, bytes), "hex"), BLOCK_BYTES, "hex");
    expected.write(hash("sha256", this.outer, "hex"), "hex");
    given.write(signature, "hex");
    return timingSafeEqual(expected, given);
  }
}

/** The addresses and subnets that a key may be used from, or null when one of them is malformed. */
export function parseAllowedIps(allowedIps: readonly string[]): BlockList | null {
  const list = new BlockList();
  for (const entry of allowedIps) {
    const [address = "", prefix, ...rest] = entry.split("/");
    const family = isIPv4(address) ? "ipv4" : isIPv6(address) ? "ipv6" : null;
    if (family === null || rest.length > 0) return null;
    const bits = family === "ipv4" ? 32 : 128;
    if (prefix !== undefined && (!/^[0-9]{1,3}$/.test(prefix) || Number(prefix) > bits)) return null;
    list.addSubnet(address, prefix === undefined ? bits : Number(prefix), family);
  }
  return list;
}

export const isListed = (list: BlockList, address: string): boolean =>
  list.check(address, isIPv4(address) ? "ipv4" : "ipv6");
