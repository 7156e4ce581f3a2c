import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import type { RootDatabase } from "lmdb";
import type { Message } from "../../core/protocol/message-schema.ts";
import { databaseOf } from "../files/data-folder.ts";
import { withFileName } from "../files/files.ts";
import {
  createGenesis,
  DatabaseCorruptError,
  type Genesis,
  isInitialised,
  markInitialised,
  readGenesis,
} from "../files/genesis.ts";
import { delayingExit, delayingExitUntil } from "../files/process-exit.ts";
import { ClientOrderTable } from "./client-order-table.ts";
import { probeDatabase } from "./database-probe.ts";
import {
  type CandleRecord,
  type ClosedPositionRecord,
  CommitCountRecord,
  type DeficitRecord,
  type EquityRecord,
  type FillRecord,
  type FundingPaymentRecord,
  type FundingRateRecord,
  type FundMovementRecord,
  GenesisRecord,
  type IndexRecord,
  type OpenInterestRecord,
  type OperatorActRecord,
  type OrderRecord,
  type PositionStateRecord,
  type ReferenceRecord,
  type RetentionRecord,
  type SnapshotRecord,
  type TradeRecord,
  type TransferRecord,
} from "./history-schema.ts";
import { noteLatestCommit } from "./latest-commit.ts";
import { SeriesTable } from "./series.ts";
import { ShortLivedOrderTable } from "./short-lived-orders.ts";
import { type Key, RowTable } from "./table.ts";
import { WriteBatch } from "./write-batch.ts";

const { ABORT, open } = await delayingExitUntil(() => import("lmdb"));

/** Address space, not disk: the file grows as it is written. Generous, since a later remapping would keep the old map too. */
export const DEFAULT_MAP_BYTES = 64 * 2 ** 30;
const MAX_TABLES = 32;
const GENESIS_KEY = "genesis";
/** Of the rows about the history as a whole, but for IndexRecord. */
export const RETENTION_KEY = "retention";
const COMMIT_COUNT_KEY = "commits";
/** More processes than these do not open a database within a moment. */
const MOST_OPENINGS = 5;

interface DatabaseOptions {
  /** For every thread except the writer. The database must exist. */
  readOnly?: boolean;
  /** The maximum size of the database. */
  mapSizeBytes?: number;
  /** False skips the check of the file in a child process. */
  probe?: boolean;
}

/** A commit failed and nothing of it is in the database. Stop and recover from the log: a retry may report a false success. */
export class DatabaseWriteError extends Error {
  override name = "DatabaseWriteError";
}

/**
 * Opens the database in the data folder `dir`, or creates it for a new exchange. One thread opens it for writing first. Then
 * any thread of the process may open it for reading: LMDB shares one environment among them.
 *
 * Throws DatabaseCorruptError if the database is missing, empty or damaged, or belongs to another exchange.
 */
export function openDatabase(dir: string, options: DatabaseOptions = {}): Database {
  const { readOnly = false, mapSizeBytes = DEFAULT_MAP_BYTES, probe = true } = options;
  const path = databaseOf(dir);
  const known = readGenesis(dir);
  const isFresh = !isInitialised(dir);
  if (known === null && isPresent(path)) throw new DatabaseCorruptError(`${path}: the database has no genesis.json`);
  if (!isFresh) requireDatabase(path);
  if (readOnly && (known === null || isFresh)) throw new DatabaseCorruptError(`${dir}: there is no database to read`);
  const genesis = known ?? createGenesis(dir);
  if (!readOnly && !isFresh && probe) probeDatabase(dir);
  return delayingExit(() => {
    const database = withFileName(path, () => new Database(genesis, dir, mapSizeBytes, readOnly));
    try {
      database.refuseUnknownTables();
      if (!readOnly) {
        checkOwner(database, dir, isFresh);
        database.beginWriting();
      }
    } catch (error) {
      database.close();
      throw error;
    }
    return database;
  });
}

/** All tables of the LMDB environment. Their rows are declared in history-schema.ts. */
export class Database {
  readonly genesis: Genesis;
  readonly genesisRecords: RowTable<GenesisRecord>;
  /** actorId */
  readonly snapshotHeads: RowTable<SnapshotRecord>;
  /** [actorId, table, key] → a row of the actor's snapshot */
  readonly snapshotRows: RowTable;
  /** The same for tables that a start does not load: see snapshots.ts. Folders of older versions lack it until a start. */
  readonly pastRows: RowTable;
  /** "history" */
  readonly index: RowTable<IndexRecord>;
  /** orderId; every order that was open at the end of a batch */
  readonly orders: RowTable<OrderRecord>;
  /** Leads to all other orders, which are in closedOrders only. */
  readonly shortLivedOrders: ShortLivedOrderTable;
  readonly clientOrders: ClientOrderTable;
  /** transferId */
  readonly transfers: RowTable<TransferRecord>;
  /** [interval, instrumentId, openTime] */
  readonly candles: RowTable<CandleRecord>;
  /** [instrumentId, fundingTime] */
  readonly fundingRates: RowTable<FundingRateRecord>;
  /** By account. */
  readonly closedOrders: SeriesTable<ReferenceRecord | OrderRecord>;
  readonly fills: SeriesTable<FillRecord>;
  readonly deposits: SeriesTable<ReferenceRecord>;
  readonly withdrawals: SeriesTable<ReferenceRecord>;
  readonly fundingPayments: SeriesTable<FundingPaymentRecord>;
  readonly deficits: SeriesTable<DeficitRecord>;
  readonly fundMovements: SeriesTable<FundMovementRecord>;
  /** By instrument. */
  readonly trades: SeriesTable<TradeRecord>;
  readonly liquidations: SeriesTable<TradeRecord>;
  private readonly root: RootDatabase<Uint8Array, Key>;
  private readonly tableNames = new Set<string>();
  private readonly dir: string;
  /** Of the writer: how many commits the latest state has. */
  private commits = 0;

  /** `dir`: the data folder. */
  constructor(genesis: Genesis, dir: string, mapSizeBytes: number, readOnly: boolean) {
    this.genesis = genesis;
    this.dir = dir;
    // With overlappingSync a commit could be seen and acknowledged before its sync fails. The cache is per thread and does
    // not see the writes of other threads.
    this.root = open<Uint8Array, Key>(databaseOf(dir), {
      overlappingSync: false,
      mapSize: mapSizeBytes,
      maxDbs: MAX_TABLES,
      encoding: "binary",
      cache: false,
      readOnly,
    });
    const lmdb = (name: string) => {
      this.tableNames.add(name);
      return this.root.openDB<Uint8Array, Key>(name, { encoding: "binary", cache: false });
    };
    const rows = <Row extends Message>(name: string): RowTable<Row> => new RowTable<Row>(name, lmdb(name));
    const series = <Row extends Message>(name: string): SeriesTable<Row> => new SeriesTable<Row>(name, lmdb(name));
    this.genesisRecords = rows("genesis");
    this.snapshotHeads = rows("snapshotHeads");
    this.snapshotRows = rows("snapshotRows");
    this.pastRows = rows("pastRows");
    this.index = rows("index");
    this.orders = rows("orders");
    this.shortLivedOrders = new ShortLivedOrderTable("briefOrders", lmdb("briefOrders"));
    this.clientOrders = new ClientOrderTable("clientOrders", lmdb("clientOrders"));
    this.transfers = rows("transfers");
    this.candles = rows("candles");
    this.fundingRates = rows("fundingRates");
    this.closedOrders = series("closedOrders");
    this.fills = series("fills");
    this.deposits = series("deposits");
    this.withdrawals = series("withdrawals");
    this.fundingPayments = series("fundingPayments");
    this.deficits = series("deficits");
    this.fundMovements = series("fundMovements");
    this.trades = series("trades");
    this.liquidations = series("liquidations");
  }

  /** Since when the history is kept. In the table of the index, for the same reason as the tables below. */
  get retention(): RowTable<RetentionRecord> {
    return this.index as RowTable as RowTable<RetentionRecord>;
  }

  /** In ms; 0 = all of the history is kept. */
  keptSince(): number {
    return this.retention.get(RETENTION_KEY)?.keptSince ?? 0;
  }

  /**
   * [OPEN_INTEREST, instrumentId, openTime]: see open-interest-fold.ts. These rows are in the table of candles. A table of
   * their own would be reported as missing in folders of older versions.
   */
  get openInterest(): RowTable<OpenInterestRecord> {
    return this.candles as RowTable as RowTable<OpenInterestRecord>;
  }

  /** [POSITION, instrumentId, accountId]: see position-fold.ts. In the table of candles, for the same reason. */
  get positionStates(): RowTable<PositionStateRecord> {
    return this.candles as RowTable as RowTable<PositionStateRecord>;
  }

  /** [EQUITY and an interval, partition, accountId, openTime]: see equity-fold.ts. In the table of candles, for the same reason. */
  get equity(): RowTable<EquityRecord> {
    return this.candles as RowTable as RowTable<EquityRecord>;
  }

  /** By −account: see position-fold.ts. In the table of deficits, for the same reason. */
  get closedPositions(): SeriesTable<ClosedPositionRecord> {
    return this.deficits as SeriesTable<Message> as SeriesTable<ClosedPositionRecord>;
  }

  /** Lists STATUS_ACTS and PRICE_ACTS. In the table of the fund's movements, for the same reason. */
  get operatorActs(): SeriesTable<OperatorActRecord> {
    return this.fundMovements as SeriesTable<Message> as SeriesTable<OperatorActRecord>;
  }

  /**
   * Throws DatabaseCorruptError for an unknown table. If a table's name were damaged, LMDB would silently create an empty
   * table under the right name.
   */
  refuseUnknownTables(): void {
    const names = [...this.root.getKeys()].map(String);
    const { entryCount } = this.root.getStats() as { entryCount: number };
    const unknown = names.filter((name, i) => !this.tableNames.has(name) || names.indexOf(name) !== i);
    if (unknown.length > 0) throw new DatabaseCorruptError(`unknown tables in the database: ${unknown.join(", ")}`);
    if (names.length !== entryCount)
      throw new DatabaseCorruptError(`${names.length} of ${entryCount} tables can be found`);
  }

  /** In the table of the index, for the same reason. */
  private get commitCounts(): RowTable<CommitCountRecord> {
    return this.index as RowTable as RowTable<CommitCountRecord>;
  }

  /** For the writer, before all commits but that of a fresh database. */
  beginWriting(): void {
    this.commits = this.countCommits();
  }

  private countCommits(): number {
    return this.commitCounts.get(COMMIT_COUNT_KEY)?.commits ?? 0;
  }

  /**
   * For the writer: what it reads until the next event-loop iteration is the state after its last commit. Call it before reads on
   * which a commit builds. Throws DatabaseWriteError.
   *
   * Each process that opens the database, as a backup does, tells all others which commit is the latest one: that which it has
   * read. If another commit has come since, LMDB would read the one before, and the next commit would replace that other one.
   * Opening the database once more, with no commit beside it, tells the right one.
   */
  requireLatest(): void {
    this.refresh();
    for (let openings = 0; this.countCommits() !== this.commits; openings++) {
      this.openOnceMore(openings);
      this.refresh();
    }
  }

  private openOnceMore(openings: number): void {
    if (openings === MOST_OPENINGS) throw new DatabaseWriteError("database: the latest commit cannot be found");
    noteLatestCommit(this.dir);
  }

  /**
   * Does all writes of the batch or none. Durable when it returns. Empties the batch. Afterwards the writer may read on: see
   * requireLatest(). Throws DatabaseWriteError.
   */
  commit(batch: WriteBatch): void {
    // Frees the reader slot of a backup that was killed. It would keep old pages from being reused.
    delayingExit(() => this.root.readerCheck());
    const commits = this.commits + 1;
    batch.put(this.commitCounts, COMMIT_COUNT_KEY, { type: CommitCountRecord.code, commits });
    try {
      for (let openings = 0; !this.write(batch); openings++) this.openOnceMore(openings);
    } catch (error) {
      throw new DatabaseWriteError(`database: the commit failed: ${(error as Error).message}`, { cause: error });
    }
    this.commits = commits;
    batch.clear();
    // The next batch continues chunks of this one, perhaps in the same event-loop iteration.
    this.requireLatest();
  }

  /** Returns false if LMDB was told of another state than the latest one: then nothing was written. See requireLatest(). */
  private write(batch: WriteBatch): boolean {
    try {
      const outcome = delayingExit(() =>
        this.root.transactionSync(() => {
          if (this.countCommits() !== this.commits) return ABORT;
          batch.write();
          return null;
        }),
      );
      return outcome !== ABORT;
    } catch (error) {
      // LMDB has two places for the latest state. If it was told of one before the last two commits, it reads the latest state, but
      // numbers its transaction as if these two were to come. It finds that out when it changes a page of theirs, as that of the count.
      if ((error as Error).message.includes("MDB_BAD_TXN")) return false;
      throw error;
    }
  }

  /**
   * Makes the next read see the latest commit. lmdb-js keeps one read transaction open until the next event-loop iteration.
   * A thread that blocks would see old data and keep old pages from being reused.
   */
  refresh(): void {
    delayingExit(() => this.root.resetReadTxn());
  }

  close(): Promise<void> {
    return delayingExitUntil(() => this.root.close());
  }
}

/** Checks which exchange the database belongs to. Records it in a fresh one. */
function checkOwner(database: Database, dir: string, isFresh: boolean): void {
  const { genesis } = database;
  const marker = database.genesisRecords.get(GENESIS_KEY);
  if (marker === undefined) {
    if (!isFresh) throw new DatabaseCorruptError(`${dir}: the database is empty, but the exchange was initialised`);
    const batch = new WriteBatch();
    batch.put(database.genesisRecords, GENESIS_KEY, { type: GenesisRecord.code, exchangeId: genesis.exchangeId });
    database.commit(batch);
  } else if (marker.exchangeId !== genesis.exchangeId) {
    throw new DatabaseCorruptError(`${dir}: the database belongs to the exchange ${marker.exchangeId}`);
  }
  if (isFresh) markInitialised(dir, genesis);
  database.refresh();
}

/** Throws DatabaseCorruptError if there is none, since LMDB would create one. `path` is the folder of the database. */
export function requireDatabase(path: string): void {
  if (!isPresent(path)) throw new DatabaseCorruptError(`${path}: the database is missing or empty`);
}

function isPresent(path: string): boolean {
  const file = join(path, "data.mdb");
  return existsSync(file) && statSync(file).size > 0;
}
