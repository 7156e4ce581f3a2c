import { randomBytes } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { withFileName } from "./files.ts";
import { DatabaseCorruptError, isInitialised } from "./genesis.ts";
import { writeDurably } from "./small-files.ts";

export const SECRET_FILE = "secret.key";
const SECRET_BYTES = 32;

/**
 * The 32 bytes under which API secrets lie encrypted in the data folder: made with the exchange, readable by its owner
 * only. A folder that has lost them is refused, since every API key of it would be lost in silence.
 */
export function openSecret(dataDir: string): Buffer {
  const path = join(dataDir, SECRET_FILE);
  const known = existsSync(path) ? withFileName(path, () => readFileSync(path)) : null;
  if (known?.length === SECRET_BYTES) return known;
  // An empty one is what a first start that was cut off may have left: nothing has been sealed yet.
  const isBegun = isInitialised(dataDir) || (known !== null && known.length > 0);
  if (known !== null && isBegun) throw new DatabaseCorruptError(`${path}: not ${SECRET_BYTES} bytes`);
  if (isBegun) throw new DatabaseCorruptError(`${path} is missing: API keys cannot be read without it`);
  const secret = randomBytes(SECRET_BYTES);
  writeDurably(dataDir, SECRET_FILE, secret, 0o600);
  return secret;
}
