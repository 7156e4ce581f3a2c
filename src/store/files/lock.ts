import { createHash, randomBytes } from "node:crypto";
import { existsSync, openSync, readdirSync, realpathSync, rmSync } from "node:fs";
import { connect, createServer, type ListenOptions } from "node:net";
import { join } from "node:path";
import { makeFolder } from "./files.ts";

/** Another process has the data folder open. */
export class DataFolderInUseError extends Error {
  override name = "DataFolderInUseError";
}

/** Each process creates its own lock file. Processes find each other by this pattern. */
const LOCK_FILE = /^lock-[0-9a-f]{16}\.sock$/;
/** Errors of a connection to a socket whose process has ended, or that was just removed. */
const DEAD_SOCKET = ["ECONNREFUSED", "ENOENT"];

/**
 * Locks the data folder for this process until it ends, or throws DataFolderInUseError. `orElse` tells the user what to do
 * instead of stopping the other process. Resolves with null, or with the error that prevented a lock file in the folder.
 *
 * A lock is a listening socket. The system closes it however the process ends, so a stale one does not answer. There are
 * two, since neither is enough alone:
 *
 * - On Linux an abstract socket name is made from the folder's path. It needs no file. But the folder may be renamed, and
 *   another container does not see the name.
 * - A socket file in the folder is seen by every process that can reach the folder. Each process creates its own before it
 *   looks for others, so of two that start at once at least one sees the other. A process that cannot create one, because
 *   it may not write or the file system holds no sockets, only looks.
 */
export async function lockDataFolder(dataDir: string, orElse: string): Promise<Error | null> {
  makeFolder(dataDir);
  const path = realpathSync(dataDir);
  const inUse = new DataFolderInUseError(`${path} is in use by another perpd: stop it first, or ${orElse}`);
  if (process.platform === "linux") {
    const taken = await failureOf(listen({ path: abstractName(path) }));
    if (taken !== null) throw taken.code === "EADDRINUSE" ? inUse : taken;
  }
  const folder = shortPathOf(path);
  const own = join(folder, `lock-${randomBytes(8).toString("hex")}.sock`);
  // Processes of other users must be able to connect, too.
  const failure = await failureOf(listen({ path: own, readableAll: true, writableAll: true }));
  const isHeld = failure === null;
  if (isHeld) process.once("exit", () => removeLock(own));
  for (const name of readdirSync(path).filter((name) => LOCK_FILE.test(name))) {
    const other = join(folder, name);
    if (other === own) continue;
    if (await answers(other)) throw inUse;
    if (isHeld) rmSync(other, { force: true });
  }
  // Another process may have found the socket before it listened, and removed it as stale.
  if (isHeld && !existsSync(own)) throw inUse;
  return failure;
}

/** If the file cannot be removed it stays, and does not answer. */
function removeLock(own: string): void {
  try {
    rmSync(own, { force: true });
  } catch {
    // The process ends anyway.
  }
}

function abstractName(path: string): string {
  return `\0perpd-${createHash("sha256").update(path).digest("hex").slice(0, 32)}`;
}

/** A socket path may have 108 bytes. The path of an open file descriptor is short. */
function shortPathOf(path: string): string {
  return process.platform === "linux" ? `/proc/self/fd/${openSync(path, "r")}` : path;
}

function listen(options: ListenOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    const lock = createServer((socket) => socket.destroy());
    lock.once("error", reject);
    lock.listen(options, () => {
      lock.unref();
      resolve();
    });
  });
}

const failureOf = (work: Promise<void>): Promise<NodeJS.ErrnoException | null> =>
  work.then(
    () => null,
    (error) => error,
  );

/** Returns true also if it cannot be determined. */
function answers(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path, () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", ({ code = "" }: NodeJS.ErrnoException) => resolve(!DEAD_SOCKET.includes(code)));
  });
}
