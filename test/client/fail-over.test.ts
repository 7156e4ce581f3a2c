import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { WebSocket } from "ws";
import { PerpdClient } from "../../src/client/client.ts";
import type { PerpdError } from "../../src/client/error.ts";
import { accept, SocketServer } from "./support/socket-server.ts";

const ORDER = { symbol: "BTC-PERP", side: "BUY", type: "MARKET", quantity: "1" } as const;

async function openServer(t: TestContext): Promise<SocketServer> {
  const server = await SocketServer.open();
  t.after(() => server.close());
  return server;
}

/** It follows the leader at this address, and takes no order. */
async function openStandby(t: TestContext, leader: string): Promise<SocketServer> {
  const standby = await openServer(t);
  standby.answer = (request) =>
    request.op === "order.place"
      ? { op: "error", id: request.id, code: "NOT_LEADER", retryable: true, details: { leader } }
      : accept(request);
  return standby;
}

test("an order that a standby refuses takes the stream to the leader, if the client knows its address", async (t) => {
  const leader = await openServer(t);
  leader.answer = (request) =>
    request.op === "order.place" ? { op: "result", id: request.id, result: { orderId: "1" } } : accept(request);
  const standby = await openStandby(t, leader.origin);
  const client = new PerpdClient({ baseUrl: [standby.baseUrl, leader.baseUrl], token: "T", WebSocket });
  const disconnects: PerpdError[] = [];
  const handlers = { onMessage: () => {}, onDisconnect: (why: PerpdError) => disconnects.push(why) };
  const stream = client.stream([{ channel: "orders" }], handlers);
  t.after(() => stream.close());
  await stream.ready;
  await assert.rejects(stream.placeOrder(ORDER), { code: "NOT_LEADER" });
  await leader.requestCount(2);
  await stream.placeOrder(ORDER);
  assert.deepEqual(
    disconnects.map(({ code }) => code),
    ["NOT_LEADER"],
  );
  assert.deepEqual(
    leader.requests.map(({ op }) => op),
    ["auth", "subscribe", "order.place"],
  );
});

test("with one address a stream stays where its order was refused", async (t) => {
  const standby = await openStandby(t, "http://leader");
  const client = new PerpdClient({ baseUrl: standby.baseUrl, token: "T", WebSocket });
  const stream = client.stream([{ channel: "orders" }], { onMessage: () => {} });
  t.after(() => stream.close());
  await stream.ready;
  for (let i = 0; i < 2; i++) await assert.rejects(stream.placeOrder(ORDER), { code: "NOT_LEADER" });
  assert.equal(standby.sockets.length, 1);
});
