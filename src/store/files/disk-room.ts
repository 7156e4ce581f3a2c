import { statfsSync } from "node:fs";

/** After a shortage this much more must be free, so that the state does not flip with every megabyte. */
const REOPEN_FACTOR = 1.25;

/**
 * Tells whether the disk of a folder has at least `minFreeBytes` free. A full disk would be noticed too late: a log that
 * cannot be written stops the exchange, and LMDB cannot go on after a commit that failed for lack of room.
 */
export class DiskRoom {
  private readonly dir: string;
  private readonly minFreeBytes: number;
  private enough = true;

  constructor(dir: string, minFreeBytes: number) {
    this.dir = dir;
    this.minFreeBytes = minFreeBytes;
  }

  /** The bytes that a user other than root may still write. */
  get freeBytes(): number {
    const { bavail, bsize } = statfsSync(this.dir);
    return bavail * bsize;
  }

  /** Checks again. After a shortage, REOPEN_FACTOR times as much must be free. */
  isEnough(): boolean {
    this.enough = this.freeBytes >= this.minFreeBytes * (this.enough ? 1 : REOPEN_FACTOR);
    return this.enough;
  }
}
