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

test("an id that one symbol has is refused on another, for its account alone", async () => {
  await alice.place({ ...onBtc, clientOrderId: "one" });
  const refused = await alice.refused("CLIENT_ORDER_ID_REUSED", "POST", "/orders", { ...onEth, clientOrderId: "one" });
  assert.equal(refused.field, "clientOrderId");
  assert.equal((await bob.place({ ...onEth, clientOrderId: "one" })).symbol, "ETH-PERP");
});

test("a refused order has not used its id", async () => {
  const far = { ...onBtc, price: "69000", clientOrderId: "two" };
  await alice.refused("PRICE_OUT_OF_BAND", "POST", "/orders", far);
  assert.equal((await alice.place({ ...onEth, clientOrderId: "two" })).status, "NEW");
});

test("of two orders with one id that come at once, one symbol gets it", async () => {
  const answers = await Promise.allSettled([
    alice.place({ ...onBtc, clientOrderId: "three" }),
    alice.place({ ...onEth, clientOrderId: "three" }),
  ]);
  assert.equal(answers.filter(({ status }) => status === "fulfilled").length, 1);
});

test("a restart forgets none of it", async () => {
  await alice.place({ ...onBtc, clientOrderId: "four" });
  await server.kill();
  await server.start();
  const again = await openAgain(alice);
  await again.refused("CLIENT_ORDER_ID_REUSED", "POST", "/orders", { ...onEth, clientOrderId: "four" });
});

/** The same session at the server's new address. */
const openAgain = async (trader: Trader): Promise<Trader> =>
  Object.assign(Object.create(Object.getPrototypeOf(trader)), trader, { url: server.url }) as Trader;
