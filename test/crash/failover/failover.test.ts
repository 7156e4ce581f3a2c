import assert from "node:assert/strict";
import { test } from "node:test";
import { takeSeed } from "../../core/support/seed.ts";
import { NATS_SERVER } from "../../e2e/replication/nats-server.ts";
import { MIN_LOAD } from "../harness.ts";
import { runFailovers } from "./failover.ts";

const FAULTS = 5;

const options = {
  skip: NATS_SERVER === null && "no nats-server 2.10 or later is installed: take-overs under load were not tested",
};

test(
  "leaders that are killed, stopped or cut off under load lose nothing, and only one acknowledges",
  options,
  async (t) => {
    const seed = takeSeed("failover.test");
    const environments = [{ PERPD_SEGMENT_BYTES: "65536", PERPD_SNAPSHOT_INTERVAL_MS: "100" }];
    const report = await runFailovers({ faults: FAULTS, seed, environments });
    t.diagnostic(`${JSON.stringify(report.lost)}, ${report.outages} outages, ${report.acknowledged} acknowledged`);
    assert.deepEqual(report.findings.all, []);
    assert.deepEqual([report.lateAnswers, report.lateReads], [0, 0]);
    assert.equal(report.takeoverMs.length + report.takeoverInOutageMs.length, FAULTS);
    assert.ok(report.acknowledged >= MIN_LOAD * FAULTS, `only ${report.acknowledged} acknowledged: there was no load`);
  },
);
