import assert from "node:assert/strict";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { removeFolder, TestServer } from "../support/server.ts";
import { seed } from "./commands.ts";
import { NATS_SERVER, Nats } from "./nats-server.ts";

const skip = NATS_SERVER === null && "no nats-server 2.10 or later is installed: mode async was not tested";

test("in mode async a new leader warns of what a leader that was killed may have answered", { skip }, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "perpd-async-"));
  t.after(() => removeFolder(folder));
  const nats = new Nats();
  t.after(() => nats.dispose());
  await nats.start();
  const environment = {
    PERPD_REPLICATE: nats.url,
    PERPD_REPLICATE_MONITORS: nats.monitor,
    PERPD_REPLICATE_MODE: "async",
  };
  const first = new TestServer({ environment, dataFolder: join(folder, "first") });
  t.after(() => first.dispose());
  await first.start();
  await seed(first.dataFolder, join(folder, "backup"), join(folder, "second"));
  const second = new TestServer({ command: "standby", environment, dataFolder: join(folder, "second") });
  t.after(() => second.dispose());
  const secondLeads = second.start();
  secondLeads.catch(() => {});
  await second.logs(/this process follows a leader/);
  await first.kill();
  await secondLeads;
  assert.match(second.stderr, /"withinMs":750,.*did not release its lease: in mode async/);
  const oldLog = first.stderr.length;
  const firstLeads = first.start();
  firstLeads.catch(() => {});
  await first.logs(/this process follows a leader/);
  await second.stop();
  await firstLeads;
  assert.doesNotMatch(first.stderr.slice(oldLog), /did not release its lease/);
});
