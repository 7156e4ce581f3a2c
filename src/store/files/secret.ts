import { randomBytes } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { withFileName } from "./files.ts";
import { DatabaseCorruptError, isInitialised } from "./genesis.ts";
import { writeDurably } from "./small-files.ts";

export const SECRET_FILE = "secret.key";
const SECRET_BYTES = 32;

/**
 * Reads the 32-byte key that API secrets are encrypted with, or creates it with the exchange. Only the file's owner can read
 * it. Throws DatabaseCorruptError if an existing exchange has lost it, because no API key would work any more.
 */
export function openSecret(dataDir: string): Buffer {
  const path = join(dataDir, SECRET_FILE);
  const known = existsSync(path) ? withFileName(path, () => readFileSync(path)) : null;
  if (known?.length === SECRET_BYTES) return known;
  // A first start that was cut short may leave an empty file. Then nothing has been encrypted yet.
  const isBegun = isInitialised(dataDir) || (known !== null && known.length > 0);
  if (known !== null && isBegun) throw new DatabaseCorruptError(`${path}: the file must have ${SECRET_BYTES} bytes`);
  if (isBegun) throw new DatabaseCorruptError(`${path} is missing: API keys cannot be read without it`);
  const secret = randomBytes(SECRET_BYTES);
  writeDurably(dataDir, SECRET_FILE, secret, 0o600);
  return secret;
}
