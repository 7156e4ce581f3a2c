import { setFlagsFromString } from "node:v8";

/** Settings of V8 for all threads of the process: to be called before any of them is busy. */
export function tuneV8(): void {
  // Each thread collects its young objects by itself: a millisecond. Otherwise V8 shares that out to threads of its own and
  // waits for them, which takes several where all processors are busy, and everyone waits for the front.
  setFlagsFromString("--no-parallel-scavenge");
  setFlagsFromString("--no-concurrent-array-buffer-sweeping");
  // Small functions that call each other are what an order passes through: much more of them than V8 has by default is
  // compiled into one piece, also where few orders pass. An order costs the core 29 % less.
  setFlagsFromString("--max-inlined-bytecode-size-cumulative=5000");
  setFlagsFromString("--min-inlining-frequency=0.02");
  // Code is optimized when it has run three times as long as V8 has by default: after a start everything is warm at about
  // the same time, and where all processors are busy the first orders would wait for the compiler.
  setFlagsFromString("--interrupt-budget=400000");
  // The old generation is collected when it is four times what was alive, as V8 does by itself until the process has been
  // idle for once: from then on it would be half as much again, and at 100,000 orders a second everyone would wait for some
  // ten milliseconds every two or three seconds.
  setFlagsFromString("--heap-growing-percent=300");
}
