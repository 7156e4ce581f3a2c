import { statfsSync } from "node:fs";

/** After a shortage this much more must be free, so that the state does not flip with every megabyte. */
const REOPEN_FACTOR = 1.25;

/** The room for a user other than root. */
export interface FreeRoom {
  readonly freeBytes: number;
  /** How many more files there may be. Infinite where the file system has no limit of its own. */
  readonly freeFiles: number;
}

/**
 * Tells whether the disk of a folder has room for at least `minFreeBytes` and `minFreeFiles`. A full disk would be noticed too
 * late: a log that cannot be written stops the exchange, and LMDB cannot go on after a commit that failed for lack of room.
 */
export class DiskRoom {
  private readonly dir: string;
  private readonly minFreeBytes: number;
  private readonly minFreeFiles: number;
  private enough = true;
  /** At the last check. */
  freeBytes = 0;

  constructor(dir: string, minFreeBytes: number, minFreeFiles = 0) {
    this.dir = dir;
    this.minFreeBytes = minFreeBytes;
    this.minFreeFiles = minFreeFiles;
  }

  get free(): FreeRoom {
    const { bavail, bsize, files, ffree } = statfsSync(this.dir);
    return { freeBytes: bavail * bsize, freeFiles: files === 0 ? Number.POSITIVE_INFINITY : ffree };
  }

  /** Checks again. After a shortage, REOPEN_FACTOR times as much must be free. */
  isEnough(): boolean {
    const factor = this.enough ? 1 : REOPEN_FACTOR;
    const { freeBytes, freeFiles } = this.free;
    this.freeBytes = freeBytes;
    this.enough = freeBytes >= this.minFreeBytes * factor && freeFiles >= this.minFreeFiles * factor;
    return this.enough;
  }
}
