import * as fs from "node:fs";
import { join } from "node:path";
import { syncDirectory, unlessMissing, withFileName } from "./files.ts";

/** Writes a small file atomically: it is there whole or not at all. Durable when it returns. */
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

/** Returns null if the file does not exist. */
export const readIfPresent = (path: string): string | null =>
  unlessMissing(() => withFileName(path, () => fs.readFileSync(path, "utf8")));
