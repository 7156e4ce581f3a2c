import { importShared, SMALL_FOLDERS } from "./processes.ts";

await importShared(...SMALL_FOLDERS);
