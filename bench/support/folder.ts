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

/** A folder of our own that is gone when this process ends, if not before. TMPDIR says where. */
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

/** Whether temporary folders lie in memory, where writing to disk costs nothing. */
export const isInMemory = (): boolean => statfsSync(tmpdir()).type === TMPFS_MAGIC;
