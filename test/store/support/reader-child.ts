import { openDatabase } from "../../../src/store/database/database.ts";

/** Reads the database in a folder, and is killed while LMDB holds the state that it reads for it. Argument: the folder. */
const database = openDatabase(process.argv[2] ?? "", { readOnly: true });
if (database.orders.get(1) === undefined) throw new Error("there is no order");
process.kill(process.pid, "SIGKILL");
