import { setFlagsFromString } from "node:v8";

/** Settings of V8 for all threads of the process: to be called before any of them is busy. */
export function tuneV8(): void {
  // Each thread collects its young objects by itself: a millisecond. Otherwise V8 shares that out to threads of its own and
  // waits for them, which takes several where all processors are busy, and everyone waits for the front.
  setFlagsFromString("--no-parallel-scavenge");
  setFlagsFromString("--no-concurrent-array-buffer-sweeping");
  // Small functions that call each other are what an order passes through: three times as much of them as V8 has by default
  // is compiled into one piece. An order costs the core a seventh less.
  setFlagsFromString("--max-inlined-bytecode-size-cumulative=3000");
}
