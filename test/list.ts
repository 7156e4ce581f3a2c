import { processFiles } from "./processes.ts";

/** Prints the files that `make test` starts. */
console.log(processFiles().join("\n"));
