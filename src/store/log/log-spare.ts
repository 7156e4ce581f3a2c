import { join } from "node:path";
import { type Files, syncDirectory, withFileName, writeFully } from "../files/files.ts";
import { encodeHeader, type Segment, segmentName } from "./log-segment.ts";

const SPARE_NAME = "log-next.tmp";
/** Larger writes are slower: the page cache takes 512 KiB in pieces of this size eight times as fast as in one piece. */
const ZEROS = Buffer.alloc(1 << 16);

/**
 * The next segment of the log, prepared ahead of time. It is filled with zeros, because fdatasync on existing blocks takes
 * about half as long as on a file that grows. One that a crash left behind is overwritten.
 */
export class SpareSegment {
  /** The folder of the log. */
  readonly dir: string;
  private readonly files: Files;
  private fd = -1;
  private filledBytes = 0;

  constructor(dir: string, files: Files) {
    this.dir = dir;
    this.files = files;
  }

  /** Writes and syncs up to `maxBytes` more, so that install() has little left to do. Returns true at full size. */
  fill(segmentBytes: number, maxBytes: number): boolean {
    if (this.filledBytes < segmentBytes) {
      this.write(Math.min(segmentBytes, this.filledBytes + maxBytes));
      this.sync();
    }
    return this.filledBytes >= segmentBytes;
  }

  /** Completes the file, writes the header and gives it its name, durably. Returns the fd, which the caller must close. */
  install(segment: Segment): number {
    const { dir, files } = this;
    this.write(segment.bytes);
    withFileName(SPARE_NAME, () => writeFully(this.fd, encodeHeader(segment), 0, files));
    this.sync();
    files.renameSync(join(dir, SPARE_NAME), join(dir, segmentName(segment.firstSequence)));
    syncDirectory(dir, files);
    const fd = this.fd;
    this.fd = -1;
    this.filledBytes = 0;
    return fd;
  }

  /** Removes the file, to free its room on the disk. */
  discard(): void {
    this.close();
    this.filledBytes = 0;
    const path = join(this.dir, SPARE_NAME);
    if (this.files.existsSync(path)) this.files.unlinkSync(path);
  }

  close(): void {
    if (this.fd >= 0) this.files.closeSync(this.fd);
    this.fd = -1;
  }

  private sync(): void {
    withFileName(SPARE_NAME, () => this.files.fdatasyncSync(this.fd));
  }

  private write(untilBytes: number): void {
    if (this.fd < 0) this.fd = this.files.openSync(join(this.dir, SPARE_NAME), "w+");
    while (this.filledBytes < untilBytes) {
      const count = Math.min(ZEROS.length, untilBytes - this.filledBytes);
      withFileName(SPARE_NAME, () => writeFully(this.fd, ZEROS.subarray(0, count), this.filledBytes, this.files));
      this.filledBytes += count;
    }
  }
}
