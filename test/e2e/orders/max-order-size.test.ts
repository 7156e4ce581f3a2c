import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { MaxOrderSize, NewOrder, PlacedOrder } from "../../../src/client/types.ts";
import { decimal, millionths } from "../support/decimal.ts";
import { openKey } from "../support/keys.ts";
import { startServer, type TestServer } from "../support/server.ts";
import { Operator, openTrader, type Trader } from "../support/trader.ts";

let server: TestServer;
let operator: Operator;
let alice: Trader;
let bob: Trader;

before(async () => {
  server = await startServer();
  operator = new Operator(server);
  await operator.setIndex("BTC-PERP", "65000");
  [alice, bob] = await Promise.all([openTrader(server, "2000"), openTrader(server, "1000000")]);
});

after(async () => {
  await operator.soundAudit();
  await server.dispose();
});

type Side = MaxOrderSize["data"][number];

async function largest(trader: Pick<Trader, "get">, query: string): Promise<[buy: Side, sell: Side]> {
  const { data } = await trader.get<MaxOrderSize>(`/orders/max-size?symbol=BTC-PERP&${query}`);
  assert.deepEqual(
    data.map(({ side }) => side),
    ["BUY", "SELL"],
  );
  return data as [Side, Side];
}

const oneMore = (quantity: string): string => decimal(millionths(quantity) + millionths("0.001"));

/** Places the largest order, after one of a step more was refused with the error that was named. */
async function placeLargest(order: Omit<NewOrder, "quantity">, { maxQuantity, limitedBy }: Side): Promise<PlacedOrder> {
  assert.ok(limitedBy !== null);
  for (const dryRun of [true, false]) {
    const quantity = oneMore(maxQuantity);
    const refused = await alice.refused(limitedBy.code, "POST", "/orders", { ...order, quantity, dryRun });
    const { requestId, serverTime, ...refusal } = refused;
    assert.deepEqual(refusal, limitedBy);
  }
  return alice.place({ ...order, quantity: maxQuantity });
}

test("the largest order is accepted, and one of a step more gets the named error", async () => {
  await bob.sell("0.1", "65010");
  await bob.sell("0.1", "65200");
  await bob.buy("5", "64990");
  const [, limitSell] = await largest(alice, "type=LIMIT&price=65100");
  assert.equal(limitSell.limitedBy?.code, "INSUFFICIENT_MARGIN");
  const resting = await placeLargest({ symbol: "BTC-PERP", side: "SELL", type: "LIMIT", price: "65100" }, limitSell);
  assert.equal(resting.status, "NEW");
  assert.deepEqual((await largest(alice, "type=LIMIT&price=65100"))[1].maxQuantity, "0");
  await alice.cancelAll();
  const [, marketSell] = await largest(alice, "type=MARKET&maxSlippage=0.01");
  const sold = await placeLargest(
    { symbol: "BTC-PERP", side: "SELL", type: "MARKET", maxSlippage: "0.01" },
    marketSell,
  );
  assert.equal(sold.filledQuantity, marketSell.maxQuantity);
});

test("a position in isolated mode, and one that is reversed, have their largest order, too", async () => {
  const { size = "" } = (await alice.position()) ?? {};
  const [closing] = await largest(alice, "type=MARKET&reduceOnly=true");
  assert.deepEqual([closing.maxQuantity, closing.limitedBy], [size, null]);
  await bob.sell("5", "65005");
  const order = { symbol: "BTC-PERP", side: "BUY", type: "MARKET" } as const;
  const [reversing] = await largest(alice, "type=MARKET");
  const reversed = await placeLargest(order, reversing);
  assert.equal(reversed.status, "FILLED");
  assert.equal((await alice.position())?.side, "LONG");
  await alice.call(201, "POST", "/positions/BTC-PERP/close");
  await alice.call(200, "POST", "/positions/BTC-PERP/margin-mode", { mode: "ISOLATED" });
  const isolated = await placeLargest(order, (await largest(alice, "type=MARKET"))[0]);
  assert.equal(isolated.status, "FILLED");
  await alice.call(201, "POST", "/positions/BTC-PERP/close");
});

test("without an order that would be accepted the largest quantity is 0, with the reason", async () => {
  const codes = async (trader: Pick<Trader, "get">, query: string) =>
    (await largest(trader, query)).map(({ maxQuantity, limitedBy }) => [maxQuantity, limitedBy?.code]);
  const both = (code: string) => [
    ["0", code],
    ["0", code],
  ];
  assert.deepEqual(await codes(alice, "type=MARKET&reduceOnly=true"), both("REDUCE_ONLY_NO_POSITION"));
  const [far] = await codes(alice, "type=LIMIT&price=90000");
  assert.deepEqual(far, ["0", "PRICE_OUT_OF_BAND"]);
  const key = await openKey(server, alice, ["READ"], { maxOrderNotional: "3000", allowedSymbols: ["BTC-PERP"] });
  const [small] = await largest(key, "type=LIMIT&price=60000");
  assert.deepEqual([small.maxQuantity, small.limitedBy?.code], ["0.05", "KEY_ORDER_LIMIT"]);
  await key.refused("SYMBOL_NOT_ALLOWED", "GET", "/orders/max-size?symbol=ETH-PERP&type=MARKET");
  await operator.call(200, "POST", "/operator/symbols/BTC-PERP/halt", { mode: "REDUCE_ONLY" });
  assert.deepEqual(await codes(alice, "type=MARKET"), both("SYMBOL_HALTED"));
  await operator.call(200, "POST", "/operator/symbols/BTC-PERP/resume");
  const { data } = await alice.get<MaxOrderSize>("/orders/max-size?symbol=ETH-PERP&type=MARKET&side=SELL");
  assert.deepEqual(
    data.map(({ side, maxQuantity, limitedBy }) => [side, maxQuantity, limitedBy?.code]),
    [["SELL", "0", "NO_MARK_PRICE"]],
  );
});

test("a wrong question is refused as a wrong order is", async () => {
  const table: [code: string, query: string][] = [
    ["MISSING_FIELD", "type=LIMIT"],
    ["BAD_COMBINATION", "type=MARKET&price=65000"],
    ["BAD_COMBINATION", "type=LIMIT&price=65000&maxSlippage=0.1"],
    ["PRICE_NOT_ON_TICK", "type=LIMIT&price=65000.01"],
    ["BAD_VALUE", "type=STOP"],
    ["BAD_VALUE", "type=MARKET&maxSlippage=2"],
    ["BAD_TYPE", "type=MARKET&reduceOnly=yes"],
    ["UNKNOWN_FIELD", "type=MARKET&quantity=1"],
  ];
  for (const [code, query] of table)
    await alice.refused(code as never, "GET", `/orders/max-size?symbol=BTC-PERP&${query}`);
  await alice.refused("UNKNOWN_SYMBOL", "GET", "/orders/max-size?symbol=XYZ&type=MARKET");
});
