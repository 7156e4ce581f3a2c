import { assert } from "../../assert.ts";
import { AT_DURABLE_THROUGH, AT_LOG_BYTES, AT_SEQUENCE, RECORD_HEADER_BYTES, viewOf } from "../../wire/record.ts";
import { DISK, type Files, makeFolder, syncDirectory, withFileName, writeFully } from "../files/files.ts";
import { checkBatch, encodeWatermark } from "./log-record.ts";
import { offsetAfter, type Scan, scanSegment, tornBytes } from "./log-scan.ts";
import {
  LogCorruptError,
  openSegment,
  readSegmentChain,
  SEGMENT_HEADER_BYTES,
  type Segment,
  segmentName,
} from "./log-segment.ts";
import { SpareSegment } from "./log-spare.ts";

const FIRST_SEQUENCE = 1;

export interface LogOptions {
  /** Size of new segment files: a multiple of 4096, at least 8192. Those that exist keep theirs. */
  segmentBytes: number;
  /** The last sequence that the store holds, or a copy was made with; 0 if none: no record up to it may be cut. */
  protectedThrough: number;
  /** Default: the disk. */
  files?: Files;
}

/** What openLog() cut off: written, but never acknowledged. */
export interface LogTruncation {
  /** File name within the log's directory. */
  readonly segment: string;
  /** Of the first byte cut, in the file. */
  readonly offset: number;
  /** The sequence that the first record cut would have had; it is given out again. */
  readonly sequence: number;
  readonly bytes: number;
}

/** Where the writer goes on. */
interface Position {
  fd: number;
  segment: Segment;
  offset: number;
  nextSequence: number;
  /** The highest sequence of which the log itself says that it is on disk. */
  provenThrough: number;
}

/**
 * Opens the log in `dir` for appending, or creates both. One writer at a time; the caller sees to that.
 *
 * Reads the headers of all segments and the records of the last one. A bad record there, and what follows it, is cut
 * unless something proves that it was acknowledged. Throws LogCorruptError when it was, or when a segment is missing or
 * is not what its header says; else the error of the file system.
 */
export function openLog(dir: string, { segmentBytes, protectedThrough, files = DISK }: LogOptions): LogWriter {
  assert(segmentBytes % 4096 === 0 && segmentBytes >= 2 * SEGMENT_HEADER_BYTES, "segmentBytes: pages, two at least");
  makeFolder(dir, files);
  const last = readSegmentChain(dir, files).at(-1);
  const spare = new SpareSegment(dir, files);
  if (last === undefined) {
    if (protectedThrough >= FIRST_SEQUENCE) {
      const why = `there is no log, but the store goes through ${protectedThrough}`;
      throw new LogCorruptError(segmentName(FIRST_SEQUENCE), 0, FIRST_SEQUENCE, why);
    }
    const segment = { firstSequence: FIRST_SEQUENCE, previousFirstSequence: 0, bytes: segmentBytes };
    return new LogWriter(files, segmentBytes, spare, begin(segment, spare), null);
  }
  const scan = scanSegment(dir, last.firstSequence, files);
  const bytes = tornBytes(scan, protectedThrough);
  const position = resume(dir, scan, bytes, files);
  const segment = segmentName(last.firstSequence);
  const cut = bytes === 0 ? null : { segment, offset: scan.endOffset, sequence: scan.nextSequence, bytes };
  return new LogWriter(files, segmentBytes, spare, position, cut);
}

/**
 * The one writer of the log. Whatever goes wrong, in a call or in the file system, ends it: `failed` keeps the first
 * error and every later call throws, because after a failed write or sync nobody knows what is on disk. The way out is
 * to stop and to open again.
 */
export class LogWriter {
  /** What openLog() cut off, or null. */
  readonly truncation: LogTruncation | null;
  private readonly files: Files;
  private readonly segmentBytes: number;
  private readonly spare: SpareSegment;
  private readonly watermark = Buffer.alloc(RECORD_HEADER_BYTES);
  private readonly watermarkView = viewOf(this.watermark);
  private at: Position;
  private dirty = false;
  private durable: number;
  private failure: Error | null = null;

  constructor(files: Files, segmentBytes: number, spare: SpareSegment, start: Position, cut: LogTruncation | null) {
    this.files = files;
    this.segmentBytes = segmentBytes;
    this.spare = spare;
    this.at = start;
    this.truncation = cut;
    this.durable = start.nextSequence - 1;
  }

  /** The sequence that the next record must have. */
  get nextSequence(): number {
    return this.at.nextSequence;
  }

  /** The last sequence known to be on disk: what the next records' durableThrough should say. */
  get durableThrough(): number {
    return this.durable;
  }

  /** The error that ended this writer, or null. */
  get failed(): Error | null {
    return this.failure;
  }

  /**
   * Writes whole sealed records, of the sequences `firstSequence` to `lastSequence` without gaps. On disk only after
   * sync(). A record never spans segments; one that is larger than a segment gets a segment of its own size.
   */
  append(bytes: Uint8Array, firstSequence: number, lastSequence: number): void {
    this.attempt(() => {
      const view = viewOf(bytes);
      checkBatch(view, firstSequence, lastSequence, this.at.nextSequence);
      for (let from = 0; from < bytes.length; ) {
        const to = this.endOfFitting(view, from);
        if (to === from) {
          this.startNextSegment(view.getUint32(from + AT_LOG_BYTES, true));
          continue;
        }
        this.write(bytes.subarray(from, to));
        this.at.provenThrough = Math.max(this.at.provenThrough, view.getFloat64(from + AT_DURABLE_THROUGH, true));
        this.at.nextSequence = to < bytes.length ? view.getFloat64(to + AT_SEQUENCE, true) : lastSequence + 1;
        from = to;
      }
    });
  }

  /**
   * Writes down how far the log is on disk, where no later record says so yet: with it, a later start tells a record that
   * rotted from one that was never acknowledged. Takes no sequence. Worth a sync() of its own when the journal falls idle.
   */
  appendWatermark(timeMs: number): void {
    this.attempt(() => {
      if (this.at.provenThrough === this.durable) return;
      if (this.at.offset + RECORD_HEADER_BYTES > this.at.segment.bytes) {
        this.startNextSegment(0); // a new segment vouches for the one before it
        return;
      }
      encodeWatermark(this.watermarkView, this.watermark, this.at.nextSequence - 1, timeMs, this.durable);
      this.write(this.watermark);
      this.at.provenThrough = this.durable;
    });
  }

  /** Returns when everything appended is on disk. */
  sync(): void {
    this.attempt(() => this.flush());
  }

  /**
   * Does up to `maxBytes` of the work of making the next segment (write zeros, sync them). True = ready.
   * What is missing when the segment is needed is done at once, in append(), which then takes as long as that: call it
   * under load too, for at least as many bytes as are appended. Where the disk is full nothing is ready and nothing lost:
   * the segment in use has its room already.
   */
  prepare(maxBytes: number): boolean {
    return this.attempt(() => {
      try {
        return this.spare.fill(this.segmentBytes, maxBytes);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
        this.spare.discard();
        return false;
      }
    });
  }

  /** Closes the files. What was not synced may or may not be on disk. */
  close(): void {
    if (this.at.fd < 0) return;
    this.files.closeSync(this.at.fd);
    this.at.fd = -1;
    this.spare.close();
    this.failure ??= new Error("closed");
  }

  /** The end of the records from `from` on that fit into the segment. */
  private endOfFitting(view: DataView, from: number): number {
    const limit = from + this.at.segment.bytes - this.at.offset;
    if (view.byteLength <= limit) return view.byteLength;
    let to = from;
    for (;;) {
      const end = to + view.getUint32(to + AT_LOG_BYTES, true);
      if (end > limit) return to;
      to = end;
    }
  }

  private write(bytes: Uint8Array): void {
    this.dirty = true;
    this.inSegment(({ fd, offset }) => writeFully(fd, bytes, offset, this.files));
    this.at.offset += bytes.length;
  }

  private flush(): void {
    if (this.dirty) this.inSegment(({ fd }) => this.files.fdatasyncSync(fd));
    this.dirty = false;
    this.durable = this.at.nextSequence - 1;
  }

  /** Goes on in a new segment, of room for `recordBytes` at least. */
  private startNextSegment(recordBytes: number): void {
    this.flush(); // first, since the new segment vouches for this one
    const { fd, segment, nextSequence } = this.at;
    // A segment without a record, too small for its first, is replaced under the same name.
    const replaced = segment.firstSequence === nextSequence;
    const next = {
      firstSequence: nextSequence,
      previousFirstSequence: replaced ? segment.previousFirstSequence : segment.firstSequence,
      bytes: Math.max(this.segmentBytes, SEGMENT_HEADER_BYTES + recordBytes),
    };
    this.at = begin(next, this.spare);
    this.files.closeSync(fd);
  }

  private inSegment(work: (at: Position) => void): void {
    withFileName(segmentName(this.at.segment.firstSequence), () => work(this.at));
  }

  private attempt<T>(work: () => T): T {
    if (this.failure !== null) throw new Error(`log writer stopped: ${this.failure.message}`, { cause: this.failure });
    try {
      return work();
    } catch (error) {
      this.failure = error as Error;
      throw error;
    }
  }
}

function begin(segment: Segment, spare: SpareSegment): Position {
  const { firstSequence } = segment;
  return {
    fd: spare.install(segment),
    segment,
    offset: SEGMENT_HEADER_BYTES,
    nextSequence: firstSequence,
    provenThrough: firstSequence - 1,
  };
}

/** Zeroes the torn tail and makes sure that all before it is on disk, whatever ended the last writer. */
function resume(dir: string, scan: Scan, cutBytes: number, files: Files): Position {
  const { bytes, endOffset, nextSequence, provenThrough } = scan;
  const { fd, segment } = openSegment(dir, scan.segment.firstSequence, "r+", files);
  try {
    // After a failed sync the kernel may keep pages that it calls clean and that never reached the disk: write again
    // what nothing vouches for.
    bytes.fill(0, endOffset, endOffset + cutBytes);
    const from = offsetAfter(scan, provenThrough);
    withFileName(segmentName(segment.firstSequence), () => {
      writeFully(fd, bytes.subarray(from, endOffset + cutBytes), from, files);
      files.fdatasyncSync(fd);
    });
    syncDirectory(dir, files);
  } catch (error) {
    files.closeSync(fd);
    throw error;
  }
  return { fd, segment, offset: endOffset, nextSequence, provenThrough: provenThrough };
}
