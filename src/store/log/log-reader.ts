import { join } from "node:path";
import { AT_LOG_BYTES, RECORD_HEADER_BYTES } from "../../wire/record.ts";
import { DISK, type Files, readFully, withFileName } from "../files/files.ts";
import { describe, END, inspect, TRANSACTION, WATERMARK } from "./log-record.ts";
import {
  LogCorruptError,
  listSegments,
  openSegment,
  SEGMENT_HEADER_BYTES,
  type Segment,
  segmentName,
} from "./log-segment.ts";

/** Called with one transaction: `logBytes` bytes (a multiple of 8) at `offset`. Valid during the call only. */
export type VisitRecord = (buffer: Buffer, view: DataView, offset: number, logBytes: number) => void;

/** A read at the log's end should not copy a mebibyte of zeros. A read that catches up should use large blocks. */
const FIRST_READ_BYTES = 1 << 16;
const MAX_READ_BYTES = 1 << 20;

/** Reads transactions in order from a sequence on, also while a LogWriter appends to the same files. Keeps its position. */
export class LogReader {
  private readonly dir: string;
  private readonly files: Files;
  /** The sequence of the next transaction to visit. */
  private next: number;
  private fd = -1;
  private segment: Segment | null = null;
  /** The file offset of the next record. */
  private position = 0;
  /** The sequence of the next transaction in the file. Below `next` while the reader skips to its start. */
  private expected = 0;
  private buffer = Buffer.allocUnsafeSlow(MAX_READ_BYTES);
  private view = new DataView(this.buffer.buffer);
  /** The part of the file that the buffer holds. */
  private bufferPosition = 0;
  private bufferBytes = 0;
  /** The log was durable through this sequence when the buffer was filled. Later bytes in the buffer may be out of date. */
  private bufferThrough = -1;
  private readBytes = FIRST_READ_BYTES;

  constructor(dir: string, fromSequence: number, files: Files = DISK) {
    this.dir = dir;
    this.files = files;
    this.next = fromSequence;
  }

  /**
   * Visits the transactions after those of the last call through `throughSequence`, at most `maxRecords`. Returns how many.
   * `throughSequence` must be durable. Throws LogCorruptError if a record cannot be read. A transaction whose visit throws
   * is visited again.
   */
  read(throughSequence: number, visit: VisitRecord, maxRecords = Number.POSITIVE_INFINITY): number {
    let visited = 0;
    this.readBytes = FIRST_READ_BYTES;
    while (this.next <= throughSequence && visited < maxRecords) {
      const segment = this.segment ?? this.openFirst();
      if (this.expected > this.bufferThrough) {
        this.dropBuffer(throughSequence);
      }
      const offset = this.load(segment);
      const verdict = inspect(this.view, this.buffer, offset, this.bufferBytes, this.expected);
      if (verdict === END) {
        this.openNext(segment);
        continue;
      }
      if (verdict !== TRANSACTION && verdict !== WATERMARK)
        throw this.corrupt(segment, describe(verdict, this.view, offset));
      const logBytes = this.view.getUint32(offset + AT_LOG_BYTES, true);
      if (verdict === TRANSACTION) {
        if (this.expected === this.next) {
          visit(this.buffer, this.view, offset, logBytes);
          visited++;
          this.next++;
        }
        this.expected++;
      }
      this.position += logBytes;
    }
    return visited;
  }

  close(): void {
    if (this.fd >= 0) this.files.closeSync(this.fd);
    this.fd = -1;
    this.segment = null;
  }

  /** Loads the record at `position` into the buffer, up to the end of the segment. Returns its offset there. */
  private load(segment: Segment): number {
    this.buffered(segment, RECORD_HEADER_BYTES);
    const offset = this.position - this.bufferPosition;
    if (offset + RECORD_HEADER_BYTES > this.bufferBytes) return offset;
    const logBytes = this.view.getUint32(offset + AT_LOG_BYTES, true);
    if (logBytes <= segment.bytes - this.position) this.buffered(segment, logBytes);
    return this.position - this.bufferPosition;
  }

  private buffered(segment: Segment, bytes: number): void {
    if (this.position + bytes <= this.bufferPosition + this.bufferBytes) return;
    const length = Math.min(segment.bytes - this.position, Math.max(bytes, this.readBytes));
    if (length > this.buffer.length) {
      this.buffer = Buffer.allocUnsafeSlow(length);
      this.view = new DataView(this.buffer.buffer);
    }
    this.bufferPosition = this.position;
    const { fd, buffer, position, files } = this;
    this.bufferBytes = withFileName(segmentName(segment.firstSequence), () =>
      readFully(fd, buffer, length, position, files),
    );
    this.readBytes = Math.min(MAX_READ_BYTES, this.readBytes * 4);
  }

  private openFirst(): Segment {
    const segments = listSegments(this.dir, this.files);
    const first = segments.findLast((firstSequence) => firstSequence <= this.next);
    if (first === undefined) {
      const begins = segments[0] === undefined ? "there is no log" : `the log begins with ${segments[0]}`;
      throw new LogCorruptError(segmentName(this.next), 0, this.next, begins);
    }
    return this.enter(openSegment(this.dir, first, "r", this.files));
  }

  /** The segment has ended. The next one must begin with the expected sequence, which is in its name. */
  private openNext(segment: Segment): void {
    const isThere = this.files.existsSync(join(this.dir, segmentName(this.expected)));
    if (!isThere || this.expected === segment.firstSequence) throw this.corrupt(segment, "the record is missing");
    const opened = openSegment(this.dir, this.expected, "r", this.files);
    this.close();
    this.enter(opened);
  }

  private enter({ fd, segment }: { fd: number; segment: Segment }): Segment {
    this.fd = fd;
    this.segment = segment;
    this.position = SEGMENT_HEADER_BYTES;
    this.expected = segment.firstSequence;
    this.dropBuffer(-1);
    return segment;
  }

  private dropBuffer(bufferThrough: number): void {
    this.bufferPosition = this.position;
    this.bufferBytes = 0;
    this.bufferThrough = bufferThrough;
  }

  private corrupt(segment: Segment, why: string): LogCorruptError {
    return new LogCorruptError(segmentName(segment.firstSequence), this.position, this.expected, why);
  }
}
