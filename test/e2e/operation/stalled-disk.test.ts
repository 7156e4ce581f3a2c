import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import * as fs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { perpd } from "../../../src/ccxt/index.ts";
import type { ErrorBody } from "../../../src/client/error.ts";
import { Api } from "../support/api.ts";
import { startServer, type TestServer } from "../support/server.ts";
import { Operator, openTrader } from "../support/trader.ts";
import { until } from "../support/wait.ts";

/** A disk of its own, in a file, which may be frozen: whoever writes to it then waits. Only root can have one. */
const folder = fs.mkdtempSync(join(tmpdir(), "perpd-frozen-"));
const disk = join(folder, "mounted");
const run = (command: string, ...args: string[]): boolean => spawnSync(command, args).status === 0;
const isMounted = process.getuid?.() === 0 && mountDisk() && run("fsfreeze", "--freeze", disk);
if (isMounted) run("fsfreeze", "--unfreeze", disk);
after(() => {
  run("fsfreeze", "--unfreeze", disk);
  run("umount", "--lazy", disk);
  fs.rmSync(folder, { recursive: true, force: true });
});
const skip = isMounted ? false : "needs to be root, and to make, mount and freeze a small file system";

function mountDisk(): boolean {
  const image = join(folder, "image");
  fs.writeFileSync(image, "");
  fs.truncateSync(image, 300 * 2 ** 20);
  fs.mkdirSync(disk);
  return run("mkfs.ext4", "-q", image) && run("mount", "--options", "loop", image, disk);
}

/** Its status code, and the reasons when it is 503. */
async function readiness(server: TestServer): Promise<[number, unknown]> {
  const { status, body } = await new Api(server.url).request<ErrorBody>("GET", "/health/ready");
  return [status, body.details?.codes];
}

const status = async (server: TestServer): Promise<string> =>
  (await new Api(server.url).get<{ status: string }>("/health")).status;

test("on a stalled disk nothing false is acknowledged, health reports it, and service resumes by itself", {
  skip,
}, async (t) => {
  const server = await startServer({ dataFolder: join(disk, "data") });
  t.after(async () => {
    run("fsfreeze", "--unfreeze", disk);
    await server.dispose();
  });
  await new Operator(server).setIndex("BTC-PERP", "65000");
  const alice = await openTrader(server);
  const order = { symbol: "BTC-PERP", side: "BUY", type: "LIMIT", price: "64000", quantity: "0.001" };
  const place = (clientOrderId: string) =>
    alice.request<{ code?: string }>("POST", "/orders", { ...order, clientOrderId });
  assert.equal((await place("before")).status, 201);
  assert.equal(await status(server), "OK");

  assert.ok(run("fsfreeze", "--freeze", disk));
  const waiting = place("while-frozen");
  await until("health says so", async () => (await status(server)) === "STALLED" || undefined);
  assert.deepEqual(await readiness(server), [503, ["STALLED"]]);
  await new Api(server.url).get("/health/live");
  await server.logs(/the disk does not answer/);
  assert.match((await new Operator(server).request("GET", "/metrics")).text, /^perpd_stalled 1$/m);
  const program = new perpd({ hostname: new URL(server.url).host });
  assert.equal((await program.fetchStatus()).status, "error");
  const ticker = await new Api(server.url).get<{ bidPrice: string }>("/market/ticker?symbol=BTC-PERP");
  assert.equal(ticker.bidPrice, "64000", "what everyone may know is answered as ever");
  const { status: code, body } = await waiting;
  assert.deepEqual([code, body.code], [503, "TIMEOUT"], "no answer that is not on disk");

  assert.ok(run("fsfreeze", "--unfreeze", disk));
  await until("health says so", async () => (await status(server)) === "OK" || undefined);
  assert.deepEqual(await readiness(server), [200, undefined]);
  assert.equal((await place("while-frozen")).status, 200, "it has been placed, once");
  assert.equal((await place("after")).status, 201);
  await server.logs(/the disk answers again/);
  const open = (await alice.openOrders()).data.map(({ clientOrderId }) => clientOrderId);
  assert.deepEqual(open.sort(), ["after", "before", "while-frozen"]);
  await new Operator(server).soundAudit();
});
