import { Worker } from "node:worker_threads";
import { must } from "../../assert.ts";
import { type Database, openDatabase } from "./database.ts";
import { clientIdRange, findPastIds } from "./past-client-ids.ts";

/** Much longer than a disk takes for one row. LMDB may loop for ever on damaged pages. */
const MOST_SECONDS_PER_ROW = 120;

/** Ends this process if `rows` does not grow. Runs on a thread of its own, since the main thread never waits. */
const WATCH = `
  const { workerData: rows } = require("node:worker_threads");
  let before = -1;
  let seconds = 0;
  setInterval(() => {
    seconds = Atomics.load(rows, 0) === before ? seconds + 1 : 0;
    before = Atomics.load(rows, 0);
    if (seconds < ${MOST_SECONDS_PER_ROW}) return;
    require("node:fs").writeSync(2, "a row could not be read within " + seconds + " seconds\\n");
    process.kill(process.pid, "SIGKILL");
  }, 1000);
`;

/** Child program of database-probe.ts. Argument: the folder. Exit code 0 if all that a start reads can be read. */
try {
  const database = openDatabase(must(process.argv[2], "the folder"), { readOnly: true });
  const rows = new Int32Array(new SharedArrayBuffer(4));
  new Worker(WATCH, { eval: true, workerData: rows }).unref();
  readAsStart(database, () => Atomics.add(rows, 0, 1));
} catch (error) {
  process.stderr.write(`${(error as Error).message}\n`);
  process.exitCode = 1;
}

function readAsStart(database: Database, onRow: () => void): void {
  const { snapshotHeads, snapshotRows, pastRows, index } = database;
  for (const table of [snapshotHeads, snapshotRows, index]) table.verify(onRow);
  if (!pastRows.exists) return;
  const actorIds: number[] = [];
  snapshotHeads.each({}, (actorId) => actorIds.push(actorId as number));
  const { through } = findPastIds(database, actorIds);
  for (const actorId of actorIds) pastRows.each(clientIdRange(actorId, through.get(actorId) ?? 0), onRow);
}
