import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { type ServerOptions, TestServer } from "../support/server.ts";
import { Operator } from "../support/trader.ts";
import { until } from "../support/wait.ts";

/** A process that is told to stop before it is ready. */

const UNREACHABLE = { PERPD_REPLICATE: "nats://127.0.0.1:1", PERPD_REPLICATE_UNSAFE: "on" };
/** Node itself listens for the other signals. */
const SIGHUP_BIT = 1n;
const ENDED = /the server ended \(0\) before it was ready/;
const STOPPED = { code: 0, signal: null };

function begin(t: TestContext, options: ServerOptions): { server: TestServer; ended: Promise<unknown> } {
  const server = new TestServer(options);
  t.after(() => server.dispose());
  return { server, ended: assert.rejects(server.start(), ENDED) };
}

/** Whether perpd listens for signals. Linux. */
function listens(pid = 0): boolean {
  if (!existsSync(`/proc/${pid}/status`)) return false;
  const caught = /^SigCgt:\t(\w+)$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"));
  return (BigInt(`0x${caught?.[1] ?? "0"}`) & SIGHUP_BIT) !== 0n;
}

test("a start that is told to stop ends with code 0 at any point, and the next one is as usual", {
  skip: process.platform !== "linux" && "only Linux says which signals a process listens for",
}, async (t) => {
  const server = new TestServer();
  t.after(() => server.dispose());
  const has = (name: string) => (): boolean => existsSync(join(server.dataFolder, name));
  for (const point of [() => true, has("genesis.json"), has("initialised.json"), has("log")]) {
    const started = server.start().catch((error: Error) => error);
    await until("the point", () => !server.isRunning || (listens(server.pid) && point()));
    assert.deepEqual(await server.stop(), STOPPED, server.stderr);
    // On a busy machine the test may look only when the server is ready.
    const fault = await started;
    if (fault !== undefined) assert.match(fault.message, ENDED);
  }
  await server.start();
  await new Operator(server).soundAudit();
  assert.deepEqual(server.loggedErrors, []);
  assert.doesNotMatch(server.stderr, /cannot start/);
});

test("a start that waits for a NATS server stops with code 0", async (t) => {
  const { server, ended } = begin(t, { environment: UNREACHABLE });
  await server.logs(/NATS JetStream does not answer/);
  assert.deepEqual(await server.stop(), STOPPED);
  await ended;
  assert.match(server.stderr, /"msg":"stopped"/);
  assert.doesNotMatch(server.stderr, /cannot start/);
});

test("a gateway that waits for its leader stops with code 0, and does not say that it is ready", async (t) => {
  const environment = { ...UNREACHABLE, PERPD_UPSTREAM: "http://127.0.0.1:1" };
  const { server, ended } = begin(t, { command: "gateway", environment });
  await server.logs(/none of the upstreams says that it leads/);
  assert.deepEqual(await server.stop(), STOPPED);
  await ended;
  assert.doesNotMatch(server.stdout, /is ready/);
});
