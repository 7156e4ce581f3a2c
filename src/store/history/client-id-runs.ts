import { assert } from "../../assert.ts";
import type { ClientOrderTable, RunReader } from "../database/client-order-table.ts";
import { IDS_PER_CHUNK, runChunkKey } from "../database/client-order-table.ts";
import { ClientIdRecord, type ClientIdRun, type IndexRecord } from "../database/history-schema.ts";
import type { WriteBatch } from "../database/write-batch.ts";

/** So many neighbouring runs of one level are merged into one of the next level. */
const RUNS_PER_MERGE = 8;
/** The least number of ids that a commit moves in a merge, and out of a generation. */
const MIN_IDS_PER_COMMIT = 1024;

/** The runs of the index, newest first. Absent in an index of an older version. */
export const runsOf = ({ clientIdRuns }: IndexRecord): readonly ClientIdRun[] => clientIdRuns ?? [];

/**
 * Maintains the orders behind client order ids. Ids are often random, and in one sorted table each new id would change a page
 * of its own. So each commit writes its ids as a sorted run. Eight neighbouring runs of one level become one run of the next
 * level. That takes many commits, each of which moves twice as many ids as it adds. So the number of runs grows with the
 * logarithm of the number of commits, and a search reads one chunk of each run.
 *
 * Older versions wrote a row for each id, in generations of 16,384 ids. Each commit turns some of these rows into a run, the
 * newest generation first. These runs stand behind all others, because the list goes from newer ids to older ones: the
 * newest order of an id counts.
 */
export class ClientIdRuns {
  private readonly table: ClientOrderTable;
  private readonly index: IndexRecord;
  private runs: ClientIdRun[];
  private readonly added: IdList;

  /** Keeps the runs in `index`, which the caller writes with each batch. */
  constructor(table: ClientOrderTable, index: IndexRecord) {
    this.table = table;
    this.index = index;
    this.runs = [...runsOf(index)];
    this.added = new IdList();
  }

  add(batch: WriteBatch, accountId: number, clientOrderId: string, orderId: number): void {
    this.added.push(batch, { type: ClientIdRecord.code, accountId, clientOrderId, orderId });
  }

  /** Writes the ids that were added, and goes on with merges. The batch must be committed before the next call. */
  flush(batch: WriteBatch): void {
    const { added } = this;
    // Twice as many as it adds, so that a merge ends before its next sources are there.
    const idsPerCommit = Math.max(MIN_IDS_PER_COMMIT, 2 * added.length);
    this.beginMerges();
    for (const run of [...this.runs]) if (this.isTarget(run)) this.merge(batch, run, idsPerCommit);
    if (added.length > 0) this.runs.unshift(this.writeRun(batch, added));
    this.convertGeneration(batch, idsPerCommit);
    this.index.clientIdRuns = this.runs;
  }

  private newRun(level: number): ClientIdRun {
    return { id: ++this.index.lastClientIdRun, level, targetId: 0, last: null };
  }

  private isTarget({ id }: ClientIdRun): boolean {
    return this.runs.some(({ targetId }) => targetId === id);
  }

  private writeRun(batch: WriteBatch, ids: IdList): ClientIdRun {
    const run = this.newRun(0);
    ids.write(batch, this.table, run.id, false);
    return run;
  }

  /** Finds neighbours of one level, the oldest first. */
  private beginMerges(): void {
    let neighbours: ClientIdRun[] = [];
    for (let i = this.runs.length - 1; i >= 0; i--) {
      const run = this.runs[i];
      const isFree = run.targetId === 0 && !this.isTarget(run);
      if (neighbours[0]?.level !== run.level || !isFree) neighbours = [];
      if (isFree) neighbours.push(run);
      if (neighbours.length < RUNS_PER_MERGE) continue;
      const target = this.newRun(run.level + 1);
      for (const source of neighbours) source.targetId = target.id;
      // Before the sources: they still hold older orders of ids that the target has already.
      this.runs.splice(i, 0, target);
      neighbours = [];
    }
  }

  /** Moves the next ids from the sources to the target. After the last one the sources are gone. */
  private merge(batch: WriteBatch, target: ClientIdRun, count: number): void {
    const sources = this.runs.filter(({ targetId }) => targetId === target.id);
    const readers = sources.map(({ id }) => this.table.readRun(id));
    const { last } = target;
    if (last !== null) for (const reader of readers) reader.skipThrough(last);
    else assert(!readers.some(isAtEnd), `run ${target.id} of client order ids: a run that belongs into it is missing`);
    const moved = new IdList();
    while (moved.length < count) {
      const first = firstOf(readers);
      if (first === null) break;
      const id = first.next as ClientIdRecord;
      moved.push(batch, id);
      // Orders of older runs with the same id are forgotten here.
      for (const reader of readers) reader.skip(id);
      target.last = id;
    }
    moved.write(batch, this.table, target.id, true);
    for (const reader of readers) {
      for (const key of reader.readKeys) batch.remove(this.table, key);
      reader.close();
    }
    if (!readers.every(isAtEnd)) return;
    target.last = null;
    this.runs = this.runs.filter(({ targetId }) => targetId !== target.id);
  }

  private convertGeneration(batch: WriteBatch, count: number): void {
    const { table, index } = this;
    if (index.clientIdGeneration < 0) return;
    const ids = new IdList();
    table.eachOfGeneration(index.clientIdGeneration, count, (key, id) => {
      ids.push(batch, id);
      batch.remove(table, key);
    });
    if (ids.length < count) index.clientIdGeneration--;
    if (ids.length > 0) this.runs.push(this.writeRun(batch, ids));
  }
}

const isAtEnd = ({ next }: RunReader): boolean => next === null;

/** The reader with the smallest id. Of equal ids that of the newest run, which comes first. */
function firstOf(readers: readonly RunReader[]): RunReader | null {
  let first: RunReader | null = null;
  for (const reader of readers) if (reader.isBefore(first)) first = reader;
  return first;
}

/** Ids that a batch will write as a part of a run. Their rows are in the batch already. */
class IdList {
  private readonly accountIds: number[] = [];
  private readonly clientOrderIds: string[] = [];
  /** References of WriteBatch.encodeRow(). */
  private readonly rows: number[] = [];

  get length(): number {
    return this.rows.length;
  }

  push(batch: WriteBatch, id: ClientIdRecord): void {
    this.accountIds.push(id.accountId);
    this.clientOrderIds.push(id.clientOrderId);
    this.rows.push(batch.encodeRow(id));
  }

  /** Writes the ids in order, and empties the list. If an id was added twice, the later order counts. */
  write(batch: WriteBatch, table: ClientOrderTable, runId: number, isSorted: boolean): void {
    const { accountIds, clientOrderIds, rows } = this;
    const sorted = isSorted ? rows.map((_, i) => i) : this.sorted();
    for (let from = 0; from < sorted.length; from += IDS_PER_CHUNK) {
      const chunk = sorted.slice(from, from + IDS_PER_CHUNK);
      const [first] = chunk as [number];
      const chunkRows = chunk.map((i) => rows[i]);
      batch.putRows(table, runChunkKey(runId, accountIds[first], clientOrderIds[first]), chunkRows);
    }
    accountIds.length = 0;
    clientOrderIds.length = 0;
    rows.length = 0;
  }

  /** The indices of the ids in their order, without those that were added again. */
  private sorted(): number[] {
    const { accountIds, clientOrderIds } = this;
    const order = accountIds.map((_, i) => i);
    // A stable sort keeps the order in which equal ids were added.
    order.sort((a, b) => {
      if (accountIds[a] !== accountIds[b]) return accountIds[a] - accountIds[b];
      if (clientOrderIds[a] === clientOrderIds[b]) return 0;
      return clientOrderIds[a] < clientOrderIds[b] ? -1 : 1;
    });
    const isSame = (a: number, b: number): boolean =>
      accountIds[a] === accountIds[b] && clientOrderIds[a] === clientOrderIds[b];
    return order.filter((i, at) => at + 1 === order.length || !isSame(i, order[at + 1]));
  }
}
