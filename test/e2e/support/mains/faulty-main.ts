import { loadConfig } from "../../../../src/config.ts";
import { serve } from "../../../../src/serve.ts";
import { Stopper } from "../../../../src/stopper.ts";

/**
 * `perpd start` with actor threads that fail on request: see faulty-actor. WATCH_EVERY_MS: interval of the watchdog.
 */
const invocation = loadConfig(process.argv.slice(2), process.env);
if (invocation.kind !== "start") throw new Error("only start is known here");
const actorEntry = new URL("./faulty-actor.js", import.meta.url).href;
await serve(invocation.config, invocation.warnings, "0.0.0-faulty", new Stopper(), {
  actorEntry,
  watchEveryMs: Number(process.env.WATCH_EVERY_MS ?? 1000),
});
