import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { ServerClock } from "../support/mains/server-clock.ts";
import { startServer, type TestServer } from "../support/server.ts";
import { Operator, openTrader, Trader } from "../support/trader.ts";

const HOUR_MS = 3_600_000;

const clock = new ServerClock();
let server: TestServer;

before(async () => {
  server = await startServer({
    environment: {
      ...clock.environment,
      PERPD_SESSION_TTL_MS: String(1000 * HOUR_MS),
    },
  });
});
after(async () => {
  await server.dispose();
});

async function setPrices(): Promise<void> {
  const operator = new Operator(server);
  await operator.setIndex("BTC-PERP", "65000");
  await operator.setIndex("ETH-PERP", "3000");
}

test("the id of an order stays with its symbol while the order is open, for days and across restarts", async () => {
  await setPrices();
  let alice = await openTrader(server);
  const onEth = { symbol: "ETH-PERP", side: "BUY", type: "LIMIT", price: "2900", quantity: "1" } as const;
  const { orderId } = await alice.buy("0.1", "64000", { clientOrderId: "bid-1" });
  for (const days of [1, 2, 3]) {
    clock.set(days * 25 * HOUR_MS);
    if (days > 1) {
      await server.kill();
      await server.start();
      const { token, accountId, address, privateKey } = alice;
      alice = new Trader(server.url, token ?? "", accountId, address, privateKey);
    }
    await setPrices();
    for (let i = 0; i < 5; i++) await alice.place({ ...onEth, clientOrderId: `${days}-${i}` });
    await alice.refused("CLIENT_ORDER_ID_REUSED", "POST", "/orders", { ...onEth, clientOrderId: "bid-1" });
  }
  assert.equal((await alice.cancel("client:bid-1")).orderId, orderId);
  await alice.refused("ORDER_NOT_OPEN", "DELETE", "/orders/client:bid-1");
  assert.equal((await alice.place({ ...onEth, clientOrderId: "bid-1" })).symbol, "ETH-PERP");
  await alice.cancel("client:bid-1");
  await alice.refused("ORDER_NOT_OPEN", "DELETE", "/orders/client:bid-1");
});
