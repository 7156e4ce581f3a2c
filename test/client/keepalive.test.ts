import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { type TestContext, test } from "node:test";
import { Keepalive } from "../../src/client/keepalive.ts";

const DEAD_AFTER_MS = 20;

/** Both ends of a line. */
async function openLine(t: TestContext): Promise<[near: Socket, far: Socket]> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const near = connect((server.address() as AddressInfo).port, "127.0.0.1");
  const [far] = (await once(server, "connection")) as [Socket];
  t.after(() => {
    for (const end of [near, far]) end.destroy();
    server.close();
  });
  return [near, far];
}

/** Nothing of this process goes on meanwhile. */
const holdUp = (ms: number): void => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);

test("a message that arrived while the program was blocked keeps the connection", async (t) => {
  const [near, far] = await openLine(t);
  let asked = 0;
  await new Promise<void>((resolve, reject) => {
    const ask = (): void => {
      if (++asked === 3) return resolve();
      setImmediate(() => {
        far.write("a sign");
        holdUp(2 * DEAD_AFTER_MS);
      });
    };
    const keepalive = new Keepalive(DEAD_AFTER_MS, ask, () => reject(new Error("it was given up")));
    near.on("data", () => keepalive.received());
    t.after(() => keepalive.stop());
  });
});

test("a silent connection is pinged and given up, but not after stop()", async (t) => {
  let asked = 0;
  let ended = 0;
  const stopped = new Keepalive(
    DEAD_AFTER_MS,
    () => stopped.stop(),
    () => ended++,
  );
  await new Promise<void>((resolve) => {
    const keepalive = new Keepalive(DEAD_AFTER_MS, () => asked++, resolve);
    t.after(() => keepalive.stop());
  });
  assert.deepEqual([asked, ended], [1, 0]);
});
