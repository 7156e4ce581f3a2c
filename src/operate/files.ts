import { closeSync, fsyncSync, openSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { withFileName, writeFully } from "../store/files/files.ts";

/** Writes a new file, on disk when it returns; its name is not, that is for the caller to sync. */
export function writeNewFile(path: string, bytes: Uint8Array, mode = 0o666): void {
  const fd = openSync(path, "wx", mode);
  try {
    withFileName(path, () => {
      writeFully(fd, bytes, 0);
      fsyncSync(fd);
    });
  } finally {
    closeSync(fd);
  }
}

/** Copies a small file of that name from one folder to another, as writeNewFile() writes. */
export function copyFile(name: string, from: string, to: string, mode?: number): void {
  const path = join(from, name);
  writeNewFile(
    join(to, name),
    withFileName(path, () => readFileSync(path)),
    mode,
  );
}

export function emptyFolder(dir: string): void {
  for (const name of readdirSync(dir)) rmSync(join(dir, name), { recursive: true, force: true });
}
