import assert from "node:assert/strict";
import { test } from "node:test";
import { takeSeed } from "../core/support/seed.ts";
import { MIN_LOAD, runCrashRounds } from "./harness.ts";

const KILLS = 8;

test("a server that is killed under load has lost nothing that it acknowledged", async (t) => {
  const seed = takeSeed("crash.test");
  // Small segments and eager snapshots: crashes fall into every part of the storage's work.
  const eager = { PERPD_SEGMENT_BYTES: "65536", PERPD_SNAPSHOT_INTERVAL_MS: "100" };
  const environments = [eager, { ...eager, PERPD_WORKERS: "3" }];
  const { kills, acknowledged, findings } = await runCrashRounds({ kills: KILLS, seed, environments });
  t.diagnostic(`${kills} kills, ${acknowledged} acknowledged`);
  assert.deepEqual(findings.all, []);
  assert.equal(kills, KILLS);
  assert.ok(acknowledged >= MIN_LOAD * KILLS, `only ${acknowledged} acknowledged: there was no load`);
});
