import { randomBytes } from "node:crypto";
import { closeSync, existsSync, fsyncSync, openSync, readFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { DatabaseCorruptError, isInitialised } from "./genesis.ts";

export const SECRET_FILE = "secret.key";
const SECRET_BYTES = 32;

/**
 * The 32 bytes under which API secrets lie encrypted in the data folder: made with the exchange, readable by its owner
 * only. A folder that has lost them is refused, since every API key of it would be lost in silence.
 */
export function openSecret(dataDir: string): Buffer {
  const path = join(dataDir, SECRET_FILE);
  if (existsSync(path)) {
    const secret = readFileSync(path);
    if (secret.length !== SECRET_BYTES) throw new DatabaseCorruptError(`${path}: not ${SECRET_BYTES} bytes`);
    return secret;
  }
  if (isInitialised(dataDir)) throw new DatabaseCorruptError(`${path} is missing: API keys cannot be read without it`);
  const secret = randomBytes(SECRET_BYTES);
  const fd = openSync(path, "wx", 0o600);
  writeSync(fd, secret);
  fsyncSync(fd);
  closeSync(fd);
  return secret;
}
