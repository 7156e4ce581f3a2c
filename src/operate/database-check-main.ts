import { must } from "../assert.ts";
import { readEverything } from "./database-check.ts";

/** See database-check.ts. Arguments: the folder. Exit code 0: all is sound, and standard output says what there is. */
try {
  process.stdout.write(JSON.stringify(readEverything(must(process.argv[2], "the folder"))));
} catch (error) {
  process.stderr.write(`${(error as Error).message}\n`);
  process.exitCode = 1;
}
