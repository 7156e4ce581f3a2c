import { must } from "../assert.ts";
import { copyDatabase } from "../store/database/database-copy.ts";
import { runAndAnswer } from "./child-process.ts";

/** See copy.ts. Arguments: the folder of the database, and the one to make. */
await runAndAnswer(async () => {
  await copyDatabase(must(process.argv[2], "the folder"), must(process.argv[3], "the new folder"));
  return "";
});
