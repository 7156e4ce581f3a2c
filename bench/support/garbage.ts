import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

setFlagsFromString("--expose-gc");

/** Collects it now, so that nobody pays for what an earlier measurement left behind. */
export const collectGarbage = runInNewContext("gc") as () => void;
