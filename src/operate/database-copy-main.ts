import { must } from "../assert.ts";
import { copyDatabase } from "../store/database/database-copy.ts";
import { runAndAnswer } from "./child-process.ts";

/** Child program of copy.ts. Arguments: the database folder, and the new folder. */
await runAndAnswer(async () => {
  await copyDatabase(must(process.argv[2], "the folder"), must(process.argv[3], "the new folder"));
  return "";
});
