import { join } from "node:path";
import { crc32 } from "node:zlib";
import { DISK, type Files, readFully, syncDirectory, withFileName } from "../files/files.ts";

/**
 * The files of the log: `log-<first sequence>.seg`. Each has its full size from the start, with zeros after the last record.
 *
 *      0  8 bytes  magic
 *      8  u32      crc32 over bytes 12 to 40
 *     12  u32      version of this layout
 *     16  f64      sequence of the first record
 *     24  f64      first sequence of the segment before; 0 = this is the first segment ever
 *     32  f64      size of the file
 *     40  16 bytes exchangeId of the folder; all 20 bytes 0 = an earlier version made the segment
 *     56  u32      crc32 over bytes 40 to 56
 *   4096           records (wire/record.ts), back to back
 *
 * A segment gets its name only when its header and every earlier record are durable. So there are no incomplete segments,
 * and a segment proves that all records of the one before it were durable. The header has a page of its own, which no later
 * write touches.
 */
export const SEGMENT_HEADER_BYTES = 4096;

const MAGIC = Buffer.from("PERPDLOG", "latin1");
const AT_HEADER_CRC = 8;
const AT_HEADER_VERSION = 12;
const AT_FIRST_SEQUENCE = 16;
const AT_PREVIOUS_FIRST_SEQUENCE = 24;
const AT_SEGMENT_BYTES = 32;
const HEADER_CHECKED_BYTES = 40;
const AT_EXCHANGE_ID = 40;
const AT_EXCHANGE_ID_CRC = 56;
const HEADER_USED_BYTES = 60;
const SEGMENT_VERSION = 1;
const SEGMENT_NAME = /^log-(\d{16})\.seg$/;

/** The contents of a segment's header. */
export interface Segment {
  readonly firstSequence: number;
  readonly previousFirstSequence: number;
  /** The size of the whole file, header included. */
  readonly bytes: number;
  /** The exchange that wrote it; "" = not recorded. */
  readonly exchangeId: string;
}

/** An acknowledged record of the log cannot be read. Nothing is repaired or skipped. */
export class LogCorruptError extends Error {
  override name = "LogCorruptError";
  /** File name within the log's directory. */
  readonly segment: string;
  /** In bytes from the start of the file. */
  readonly offset: number;
  /** The sequence that was expected there. */
  readonly sequence: number;

  constructor(segment: string, offset: number, sequence: number, why: string) {
    super(`log corrupt: ${segment} at byte ${offset}, expected sequence ${sequence}: ${why}`);
    this.segment = segment;
    this.offset = offset;
    this.sequence = sequence;
  }
}

/** A segment that is no longer needed could not be removed. The log is complete, and a later try may succeed. */
export class SegmentKeptError extends Error {
  override name = "SegmentKeptError";
}

export const segmentName = (firstSequence: number): string => `log-${String(firstSequence).padStart(16, "0")}.seg`;

/** The first sequences of the segments in a directory, ascending. */
export function listSegments(dir: string, files: Files = DISK): number[] {
  const names = files.readdirSync(dir).flatMap((name) => SEGMENT_NAME.exec(name)?.[1] ?? []);
  return names.map(Number).sort((a, b) => a - b);
}

/**
 * The headers of all segments, in order. Throws LogCorruptError for a bad header, a missing segment, or one of an exchange
 * other than `exchangeId`. "": all must be of one exchange.
 */
export function readSegmentChain(dir: string, exchangeId: string, files: Files = DISK): Segment[] {
  const segments = listSegments(dir, files).map((firstSequence) => {
    const { fd, segment } = openSegment(dir, firstSequence, "r", files);
    files.closeSync(fd);
    return segment;
  });
  segments.forEach(({ firstSequence, previousFirstSequence }, i) => {
    const before = segments[i - 1];
    if (before === undefined || before.firstSequence === previousFirstSequence) return;
    const why = `the segment before it, ${segmentName(previousFirstSequence)}, is missing`;
    throw new LogCorruptError(segmentName(firstSequence), 0, firstSequence, why);
  });
  refuseOtherExchanges(segments, exchangeId);
  return segments;
}

function refuseOtherExchanges(segments: readonly Segment[], exchangeId: string): void {
  const recorded = segments.filter((segment) => segment.exchangeId !== "");
  const own = exchangeId !== "" ? exchangeId : (recorded[0]?.exchangeId ?? "");
  const other = recorded.find((segment) => segment.exchangeId !== own);
  if (other === undefined) return;
  const why = `it belongs to the exchange ${other.exchangeId}, not to ${own}`;
  throw new LogCorruptError(segmentName(other.firstSequence), 0, other.firstSequence, why);
}

/** Opens a segment and checks its header. The caller must close `fd`. Throws LogCorruptError. */
export function openSegment(
  dir: string,
  firstSequence: number,
  flags: "r" | "r+",
  files: Files = DISK,
): { fd: number; segment: Segment } {
  const fd = files.openSync(join(dir, segmentName(firstSequence)), flags);
  try {
    return { fd, segment: readHeader(fd, firstSequence, files) };
  } catch (error) {
    files.closeSync(fd);
    throw error;
  }
}

export function encodeHeader(segment: Segment): Buffer {
  const header = Buffer.alloc(HEADER_USED_BYTES);
  MAGIC.copy(header);
  header.writeUInt32LE(SEGMENT_VERSION, AT_HEADER_VERSION);
  header.writeDoubleLE(segment.firstSequence, AT_FIRST_SEQUENCE);
  header.writeDoubleLE(segment.previousFirstSequence, AT_PREVIOUS_FIRST_SEQUENCE);
  header.writeDoubleLE(segment.bytes, AT_SEGMENT_BYTES);
  header.writeUInt32LE(crc32(header.subarray(AT_HEADER_VERSION, HEADER_CHECKED_BYTES)), AT_HEADER_CRC);
  if (segment.exchangeId !== "") writeExchangeId(header, segment.exchangeId);
  return header;
}

/** A checksum of its own, since earlier versions check the bytes before it only. */
function writeExchangeId(header: Buffer, exchangeId: string): void {
  const bytes = Buffer.from(exchangeId.replaceAll("-", ""), "hex");
  if (bytes.length !== AT_EXCHANGE_ID_CRC - AT_EXCHANGE_ID) return;
  bytes.copy(header, AT_EXCHANGE_ID);
  header.writeUInt32LE(crc32(bytes), AT_EXCHANGE_ID_CRC);
}

/** "" if none is recorded; null if it is damaged. */
function readExchangeId(header: Buffer): string | null {
  const bytes = header.subarray(AT_EXCHANGE_ID, AT_EXCHANGE_ID_CRC);
  const crc = header.readUInt32LE(AT_EXCHANGE_ID_CRC);
  if (crc === 0 && bytes.every((byte) => byte === 0)) return "";
  if (crc !== crc32(bytes)) return null;
  return bytes.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

/**
 * Removes the segments whose records all come before `sequence`, but never the last segment, which is being written. Removes
 * the oldest first and makes each removal durable before the next, so that a crash leaves no gap. Returns how many it removed.
 * Throws SegmentKeptError if one cannot be removed.
 */
export function removeSegmentsBefore(dir: string, sequence: number, files: Files = DISK): number {
  const segments = listSegments(dir, files);
  let removed = 0;
  while (removed + 1 < segments.length && segments[removed + 1] <= sequence) {
    removeSegment(join(dir, segmentName(segments[removed])), files);
    syncDirectory(dir, files);
    removed++;
  }
  return removed;
}

function removeSegment(path: string, files: Files): void {
  try {
    files.unlinkSync(path);
  } catch (error) {
    throw new SegmentKeptError((error as Error).message, { cause: error });
  }
}

function readHeader(fd: number, firstSequence: number, files: Files): Segment {
  const name = segmentName(firstSequence);
  const corrupt = (why: string): LogCorruptError =>
    new LogCorruptError(name, 0, firstSequence, `segment header: ${why}`);
  const header = Buffer.alloc(HEADER_USED_BYTES);
  const bytesRead = withFileName(name, () => readFully(fd, header, header.length, 0, files));
  if (bytesRead < header.length) throw corrupt("the file is too short");
  if (!header.subarray(0, MAGIC.length).equals(MAGIC)) throw corrupt("this is not a log segment");
  const checked = header.subarray(AT_HEADER_VERSION, HEADER_CHECKED_BYTES);
  if (header.readUInt32LE(AT_HEADER_CRC) !== crc32(checked)) throw corrupt("wrong checksum");
  const version = header.readUInt32LE(AT_HEADER_VERSION);
  if (version !== SEGMENT_VERSION) throw corrupt(`version ${version}, this program reads ${SEGMENT_VERSION}`);
  const first = header.readDoubleLE(AT_FIRST_SEQUENCE);
  if (first !== firstSequence) throw corrupt(`it begins with sequence ${first}, not with that of its name`);
  const bytes = header.readDoubleLE(AT_SEGMENT_BYTES);
  const size = files.fstatSync(fd).size;
  if (size !== bytes) throw corrupt(`the file has ${size} bytes and should have ${bytes}`);
  const exchangeId = readExchangeId(header);
  if (exchangeId === null) throw corrupt("wrong checksum of the exchange's id");
  return { firstSequence, previousFirstSequence: header.readDoubleLE(AT_PREVIOUS_FIRST_SEQUENCE), bytes, exchangeId };
}
