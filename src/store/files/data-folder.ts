import { join } from "node:path";

/** Where the two large parts of the data folder `dir` lie. Its small files are named where they are written. */
export const logOf = (dir: string): string => join(dir, "log");
export const databaseOf = (dir: string): string => join(dir, "database");
