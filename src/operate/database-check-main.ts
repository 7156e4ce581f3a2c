import { must } from "../assert.ts";
import { runAndAnswer } from "./child-process.ts";
import { readEverything } from "./database-check.ts";

/** See database-check.ts. Arguments: the folder. Standard output says what there is. */
await runAndAnswer(() => JSON.stringify(readEverything(must(process.argv[2], "the folder"))));
