import { rm } from "node:fs/promises";

/**
 * Removes a folder of servers that may have been killed. The process that checks the past in the background ends a moment after
 * its server, and writes LMDB's lock file. rm() looks for new files whenever it tries again; rmSync() of Node 20 does not.
 */
export const removeFolder = (path: string): Promise<void> =>
  rm(path, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
