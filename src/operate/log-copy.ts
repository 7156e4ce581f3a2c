import { closeSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { must } from "../assert.ts";
import { unlessMissing } from "../store/files/files.ts";
import { openLog } from "../store/log/log.ts";
import { type Scan, scanFile, tornBytes } from "../store/log/log-scan.ts";
import { listSegments, openSegment, type Segment, segmentName } from "../store/log/log-segment.ts";
import { writeNewFile } from "./files.ts";

interface Pinned {
  readonly fd: number;
  readonly segment: Segment;
}

/** Segments were created and removed between two calls of pin(). The caller must start again. */
export class LogGapError extends Error {
  override name = "LogGapError";
}

/** The size of a copied log. */
export interface LogCopy {
  segments: number;
  lastSequence: number;
}

/** A log that may be written and trimmed meanwhile. Open files stay readable, so each segment is opened as soon as it is seen. */
export class PinnedLog {
  private readonly dir: string;
  private readonly pinned: Pinned[] = [];

  constructor(dir: string) {
    this.dir = dir;
  }

  /** Opens the segments that are new since the last call. Throws LogGapError if one between them was missed. */
  pin(): void {
    for (const firstSequence of listSegments(this.dir)) {
      const last = this.pinned.at(-1);
      if (last !== undefined && firstSequence < last.segment.firstSequence) continue;
      const opened = unlessMissing(() => openSegment(this.dir, firstSequence, "r"));
      if (opened === null) continue;
      // The last one is opened again: an empty segment may have been replaced by a larger one of the same name.
      if (last?.segment.firstSequence === firstSequence) closeSync(must(this.pinned.pop(), "segment").fd);
      this.pinned.push(opened);
      const { previousFirstSequence } = opened.segment;
      const before = this.pinned.at(-2)?.segment.firstSequence ?? previousFirstSequence;
      if (before !== previousFirstSequence)
        throw new LogGapError(
          `the log segment ${segmentName(previousFirstSequence)} is missing, or was removed during the copy`,
        );
    }
  }

  /**
   * Copies all whole records to the new folder `to`. Ends with a watermark, which says that all of them are durable: from then
   * on a bad record is damage and not a torn tail. Throws LogCorruptError, also if the log ends before `protectedThrough`.
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
}

/**
 * Scans a segment that is being written. The file is read from front to back, so a record may seem to be missing before a
 * later one. When it is read again the record is there; otherwise it is damaged.
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
