import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

setFlagsFromString("--expose-gc");

/** Collects garbage now, so that a measurement does not pay for an earlier one. */
export const collectGarbage = runInNewContext("gc") as () => void;
