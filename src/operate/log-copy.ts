import { closeSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { must } from "../assert.ts";
import { openLog } from "../store/log/log.ts";
import { type Scan, scanFile, tornBytes } from "../store/log/log-scan.ts";
import { listSegments, openSegment, type Segment, segmentName } from "../store/log/log-segment.ts";
import { writeNewFile } from "./files.ts";

interface Pinned {
  readonly fd: number;
  readonly segment: Segment;
}

/** Segments came and went between two looks. Begin again. */
export class LogGapError extends Error {
  override name = "LogGapError";
}

/** What a copied log is made of. */
export interface LogCopy {
  segments: number;
  lastSequence: number;
}

/**
 * A log whose writer may be at work, and may remove segments: open files stay readable, so each is opened as soon as it
 * is seen.
 */
export class PinnedLog {
  private readonly dir: string;
  private readonly pinned: Pinned[] = [];

  constructor(dir: string) {
    this.dir = dir;
  }

  /** Opens what has come since the last call. Throws LogGapError when that does not go on from what was there. */
  pin(): void {
    for (const firstSequence of listSegments(this.dir)) {
      const last = this.pinned.at(-1);
      if (last !== undefined && firstSequence < last.segment.firstSequence) continue;
      const opened = this.open(firstSequence);
      if (opened === null) continue;
      // Also the last one anew: an empty segment may have been replaced, under the same name, by a larger one.
      if (last?.segment.firstSequence === firstSequence) closeSync(must(this.pinned.pop(), "segment").fd);
      this.pinned.push(opened);
      const { previousFirstSequence } = opened.segment;
      const before = this.pinned.at(-2)?.segment.firstSequence ?? previousFirstSequence;
      if (before !== previousFirstSequence)
        throw new LogGapError(`the log's ${segmentName(previousFirstSequence)} is missing, or was gone too soon`);
    }
  }

  /**
   * Copies whole records, as far as they stand now, into the new folder `to`, and ends with a record which says that all of
   * them are on disk: from then on a bad one is damage and not a torn tail. Throws LogCorruptError, also when the log ends
   * before `protectedThrough`.
   */
  copyTo(to: string, segmentBytes: number, protectedThrough: number): LogCopy {
    mkdirSync(to);
    this.pinned.forEach((pinned, i) => {
      const isLast = i === this.pinned.length - 1;
      const scan = isLast ? scanWhileWritten(pinned, protectedThrough) : scanFile(pinned.fd, pinned.segment);
      if (isLast) scan.bytes.fill(0, scan.endOffset);
      writeNewFile(join(to, segmentName(pinned.segment.firstSequence)), scan.bytes);
    });
    const log = openLog(to, { segmentBytes, protectedThrough });
    log.appendWatermark(Date.now());
    log.sync();
    log.close();
    return { segments: this.pinned.length, lastSequence: log.nextSequence - 1 };
  }

  close(): void {
    for (const { fd } of this.pinned.splice(0)) closeSync(fd);
  }

  /** Null when it has just been removed. */
  private open(firstSequence: number): Pinned | null {
    try {
      return openSegment(this.dir, firstSequence, "r");
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
      throw error;
    }
  }
}

/**
 * The file is read front to back while records are written behind one another: a record may seem to be missing before one
 * that came later. Read again, it is there; if it is not, it is damaged.
 */
function scanWhileWritten({ fd, segment }: Pinned, protectedThrough: number): Scan {
  for (let scan = scanFile(fd, segment); ; ) {
    try {
      tornBytes(scan, protectedThrough);
      return scan;
    } catch (error) {
      const again = scanFile(fd, segment);
      if (again.nextSequence <= scan.nextSequence) throw error;
      scan = again;
    }
  }
}
