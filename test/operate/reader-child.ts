import { openDatabase } from "../../src/store/database/database.ts";

/** Has the database of a folder open, and says so. Argument: the folder. */
openDatabase(process.argv[2] ?? "", { readOnly: true });
console.log("open");
setInterval(() => {}, 1000);
