import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import { join } from "node:path";
import type { LedgerSummary } from "../../core/protocol/payloads.ts";
import { DatabaseCorruptError } from "./genesis.ts";
import { SECRET_FILE } from "./secret.ts";

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

/**
 * Throws DatabaseCorruptError when the folder's secret is not the one that its API keys were sealed under: each of them
 * would be refused from now on, and new ones would be lost with the next change of the file. The oldest key stands for all.
 */
export function requireMatchingSecret(dataDir: string, vault: Vault, keys: LedgerSummary["keys"]): void {
  const [oldest] = keys.toSorted((a, b) => a.record.createdAt - b.record.createdAt);
  if (oldest === undefined) return;
  try {
    vault.open(oldest.record.sealedSecret, oldest.apiKey);
  } catch {
    const path = join(dataDir, SECRET_FILE);
    throw new DatabaseCorruptError(`${path} is not the one that the API keys of this exchange were made with`);
  }
}
