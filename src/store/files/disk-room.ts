import { statfsSync } from "node:fs";

/** Free again is what has this much more than it must: so that the door does not open and shut with every megabyte. */
const REOPEN_FACTOR = 1.25;

/**
 * Whether the disk of a folder has at least `minFreeBytes` left. Looked at before the disk is full, since then it is too
 * late: a log that cannot be written stops the exchange, and LMDB does not survive a commit that fails for want of room.
 */
export class DiskRoom {
  private readonly dir: string;
  private readonly minFreeBytes: number;
  private enough = true;

  constructor(dir: string, minFreeBytes: number) {
    this.dir = dir;
    this.minFreeBytes = minFreeBytes;
  }

  /** What a user who is not root may still write. */
  get freeBytes(): number {
    const { bavail, bsize } = statfsSync(this.dir);
    return bavail * bsize;
  }

  /** Looks, and remembers: once there was too little, there must be somewhat more than enough. */
  isEnough(): boolean {
    this.enough = this.freeBytes >= this.minFreeBytes * (this.enough ? 1 : REOPEN_FACTOR);
    return this.enough;
  }
}
