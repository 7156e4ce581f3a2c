import assert from "node:assert/strict";
import { test } from "node:test";
import { takeSeed } from "../core/support/seed.ts";
import { AttackedExchange } from "./hostile/attacked-exchange.ts";
import { HOSTILE_STAGES } from "./hostile/stages.ts";

/** Share of each stage's inputs; `make fuzz` runs all. */
const SHARE = 0.02;

for (const { name, runs, run } of HOSTILE_STAGES)
  test(`hostile ${name} neither change state nor crash the server nor cause a server error`, (t) => {
    const seed = takeSeed("hostile.test");
    return run(seed, Math.ceil(runs * SHARE), (line) => t.diagnostic(line));
  });

test("the check detects a request that was refused but executed", () =>
  AttackedExchange.run(
    () => {},
    async (victim) => {
      const send = (price: string) => victim.target.alice.buy("0.001", price).then(() => false);
      await assert.rejects(victim.sendAll(["60000"], send), /refused, and yet something was done: \["60000"\]/);
    },
  ));
