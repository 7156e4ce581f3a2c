import { must } from "../../assert.ts";
import { openDatabase } from "./database.ts";

/** See database-probe.ts. Arguments: the folder. Exit code 0: every row of the snapshots is there and sound. */
try {
  const database = openDatabase(must(process.argv[2], "the folder"), { readOnly: true });
  database.snapshotHeads.verify();
  database.snapshotRows.verify();
  database.index.verify();
} catch (error) {
  process.stderr.write(`${(error as Error).message}\n`);
  process.exitCode = 1;
}
