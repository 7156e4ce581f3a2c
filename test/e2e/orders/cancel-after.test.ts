import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { PerpdClient } from "../../../src/client/client.ts";
import type { CancelSwitch, Order } from "../../../src/client/types.ts";
import { openKey } from "../support/keys.ts";
import { startServer, type TestServer } from "../support/server.ts";
import { Operator, openTrader, Trader } from "../support/trader.ts";
import { until } from "../support/wait.ts";

const HOUR_MS = 3_600_000;

let server: TestServer;

before(async () => {
  server = await startServer();
  await setPrices();
});

after(async () => {
  await new Operator(server).soundAudit();
  await server.dispose();
});

async function setPrices(): Promise<void> {
  const operator = new Operator(server);
  await operator.setIndex("BTC-PERP", "65000");
  await operator.setIndex("ETH-PERP", "3500");
}

const arm = (trader: Trader, timeoutMs: number): Promise<CancelSwitch> =>
  trader.call(200, "POST", "/orders/cancel-after", { timeoutMs });

/** The order once it is no longer open. */
const ended = (trader: Trader, { orderId }: Order): Promise<Order> =>
  until("the order to end", async () => {
    const order = await trader.order(orderId);
    return !["NEW", "UNTRIGGERED"].includes(order.status) && order;
  });

test("cancel-after fires on every symbol, also after kill -9, but not when it was renewed", async () => {
  let [alice, bob] = await Promise.all([openTrader(server), openTrader(server)]);
  await arm(bob, 3000);
  const put = await arm(bob, HOUR_MS);
  assert.ok(put.cancelAt !== null && put.cancelAt > Date.now());
  const other = await bob.buy("0.1", "60000");
  const orders = [
    await alice.buy("0.1", "60000"),
    await alice.buy("1", "3000", { symbol: "ETH-PERP" }),
    await alice.place({ symbol: "BTC-PERP", side: "BUY", type: "STOP_MARKET", triggerPrice: "70000", quantity: "0.1" }),
  ];
  const { timeoutMs, cancelAt } = await arm(alice, 3000);
  assert.equal(timeoutMs, 3000);
  await server.kill();
  await server.start();
  alice = new Trader(server.url, alice.token ?? "", alice.accountId, alice.address, alice.privateKey);
  bob = new Trader(server.url, bob.token ?? "", bob.accountId, bob.address, bob.privateKey);
  for (const order of orders) {
    const { status, reason, updatedAt } = await ended(alice, order);
    assert.deepEqual([status, reason], ["CANCELED", "CANCEL_AFTER"]);
    assert.ok(updatedAt >= Number(cancelAt));
  }
  assert.deepEqual((await alice.openOrders()).data, []);
  assert.equal((await bob.order(other.orderId)).status, "NEW");
  await setPrices();
});

test("0 disarms cancel-after over REST and the stream, and a key sets it for its own symbols", async (t) => {
  const [alice, bob] = await Promise.all([openTrader(server), openTrader(server)]);
  const client = new PerpdClient({ baseUrl: server.url, token: alice.token ?? "" });
  const stream = client.stream([], { onMessage: () => {} });
  t.after(() => stream.close());
  await stream.ready;
  const first = await stream.cancelAfter(1000);
  assert.equal(first.timeoutMs, 1000);
  assert.deepEqual(await client.cancelAfter(0), { timeoutMs: 0, cancelAt: null });
  const kept = await alice.buy("0.1", "60000");
  const key = await openKey(server, bob, ["TRADE"], { allowedSymbols: ["ETH-PERP"] });
  const elsewhere = await bob.buy("0.1", "60000");
  const there = await bob.buy("1", "3000", { symbol: "ETH-PERP" });
  const second = await key.call<CancelSwitch>(200, "POST", "/orders/cancel-after", { timeoutMs: 1000 });
  assert.ok(Number(second.cancelAt) >= Number(first.cancelAt));
  assert.equal((await ended(bob, there)).reason, "CANCEL_AFTER");
  // Each symbol fires by itself: an order of a third account says that BTC-PERP has come to that time, too.
  const carol = await openTrader(server);
  const late = await carol.buy("0.1", "60000");
  await arm(carol, 1000);
  await ended(carol, late);
  assert.equal((await bob.order(elsewhere.orderId)).status, "NEW");
  assert.equal((await alice.order(kept.orderId)).status, "NEW");
});

test("an invalid timeout is refused and named, and nothing is armed", async () => {
  const alice = await openTrader(server);
  const bad: [code: Parameters<Trader["refused"]>[0], body: object][] = [
    ["BAD_VALUE", { timeoutMs: 999 }],
    ["BAD_VALUE", { timeoutMs: -1 }],
    ["BAD_VALUE", { timeoutMs: 86_400_001 }],
    ["BAD_TYPE", { timeoutMs: 1000.5 }],
    ["BAD_TYPE", { timeoutMs: "1000" }],
    ["MISSING_FIELD", {}],
  ];
  for (const [code, body] of bad) {
    const error = await alice.refused(code, "POST", "/orders/cancel-after", body);
    assert.equal(error.field, "timeoutMs", JSON.stringify(body));
  }
  await alice.refused("UNKNOWN_FIELD", "POST", "/orders/cancel-after", { timeoutMs: 1000, symbol: "BTC-PERP" });
});
