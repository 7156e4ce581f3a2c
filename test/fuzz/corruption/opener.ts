import { createHash } from "node:crypto";
import { createInterface } from "node:readline";
import { refuseOrphanedLog } from "../../../src/actor/threads/store-main.ts";
import { type Config, loadConfig } from "../../../src/config.ts";
import { compileInstrument } from "../../../src/core/protocol/instrument.ts";
import type { Message } from "../../../src/core/protocol/message-schema.ts";
import { actorIdsOf, RecoveredExchange } from "../../../src/operate/recovered.ts";
import { type Database, openDatabase } from "../../../src/store/database/database.ts";
import { OrderLocationRecord, OrderRecord, referenceTo } from "../../../src/store/database/history-schema.ts";
import { SeriesTable } from "../../../src/store/database/series.ts";
import { type Key, Table } from "../../../src/store/database/table.ts";
import { logOf } from "../../../src/store/files/data-folder.ts";
import { History } from "../../../src/store/history/history.ts";
import { readIndex } from "../../../src/store/history/history-fold.ts";
import { Indexer } from "../../../src/store/indexer/indexer.ts";
import { openLog } from "../../../src/store/log/log.ts";
import { decodeMessage, messageBytes } from "../../../src/wire/codec.ts";
import { viewOf } from "../../../src/wire/record.ts";

/** The result of opening a folder as a start does. */
export interface Opened {
  /** The reason when it was refused. */
  refused: string | null;
  lastSequence: number;
  indexedSequence: number;
  /** Digest of all actors' states, from their audits. */
  state: string;
  /** Digest of every history row, by table, after the index has caught up. */
  history: Record<string, string>;
  /** Why the history is unreadable. */
  unreadable: string | null;
}

/**
 * A separate process, since damaged pages may crash LMDB. Opens each folder named on standard input, one per line, and
 * prints the result as JSON.
 */
for await (const dir of createInterface({ input: process.stdin })) {
  process.stdout.write(`${JSON.stringify(await open(dir))}\n`);
}

async function open(dir: string): Promise<Opened> {
  const opened: Opened = {
    refused: null,
    lastSequence: 0,
    indexedSequence: 0,
    state: "",
    history: {},
    unreadable: null,
  };
  const invocation = loadConfig(["verify", dir], {});
  if (invocation.kind !== "verify") throw new Error("no configuration");
  const { config } = invocation;
  const logDir = logOf(dir);
  try {
    refuseOrphanedLog(dir);
    const database = openDatabase(dir, { probe: false });
    try {
      // Reads what the probe reads, before anything else is opened.
      for (const table of [database.snapshotHeads, database.snapshotRows, database.index]) table.verify();
      opened.indexedSequence = readIndex(database).sequence;
      const log = openLog(logDir, { segmentBytes: 65_536, protectedThrough: opened.indexedSequence });
      opened.lastSequence = log.nextSequence - 1;
      log.close();
      const exchange = new RecoveredExchange(config, database, logDir, opened.lastSequence);
      const { ledger, symbols } = exchange.audits();
      opened.state = JSON.stringify([ledger, ...symbols]);
      readHistory(opened, database, config);
    } finally {
      await database.close();
    }
  } catch (error) {
    opened.refused = `${(error as Error).name}: ${(error as Error).message}`;
  }
  return opened;
}

function readHistory(opened: Opened, database: Database, config: Config): void {
  try {
    // As the store does after every start: LMDB may have fallen back to the commit before the last.
    const indexer = new Indexer({
      database,
      logDir: `${config.data}/log`,
      instruments: config.instruments.map(compileInstrument),
      actorIds: actorIdsOf(config),
      keepSegments: true,
      onSnapshotStored: () => {},
    });
    while (indexer.step(opened.lastSequence));
    indexer.close();
    database.refresh();
    for (const table of Object.values(database).filter((value) => value instanceof Table)) {
      // Snapshots are compared through the state that actors recover to.
      if (table === database.snapshotHeads || table === database.snapshotRows) continue;
      const hash = createHash("sha256");
      for (const row of rowsOf(table, database).sort()) hash.update(`${row}\n`);
      opened.history[table.name] = hash.digest("hex");
    }
  } catch (error) {
    opened.unreadable = `${(error as Error).name}: ${(error as Error).message}`;
  }
}

/**
 * Rows with their owner. Two things depend on timing and are compared row by row instead: how a list is cut into
 * values, and where a closed order is stored.
 */
function rowsOf(table: Table, database: Database): string[] {
  table.verify();
  const rows: string[] = [];
  const history = new History(database);
  const add = (of: Key | undefined, row: object) => rows.push(`${JSON.stringify(of)} ${JSON.stringify(row)}`);
  eachRow(table, (key, row) => {
    const of = table instanceof SeriesTable ? (key as (number | string)[])[0] : key;
    if (row.type === OrderLocationRecord.code) {
      const { orderId } = row as OrderLocationRecord;
      if (history.orderById(orderId)?.orderId !== orderId) throw new Error(`nothing leads to order ${orderId}`);
    } else if (table === database.closedOrders && row.type === OrderRecord.code) {
      const { orderId, updatedAt } = row as OrderRecord;
      add(of, referenceTo(orderId, updatedAt));
    } else add(of, row);
  });
  if (table !== database.orders) return rows;
  eachRow(database.closedOrders, (_key, row) => {
    if (row.type === OrderRecord.code) add((row as OrderRecord).orderId, row);
  });
  return rows;
}

function eachRow(table: Table, visit: (key: Key, row: Message) => void): void {
  table.eachValue({}, (key, encoded) => {
    const view = viewOf(encoded);
    for (let at = 0; at < encoded.length; at += messageBytes(view, at)) visit(key, decodeMessage(view, encoded, at));
    return true;
  });
}
