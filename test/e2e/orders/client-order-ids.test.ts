import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startServer, type TestServer } from "../support/server.ts";
import { Operator, openTrader, type Trader } from "../support/trader.ts";

let server: TestServer;
let alice: Trader;
let bob: Trader;

before(async () => {
  server = await startServer();
  const operator = new Operator(server);
  await operator.setIndex("BTC-PERP", "65000");
  await operator.setIndex("ETH-PERP", "3000");
  [alice, bob] = await Promise.all([openTrader(server), openTrader(server)]);
});

after(() => server.dispose());

const onBtc = { symbol: "BTC-PERP", side: "BUY", type: "LIMIT", price: "64000", quantity: "0.1" } as const;
const onEth = { symbol: "ETH-PERP", side: "BUY", type: "LIMIT", price: "2900", quantity: "1" } as const;

test("a client order id used on one symbol is refused on another, per account", async () => {
  await alice.place({ ...onBtc, clientOrderId: "one" });
  const refused = await alice.refused("CLIENT_ORDER_ID_REUSED", "POST", "/orders", { ...onEth, clientOrderId: "one" });
  assert.equal(refused.field, "clientOrderId");
  assert.equal((await bob.place({ ...onEth, clientOrderId: "one" })).symbol, "ETH-PERP");
});

test("a refused order does not use up its client order id", async () => {
  const far = { ...onBtc, price: "69000", clientOrderId: "two" };
  await alice.refused("PRICE_OUT_OF_BAND", "POST", "/orders", far);
  assert.equal((await alice.place({ ...onEth, clientOrderId: "two" })).status, "NEW");
});

test("of two concurrent orders with one client order id, one succeeds", async () => {
  const answers = await Promise.allSettled([
    alice.place({ ...onBtc, clientOrderId: "three" }),
    alice.place({ ...onEth, clientOrderId: "three" }),
  ]);
  assert.equal(answers.filter(({ status }) => status === "fulfilled").length, 1);
});

test("client order ids survive a restart", async () => {
  await alice.place({ ...onBtc, clientOrderId: "four" });
  await server.kill();
  await server.start();
  const again = await openAgain(alice);
  await again.refused("CLIENT_ORDER_ID_REUSED", "POST", "/orders", { ...onEth, clientOrderId: "four" });
});

/** The same session at the server's new address. */
const openAgain = async (trader: Trader): Promise<Trader> =>
  Object.assign(Object.create(Object.getPrototypeOf(trader)), trader, { url: server.url }) as Trader;
