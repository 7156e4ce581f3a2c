import { createHash, randomBytes } from "node:crypto";
import { existsSync, openSync, readdirSync, realpathSync, rmSync } from "node:fs";
import { connect, createServer, type ListenOptions } from "node:net";
import { join } from "node:path";
import { makeFolder } from "./files.ts";

/** Another process has the data folder open. */
export class DataFolderInUseError extends Error {
  override name = "DataFolderInUseError";
}

/** Each process has one of its own, and they find each other by the name. */
const LOCK_FILE = /^lock-[0-9a-f]{16}\.sock$/;
/** What connecting says of a socket whose process has ended, and of one that has just been removed. */
const GONE = ["ECONNREFUSED", "ENOENT"];

/**
 * Takes the data folder for this process until it ends, or throws DataFolderInUseError. `orElse`: what to do when the one
 * that has it shall not be stopped. Resolves with what keeps the lock from lying in the folder, else with null.
 *
 * A lock is a listening socket: the system takes it back however the process ends, so what is left of one does not answer.
 * Where the system has names that need no file, the folder's path is taken as one. But a folder may be renamed, and another
 * container may have it under the same path and not see that name. So there is a socket in the folder as well, which is
 * reached by whoever reaches the folder. Whoever can write there places their own before they look for others: of two that
 * come at once at least one sees the other. Whoever cannot, since they only read, or since the file system holds no sockets,
 * only looks.
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
  // Another user's process may ask, too.
  const failure = await failureOf(listen({ path: own, readableAll: true, writableAll: true }));
  const isHeld = failure === null;
  if (isHeld) process.once("exit", () => leave(own));
  for (const name of readdirSync(path).filter((name) => LOCK_FILE.test(name))) {
    const other = join(folder, name);
    if (other === own) continue;
    if (await answers(other)) throw inUse;
    if (isHeld) rmSync(other, { force: true });
  }
  // Another that looked before this one listened took it for a dead one.
  if (isHeld && !existsSync(own)) throw inUse;
  return failure;
}

/** On a disk that nothing can be removed from any more it stays, and does not answer. */
function leave(own: string): void {
  try {
    rmSync(own, { force: true });
  } catch {
    // The process has said already why it ends.
  }
}

function abstractName(path: string): string {
  return `\0perpd-${createHash("sha256").update(path).digest("hex").slice(0, 32)}`;
}

/** A socket's path has room for 108 bytes. The folder stays open, and is the same one under whatever name. */
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

/** True also where that cannot be told. */
function answers(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path, () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", ({ code = "" }: NodeJS.ErrnoException) => resolve(!GONE.includes(code)));
  });
}
