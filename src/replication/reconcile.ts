import type { ReplicationMode } from "../config/replication.ts";
import { logOf } from "../store/files/data-folder.ts";
import { DISK, type Files } from "../store/files/files.ts";
import { cutLog, readLogEnd } from "../store/log/log-cut.ts";
import { listSegments } from "../store/log/log-segment.ts";
import { AT_ACTOR_ID, AT_SEQUENCE, AT_TIME, RECORD_HEADER_BYTES, viewOf } from "../wire/record.ts";
import { StreamFault } from "./batch.ts";
import { LocalLog } from "./local-log.ts";
import { MARKER_FILE } from "./replication-marker.ts";
import { type BatchStream, UnknownOutcomeError } from "./stream.ts";
import { StreamReader } from "./stream-reader.ts";

/** A tail of this folder's log that is not in the stream, and was cut off. */
export interface CutTail {
  readonly first: number;
  readonly last: number;
  /** Through which sequence the tail was answered, in mode `async`. Below `first`: nothing of it was. */
  readonly answeredThrough: number;
  /** The file with its records. */
  readonly file: string;
}

export interface Reconciled {
  readonly cut: CutTail | null;
  /** Through which sequence the stream holds the log that is left: Infinity = all of it. */
  readonly streamedThrough: number;
}

export interface ReconcileOptions {
  readonly dataDir: string;
  readonly exchangeId: string;
  readonly stream: BatchStream;
  /** The last sequence that the database holds. */
  readonly storedThrough: number;
  /** The folder was replicated before: see replication-marker.ts. */
  readonly wasReplicated: boolean;
  /** In `async` this folder may have answered more than the stream holds. */
  readonly mode: ReplicationMode;
  /** Default: the disk. */
  readonly files?: Files;
}

/**
 * Before the log is opened: compares its end with the stream. Records that are in both stay. Of those that only this folder
 * has, none was acknowledged in mode `sync`: they are cut off. In mode `async` they may have been, and they stay as long as
 * the stream ends where they begin; if another leader went on from there, they are cut off, too.
 *
 * Throws StreamFault if this folder proves that a record counted which the stream does not hold and cannot get, and
 * UnknownOutcomeError if a read of the stream is not answered: then nothing was cut.
 */
export async function reconcile(options: ReconcileOptions): Promise<Reconciled> {
  const { dataDir, exchangeId, stream, storedThrough, wasReplicated, mode, files = DISK } = options;
  const whole = { cut: null, streamedThrough: Number.POSITIVE_INFINITY };
  const dir = logOf(dataDir);
  const end = readLogEnd(dir, files);
  const proven = Math.max(end.provenThrough, storedThrough);
  const { last } = await stream.bounds();
  // A new stream takes a folder as it is.
  if (last === 0 && !wasReplicated) return whole;
  const reader = new StreamReader(stream, exchangeId, 1);
  const streamEnd = await reader.lastSequence();
  const front = end.last === 0 ? Number.POSITIVE_INFINITY : (listSegments(dir, files)[0] ?? 1);
  const mayPublish = mode === "async" && streamEnd > 0 && front <= streamEnd + 1;
  if (streamEnd < proven && !mayPublish)
    throw new StreamFault(
      `the stream ends with transaction ${streamEnd}, but this folder proves that transaction ${proven} was acknowledged: the stream has lost acknowledged transactions. Restore the stream; or, if this folder is the newest copy that is left, set replicateStream to a new name, remove ${MARKER_FILE} from the folder, and start it as the leader`,
    );
  if (end.last === 0) return whole;
  const log = { dir, files, front, last: end.last };
  let from = Math.min(proven, streamEnd);
  let { same, isPrefix } = await compare(log, from, reader, last);
  if (same < from && mode === "async") {
    // Another leader may have gone on from any transaction of this log after the first that both have.
    reader.next = 1;
    from = Math.max(front, await reader.seek());
    ({ same, isPrefix } = await compare(log, from - 1, reader, last));
  }
  if (same < from)
    throw new StreamFault(
      `transaction ${from} in this folder is another one than in the stream; this folder went on without the stream. Restore a backup of the leader's folder`,
    );
  if (same >= end.last) return whole;
  if (isPrefix && mode === "async") return { cut: null, streamedThrough: same };
  if (same < storedThrough)
    throw new StreamFault(
      `another process leads since transaction ${same + 1}, and the database in this folder holds others through ${storedThrough}: they were answered in mode async, and are lost. Keep this folder as it is, and restore a backup of the leader's folder elsewhere`,
    );
  const file = cutLog(dir, same + 1, dataDir, files);
  const answeredThrough = mode === "async" ? end.provenThrough : 0;
  return { cut: { first: same + 1, last: end.last, answeredThrough, file }, streamedThrough: Number.POSITIVE_INFINITY };
}

/**
 * The last sequence through which both have the same records, and whether all of the stream is the same. `from`: a sequence
 * that both should have. `place`: of the stream's last message.
 */
async function compare(
  { dir, files, front, last }: { dir: string; files: Files; front: number; last: number },
  from: number,
  reader: StreamReader,
  place: number,
): Promise<{ same: number; isPrefix: boolean }> {
  reader.next = Math.max(1, from);
  const begin = await reader.seek();
  // The stream has purged what would tell whether the tail is the same.
  if (begin > from + 1) return { same: from, isPrefix: false };
  // Snapshots may have replaced the record that is proven last.
  reader.next = Math.max(begin, front);
  const log = new LocalLog(dir, reader.next, files);
  let same = reader.next - 1;
  let isSame = true;
  const visit = (theirs: Uint8Array, sequence: number): void => {
    if (!isSame || sequence > last) return;
    const ours = log.read(sequence, 1);
    isSame = ours !== null && isSameRecord(ours.bytes, theirs);
    if (isSame) same = sequence;
  };
  try {
    while (isSame && same < last && reader.place < place)
      if (!(await reader.read(visit)))
        throw new UnknownOutcomeError(`message ${reader.place + 1} of the stream cannot be read yet`);
  } finally {
    log.close();
  }
  return { same, isPrefix: isSame };
}

/** Request and durableThrough belong to the machine; all else is the transaction. */
function isSameRecord(a: Uint8Array, b: Uint8Array): boolean {
  const [viewA, viewB] = [viewOf(a), viewOf(b)];
  return (
    viewA.getFloat64(AT_SEQUENCE, true) === viewB.getFloat64(AT_SEQUENCE, true) &&
    viewA.getFloat64(AT_TIME, true) === viewB.getFloat64(AT_TIME, true) &&
    viewA.getUint16(AT_ACTOR_ID, true) === viewB.getUint16(AT_ACTOR_ID, true) &&
    Buffer.compare(a.subarray(RECORD_HEADER_BYTES), b.subarray(RECORD_HEADER_BYTES)) === 0
  );
}
