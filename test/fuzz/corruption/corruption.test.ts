import { test } from "node:test";
import { takeSeed } from "../../core/support/seed.ts";
import { corruption } from "./stage.ts";

/** `make fuzz` runs many more. */
const RUNS = 100;

test("flipped bits, lost pages and truncated files are detected or harmless", (t) =>
  corruption.run(takeSeed("corruption.test"), RUNS, (line) => t.diagnostic(line)));
