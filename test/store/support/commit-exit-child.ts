import { fileURLToPath } from "node:url";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import { blank } from "../../../src/core/protocol/message-schema.ts";
import { openDatabase } from "../../../src/store/database/database.ts";
import { OrderRecord } from "../../../src/store/database/history-schema.ts";
import { WriteBatch } from "../../../src/store/database/write-batch.ts";
import { exitProcess } from "../../../src/store/files/process-exit.ts";

/** Exits while a thread commits one batch after the other. Arguments: the folder, the exit code, and how far into a commit. */
const COMMITS = 3;
const ROWS = 3000;

if (isMainThread) {
  const [dir = "", code, afterMs] = process.argv.slice(2);
  const thread = new Worker(fileURLToPath(import.meta.url), { workerData: dir });
  let commits = 0;
  // At the beginning of a commit.
  thread.on("message", () => {
    if (++commits === COMMITS) setTimeout(() => exitProcess(Number(code)), Number(afterMs));
  });
} else {
  const database = openDatabase(workerData);
  const batch = new WriteBatch();
  for (;;) {
    for (let orderId = 1; orderId <= ROWS; orderId++)
      batch.put(database.orders, orderId, Object.assign(blank(OrderRecord), { orderId }));
    parentPort?.postMessage(null);
    database.commit(batch);
  }
}
