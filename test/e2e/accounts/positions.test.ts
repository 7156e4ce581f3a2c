import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, test } from "node:test";
import type { Position } from "../../../src/client/types.ts";
import { startServer, type TestServer } from "../support/server.ts";
import { Operator, openTrader, type Trader } from "../support/trader.ts";

let server: TestServer;
let operator: Operator;
let alice: Trader;
/** Takes the other side of whatever alice does, with more than enough money. */
let market: Trader;

before(async () => {
  server = await startServer();
  operator = new Operator(server);
  await operator.setIndex("BTC-PERP", "65000");
  market = await openTrader(server, "1000000");
});

beforeEach(async () => {
  alice = await openTrader(server, "10000");
});

// The mark is the index: nothing rests while it is set.
afterEach(async () => {
  await Promise.all([alice.cancelAll(), market.cancelAll()]);
  await operator.setIndex("BTC-PERP", "65000");
  const position = await alice.position();
  if (position !== null) {
    await (position.side === "LONG" ? market.buy : market.sell).call(market, position.size, "65000");
    await alice.call(201, "POST", "/positions/BTC-PERP/close", {});
  }
  await operator.soundAudit();
});

after(() => server.dispose());

/** A trade of alice's, as the taker. */
async function trade(side: "BUY" | "SELL", quantity: string, price: string) {
  await (side === "BUY" ? market.sell : market.buy).call(market, quantity, price);
  const order = await (side === "BUY" ? alice.buy : alice.sell).call(alice, quantity, price);
  assert.equal(order.status, "FILLED");
  return order;
}

test("a long position shows every figure, before and after a price move", async () => {
  const { fills, sequence, updatedAt } = await trade("BUY", "1", "65000");
  assert.equal(fills[0]?.fee, "32.5");
  assert.deepEqual(await alice.position(), {
    symbol: "BTC-PERP",
    side: "LONG",
    size: "1",
    entryPrice: "65000",
    markPrice: "65000",
    notional: "65000",
    leverage: 10,
    marginMode: "CROSS",
    isolatedMargin: null,
    initialMargin: "6500",
    maintenanceMargin: "260", // 0.4 %
    liquidationPrice: "55253.6", // equity 9967.5: (9967.5 − 65000) ÷ (0.004 − 1), up to the tick
    bankruptcyPrice: "55032.5", // 65000 − 9967.5
    breakEvenPrice: "65065.03251", // 65032.5 ÷ 0.9995
    unrealizedPnl: "0",
    realizedPnl: "-32.5",
    cumulativeFunding: "0",
    adlRank: 5, // the only long
    openedAt: updatedAt,
    updatedAt,
    sequence,
  });
  const { updatedAt: _, sequence: __, ...balance } = await alice.balance();
  assert.deepEqual(balance, {
    asset: "USDC",
    walletBalance: "9967.5",
    equity: "9967.5",
    unrealizedPnl: "0",
    positionInitialMargin: "6500",
    openOrderInitialMargin: "0",
    initialMargin: "6500",
    maintenanceMargin: "260",
    availableBalance: "3467.5",
    additionalMargin: "0",
    withdrawable: "3467.5",
    marginRatio: "0.026084", // 260 ÷ 9967.5
  });

  await operator.setIndex("BTC-PERP", "66000");
  const risen = await alice.position();
  assert.equal(risen?.markPrice, "66000");
  assert.equal(risen?.unrealizedPnl, "1000");
  assert.equal(risen?.initialMargin, "6600");
  const gained = await alice.balance();
  assert.equal(gained.equity, "10967.5");
  assert.equal(gained.walletBalance, "9967.5");
  assert.equal(gained.availableBalance, "4367.5");
  // equity − initial would be 4367.5; unrealised gains are not paid out: 10967.5 − max(6600, 1000).
  assert.equal(gained.withdrawable, "4367.5");

  // The position is seen without and with its symbol, and not under another.
  assert.equal((await alice.get<{ data: unknown[] }>("/positions")).data.length, 1);
  assert.equal(await alice.position("ETH-PERP"), null);
});

test("adding averages the entry price, reducing realizes profit, closing leaves nothing", async () => {
  await trade("BUY", "0.1", "65000");
  await trade("BUY", "0.3", "65400");
  const added = await alice.position();
  assert.equal(added?.size, "0.4");
  assert.equal(added?.entryPrice, "65300");
  const reduced = await trade("SELL", "0.1", "65500");
  assert.equal(reduced.fills[0]?.realizedPnl, "20");
  assert.equal(reduced.fills[0]?.positionSize, "0.3");
  assert.equal((await alice.position())?.entryPrice, "65300");
  const closing = await trade("SELL", "0.3", "65200");
  assert.equal(closing.fills[0]?.realizedPnl, "-30");
  assert.equal(await alice.position(), null);
  // −10 of trading, and fees of 3.25 + 9.81 + 3.275 + 9.78.
  const balance = await alice.balance();
  assert.equal(balance.walletBalance, "9963.885");
  assert.equal(balance.equity, "9963.885");
  assert.equal(balance.initialMargin, "0");
  assert.equal(balance.maintenanceMargin, "0");
  assert.equal(balance.marginRatio, "0");
});

test("a sale larger than a long position turns it short", async () => {
  await trade("BUY", "0.1", "65000");
  const flip = await trade("SELL", "0.3", "65100");
  assert.equal(flip.fills[0]?.realizedPnl, "10");
  assert.equal(flip.fills[0]?.positionSize, "-0.2");
  const position = await alice.position();
  assert.equal(position?.side, "SHORT");
  assert.equal(position?.size, "0.2");
  assert.equal(position?.entryPrice, "65100");
  assert.equal(position?.openedAt, flip.updatedAt);
});

test("reduce-only orders never exceed the position while they are open", async () => {
  const sell = { symbol: "BTC-PERP", side: "SELL", type: "LIMIT", price: "66000", reduceOnly: true } as const;
  await alice.refused("REDUCE_ONLY_NO_POSITION", "POST", "/orders", { ...sell, quantity: "1" });
  await trade("BUY", "0.5", "65000");
  await alice.refused("REDUCE_ONLY_NO_POSITION", "POST", "/orders", {
    ...sell,
    side: "BUY",
    price: "64000",
    quantity: "1",
  });
  const resting = await alice.place({ ...sell, quantity: "3" });
  assert.deepEqual([resting.quantity, resting.remainingQuantity, resting.status], ["0.5", "0.5", "NEW"]);
  // What only reduces binds no margin.
  assert.equal((await alice.balance()).openOrderInitialMargin, "0");

  await trade("SELL", "0.2", "65000");
  const clipped = await alice.order(resting.orderId);
  // The quantity stays as it was placed; what was given up no longer remains.
  assert.deepEqual([clipped.quantity, clipped.remainingQuantity, clipped.status], ["0.5", "0.3", "NEW"]);
  await trade("SELL", "0.3", "65000");
  const ended = await alice.order(resting.orderId);
  assert.deepEqual([ended.status, ended.reason, ended.filledQuantity], ["CANCELED", "REDUCE_ONLY", "0"]);
});

test("a reduce-only taker order never opens the other side", async () => {
  await trade("BUY", "0.2", "65000");
  await market.buy("1", "64900");
  const order = await alice.market("SELL", "1", { reduceOnly: true });
  assert.deepEqual([order.quantity, order.filledQuantity, order.status], ["0.2", "0.2", "FILLED"]);
  assert.equal(await alice.position(), null);
});

test("a position is closed wholly or partly, at market or at a limit, and resting reduce-only orders shrink", async () => {
  const close = (body: object) =>
    alice.call<{
      orderId: string;
      type: string;
      side: string;
      reduceOnly: boolean;
      status: string;
      quantity: string;
      filledQuantity: string;
    }>(201, "POST", "/positions/BTC-PERP/close", body);
  await alice.refused("NO_POSITION", "POST", "/positions/BTC-PERP/close", {});
  await trade("BUY", "0.4", "65000");
  const resting = await alice.sell("0.4", "67000", { reduceOnly: true });
  await market.buy("1", "64950");

  const part = await close({ quantity: "0.1" });
  assert.deepEqual(
    [part.type, part.side, part.reduceOnly, part.status, part.filledQuantity],
    ["MARKET", "SELL", true, "FILLED", "0.1"],
  );
  assert.equal((await alice.position())?.size, "0.3");
  assert.equal((await alice.order(resting.orderId)).remainingQuantity, "0.3");

  const atPrice = await close({ quantity: "0.1", price: "65500" });
  assert.deepEqual([atPrice.type, atPrice.status, atPrice.quantity], ["LIMIT", "NEW", "0.1"]);

  const rest = await close({});
  assert.deepEqual([rest.status, rest.filledQuantity], ["FILLED", "0.3"]);
  assert.equal(await alice.position(), null);
  for (const id of [resting.orderId, atPrice.orderId]) {
    const order = await alice.order(id);
    assert.deepEqual([order.status, order.reason], ["CANCELED", "REDUCE_ONLY"]);
  }
  await alice.refused("NO_POSITION", "POST", "/positions/BTC-PERP/close", {});
});

test("a buy order closes a short position", async () => {
  await trade("SELL", "0.1", "65000");
  await market.sell("1", "65010");
  const order = await alice.call<{ side: string; status: string }>(201, "POST", "/positions/BTC-PERP/close", {});
  assert.deepEqual([order.side, order.status], ["BUY", "FILLED"]);
  assert.equal(await alice.position(), null);
});

test("leverage is set and kept, and refused out of range or without margin", async () => {
  const set = (leverage: number) => alice.call(200, "POST", "/positions/BTC-PERP/leverage", { leverage });
  assert.deepEqual(await set(20), { symbol: "BTC-PERP", leverage: 20 });
  assert.deepEqual(await set(20), { symbol: "BTC-PERP", leverage: 20 });
  const error = await alice.refused("LEVERAGE_OUT_OF_RANGE", "POST", "/positions/BTC-PERP/leverage", {
    leverage: 101,
  });
  assert.deepEqual([error.field, error.details], ["leverage", { limit: 100 }]);
  await alice.refused("BAD_VALUE", "POST", "/positions/BTC-PERP/leverage", { leverage: 0 });
  await alice.refused("BAD_TYPE", "POST", "/positions/BTC-PERP/leverage", { leverage: "20" });

  await trade("BUY", "1", "65000");
  assert.equal((await alice.position())?.leverage, 20);
  assert.equal((await alice.position())?.initialMargin, "3250");
  // Equity 9967.5, bound 3250. At 5 the position needs 13000: 9750 more.
  const short = await alice.refused("INSUFFICIENT_MARGIN", "POST", "/positions/BTC-PERP/leverage", { leverage: 5 });
  assert.deepEqual(short.details, { required: "9750", available: "6717.5" });
  assert.equal((await alice.position())?.leverage, 20);
  await set(100);
  assert.equal((await alice.balance()).initialMargin, "650");
});

test("an order without enough margin is refused with the required and the available amount", async () => {
  const body = { symbol: "BTC-PERP", side: "BUY", type: "LIMIT", price: "65000", quantity: "2" };
  // 130000 ÷ 10, and 65 of taker fees.
  const error = await alice.refused("INSUFFICIENT_MARGIN", "POST", "/orders", body);
  assert.equal(error.field, "quantity");
  assert.deepEqual(error.details, { required: "13065", available: "10000" });
  assert.equal(error.retryable, false);
  assert.equal((await alice.balance()).availableBalance, "10000");

  // Margin is bound while the order rests, and free when it is gone.
  const resting = await alice.buy("1", "64000");
  const bound = await alice.balance();
  assert.equal(bound.openOrderInitialMargin, "6432"); // 6400 + 32
  assert.equal(bound.availableBalance, "3568");
  const second = await alice.refused("INSUFFICIENT_MARGIN", "POST", "/orders", { ...body, quantity: "1" });
  assert.deepEqual(second.details, { required: "6532.5", available: "3568" });
  await alice.cancel(resting.orderId);
  assert.equal((await alice.balance()).availableBalance, "10000");

  // The larger side counts, not the sum: a sell of the same size beside the buy needs its fees only.
  await alice.buy("0.5", "65000");
  await alice.sell("0.5", "65100");
  assert.equal((await alice.balance()).initialMargin, "3287.525"); // 3255 + 16.25 + 16.275
});

test("margin used in one symbol is not available in another", async () => {
  await operator.setIndex("ETH-PERP", "3000");
  const eth = (quantity: string) => ({ symbol: "ETH-PERP", side: "BUY", type: "LIMIT", price: "3000", quantity });
  await trade("BUY", "1", "65000");
  const error = await alice.refused("INSUFFICIENT_MARGIN", "POST", "/orders", eth("12"));
  assert.deepEqual(error.details, { required: "3618", available: "3467.5" });
  await alice.call(201, "POST", "/orders", eth("11"));
});

test("the position of a symbol shows its settings, open or not", async () => {
  const path = "/positions/BTC-PERP";
  const untouched = await alice.get<Position>(path);
  assert.deepEqual(
    [untouched.symbol, untouched.side, untouched.size, untouched.leverage, untouched.marginMode, untouched.markPrice],
    ["BTC-PERP", null, "0", 10, "CROSS", "65000"],
  );
  assert.deepEqual(
    [untouched.entryPrice, untouched.adlRank, untouched.openedAt, untouched.sequence],
    [null, null, null, 0],
  );
  await alice.call(200, "POST", `${path}/leverage`, { leverage: 25 });
  await alice.call(200, "POST", `${path}/margin-mode`, { mode: "ISOLATED" });
  const set = await alice.get<Position>(path);
  assert.deepEqual([set.leverage, set.marginMode, set.isolatedMargin, set.size], [25, "ISOLATED", null, "0"]);
  await trade("BUY", "0.1", "65000");
  assert.deepEqual(await alice.get(path), await alice.position());
  await alice.refused("UNKNOWN_SYMBOL", "GET", "/positions/DOGE-PERP");
});
