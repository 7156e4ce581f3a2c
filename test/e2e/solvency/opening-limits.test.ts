import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Instrument, Page } from "../../../src/client/types.ts";
import { startServer, type TestServer } from "../support/server.ts";
import { Operator, openTrader, type Trader } from "../support/trader.ts";

/** Limits that keep a coalition from opening what nobody can pay for: the open-interest cap, and the opening margin rate. */
let server: TestServer;
let operator: Operator;

before(async () => {
  const caps = { openInterestCap: "650000", openInterestLowerCap: "130000" };
  server = await startServer({ instruments: { "BTC-PERP": caps } });
  operator = new Operator(server);
  await operator.setIndex("BTC-PERP", "65000");
  await operator.setIndex("ETH-PERP", "3000");
});
after(async () => {
  await operator.soundAudit();
  await server.dispose();
});

const limitsOf = async (symbol: string): Promise<Instrument> => {
  const { data } = await operator.get<Page<Instrument>>(`/market/symbols?symbol=${symbol}`);
  assert.ok(data[0]);
  return data[0];
};
const order = (symbol: string, price: string, quantity: string) =>
  ({ symbol, side: "BUY", type: "LIMIT", price, quantity }) as const;
const leverage = (trader: Trader, symbol: string, times: number) =>
  trader.call(200, "POST", `/positions/${symbol}/leverage`, { leverage: times });

test("an order above the open-interest cap is refused with the nearest quantity, in a dry run, too", async () => {
  const [long, short] = await Promise.all([openTrader(server, "1000000"), openTrader(server, "1000000")]);
  const refuse = async (quantity: string, dryRun: boolean) => {
    const body = { ...order("BTC-PERP", "65000", quantity), dryRun };
    const { code, field, details, retryable } = await long.refused("OPEN_INTEREST_CAP", "POST", "/orders", body);
    assert.deepEqual([code, field, retryable], ["OPEN_INTEREST_CAP", "quantity", false]);
    return details;
  };
  for (const dryRun of [true, false])
    assert.deepEqual(await refuse("10.5", dryRun), { limit: "10", openInterest: "0", nearest: "10" });
  await short.sell("10", "65000");
  await long.buy("6", "65000");
  for (const dryRun of [true, false])
    assert.deepEqual(await refuse("4.001", dryRun), { limit: "10", openInterest: "6", nearest: "4" });
  const [{ openInterest, openInterestCap, openInterestLowerCap, openingMarginRate }] = [await limitsOf("BTC-PERP")];
  // 1 % and 99 % × (390,000 − 130,000) ÷ (650,000 − 130,000).
  assert.deepEqual(
    [openInterest, openInterestCap, openInterestLowerCap, openingMarginRate],
    ["6", "650000", "130000", "0.505"],
  );
  await long.buy("4", "65000");
  assert.equal((await limitsOf("BTC-PERP")).openingMarginRate, "1");
  // At the cap positions still close.
  await short.buy("1", "65000");
  await long.sell("1", "65000");
  assert.equal((await limitsOf("BTC-PERP")).openInterest, "9");
});

test("after a move of the index, opening needs that much margin at any leverage, and the refusal names the rate", async () => {
  const [rich, poor] = await Promise.all([openTrader(server), openTrader(server, "1000")]);
  await leverage(rich, "ETH-PERP", 100);
  await leverage(poor, "ETH-PERP", 100);
  await operator.setIndex("ETH-PERP", "3150");
  await operator.setIndex("ETH-PERP", "3000");
  assert.equal((await limitsOf("ETH-PERP")).openingMarginRate, "0.05");
  const body = order("ETH-PERP", "3000", "10");
  for (const dryRun of [true, false]) {
    const { field, details } = await poor.refused("INSUFFICIENT_MARGIN", "POST", "/orders", { ...body, dryRun });
    // 30,000 at 5 %, and 15 of fees.
    assert.deepEqual([field, details], ["quantity", { required: "1515", available: "1000", openingRate: "0.05" }]);
  }
  await poor.place(order("ETH-PERP", "3000", "6"));
  await rich.place(body);
  const { initialMargin } = await rich.balance();
  assert.equal(initialMargin, "315", "no more is reserved than the leverage asks for");
});
