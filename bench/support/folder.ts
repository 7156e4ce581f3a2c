import { mkdtempSync, rmSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface TemporaryFolder {
  readonly path: string;
  remove(): void;
}

const open = new Set<TemporaryFolder>();
process.on("exit", () => {
  for (const folder of open) folder.remove();
});

/** A temporary folder in TMPDIR, removed at the latest when this process ends. */
export function temporaryFolder(): TemporaryFolder {
  const path = mkdtempSync(join(tmpdir(), "perpd-bench-"));
  const folder = {
    path,
    remove() {
      open.delete(folder);
      rmSync(path, { recursive: true, force: true });
    },
  };
  open.add(folder);
  return folder;
}

const TMPFS_MAGIC = 0x01021994;

/** True when the temporary folder is in memory, where disk writes cost nothing. */
export const isInMemory = (): boolean => statfsSync(tmpdir()).type === TMPFS_MAGIC;
