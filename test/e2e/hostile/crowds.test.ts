import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { ChannelRequest, Order } from "../../../src/client/types.ts";
import { Api } from "../support/api.ts";
import { TestServer } from "../support/server.ts";
import { SocketClient, type SocketMessage } from "../support/socket.ts";
import { Operator, openTrader, Trader } from "../support/trader.ts";
import { until } from "../support/wait.ts";
import { login, newPrivateKey } from "../support/wallet.ts";

/** Very many who all want the same at the same time. */

const CROWD = 300;
const LOGINS = 150;
const CHANNELS: ChannelRequest[] = [
  { channel: "orderbook", symbol: "BTC-PERP", depth: 50 },
  { channel: "trades", symbol: "BTC-PERP" },
  { channel: "balance" },
  { channel: "orders" },
];

const server = new TestServer();
after(() => server.dispose());

/** Places and cancels until it is told to stop: nobody may be refused for the crowd's sake. */
async function tradeUntil(trader: Trader, isOver: () => boolean): Promise<{ orders: number; slowestMs: number }> {
  let orders = 0;
  let slowestMs = 0;
  while (!isOver()) {
    const from = performance.now();
    const { orderId } = await trader.buy("0.001", "60000");
    await trader.cancel(orderId);
    slowestMs = Math.max(slowestMs, performance.now() - from);
    orders++;
  }
  return { orders, slowestMs };
}

test("after a crash all clients reconnect at once and get their books and accounts, while orders continue", async (t) => {
  await server.start();
  await new Operator(server).setIndex("BTC-PERP", "65000");
  const alice = await openTrader(server);
  const bob = await openTrader(server);
  const resting = await alice.buy("0.002", "61000");

  const connect = async (): Promise<SocketClient> => {
    const client = await SocketClient.open(server.wsUrl);
    await client.request("auth", { token: alice.token });
    await client.subscribe(...CHANNELS);
    return client;
  };
  const before = await Promise.all(Array.from({ length: CROWD }, connect));
  await server.kill();
  await Promise.all(before.map((client) => client.closed));
  await server.start();

  let connected = 0;
  const trader = new Trader(server.url, bob.token ?? "", bob.accountId, bob.address, bob.privateKey);
  const trading = tradeUntil(trader, () => connected === CROWD);
  const clients = await Promise.all(
    Array.from({ length: CROWD }, async () => {
      const client = await connect();
      connected++;
      return client;
    }),
  );
  t.after(() => Promise.all(clients.map((client) => client.close())));
  const { orders, slowestMs } = await trading;
  t.diagnostic(`${orders} orders placed and canceled meanwhile, the slowest pair in ${slowestMs.toFixed(0)} ms`);
  for (const client of clients) {
    const snapshot = (channel: string): Promise<SocketMessage & { data: unknown; bids: [string, string][] }> =>
      client.find(`its ${channel}`, (message) => message.channel === channel && message.type === "SNAPSHOT") as never;
    const open = (await snapshot("orders")).data as Order[];
    assert.deepEqual(
      open.map(({ orderId }) => orderId),
      [resting.orderId],
    );
    assert.equal(((await snapshot("balance")).data as { equity: string }).equity, "100000");
    const { bids } = await snapshot("orderbook");
    assert.ok(bids.some(([price, quantity]) => price === "61000" && quantity === "0.002"));
  }
  // One change reaches each of them.
  const last = await trader.buy("0.003", "60500");
  for (const client of clients) await client.find("the change", (message) => message.sequence === last.sequence);
  await new Operator(server).soundAudit();
});

test("a flood of logins is answered or refused one by one, while orders continue", async (t) => {
  const alice = await openTrader(server);
  let over = false;
  const trading = tradeUntil(alice, () => over);
  const outcomes = await Promise.all(
    Array.from({ length: LOGINS }, () =>
      login(server.url, newPrivateKey()).then(
        () => "in",
        (refusal: Error) => refusal.message,
      ),
    ),
  ).finally(() => {
    over = true;
  });
  const { orders, slowestMs } = await trading;
  const admitted = outcomes.filter((outcome) => outcome === "in").length;
  t.diagnostic(
    `${admitted} of ${LOGINS} logged in; ${orders} orders and cancels, the slowest pair in ${slowestMs.toFixed(0)} ms`,
  );
  assert.ok(admitted > 0);
  // On a slow machine the last of those that are let wait may wait for too long.
  for (const outcome of outcomes) if (outcome !== "in") assert.match(outcome, /"code":"(OVERLOADED|TIMEOUT)"/);
  assert.ok(orders > 0);
  // Whoever was refused logs in with a new challenge.
  await until("a login", () =>
    login(server.url, newPrivateKey()).then(
      () => true,
      () => false,
    ),
  );
  assert.equal((await new Api(server.url).get<{ status: string }>("/health")).status, "OK");
});
