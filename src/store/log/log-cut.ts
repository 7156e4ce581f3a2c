import { join } from "node:path";
import { AT_DURABLE_THROUGH, AT_LOG_BYTES } from "../../wire/record.ts";
import { DISK, type Files, readFully, syncDirectory, withFileName, writeFully } from "../files/files.ts";
import { offsetAfter, scanSegment } from "./log-scan.ts";
import { listSegments, openSegment, SEGMENT_HEADER_BYTES, segmentName } from "./log-segment.ts";

/** How far a log goes that nobody writes. */
interface LogEnd {
  /** The last intact record; 0 = none. */
  readonly last: number;
  /** The last sequence of which a record says that it had counted when that record was written. */
  readonly provenThrough: number;
}

/** Reads the end of a log. A damaged tail is left to openLog(). */
export function readLogEnd(dir: string, files: Files = DISK): LogEnd {
  if (!files.existsSync(dir)) return { last: 0, provenThrough: 0 };
  let last = 0;
  let provenThrough = 0;
  for (const firstSequence of listSegments(dir, files).reverse()) {
    const { view, endOffset, nextSequence } = scanSegment(dir, firstSequence, files);
    last = Math.max(last, nextSequence - 1);
    for (let offset = SEGMENT_HEADER_BYTES; offset < endOffset; offset += view.getUint32(offset + AT_LOG_BYTES, true))
      provenThrough = Math.max(provenThrough, view.getFloat64(offset + AT_DURABLE_THROUGH, true));
    // An earlier segment proves no more.
    if (endOffset > SEGMENT_HEADER_BYTES) break;
  }
  return { last, provenThrough };
}

/**
 * Cuts off the records from `sequence` on, in a log that nobody writes. A file `log-cut-<sequence>.bin` in `keepIn` has their
 * bytes. Durable when it returns; after a crash in between it can be called again. Returns the file's path.
 */
export function cutLog(dir: string, sequence: number, keepIn: string, files: Files = DISK): string {
  const segments = listSegments(dir, files);
  const from = segments.findLastIndex((firstSequence) => firstSequence <= sequence);
  const scans = segments.slice(Math.max(0, from)).map((firstSequence) => scanSegment(dir, firstSequence, files));
  const offsets = scans.map((scan, i) => (i === 0 ? offsetAfter(scan, sequence - 1) : SEGMENT_HEADER_BYTES));
  const tail = Buffer.concat(scans.map((scan, i) => scan.bytes.subarray(offsets[i], scan.endOffset)));
  const kept = keep(tail, join(keepIn, `log-cut-${sequence}`), files);
  syncDirectory(keepIn, files);
  for (const { segment } of scans.slice(1).reverse()) {
    files.unlinkSync(join(dir, segmentName(segment.firstSequence)));
    syncDirectory(dir, files);
  }
  const [scan] = scans;
  if (scan !== undefined) zeroFrom(dir, scan.segment.firstSequence, offsets[0], files);
  return kept;
}

/** Writes the tail to a file. One that has more is left: a crash has stopped a cut, and the log has lost its end already. */
function keep(tail: Buffer, name: string, files: Files): string {
  for (let copy = 1; ; copy++) {
    const path = copy === 1 ? `${name}.bin` : `${name}-${copy}.bin`;
    const there = files.existsSync(path) ? readSynced(path, files) : Buffer.alloc(0);
    const common = Math.min(there.length, tail.length);
    // Another tail that was cut off at the same place is no copy of this one.
    if (!there.subarray(0, common).equals(tail.subarray(0, common))) continue;
    if (there.length < tail.length) writeAll(path, tail, files);
    return path;
  }
}

/** The process that wrote it may have ended before it was on disk. */
function readSynced(path: string, files: Files): Buffer {
  const fd = files.openSync(path, "r");
  try {
    const bytes = Buffer.alloc(files.fstatSync(fd).size);
    withFileName(path, () => {
      readFully(fd, bytes, bytes.length, 0, files);
      files.fdatasyncSync(fd);
    });
    return bytes;
  } finally {
    files.closeSync(fd);
  }
}

function writeAll(path: string, bytes: Uint8Array, files: Files): void {
  const fd = files.openSync(path, "w");
  try {
    withFileName(path, () => {
      writeFully(fd, bytes, 0, files);
      files.fdatasyncSync(fd);
    });
  } finally {
    files.closeSync(fd);
  }
}

function zeroFrom(dir: string, firstSequence: number, offset: number, files: Files): void {
  const { fd, segment } = openSegment(dir, firstSequence, "r+", files);
  try {
    withFileName(segmentName(firstSequence), () => {
      writeFully(fd, Buffer.alloc(segment.bytes - offset), offset, files);
      files.fdatasyncSync(fd);
    });
  } finally {
    files.closeSync(fd);
  }
}
