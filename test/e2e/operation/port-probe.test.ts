import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import { probePort } from "../../../src/front/http/port-probe.ts";

const MAIN = fileURLToPath(new URL("../../../src/main.js", import.meta.url));

async function takePort(t: TestContext): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  t.after(() => server.close());
  return (server.address() as AddressInfo).port;
}

test("an address that cannot be bound is refused with the reason", async (t) => {
  const port = await takePort(t);
  const rows: [host: string, port: number, reason: string][] = [
    ["127.0.0.1", port, "another program already listens on this port"],
    ["0.0.0.0", port, "another program already listens on this port"],
    ["192.0.2.1", 0, "this machine has no such address"],
    ["nowhere.invalid", 0, "the host name has no address"],
  ];
  for (const [host, port, reason] of rows)
    await assert.rejects(probePort(host, port), { message: `cannot listen on ${host}:${port}: ${reason}` });
});

test("probing a free port leaves it free", async () => {
  await probePort("127.0.0.1", 0);
  const port = await new Promise<number>((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
  await probePort("127.0.0.1", port);
  await probePort("127.0.0.1", port);
});

test("a start on a taken port ends before it creates the data folder", async (t) => {
  const port = await takePort(t);
  const folder = mkdtempSync(join(tmpdir(), "perpd-port-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const data = join(folder, "data");
  const { status, stderr } = spawnSync(process.execPath, [MAIN, "start", "--port", String(port), "--data", data], {
    env: {},
    encoding: "utf8",
  });
  assert.equal(status, 1);
  assert.match(
    stderr,
    /^perpd cannot start: cannot listen on 127\.0\.0\.1:\d+: another program already listens on this port$/m,
  );
  assert.ok(!existsSync(data));
});
