import * as fs from "node:fs";
import { join } from "node:path";
import { syncDirectory, withFileName } from "./files.ts";

/** The few small files beside the log and the database, each written in one go. */

/** The file is there whole or not at all; on disk when it returns. */
export function writeDurably(dir: string, name: string, content: string | Uint8Array, mode = 0o666): void {
  const temporary = join(dir, `${name}.tmp`);
  const fd = fs.openSync(temporary, "w", mode);
  try {
    withFileName(temporary, () => {
      fs.writeFileSync(fd, content);
      fs.fsyncSync(fd);
    });
  } finally {
    fs.closeSync(fd);
  }
  fs.renameSync(temporary, join(dir, name));
  syncDirectory(dir);
}

export const toJson = (content: object): string => `${JSON.stringify(content, null, 2)}\n`;

/** Null where there is no such file. */
export function readIfPresent(path: string): string | null {
  try {
    return withFileName(path, () => fs.readFileSync(path, "utf8"));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
}
