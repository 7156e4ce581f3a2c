import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { open, type RootDatabase } from "lmdb";
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
import { probeDatabase } from "./database-probe.ts";
import {
  type CandleRecord,
  type ClientOrderRecord,
  type DeficitRecord,
  type FillRecord,
  type FundingPaymentRecord,
  type FundingRateRecord,
  type FundMovementRecord,
  GenesisRecord,
  type IndexRecord,
  type OpenInterestRecord,
  type OrderRecord,
  type ReferenceRecord,
  type SnapshotRecord,
  type TradeRecord,
  type TransferRecord,
} from "./history-schema.ts";
import { SeriesTable } from "./series.ts";
import { ShortLivedOrderTable } from "./short-lived-orders.ts";
import { type Key, RowTable } from "./table.ts";
import { WriteBatch } from "./write-batch.ts";

/** Address space, not disk: the file grows as it is written. Mapping it anew later would keep the old map as well. */
export const DEFAULT_MAP_BYTES = 64 * 2 ** 30;
const MAX_TABLES = 32;
const GENESIS_KEY = "genesis";

export interface DatabaseOptions {
  /** For every thread but the one that writes. The database must exist. */
  readOnly?: boolean;
  /** The most that the database can ever hold. */
  mapSizeBytes?: number;
  /** Skips the check of the file in a process of its own. */
  probe?: boolean;
}

/** A commit failed: nothing of it is in the database. Stop, and recover from the log; a retry may lie. */
export class DatabaseWriteError extends Error {
  override name = "DatabaseWriteError";
}

/**
 * Opens the database in `dir`, or makes it where there was no exchange before. One thread of one process opens it for
 * writing, and first; any thread of that process may then open it for reading: LMDB shares one environment among them.
 *
 * Throws DatabaseCorruptError when the database is missing, empty or damaged, or belongs to another exchange.
 */
export function openDatabase(dir: string, options: DatabaseOptions = {}): Database {
  const { readOnly = false, mapSizeBytes = DEFAULT_MAP_BYTES, probe = true } = options;
  const path = databaseOf(dir);
  const known = readGenesis(dir);
  const isFresh = !isInitialised(dir);
  if (known === null && isPresent(path)) throw new DatabaseCorruptError(`${path}: a database without genesis.json`);
  if (!isFresh) requireDatabase(path);
  if (readOnly && (known === null || isFresh)) throw new DatabaseCorruptError(`${dir}: there is no database to read`);
  const genesis = known ?? createGenesis(dir);
  if (!readOnly && !isFresh && probe) probeDatabase(dir);
  const database = withFileName(path, () => new Database(genesis, path, mapSizeBytes, readOnly));
  try {
    database.refuseUnknownTables();
    if (!readOnly) checkOwner(database, dir, isFresh);
  } catch (error) {
    database.close();
    throw error;
  }
  return database;
}

/** All tables of one environment. See rows.ts for what stands in them. */
export class Database {
  readonly genesis: Genesis;
  readonly genesisRecords: RowTable<GenesisRecord>;
  /** actorId */
  readonly snapshotHeads: RowTable<SnapshotRecord>;
  /** [actorId, table, key] → a row as the actor handed it over */
  readonly snapshotRows: RowTable;
  /** "history" */
  readonly index: RowTable<IndexRecord>;
  /** orderId; of all orders that a batch has left open */
  readonly orders: RowTable<OrderRecord>;
  /** Leads to all others, which stand in closedOrders. */
  readonly shortLivedOrders: ShortLivedOrderTable;
  /** [generation, accountId, clientOrderId] */
  readonly clientOrders: RowTable<ClientOrderRecord>;
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

  constructor(genesis: Genesis, path: string, mapSizeBytes: number, readOnly: boolean) {
    this.genesis = genesis;
    // overlappingSync would let a commit be seen, and be acknowledged, whose sync then fails. The cache is per thread
    // and not told of other threads' writes.
    this.root = open<Uint8Array, Key>(path, {
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
    this.index = rows("index");
    this.orders = rows("orders");
    this.shortLivedOrders = new ShortLivedOrderTable("briefOrders", lmdb("briefOrders"));
    this.clientOrders = rows("clientOrders");
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

  /**
   * [OPEN_INTEREST, instrumentId, openTime]: see open-interest-fold.ts. Among the candles, since verify would miss a table
   * of its own in a folder from before.
   */
  get openInterest(): RowTable<OpenInterestRecord> {
    return this.candles as RowTable as RowTable<OpenInterestRecord>;
  }

  /**
   * Throws DatabaseCorruptError where there is a table that is none of these. A name that has rotted leads nowhere: the table
   * that is meant would be an empty one, its rows gone without a word.
   */
  refuseUnknownTables(): void {
    const names = [...this.root.getKeys()].map(String);
    const { entryCount } = this.root.getStats() as { entryCount: number };
    const strange = names.filter((name, i) => !this.tableNames.has(name) || names.indexOf(name) !== i);
    if (strange.length > 0) throw new DatabaseCorruptError(`tables that are not this program's: ${strange.join(", ")}`);
    if (names.length !== entryCount)
      throw new DatabaseCorruptError(`${names.length} of ${entryCount} tables can be found`);
  }

  /** Does all writes of the batch, or none; on disk when it returns. Empties the batch. Throws DatabaseWriteError. */
  commit(batch: WriteBatch): void {
    // A backup that was killed would keep the pages of the state that it read from being used again.
    this.root.readerCheck();
    try {
      this.root.transactionSync(() => {
        batch.write();
      });
    } catch (error) {
      throw new DatabaseWriteError(`database: the commit failed: ${(error as Error).message}`, { cause: error });
    }
    batch.clear();
  }

  /**
   * The next read sees the latest commit. lmdb-js keeps one state in view until the event loop turns; a thread that
   * blocks would see old data, and keep its pages from being used again.
   */
  refresh(): void {
    this.root.resetReadTxn();
  }

  close(): Promise<void> {
    return this.root.close();
  }
}

/** Settles whose database this is. */
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

/** Throws DatabaseCorruptError: LMDB would make a new one in its place. `path`: the folder of the database. */
export function requireDatabase(path: string): void {
  if (!isPresent(path)) throw new DatabaseCorruptError(`${path}: the database is missing or empty`);
}

function isPresent(path: string): boolean {
  const file = join(path, "data.mdb");
  return existsSync(file) && statSync(file).size > 0;
}
