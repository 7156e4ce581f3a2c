import { fileURLToPath } from "node:url";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import { type Database, openDatabase } from "../../../src/store/database/database.ts";
import { exitProcess } from "../../../src/store/files/process-exit.ts";

/**
 * Exits while two threads open, read and close the database of a folder over and over. Arguments: the folder, the exit code.
 *
 * Both have opened it before: V8 aborts now and then if a thread is ended while a module begins that has waited for another one.
 */
const THREADS = 2;
const OPENINGS = 10;
const READS = 1000;

if (isMainThread) {
  const [dir = "", code] = process.argv.slice(2);
  // It stays open, as in an exchange: otherwise lmdb would end its environment whenever both threads have closed it.
  openDatabase(dir);
  let openings = 0;
  const opened = new Set<Worker>();
  for (let i = 0; i < THREADS; i++) {
    const thread = new Worker(fileURLToPath(import.meta.url), { workerData: dir });
    thread.on("message", () => {
      openings++;
      opened.add(thread);
      if (openings >= OPENINGS && opened.size === THREADS) exitProcess(Number(code));
    });
  }
} else
  for (;;) {
    const database = openDatabase(workerData, { readOnly: true });
    for (let i = 0; i < READS; i++) read(database);
    await database.close();
    parentPort?.postMessage(null);
  }

/** Some of these calls make lmdb create an object each time: of statistics, a read transaction, a second cursor. */
function read(database: Database): void {
  database.genesisRecords.usedBytes();
  database.genesisRecords.has("absent");
  const outer = database.genesisRecords.keys({});
  outer.next();
  database.refresh();
  database.genesisRecords.firstKey({});
  outer.return();
}
