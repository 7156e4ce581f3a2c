import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import { join } from "node:path";
import type { LedgerSummary } from "../../core/protocol/payloads.ts";
import { DatabaseCorruptError } from "./genesis.ts";
import { SECRET_FILE } from "./secret.ts";

const IV_BYTES = 12;
const TAG_BYTES = 16;

/** Encrypts API secrets with AES-256-GCM. The key is in a file of its own: see secret.ts. */
export class Vault {
  private readonly key: Buffer;

  constructor(key: Buffer) {
    if (key.length !== 32) throw new Error("the key that encrypts API secrets must have 32 bytes");
    this.key = key;
  }

  /** Encrypts a secret. The result is bound to its API key: it cannot be opened with another one. */
  seal(secret: string, apiKey: string): string {
    const iv = randomBytes(IV_BYTES);
    const cipher = createCipheriv("aes-256-gcm", this.key, iv).setAAD(Buffer.from(apiKey));
    const sealed = Buffer.concat([iv, cipher.update(secret, "utf8"), cipher.final(), cipher.getAuthTag()]);
    return sealed.toString("base64url");
  }

  /** Decrypts it. Throws if it was sealed with another key, for another API key, or was changed. */
  open(sealedSecret: string, apiKey: string): string {
    const sealed = Buffer.from(sealedSecret, "base64url");
    const decipher = createDecipheriv("aes-256-gcm", this.key, sealed.subarray(0, IV_BYTES));
    decipher.setAAD(Buffer.from(apiKey));
    decipher.setAuthTag(sealed.subarray(sealed.length - TAG_BYTES));
    const secret = decipher.update(sealed.subarray(IV_BYTES, sealed.length - TAG_BYTES));
    return Buffer.concat([secret, decipher.final()]).toString("utf8");
  }
}

/**
 * Throws DatabaseCorruptError if the API keys were sealed with another secret than the folder's. Otherwise each of them would
 * be refused from now on, and new ones would be lost when the file is corrected. Checks the oldest key only.
 */
export function requireMatchingSecret(dataDir: string, vault: Vault, keys: LedgerSummary["keys"]): void {
  const [oldest] = keys.toSorted((a, b) => a.record.createdAt - b.record.createdAt);
  if (oldest === undefined) return;
  try {
    vault.open(oldest.record.sealedSecret, oldest.apiKey);
  } catch {
    const path = join(dataDir, SECRET_FILE);
    throw new DatabaseCorruptError(`${path} is not the key that the API secrets of this exchange were encrypted with`);
  }
}
