import assert from "node:assert/strict";
import { test } from "node:test";
import { progressLine } from "../src/welcome.ts";

test("the line of a recovery says how far, how fast and how much longer", () => {
  const line = progressLine({ records: 50_000, total: 200_000, elapsedMs: 400 });
  assert.equal(line, "replaying the log: 50000 of 200000 turns (25 %), 125000 turns/s, 2 s left");
  assert.equal(
    progressLine({ records: 0, total: 10, elapsedMs: 0 }),
    "replaying the log: 0 of 10 turns (0 %)",
    "no rate yet",
  );
  assert.match(
    progressLine({ records: 12, total: 10, elapsedMs: 1000 }),
    /10 of 10 turns \(100 %\), 10 turns\/s, 0 s left/,
  );
});
