import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

setFlagsFromString("--expose-gc");

/** Collects garbage now, so that a measurement does not pay for an earlier one. */
export const collectGarbage = runInNewContext("gc") as () => void;

const kept = new Set<object>();

/**
 * Keeps an engine until the next one is made. Without any, V8 forgets the shapes of its objects, and compiles all code again
 * for the next engine. In an exchange an engine lasts as long as the process.
 */
export function keepUntilNext(engine: object): void {
  kept.clear();
  kept.add(engine);
}
