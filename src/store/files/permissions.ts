import { chmodSync, existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { databaseOf, logOf } from "./data-folder.ts";

/** The bits of a mode that let the group and others in. As a umask they keep both out of every new file and folder. */
export const GROUP_AND_OTHERS = 0o077;
/** Of folders that several users share, such as /tmp. */
const STICKY = 0o1000;

/** The exchange's own files. An operator may keep other files beside them. */
const OWN_FILE =
  /^(log-([0-9]{16}\.seg|next\.tmp)|(data|lock)\.mdb|secret\.key|(genesis|initialised|instruments|copied)\.json)$/;

/**
 * Takes the group's and others' permissions from a data folder, its subfolders and its files: an earlier version, another
 * umask or a copy may have left some. Returns the first error, or null when only the owner has access.
 */
export function restrictToOwner(dataDir: string): Error | null {
  let failure: Error | null = null;
  const restrict = (path: string): void => {
    try {
      const { mode } = statSync(path);
      if ((mode & GROUP_AND_OTHERS) === 0) return;
      if ((mode & STICKY) !== 0) throw new Error(`${path}: several users share this folder; give the exchange its own`);
      chmodSync(path, mode & 0o7777 & ~GROUP_AND_OTHERS);
    } catch (error) {
      failure ??= error as Error;
    }
  };
  for (const dir of [dataDir, logOf(dataDir), databaseOf(dataDir)].filter((path) => existsSync(path))) {
    restrict(dir);
    for (const entry of readdirSync(dir, { withFileTypes: true }))
      if (entry.isFile() && OWN_FILE.test(entry.name)) restrict(join(dir, entry.name));
  }
  return failure;
}
