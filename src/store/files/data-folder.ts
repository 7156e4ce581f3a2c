import { join } from "node:path";

/** The two subfolders of the data folder `dir`. Its small files are named in the modules that write them. */
export const logOf = (dir: string): string => join(dir, "log");
export const databaseOf = (dir: string): string => join(dir, "database");
/** LMDB's only file with data. */
export const databaseFileOf = (dir: string): string => join(databaseOf(dir), "data.mdb");
