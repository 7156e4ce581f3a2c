import assert from "node:assert/strict";
import { connect } from "node:net";
import { test } from "node:test";
import type { NewOrder, Order, Page } from "../../../src/client/types.ts";
import { Api } from "../support/api.ts";
import { readToEnd, textFrame, upgrade } from "../support/raw-socket.ts";
import { startServer } from "../support/server.ts";
import { SocketClient } from "../support/socket.ts";
import { Operator, openTrader } from "../support/trader.ts";
import { until } from "../support/wait.ts";

const order = (clientOrderId: string): NewOrder & { clientOrderId: string } => ({
  symbol: "BTC-PERP",
  side: "BUY",
  type: "LIMIT",
  price: "60000",
  quantity: "0.001",
  clientOrderId,
});

test("SIGTERM under load answers pending requests, notifies sockets, and loses nothing acknowledged", async (t) => {
  const server = await startServer();
  t.after(() => server.dispose());
  await new Operator(server).setIndex("BTC-PERP", "65000");
  const alice = await openTrader(server, "1000000");

  // Those that would make it wait: half a body, half a head, nothing, and one that does not read.
  const head = `POST /v1/orders HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${alice.token}\r\nContent-Length: 90\r\n\r\n`;
  const stuck = [`${head}{"symbol":`, "GET /v1/time HTTP/1.1\r\nHost:", ""].map((text) => {
    const socket = connect(server.port, "127.0.0.1").on("error", () => {});
    socket.write(text);
    return socket;
  });
  const stalled = await upgrade(server.port);
  const books = [0, 100, 250].map((updateMs) => ({ channel: "orderbook", symbol: "BTC-PERP", depth: 1000, updateMs }));
  for (let i = 0; i < 100; i++) stalled.write(textFrame({ op: "subscribe", channels: books }));
  t.after(() => [...stuck, stalled].forEach((socket) => void socket.destroy()));

  const watcher = await SocketClient.open(server.wsUrl);
  await watcher.subscribe({ channel: "orderbook", symbol: "BTC-PERP" });
  const trading = await SocketClient.open(server.wsUrl);
  await trading.request("auth", { token: alice.token });
  const answered = new Set<string>();
  let going = true;
  const overHttp = Promise.all(
    Array.from({ length: 16 }, async (_, lane) => {
      for (let i = 0; going; i++) {
        const id = `h${lane}-${i}`;
        const answer = await alice.request<Order>("POST", "/orders", order(id)).catch(() => null);
        // Refused as no longer ready, or the connection has ended.
        if (answer === null || answer.status === 503) return;
        assert.ok([201, 422].includes(answer.status), answer.text);
        if (answer.status === 201) answered.add(id);
      }
    }),
  );
  for (let i = 0; i < 400; i++) trading.send({ op: "order.place", id: `s${i}`, params: order(`s${i}`) });
  await until("load", () => answered.size > 100);

  const startedAt = Date.now();
  const exit = await server.stop();
  t.diagnostic(`stopped in ${Date.now() - startedAt} ms`);
  assert.deepEqual(exit, { code: 0, signal: null });
  going = false;
  await overHttp;
  for (const client of [watcher, trading]) assert.deepEqual(await client.closed, { code: 1001, reason: "GOING_AWAY" });
  await Promise.all([...stuck, stalled].map(readToEnd));
  for (const message of trading.messages as { id?: string; status?: number }[])
    if (message.status === 201) answered.add(String(message.id));
  assert.deepEqual(server.loggedErrors, []);

  await server.start();
  const again = new Api(server.url, alice.token);
  for (const id of answered) {
    const { status } = await again.get<Order>(`/orders/client:${id}`);
    assert.equal(status, "NEW", id);
  }
  t.diagnostic(`${answered.size} orders were answered`);
  await new Operator(server).soundAudit();
});

test("SIGTERM with WebSocket orders in flight answers every order that was placed", async (t) => {
  const server = await startServer();
  t.after(() => server.dispose());
  await new Operator(server).setIndex("BTC-PERP", "65000");
  const alice = await openTrader(server, "1000000");
  const trading = await SocketClient.open(server.wsUrl);
  await trading.request("auth", { token: alice.token });
  const sending = async (): Promise<void> => {
    for (let i = 0; i < 900 && !trading.isClosed; i++) {
      trading.send({ op: "order.place", id: `s${i}`, params: order(`s${i}`) });
      await new Promise((later) => setImmediate(later));
    }
  };
  const sent = sending();
  await until("the first answer", () => trading.messages.some(({ id }) => id === "s0"));
  assert.deepEqual(await server.stop(), { code: 0, signal: null });
  await sent;
  assert.deepEqual(await trading.closed, { code: 1001, reason: "GOING_AWAY" });
  const messages = trading.messages as { id?: string; status?: number }[];
  const answered = messages.filter(({ status }) => status === 201).map(({ id }) => id);

  await server.start();
  const { data } = await new Api(server.url, alice.token).get<Page<Order>>("/orders?limit=1000");
  assert.deepEqual(data.map(({ clientOrderId }) => clientOrderId).sort(), answered.sort());
});
