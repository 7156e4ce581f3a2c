import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import * as fs from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { after, type TestContext, test } from "node:test";
import type { Replication } from "../../../src/client/types.ts";
import { OPERATOR_TOKEN, TestServer } from "../support/server.ts";
import { Operator } from "../support/trader.ts";
import { until } from "../support/wait.ts";
import { runPerpd, seed } from "./commands.ts";
import { NATS_SERVER, Nats } from "./nats-server.ts";
import { patient } from "./patient.ts";

/** The disk of the standby. Only root can have one. */
const disk = fs.mkdtempSync(join(tmpdir(), "perpd-standby-disk-"));
const mount = (...args: string[]): boolean => spawnSync("mount", args).status === 0;
const isMounted =
  NATS_SERVER !== null && process.getuid?.() === 0 && mount("-t", "tmpfs", "-o", "size=32m", "tmpfs", disk);
const backups = fs.mkdtempSync(join(tmpdir(), "perpd-standby-backup-"));
after(() => {
  if (isMounted) spawnSync("umount", ["-l", disk]);
  for (const folder of [disk, backups]) fs.rmSync(folder, { recursive: true, force: true });
});
const skip = isMounted ? false : "needs nats-server, to be root, and to mount a small file system";

/**
 * The URL of a way to the exchange that passes the request of a command on after `act`. A leader counts on a standby for some seconds after
 * it has gone: the start of a command may take longer.
 */
async function openWay(t: TestContext, exchange: TestServer, act: () => Promise<void>): Promise<string> {
  const way = createServer(async (request, response) => {
    const body = await text(request);
    await act();
    const { method = "", url = "", headers } = request;
    const { authorization = "", "content-type": type = "" } = headers;
    const passed = { method, headers: { authorization, "content-type": type }, body };
    const answer = await fetch(new URL(url, exchange.url), passed);
    response.writeHead(answer.status, { "content-type": "application/json" }).end(await answer.text());
  });
  t.after(() => way.close());
  await once(way.listen(0, "127.0.0.1"), "listening");
  return `http://127.0.0.1:${(way.address() as AddressInfo).port}/v1`;
}

test("a leader does not step down for a standby whose disk is full, and the command fails if the standby has gone", {
  skip,
}, async (t) => {
  const nats = new Nats();
  t.after(() => nats.dispose());
  await nats.start();
  const environment = {
    PERPD_REPLICATE: nats.url,
    PERPD_REPLICATE_MONITORS: nats.monitor,
    PERPD_SEGMENT_BYTES: "1048576",
    PERPD_MIN_FREE_BYTES: String(8 * 2 ** 20),
  };
  const leader = new TestServer({ environment });
  t.after(() => leader.dispose());
  await leader.start();
  const dataFolder = join(disk, "data");
  await seed(leader.dataFolder, join(backups, "backup"), dataFolder);
  const standby = new TestServer({ command: "standby", dataFolder, environment });
  t.after(() => standby.dispose());
  standby.start().catch(() => {});
  const operator = patient(new Operator(leader));
  const untilHealthy = (isHealthy: boolean) =>
    until(`a standby that is healthy: ${isHealthy}`, async () => {
      const { standbys } = await operator.get<Replication>("/replication");
      return standbys[0]?.healthy === isHealthy;
    });
  await untilHealthy(true);
  const { bavail, bsize } = fs.statfsSync(disk);
  const filler = join(disk, "filler");
  fs.writeFileSync(filler, Buffer.alloc(bavail * bsize - 4 * 2 ** 20, 1));
  await untilHealthy(false);
  const refused = await operator.refused("NO_STANDBY", "POST", "/operator/step-down");
  assert.deepEqual(refused.details, { standbys: 1 });
  fs.rmSync(filler);
  await untilHealthy(true);
  const url = await openWay(t, leader, () => standby.kill());
  const env = { ...process.env, PERPD_OPERATOR_TOKEN: OPERATOR_TOKEN, PERPD_URL: url };
  await assert.rejects(runPerpd(["step-down"], env), { code: 1, stderr: /no standby is seen to lead/ });
  assert.deepEqual(await leader.exit(), { code: 0, signal: null });
});
