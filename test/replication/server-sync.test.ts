import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import type { ReplicationConfig } from "../../src/config/replication.ts";
import { isSilence, requireSync } from "../../src/replication/server-sync.ts";

/** As the client of NATS throws them. */
const errorOf = (message: string, fields: object): Error => Object.assign(new Error(message), fields);

test("a server that will answer later is silent, and one that will go on to say no is not", () => {
  const noResponders = errorOf("no responders: '$JS.API.DIRECT.GET.KV_x-lease'", { name: "NoResponders" });
  for (const error of [
    // The leader of a new stream does not listen yet.
    errorOf(noResponders.message, { name: "RequestError", cause: noResponders }),
    // The only server that keeps the stream is down.
    errorOf("stream is offline", { name: "JetStreamApiError", code: 10118, status: 500 }),
    errorOf("no suitable peers for placement", { code: 10005 }),
    errorOf("timeout", { name: "TimeoutError" }),
  ])
    assert.equal(isSilence(error), true, error.message);
  for (const error of [
    // This account has none.
    errorOf("jetstream is not enabled", { name: "JetStreamNotEnabled", cause: noResponders }),
    errorOf("no suitable peers for placement, insufficient storage", { code: 10005 }),
    errorOf("replicas > 1 not supported in non-clustered mode", { code: 10074, status: 500 }),
    errorOf("Permissions Violation", { name: "PermissionViolationError" }),
  ])
    assert.equal(isSilence(error), false, error.message);
});

test("a monitor that is no NATS server is named as such", async () => {
  const server = createServer((_request, response) => void response.end('{"code":"NOT_FOUND"}')).listen(0, "127.0.0.1");
  await once(server, "listening");
  const monitor = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const config = { monitors: [monitor], isUnsafe: false } as unknown as ReplicationConfig;
  await assert.rejects(requireSync(config), { message: `${monitor} is no NATS server; check replicateMonitors` });
  server.close();
});
