import { createHash } from "node:crypto";
import { realpathSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { join } from "node:path";
import { makeFolder } from "./files.ts";

/** Another process has the data folder open. */
export class DataFolderInUseError extends Error {
  override name = "DataFolderInUseError";
}

/**
 * Takes the data folder for this process, or throws DataFolderInUseError. The lock is a listening socket: the system
 * takes it back however the process ends, so no stale lock is ever left. On Linux it lies in the abstract namespace and
 * leaves no file either. `orElse`: what to do when the one that has it shall not be stopped.
 */
export function lockDataFolder(dataDir: string, orElse: string): Promise<Server> {
  makeFolder(dataDir);
  const folder = realpathSync(dataDir);
  const name = createHash("sha256").update(folder).digest("hex").slice(0, 32);
  const path = process.platform === "linux" ? `\0perpd-${name}` : join(folder, "lock.sock");
  return new Promise((resolve, reject) => {
    const lock = createServer((socket) => socket.destroy());
    lock.once("error", (error: NodeJS.ErrnoException) =>
      reject(
        error.code === "EADDRINUSE"
          ? new DataFolderInUseError(`${folder} is in use by another perpd: stop it first, or ${orElse}`)
          : error,
      ),
    );
    lock.listen(path, () => {
      lock.unref();
      resolve(lock);
    });
  });
}
