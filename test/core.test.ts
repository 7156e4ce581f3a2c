import { importShared } from "./processes.ts";

await importShared("core");
