import { fileURLToPath } from "node:url";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import { openDatabase } from "../../../src/store/database/database.ts";
import { exitProcess } from "../../../src/store/files/process-exit.ts";

/** Exits while two threads open the database of a folder over and over. Arguments: the folder, the exit code. */
const THREADS = 2;
const OPENINGS = 10;

if (isMainThread) {
  const [dir = "", code] = process.argv.slice(2);
  // It stays open, as in an exchange: otherwise lmdb would end its environment whenever both threads have closed it.
  openDatabase(dir);
  let openings = 0;
  for (let i = 0; i < THREADS; i++) {
    const thread = new Worker(fileURLToPath(import.meta.url), { workerData: dir });
    thread.on("message", () => {
      openings++;
      if (openings === OPENINGS) exitProcess(Number(code));
    });
  }
} else
  for (;;) {
    await openDatabase(workerData, { readOnly: true }).close();
    parentPort?.postMessage(null);
  }
