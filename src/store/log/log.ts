import { join } from "node:path";
import { assert } from "../../assert.ts";
import { AT_DURABLE_THROUGH, AT_LOG_BYTES, AT_SEQUENCE, RECORD_HEADER_BYTES, viewOf } from "../../wire/record.ts";
import {
  DISK,
  type Files,
  makeFolder,
  requireSameFile,
  syncDirectory,
  withFileName,
  writeFully,
} from "../files/files.ts";
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

interface LogOptions {
  /** Size of new segment files: a multiple of 4096, at least 8192. Existing ones keep theirs. */
  segmentBytes: number;
  /** The last sequence that the database holds or a copy was made with; 0 = none. No record up to it may be cut off. */
  protectedThrough: number;
  /** New segments record it, and a segment with another one is refused. Default: that of the last segment. */
  exchangeId?: string;
  /** Default: the disk. */
  files?: Files;
}

/** The torn tail that openLog() cut off. Nothing proves that it was acknowledged. */
export interface LogTruncation {
  /** File name within the log's directory. */
  readonly segment: string;
  /** The file offset of the first byte that was cut off. */
  readonly offset: number;
  /** The sequence that the first lost record would have had. It is used again. */
  readonly sequence: number;
  readonly bytes: number;
}

/** Where the writer continues. */
interface Position {
  fd: number;
  segment: Segment;
  offset: number;
  nextSequence: number;
  /** The highest sequence of which a record in the log proves that it is durable. */
  provenThrough: number;
}

/**
 * Opens the log in `dir` for appending, and creates the folder and the log if they are missing. The caller makes sure that
 * there is only one writer.
 *
 * Reads the headers of all segments and the records of the last one. A bad record there is cut off, with everything after
 * it, unless something proves that it was acknowledged. Then it throws LogCorruptError, as it does for a missing segment or
 * a bad header. Throws the error of the file system otherwise.
 */
export function openLog(
  dir: string,
  { segmentBytes, protectedThrough, exchangeId = "", files = DISK }: LogOptions,
): LogWriter {
  assert(
    segmentBytes % 4096 === 0 && segmentBytes >= 2 * SEGMENT_HEADER_BYTES,
    "segmentBytes: a multiple of 4096, at least 8192",
  );
  makeFolder(dir, files);
  const last = readSegmentChain(dir, exchangeId, files).at(-1);
  const spare = new SpareSegment(dir, files);
  if (last === undefined) {
    if (protectedThrough >= FIRST_SEQUENCE) {
      const why = `there is no log, but the database goes through ${protectedThrough}`;
      throw new LogCorruptError(segmentName(FIRST_SEQUENCE), 0, FIRST_SEQUENCE, why);
    }
    const segment = { firstSequence: FIRST_SEQUENCE, previousFirstSequence: 0, bytes: segmentBytes, exchangeId };
    return new LogWriter(files, { segmentBytes, exchangeId }, spare, begin(segment, spare), null);
  }
  const scan = scanSegment(dir, last.firstSequence, files);
  const bytes = tornBytes(scan, protectedThrough);
  const position = resume(dir, scan, bytes, files);
  const segment = segmentName(last.firstSequence);
  const cut = bytes === 0 ? null : { segment, offset: scan.endOffset, sequence: scan.nextSequence, bytes };
  const next = { segmentBytes, exchangeId: exchangeId === "" ? last.exchangeId : exchangeId };
  return new LogWriter(files, next, spare, position, cut);
}

/**
 * The only writer of the log. Any error ends it: `failed` keeps the first one and every later call throws. After a failed
 * write or sync nobody knows what is on disk. The exchange must stop and open the log again.
 */
export class LogWriter {
  /** The torn tail that openLog() cut off, or null. */
  readonly truncation: LogTruncation | null;
  private readonly dir: string;
  private readonly files: Files;
  private readonly segmentBytes: number;
  private readonly exchangeId: string;
  private readonly spare: SpareSegment;
  private readonly watermark = Buffer.alloc(RECORD_HEADER_BYTES);
  private readonly watermarkView = viewOf(this.watermark);
  private at: Position;
  private dirty = false;
  private durable: number;
  private failure: Error | null = null;

  /** `next`: of new segments. */
  constructor(
    files: Files,
    next: { segmentBytes: number; exchangeId: string },
    spare: SpareSegment,
    start: Position,
    cut: LogTruncation | null,
  ) {
    this.dir = spare.dir;
    this.files = files;
    this.segmentBytes = next.segmentBytes;
    this.exchangeId = next.exchangeId;
    this.spare = spare;
    this.at = start;
    this.truncation = cut;
    this.durable = start.nextSequence - 1;
  }

  /** The sequence that the next record must have. */
  get nextSequence(): number {
    return this.at.nextSequence;
  }

  /** The last sequence known to be durable: the durableThrough of the next records. */
  get durableThrough(): number {
    return this.durable;
  }

  /** The error that ended this writer, or null. */
  get failed(): Error | null {
    return this.failure;
  }

  /**
   * Writes whole sealed records with the sequences `firstSequence` to `lastSequence`. They are durable only after sync(). A
   * record never spans segments. A record that is larger than a segment gets a segment of its own size.
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
   * Records how far the log is durable, unless a later record says so already. With it a later start can tell a damaged
   * record from one that was never acknowledged. Takes no sequence. Worth a sync() of its own when the journal is idle.
   */
  appendWatermark(timeMs: number): void {
    this.attempt(() => {
      if (this.at.provenThrough === this.durable) return;
      if (this.at.offset + RECORD_HEADER_BYTES > this.at.segment.bytes) {
        this.startNextSegment(0); // a new segment proves that the one before it is durable
        return;
      }
      encodeWatermark(this.watermarkView, this.watermark, this.at.nextSequence - 1, timeMs, this.durable);
      this.write(this.watermark);
      this.at.provenThrough = this.durable;
    });
  }

  /** Makes everything appended durable. */
  sync(): void {
    this.attempt(() => this.flush());
  }

  /**
   * Prepares the next segment: writes and syncs up to `maxBytes` of zeros. Returns true when it is ready. If it is not ready
   * when it is needed, append() does the rest at once and takes as long. So call it under load too, for at least as many
   * bytes as are appended. On a full disk it returns false. Nothing is lost: the current segment has its room already.
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

  /** Throws if the segment in use was removed, renamed or replaced: nothing acknowledged from now on would be found again. */
  requireSegment(): void {
    this.attempt(() => {
      const { fd, segment } = this.at;
      requireSameFile(join(this.dir, segmentName(segment.firstSequence)), this.files.fstatSync(fd), this.files);
    });
  }

  /** Closes the files. Records that were not synced may or may not be on disk. */
  close(): void {
    if (this.at.fd < 0) return;
    this.files.closeSync(this.at.fd);
    this.at.fd = -1;
    this.spare.close();
    this.failure ??= new Error("closed");
  }

  /** The end of the records, from `from` on, that fit into the segment. */
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

  /** Continues in a new segment with room for at least `recordBytes`. */
  private startNextSegment(recordBytes: number): void {
    this.flush(); // first, since the new segment proves that this one is durable
    const { fd, segment, nextSequence } = this.at;
    // An empty segment that is too small for its first record is replaced under the same name.
    const replaced = segment.firstSequence === nextSequence;
    const next = {
      firstSequence: nextSequence,
      previousFirstSequence: replaced ? segment.previousFirstSequence : segment.firstSequence,
      bytes: Math.max(this.segmentBytes, SEGMENT_HEADER_BYTES + recordBytes),
      exchangeId: this.exchangeId,
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

/** Zeroes the torn tail and makes everything before it durable, however the last writer ended. */
function resume(dir: string, scan: Scan, cutBytes: number, files: Files): Position {
  const { bytes, endOffset, nextSequence, provenThrough } = scan;
  const { fd, segment } = openSegment(dir, scan.segment.firstSequence, "r+", files);
  try {
    // After a failed sync the kernel may keep pages that it considers clean but that never reached the disk. So every byte
    // that is not proven durable is written again.
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
