import { must } from "../assert.ts";
import { CHECKED, readEverything } from "./database-check.ts";
import { isNotDone, RefusedError } from "./errors.ts";

/** See database-check.ts. Arguments: the folder. Standard output says what there is. */
try {
  process.stdout.write(JSON.stringify(readEverything(must(process.argv[2], "the folder"))));
} catch (error) {
  process.stderr.write(`${(error as Error).message}\n`);
  const isRefused = error instanceof RefusedError;
  process.exitCode = isRefused ? CHECKED.refused : isNotDone(error as Error) ? CHECKED.notDone : CHECKED.damaged;
}
