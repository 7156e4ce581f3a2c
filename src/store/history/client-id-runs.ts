import { assert } from "../../assert.ts";
import { idToInstrumentId } from "../../core/base/enums.ts";
import type { RunReader } from "../database/client-order-table.ts";
import { hashOfClientId, IDS_PER_CHUNK, type OldClientId, runChunkKey } from "../database/client-order-table.ts";
import type { Database } from "../database/database.ts";
import { ClientIdHashRecord, type ClientIdRun, type IndexRecord } from "../database/history-schema.ts";
import type { Key } from "../database/table.ts";
import type { WriteBatch } from "../database/write-batch.ts";
import { findOrder } from "./find-order.ts";

/** So many neighbouring runs of one level are merged into one of the next level. */
const RUNS_PER_MERGE = 8;
/** The least number of ids that a commit moves in a merge, and out of the runs and generations of older versions. */
const MIN_IDS_PER_COMMIT = 1024;
/** No hash. */
const NONE = -1;

/** The runs of the index, newest first. Absent in an index of an older version. */
export const runsOf = ({ clientIdRuns }: IndexRecord): readonly ClientIdRun[] => clientIdRuns ?? [];

/** Whether an older version wrote the run, with the ids themselves. */
export const isTextRun = ({ lastHash }: ClientIdRun): boolean => lastHash === undefined;

/**
 * Maintains the orders behind client order ids. Hashes are random, and in one sorted table each new id would change a page
 * of its own. So each commit writes its ids as a sorted run. Eight neighbouring runs of one level become one run of the next
 * level. That takes many commits, each of which moves twice as many ids as it adds. So the number of runs grows with the
 * logarithm of the number of commits, and a search reads one chunk of each run.
 *
 * A row has a hash of the id in place of the id, which stands in the order: a quarter of the space. A merge leaves out ids of
 * orders that retention has removed. A run of which retention covers half of the time is copied without them.
 *
 * Older versions wrote runs with the ids themselves, and before that a row for each id, in generations of 16,384 ids. Each
 * commit turns some of these into a run, which takes their place. The list goes from newer ids to older ones, because the
 * newest order of an id counts.
 */
export class ClientIdRuns {
  private readonly database: Database;
  private readonly index: IndexRecord;
  private runs: ClientIdRun[];
  private readonly added = new IdList();
  private keptSince = 0;
  /** By instrument: the first short-lived order that is left. */
  private readonly firstOrders = new Map<number, number>();

  /** Keeps the runs in `index`, which the caller writes with each batch. */
  constructor(database: Database, index: IndexRecord) {
    this.database = database;
    this.index = index;
    this.runs = [...runsOf(index)];
  }

  add(accountId: number, clientOrderId: string, orderId: number): void {
    this.added.push(hashOfClientId(accountId, clientOrderId), orderId);
  }

  /** Writes the ids that were added, and goes on with merges. The batch must be committed before the next call. */
  flush(batch: WriteBatch): void {
    const { added } = this;
    this.keptSince = this.database.keptSince();
    this.firstOrders.clear();
    // Twice as many as it adds, so that a merge ends before its next sources are there.
    const idsPerCommit = Math.max(MIN_IDS_PER_COMMIT, 2 * added.length);
    this.beginMerges();
    for (const run of [...this.runs]) if (this.isTarget(run)) this.merge(batch, run, idsPerCommit);
    if (added.length > 0) this.runs.unshift(this.writeRun(batch, added, this.index.clock));
    this.convertTextRun(batch, idsPerCommit);
    this.convertGeneration(batch, idsPerCommit);
    this.index.clientIdRuns = this.runs;
  }

  private newRun(level: number, oldest: number, newest: number): ClientIdRun {
    return { id: ++this.index.lastClientIdRun, level, targetId: 0, last: null, lastHash: NONE, oldest, newest };
  }

  private isTarget({ id }: ClientIdRun): boolean {
    return this.runs.some((run) => run.targetId === id && !isTextRun(run));
  }

  private writeRun(batch: WriteBatch, ids: IdList, oldest: number): ClientIdRun {
    const run = this.newRun(0, oldest, this.index.clock);
    ids.sort();
    ids.write(batch, this.database, run.id);
    return run;
  }

  /** Finds neighbours of one level, the oldest first, and runs of which retention covers half of the time. */
  private beginMerges(): void {
    let neighbours: ClientIdRun[] = [];
    for (let i = this.runs.length - 1; i >= 0; i--) {
      const run = this.runs[i];
      const isFree = run.targetId === 0 && !isTextRun(run) && !this.isTarget(run);
      if (neighbours[0]?.level !== run.level || !isFree) neighbours = [];
      if (isFree) neighbours.push(run);
      if (neighbours.length === RUNS_PER_MERGE) this.beginMerge(i, neighbours, run.level + 1);
      else if (isFree && this.keptSince > (run.oldest + run.newest) / 2) this.beginMerge(i, [run], run.level);
      else continue;
      neighbours = [];
    }
  }

  /** `at` is the index of the newest source. */
  private beginMerge(at: number, sources: readonly ClientIdRun[], level: number): void {
    const oldest = Math.max(this.keptSince, Math.min(...sources.map((run) => run.oldest)));
    const newest = Math.max(this.keptSince, ...sources.map((run) => run.newest));
    const target = this.newRun(level, oldest, newest);
    for (const source of sources) source.targetId = target.id;
    // Before the sources: they still hold older orders of ids that the target has already.
    this.runs.splice(at, 0, target);
  }

  /** Moves the next ids from the sources to the target. After the last one the sources are gone. */
  private merge(batch: WriteBatch, target: ClientIdRun, count: number): void {
    const { clientOrders } = this.database;
    const sources = this.runs.filter((run) => run.targetId === target.id && !isTextRun(run));
    const readers = sources.map(({ id }) => clientOrders.readRun(id));
    const hasBegun = target.lastHash !== NONE;
    for (const reader of readers) reader.skipThrough(target.lastHash);
    assert(hasBegun || !readers.some(isAtEnd), `run ${target.id} of client order ids: a source is missing`);
    const moved = new IdList();
    for (let seen = 0, first = firstOf(readers); first !== null; seen++, first = firstOf(readers)) {
      const { hash, orderId } = first.next as ClientIdHashRecord;
      // Rows with the same hash are moved by one commit, since only the hash says where the next one goes on.
      if (seen >= count && hash !== target.lastHash) break;
      if (!this.isGone(orderId) && !(hash === moved.lastHash && this.isSameId(moved.lastOrderId, orderId)))
        moved.push(hash, orderId);
      target.lastHash = hash;
      first.advance();
    }
    if (moved.length > 0) target.isWritten = true;
    moved.write(batch, this.database, target.id);
    for (const reader of readers) {
      for (const key of reader.readKeys) batch.remove(clientOrders, key);
      reader.close();
    }
    if (!readers.every(isAtEnd)) return;
    target.lastHash = NONE;
    const isEmpty = target.isWritten !== true;
    this.runs = this.runs.filter((run) => !sources.includes(run) && !(isEmpty && run === target));
  }

  /** Whether retention has removed the order. */
  private isGone(orderId: number): boolean {
    if (this.keptSince === 0) return false;
    const { shortLivedOrders, orders } = this.database;
    const instrumentId = idToInstrumentId(orderId);
    let first = this.firstOrders.get(instrumentId);
    if (first === undefined) {
      first = shortLivedOrders.firstOrderOf(instrumentId);
      this.firstOrders.set(instrumentId, first);
    }
    return orderId < first && !orders.has(orderId);
  }

  /** Whether both orders have the same client order id on one symbol. Then only the newer one counts. */
  private isSameId(newerId: number, olderId: number): boolean {
    if (idToInstrumentId(newerId) !== idToInstrumentId(olderId)) return false;
    const newer = findOrder(this.database, newerId);
    const older = findOrder(this.database, olderId);
    return older?.clientOrderId === newer?.clientOrderId && older?.accountId === newer?.accountId;
  }

  private convertTextRun(batch: WriteBatch, count: number): void {
    const at = this.runs.findIndex(isTextRun);
    if (at < 0) return;
    const chunks = Math.ceil(count / IDS_PER_CHUNK);
    const { converted, keys } = this.convert(batch, (visit) =>
      this.database.clientOrders.eachOfTextRun(this.runs[at].id, chunks, visit),
    );
    if (keys < chunks) this.runs.splice(at, 1);
    if (converted !== null) this.runs.splice(at, 0, converted);
  }

  private convertGeneration(batch: WriteBatch, count: number): void {
    const { index } = this;
    const { clientIdGeneration } = index;
    if (clientIdGeneration < 0) return;
    const { converted, keys } = this.convert(batch, (visit) =>
      this.database.clientOrders.eachOfGeneration(clientIdGeneration, count, visit),
    );
    if (keys < count) index.clientIdGeneration--;
    if (converted !== null) this.runs.push(converted);
  }

  /** Turns the ids that an older version wrote into a run. */
  private convert(
    batch: WriteBatch,
    each: (visit: (key: Key, ids: OldClientId[]) => void) => void,
  ): { converted: ClientIdRun | null; keys: number } {
    const list = new IdList();
    let keys = 0;
    each((key, ids) => {
      for (const { accountId, clientOrderId, orderId } of ids)
        list.push(hashOfClientId(accountId, clientOrderId), orderId);
      batch.remove(this.database.clientOrders, key);
      keys++;
    });
    // Nobody knows how old they are.
    return { converted: list.length > 0 ? this.writeRun(batch, list, 0) : null, keys };
  }
}

const isAtEnd = ({ next }: RunReader): boolean => next === null;

/** The reader with the smallest hash. Of equal hashes that of the newest run, which comes first. */
function firstOf(readers: readonly RunReader[]): RunReader | null {
  let first: RunReader | null = null;
  for (const reader of readers) if (reader.isBefore(first)) first = reader;
  return first;
}

/** Ids that a batch will write as a part of a run. */
class IdList {
  private rows: ClientIdHashRecord[] = [];

  get length(): number {
    return this.rows.length;
  }

  get lastHash(): number {
    return this.rows.at(-1)?.hash ?? NONE;
  }

  get lastOrderId(): number {
    return this.rows.at(-1)?.orderId ?? 0;
  }

  push(hash: number, orderId: number): void {
    this.rows.push({ type: ClientIdHashRecord.code, hash, orderId });
  }

  /** By hash. Of equal hashes the one that was added last comes first. */
  sort(): void {
    this.rows.reverse();
    this.rows.sort((a, b) => a.hash - b.hash);
  }

  /** Writes the ids, and empties the list. */
  write(batch: WriteBatch, { clientOrders }: Database, runId: number): void {
    for (let from = 0; from < this.rows.length; from += IDS_PER_CHUNK) {
      const chunk = this.rows.slice(from, from + IDS_PER_CHUNK);
      const [first] = chunk as [ClientIdHashRecord];
      const references = chunk.map((row) => batch.encodeRow(row));
      batch.putRows(clientOrders, runChunkKey(runId, first), references);
    }
    this.rows = [];
  }
}
