import { fileURLToPath } from "node:url";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import { openDatabase } from "../../../src/store/database/database.ts";
import { exitProcess } from "../../../src/store/files/process-exit.ts";

/**
 * Exits while two threads open and close the database of a folder over and over. Arguments: the folder, the exit code.
 *
 * Both have opened it before: V8 aborts now and then if a thread is ended while a module begins that has waited for another one.
 */
const THREADS = 2;
const OPENINGS = 10;

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
    await openDatabase(workerData, { readOnly: true }).close();
    parentPort?.postMessage(null);
  }
