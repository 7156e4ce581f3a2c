import { must } from "../../assert.ts";
import { openDatabase } from "./database.ts";

/** Child program of database-probe.ts. Argument: the folder. Exit code 0 if every snapshot and index row can be read. */
try {
  const database = openDatabase(must(process.argv[2], "the folder"), { readOnly: true });
  database.snapshotHeads.verify();
  database.snapshotRows.verify();
  database.index.verify();
} catch (error) {
  process.stderr.write(`${(error as Error).message}\n`);
  process.exitCode = 1;
}
