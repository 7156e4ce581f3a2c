import { closeSync, fsyncSync, openSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { withFileName, writeFully } from "../store/files/files.ts";

/** Writes a new file. Its content is durable when it returns. The caller must sync the directory. */
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

/** Copies a small file from one folder to another, as writeNewFile() writes. */
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
