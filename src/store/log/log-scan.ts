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

/** Whole segments in memory, for the start and for verification. The way to read a log that is in use is LogReader. */

/** A segment, read up to the first place where no record follows. */
export interface Scan {
  readonly segment: Segment;
  /** The whole file. */
  readonly bytes: Buffer;
  readonly view: DataView;
  /** Of the first byte behind the last good record. */
  readonly endOffset: number;
  /** What stands there: END, DAMAGED or FOREIGN. */
  readonly verdict: Verdict;
  /** The sequence after the last good record's. */
  readonly nextSequence: number;
  /** The highest sequence that the segment itself says was on disk. */
  readonly provenThrough: number;
}

export interface LogSummary {
  /** Turns; watermarks are not counted. */
  records: number;
  /** 0 in an empty directory. */
  firstSequence: number;
  /** firstSequence − 1 when there is no record. */
  lastSequence: number;
  /** Of all records, watermarks included. */
  bytes: number;
  segments: number;
  /** Behind the last record: never acknowledged, the next openLog() cuts them. */
  tornBytes: number;
}

/** Reads every record of a log that nobody writes, and changes nothing. Throws LogCorruptError as openLog() would. */
export function verifyLog(dir: string): LogSummary {
  const row = readSegmentChain(dir);
  const firstSequence = row[0]?.firstSequence ?? 0;
  const summary: LogSummary = {
    records: 0,
    firstSequence,
    lastSequence: firstSequence - 1,
    bytes: 0,
    segments: row.length,
    tornBytes: 0,
  };
  row.forEach((segment, i) => {
    const scan = scanSegment(dir, segment.firstSequence);
    const next = row[i + 1];
    if (next === undefined) summary.tornBytes = tornBytes(scan, 0);
    else checkEnd(scan, next);
    summary.records += scan.nextSequence - segment.firstSequence;
    summary.lastSequence = scan.nextSequence - 1;
    summary.bytes += scan.endOffset - SEGMENT_HEADER_BYTES;
  });
  return summary;
}

export function scanSegment(dir: string, firstSequence: number, files: Files = DISK): Scan {
  const { fd, segment } = openSegment(dir, firstSequence, "r", files);
  try {
    return scanFile(fd, segment, files);
  } finally {
    files.closeSync(fd);
  }
}

/** As scanSegment(), of a segment that is open. */
export function scanFile(fd: number, segment: Segment, files: Files = DISK): Scan {
  const bytes = Buffer.allocUnsafeSlow(segment.bytes);
  withFileName(segmentName(segment.firstSequence), () => readFully(fd, bytes, bytes.length, 0, files));
  return walk(segment, bytes);
}

/**
 * How many bytes behind the last good record of the last segment must be cut: 0 when the log ends cleanly. Throws when
 * something proves that the record missing there was acknowledged: a later record's durableThrough, or `protectedThrough`.
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

/** The offset behind the last turn up to `sequence`: of a watermark too, since a watermark does not vouch for itself. */
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

/** A segment with a successor was closed in good order: it ends cleanly, right before the successor's first record. */
function checkEnd(scan: Scan, next: Segment): void {
  const { segment, bytes, view, endOffset, verdict, nextSequence } = scan;
  const name = segmentName(segment.firstSequence);
  if (verdict !== END || nextSequence !== next.firstSequence) {
    throw new LogCorruptError(name, endOffset, nextSequence, describe(verdict, view, endOffset));
  }
  if (lastWritten(bytes, endOffset) !== endOffset) {
    throw new LogCorruptError(name, endOffset, nextSequence, "bytes behind the last record of a closed segment");
  }
}

/** The end, in steps of 8, of the last byte that is not zero, or `from`. */
function lastWritten(bytes: Buffer, from: number): number {
  let end = bytes.length;
  while (end > from && bytes[end - 1] === 0) end--;
  return (end + 7) & ~7;
}
