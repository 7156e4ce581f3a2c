import { FIRST_CUSTOMER_ACCOUNT, serialToId } from "../../src/core/base/enums.ts";
import { blank, type Message } from "../../src/core/protocol/message-schema.ts";
import { ClientIdRow, SymbolRow } from "../../src/core/protocol/snapshot-schema.ts";
import { hashOfClientId, IDS_PER_CHUNK, runChunkKey } from "../../src/store/database/client-order-table.ts";
import { openDatabase } from "../../src/store/database/database.ts";
import { ClientIdHashRecord, type ClientIdRun, HISTORY_INDEX_KEY } from "../../src/store/database/history-schema.ts";
import { clientIdKey } from "../../src/store/database/past-client-ids.ts";
import { WriteBatch } from "../../src/store/database/write-batch.ts";

/** As many as a history of ten million ids has. */
const RUNS = 20;
/** No merge takes a run of a level of its own. */
const FIRST_LEVEL = 100;
const ROWS_PER_COMMIT = 50_000;

export const pastIdOf = (i: number): string => `bench-${String(i).padStart(12, "0")}`;

/** Adds `count` remembered client order ids to a stopped exchange: snapshot rows of one symbol, and the runs of the index. */
export async function addPastIds(dir: string, instrumentId: number, count: number): Promise<void> {
  const database = openDatabase(dir, { probe: false });
  const batch = new WriteBatch();
  const time = Date.now();
  const row = Object.assign(blank(ClientIdRow), { accountId: FIRST_CUSTOMER_ACCOUNT, bodyHash: 7, time });
  for (let i = 0; i < count; i++) {
    row.orderId = serialToId(i + 1, instrumentId);
    row.clientOrderId = pastIdOf(i);
    batch.put(database.pastRows, clientIdKey(instrumentId, row.orderId), row);
    if (i % ROWS_PER_COMMIT === 0) database.commit(batch);
  }
  database.commit(batch);
  const hashes = Float64Array.from({ length: count }, (_, i) => hashOfClientId(FIRST_CUSTOMER_ACCOUNT, pastIdOf(i)));
  for (let run = 1; run <= RUNS; run++) {
    const inRun = Uint32Array.from({ length: Math.floor((count - run) / RUNS) + 1 }, (_, i) => run - 1 + i * RUNS);
    inRun.sort((a, b) => hashes[a] - hashes[b]);
    for (let from = 0; from < inRun.length; from += IDS_PER_CHUNK) {
      const ids = [...inRun.subarray(from, from + IDS_PER_CHUNK)].map((i) => ({
        ...{ type: ClientIdHashRecord.code, hash: hashes[i], orderId: serialToId(i + 1, instrumentId) },
      }));
      const [first] = ids as [ClientIdHashRecord];
      batch.putRows(
        database.clientOrders,
        runChunkKey(run, first),
        ids.map((id) => batch.encodeRow(id)),
      );
    }
    database.commit(batch);
  }
  const clientIdRuns = Array.from(
    { length: RUNS },
    (_, i): ClientIdRun => ({
      id: i + 1,
      level: FIRST_LEVEL + i,
      targetId: 0,
      ...{ last: null, lastHash: -1, oldest: time, newest: time },
    }),
  );
  const index = database.index.require(HISTORY_INDEX_KEY);
  batch.put(database.index, HISTORY_INDEX_KEY, { ...index, lastClientIdRun: RUNS, clientIdRuns });
  const symbolKey = [instrumentId, "symbol", 0];
  const symbol = database.snapshotRows.get(symbolKey) ?? blank(SymbolRow);
  batch.put(database.snapshotRows, symbolKey, { ...symbol, nextOrderSerial: count + 1 } as Message);
  database.commit(batch);
  await database.close();
}
