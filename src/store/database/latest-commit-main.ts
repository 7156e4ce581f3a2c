import { must } from "../../assert.ts";
import { openDatabase } from "./database.ts";

/** Child program of latest-commit.ts. Argument: the folder. */
await openDatabase(must(process.argv[2], "the folder"), { readOnly: true }).close();
