import { createCipheriv, createDecipheriv, createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { BlockList, isIPv4, isIPv6 } from "node:net";
import type { TimeMs } from "../core/units.ts";

/** A new API key's public half: 16 random bytes in hex. */
export const newApiKey = (): string => randomBytes(16).toString("hex");
/** Its secret half: 32 random bytes in hex. Signatures are made with this text as it is. */
export const newSecret = (): string => randomBytes(32).toString("hex");

const IV_BYTES = 12;
const TAG_BYTES = 16;

/** Keeps secrets on disk encrypted (AES-256-GCM) under a key that lies elsewhere in the data folder. */
export class Vault {
  private readonly key: Buffer;

  /** `key` is 32 bytes. */
  constructor(key: Buffer) {
    if (key.length !== 32) throw new Error("the key that seals API secrets has 32 bytes");
    this.key = key;
  }

  /** The sealed secret is bound to its API key: under another one it does not open. */
  seal(secret: string, apiKey: string): string {
    const iv = randomBytes(IV_BYTES);
    const cipher = createCipheriv("aes-256-gcm", this.key, iv).setAAD(Buffer.from(apiKey));
    const sealed = Buffer.concat([iv, cipher.update(secret, "utf8"), cipher.final(), cipher.getAuthTag()]);
    return sealed.toString("base64url");
  }

  /** Throws when it was sealed under another key, for another API key, or was changed. */
  open(sealedSecret: string, apiKey: string): string {
    const sealed = Buffer.from(sealedSecret, "base64url");
    const decipher = createDecipheriv("aes-256-gcm", this.key, sealed.subarray(0, IV_BYTES));
    decipher.setAAD(Buffer.from(apiKey));
    decipher.setAuthTag(sealed.subarray(sealed.length - TAG_BYTES));
    const secret = decipher.update(sealed.subarray(IV_BYTES, sealed.length - TAG_BYTES));
    return Buffer.concat([secret, decipher.final()]).toString("utf8");
  }
}

const SIGNATURE = /^[0-9a-fA-F]{64}$/;

/** True when `signature` is the hex HMAC-SHA256 of the text. In constant time once it has the form of one. */
export function isSignatureOf(text: string, secret: string, signature: string): boolean {
  if (!SIGNATURE.test(signature)) return false;
  return timingSafeEqual(createHmac("sha256", secret).update(text).digest(), Buffer.from(signature, "hex"));
}

/** Enough for eight thousand signed requests per second of one key, at 13 hex digits (52 bits) each. */
const MAX_REMEMBERED = 500_000;

/** Which signatures of one key were received within the last `windowMs`, and somewhat longer. */
export class SeenSignatures {
  private readonly windowMs: number;
  private current = new Set<number>();
  private previous = new Set<number>();
  private turnedAt: TimeMs = 0;

  constructor(windowMs: number) {
    this.windowMs = windowMs;
  }

  get isFull(): boolean {
    return this.current.size >= MAX_REMEMBERED;
  }

  /** Remembers a signature; false when it was there already. Two different ones collide once in 10^15. */
  add(signature: string, now: TimeMs): boolean {
    if (now - this.turnedAt >= this.windowMs) {
      this.previous = now - this.turnedAt >= 2 * this.windowMs ? new Set() : this.current;
      this.current = new Set();
      this.turnedAt = now;
    }
    const digits = Number.parseInt(signature.slice(0, 13), 16);
    if (this.current.has(digits) || this.previous.has(digits)) return false;
    this.current.add(digits);
    return true;
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
