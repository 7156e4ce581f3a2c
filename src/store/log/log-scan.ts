import { AT_DURABLE_THROUGH, AT_KIND, AT_LOG_BYTES, AT_SEQUENCE, KIND_TRANSACTION, viewOf } from "../../wire/record.ts";
import { DISK, type Files, readFully, withFileName } from "../files/files.ts";
import { DAMAGED, describe, END, findProof, inspect, TRANSACTION, type Verdict, WATERMARK } from "./log-record.ts";
import {
  LogCorruptError,
  openSegment,
  readSegmentChain,
  SEGMENT_HEADER_BYTES,
  type Segment,
  segmentName,
} from "./log-segment.ts";

/** A segment, read up to its first place without a valid record. To read a log that is in use, see LogReader. */
export interface Scan {
  readonly segment: Segment;
  /** The contents of the whole file. */
  readonly bytes: Buffer;
  readonly view: DataView;
  /** The offset after the last valid record. */
  readonly endOffset: number;
  /** The verdict on the bytes at endOffset: END, DAMAGED or FOREIGN. */
  readonly verdict: Verdict;
  /** The sequence after that of the last valid record. */
  readonly nextSequence: number;
  /** The highest sequence of which the segment itself proves that it was durable. */
  readonly provenThrough: number;
}

export interface LogSummary {
  /** The number of transactions, without watermarks. */
  records: number;
  /** 0 in an empty directory. */
  firstSequence: number;
  /** firstSequence − 1 when there is no record. */
  lastSequence: number;
  /** The size of all records, watermarks included. */
  bytes: number;
  segments: number;
  /** Bytes after the last record. Nothing proves that they were acknowledged, and the next openLog() cuts them off. */
  tornBytes: number;
}

/**
 * Reads every record of a log that nobody writes. Changes nothing. Throws LogCorruptError as openLog() would. `exchangeId`:
 * that of the folder; "" = any.
 */
export function verifyLog(dir: string, exchangeId = ""): LogSummary {
  const segments = readSegmentChain(dir, exchangeId);
  const firstSequence = segments[0]?.firstSequence ?? 0;
  const summary: LogSummary = {
    records: 0,
    firstSequence,
    lastSequence: firstSequence - 1,
    bytes: 0,
    segments: segments.length,
    tornBytes: 0,
  };
  segments.forEach((segment, i) => {
    const scan = scanSegment(dir, segment.firstSequence);
    const next = segments[i + 1];
    if (next === undefined) summary.tornBytes = tornBytes(scan, 0);
    else checkEnd(scan, next);
    summary.records += scan.nextSequence - segment.firstSequence;
    summary.lastSequence = scan.nextSequence - 1;
    summary.bytes += scan.endOffset - SEGMENT_HEADER_BYTES;
  });
  return summary;
}

/** Reads a segment into memory and checks its records. Throws LogCorruptError for a bad header. */
export function scanSegment(dir: string, firstSequence: number, files: Files = DISK): Scan {
  const { fd, segment } = openSegment(dir, firstSequence, "r", files);
  try {
    return scanFile(fd, segment, files);
  } finally {
    files.closeSync(fd);
  }
}

/** As scanSegment(), for a segment that is open. */
export function scanFile(fd: number, segment: Segment, files: Files = DISK): Scan {
  const bytes = Buffer.allocUnsafeSlow(segment.bytes);
  withFileName(segmentName(segment.firstSequence), () => readFully(fd, bytes, bytes.length, 0, files));
  return walk(segment, bytes);
}

/**
 * How many bytes after the last valid record of the last segment must be cut off; 0 if the log ends cleanly. Throws
 * LogCorruptError if the missing record was acknowledged. That is proven by a later record's durableThrough or by
 * `protectedThrough`.
 */
export function tornBytes(scan: Scan, protectedThrough: number): number {
  const { segment, bytes, view, endOffset, verdict, nextSequence } = scan;
  const corrupt = (proof: string): LogCorruptError => {
    const why = describe(verdict, view, endOffset) + proof;
    return new LogCorruptError(segmentName(segment.firstSequence), endOffset, nextSequence, why);
  };
  if (verdict !== END && verdict !== DAMAGED) throw corrupt("");
  if (nextSequence <= protectedThrough) throw corrupt(`, but ${protectedThrough} was acknowledged`);
  const proof = findProof(view, bytes, endOffset, bytes.length, nextSequence);
  if (proof >= 0) throw corrupt(`, but the record at byte ${proof} says that it was on disk`);
  return lastWritten(bytes, endOffset) - endOffset;
}

/** The offset after the last transaction through `sequence`. Watermarks after it are not included: they prove nothing about themselves. */
export function offsetAfter(scan: Scan, sequence: number): number {
  const { view, endOffset } = scan;
  let after = SEGMENT_HEADER_BYTES;
  for (let offset = after; offset < endOffset && view.getFloat64(offset + AT_SEQUENCE, true) <= sequence; ) {
    const end = offset + view.getUint32(offset + AT_LOG_BYTES, true);
    if (view.getUint8(offset + AT_KIND) === KIND_TRANSACTION) after = end;
    offset = end;
  }
  return after;
}

function walk(segment: Segment, bytes: Buffer): Scan {
  const view = viewOf(bytes);
  let offset = SEGMENT_HEADER_BYTES;
  let nextSequence = segment.firstSequence;
  let provenThrough = nextSequence - 1;
  for (;;) {
    const verdict = inspect(view, bytes, offset, bytes.length, nextSequence);
    if (verdict !== TRANSACTION && verdict !== WATERMARK) {
      return { segment, bytes, view, endOffset: offset, verdict, nextSequence, provenThrough };
    }
    provenThrough = Math.max(provenThrough, view.getFloat64(offset + AT_DURABLE_THROUGH, true));
    if (verdict === TRANSACTION) nextSequence++;
    offset += view.getUint32(offset + AT_LOG_BYTES, true);
  }
}

/** A segment with a successor must end cleanly, right before the successor's first record. Throws LogCorruptError. */
function checkEnd(scan: Scan, next: Segment): void {
  const { segment, bytes, view, endOffset, verdict, nextSequence } = scan;
  const name = segmentName(segment.firstSequence);
  if (verdict !== END || nextSequence !== next.firstSequence) {
    throw new LogCorruptError(name, endOffset, nextSequence, describe(verdict, view, endOffset));
  }
  if (lastWritten(bytes, endOffset) !== endOffset) {
    throw new LogCorruptError(
      name,
      endOffset,
      nextSequence,
      "there are bytes after the last record of a closed segment",
    );
  }
}

/** The offset after the last byte that is not zero, rounded up to a multiple of 8; at least `from`. */
function lastWritten(bytes: Buffer, from: number): number {
  let end = bytes.length;
  while (end > from && bytes[end - 1] === 0) end--;
  return (end + 7) & ~7;
}
