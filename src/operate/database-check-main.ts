import { must } from "../assert.ts";
import { runAndAnswer } from "./child-process.ts";
import { readEverything } from "./database-check.ts";

/** Child program of database-check.ts. Argument: the folder. Prints a DatabaseSummary as JSON. */
await runAndAnswer(() => JSON.stringify(readEverything(must(process.argv[2], "the folder"))));
