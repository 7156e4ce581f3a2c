import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startServer, type TestServer } from "../support/server.ts";
import { Operator, openTrader } from "../support/trader.ts";
import { until } from "../support/wait.ts";

let server: TestServer;
let operator: Operator;

before(async () => {
  server = await startServer({ environment: { PERPD_FAUCET_CAP: "1000000000" } });
  operator = new Operator(server);
  await operator.setIndex("BTC-PERP", "65000");
  await operator.setIndex("ETH-PERP", "3000");
});

after(async () => {
  await operator.soundAudit();
  await server.dispose();
});

const order = (quantity: string, price = "65000") => ({
  symbol: "BTC-PERP",
  side: "BUY",
  type: "LIMIT",
  price,
  quantity,
});

test("an account has at most 1000 open orders in a symbol", async () => {
  const alice = await openTrader(server);
  const body = { symbol: "ETH-PERP", side: "BUY", type: "LIMIT", price: "2000", quantity: "0.01" } as const;
  for (let i = 0; i < 1000; i += 50) await Promise.all(Array.from({ length: 50 }, () => alice.place(body)));
  const error = await alice.refused("TOO_MANY_OPEN_ORDERS", "POST", "/orders", body);
  assert.deepEqual([error.field, error.details], ["symbol", { limit: 1000 }]);
  // Another symbol has its own count.
  await alice.buy("0.001", "60000");
  assert.equal((await alice.openOrders("?limit=1000")).nextCursor !== null, true);
  assert.equal((await alice.cancelAll("?symbol=ETH-PERP")).canceled, 1000);
  await alice.place(body);
  await alice.cancelAll();
});

test("a position including open orders is limited by the last risk tier", async () => {
  const alice = await openTrader(server, "500000000");
  for (let i = 0; i < 15; i++) await alice.buy("100", "65000");
  const error = await alice.refused("POSITION_LIMIT", "POST", "/orders", order("100"));
  assert.deepEqual([error.field, error.details], ["quantity", { limit: "1538.461" }]); // 100,000,000 ÷ 65000
  await alice.buy("38.461", "65000");
  await alice.refused("POSITION_LIMIT", "POST", "/orders", order("0.001"));
  await alice.cancelAll();
});

test("large positions need the margin rate of their tier, whatever the leverage", async () => {
  const alice = await openTrader(server, "1000");
  await alice.call(200, "POST", "/positions/BTC-PERP/leverage", { leverage: 100 });
  const required = async (quantity: string) =>
    (await alice.refused("INSUFFICIENT_MARGIN", "POST", "/orders", order(quantity))).details?.required;
  assert.equal(await required("4"), "2730"); // 260,000: 1 %, and 130 of fees
  assert.equal(await required("10"), "13325"); // 650,000: 2 %, and 325
  assert.equal(await required("50"), "131625"); // 3,250,000: 4 %, and 1625
});

test("an account below its maintenance margin is liquidated, and no money is lost", async () => {
  const [alice, market] = await Promise.all([openTrader(server, "1000"), openTrader(server, "10000000")]);
  await alice.call(200, "POST", "/positions/BTC-PERP/leverage", { leverage: 100 });
  await market.sell("0.5", "65000");
  await alice.buy("0.5", "65000");
  const resting = await alice.sell("0.1", "70000");
  await market.buy("5", "63100");
  // The book pulls the mark up to 63215: equity is 91.25, and 126.43 must be kept.
  await operator.setIndex("BTC-PERP", "63100");
  await until("the liquidation", async () => (await alice.position()) === null);
  const [fill] = (await alice.fills("?limit=1")).data;
  assert.deepEqual([fill?.execType, fill?.side, fill?.positionSize], ["LIQUIDATION", "SELL", "0"]);
  assert.equal((await alice.order(resting.orderId)).status, "CANCELED");
  const { equity, initialMargin, maintenanceMargin } = await alice.balance();
  assert.ok(Number(equity) >= 0, `equity ${equity}`);
  assert.deepEqual([initialMargin, maintenanceMargin], ["0", "0"]);
  await operator.soundAudit();
  // It may go on with what it has left, or with new money.
  await alice.deposit("10000");
  await alice.buy("0.1", "63000");
  await Promise.all([alice.cancelAll(), market.cancelAll()]);
});
