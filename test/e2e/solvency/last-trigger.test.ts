import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { InstrumentList, NewOrder } from "../../../src/client/types.ts";
import { startServer, type TestServer } from "../support/server.ts";
import { Operator, openTrader, type Trader } from "../support/trader.ts";

/**
 * Attack A7: a trade with oneself in an empty book fires the LAST stop of somebody else, which fills far below the mark.
 * In ETH-PERP each last price counts, as it did before lastTriggerLimit.
 */
let server: TestServer;
let operator: Operator;

before(async () => {
  server = await startServer({ instruments: { "ETH-PERP": { lastTriggerLimit: "0" } } });
  operator = new Operator(server);
});

after(async () => {
  await operator.soundAudit();
  await server.dispose();
});

const openTraders = () => Promise.all([1, 2, 3, 4].map(() => openTrader(server)));

/** Prices of an attack, with the mark at `mark`: 1, 3 and 4.9 % below it. */
interface Market {
  readonly symbol: string;
  readonly mark: string;
  readonly near: string;
  readonly stopAt: string;
  readonly far: string;
  readonly quantity: string;
  readonly small: string;
}
const BTC: Market = {
  symbol: "BTC-PERP",
  mark: "60000",
  near: "59500",
  stopAt: "58200",
  far: "57060",
  quantity: "1",
  small: "0.001",
};
const ETH: Market = {
  symbol: "ETH-PERP",
  mark: "3000",
  near: "2975",
  stopAt: "2910",
  far: "2853",
  quantity: "20",
  small: "0.02",
};

/** A victim with a long position and a stop by the last price, in a book that is empty otherwise. */
async function protectedLong(
  market: Market,
  stop: Partial<NewOrder> = {},
): Promise<{ victim: Trader; stopId: string }> {
  const { symbol, mark, quantity, stopAt } = market;
  await operator.setIndex(symbol, mark);
  const [victim, other] = await Promise.all([openTrader(server), openTrader(server)]);
  await other.sell(quantity, mark, { symbol });
  await victim.buy(quantity, mark, { symbol });
  const terms = { symbol, side: "SELL", type: "STOP_MARKET", closePosition: true, triggerBy: "LAST" } as const;
  const order = { ...terms, triggerPrice: stopAt, ...stop } as NewOrder;
  return { victim, stopId: (await victim.place(order)).orderId };
}

/** Two accounts trade a little with one another, far below the mark, in front of a large bid. Returns what they gain. */
async function attack({ symbol, mark, far, quantity, small }: Market, at = far): Promise<number> {
  const [bidder, seller] = await Promise.all([openTrader(server), openTrader(server)]);
  const equity = async () => Number((await bidder.balance()).equity) + Number((await seller.balance()).equity);
  const before = await equity();
  await bidder.buy(small, at, { symbol });
  await bidder.buy(quantity, far, { symbol });
  await seller.place({ symbol, side: "SELL", type: "MARKET", quantity: small });
  // Later commands of the symbol come after what the trade has fired.
  await operator.setIndex(symbol, mark);
  await Promise.all([bidder.cancelAll(), seller.cancelAll()]);
  return (await equity()) - before;
}

test("a LAST stop fires by a trade far from the mark when each last price counts, and pays the attackers", async () => {
  const { victim, stopId } = await protectedLong(ETH);
  const taken = await attack(ETH);
  const stop = await victim.fired(stopId);
  assert.deepEqual([stop.status, stop.avgPrice], ["FILLED", "2853"]);
  // 20 × (3000 − 2853) = 2940 before fees.
  assert.ok(taken > 2900, `taken: ${taken}`);
});

test("a LAST stop does not fire by a trade far from the mark: the attackers pay fees and gain nothing", async () => {
  const { victim, stopId } = await protectedLong(BTC);
  const equity = (await victim.balance()).equity;
  const taken = await attack(BTC);
  assert.ok(taken <= 0, `taken: ${taken}`);
  assert.equal((await victim.order(stopId)).status, "UNTRIGGERED");
  assert.equal((await victim.balance()).equity, equity);
  // The price has really come down: now the same last price counts.
  await operator.setIndex("BTC-PERP", "57500");
  assert.equal((await victim.fired(stopId)).reason, "NO_LIQUIDITY");
});

test("a LAST stop near the mark sells no lower than its maximum slippage allows", async () => {
  const { victim, stopId } = await protectedLong(BTC, { triggerPrice: "59600", maxSlippage: "0.01" });
  const equity = (await victim.balance()).equity;
  const taken = await attack(BTC, BTC.near);
  const stop = await victim.fired(stopId);
  assert.deepEqual([stop.reason, stop.filledQuantity], ["NO_LIQUIDITY", "0"]);
  assert.ok(taken <= 0, `taken: ${taken}`);
  assert.equal((await victim.balance()).equity, equity);
});

test("a trailing LAST stop does not follow trades far above the mark, so that a fall to the mark fires nothing", async () => {
  const { symbol, mark, quantity } = BTC;
  await operator.setIndex(symbol, mark);
  const [victim, other, bidder, seller] = await openTraders();
  await other.sell(quantity, mark, { symbol });
  await victim.buy(quantity, mark, { symbol });
  const terms = {
    symbol,
    side: "SELL",
    type: "TRAILING_STOP_MARKET",
    quantity,
    reduceOnly: true,
    triggerBy: "LAST",
  } as const;
  const { orderId } = await victim.place({ ...terms, callbackRate: "0.02" });
  const before = (await victim.order(orderId)).triggerPrice;
  // 4 % above the mark, then at the mark: with the first one it would be 3.8 % below its best price.
  for (const price of ["62400", mark]) {
    await seller.sell(BTC.small, price, { symbol });
    await bidder.buy(BTC.small, price, { symbol });
  }
  await operator.setIndex(symbol, mark);
  const { status, triggerPrice } = await victim.order(orderId);
  assert.deepEqual([status, triggerPrice], ["UNTRIGGERED", before]);
  await victim.cancelAll();
});

test("a short's LAST stop does not fire by a trade far above the mark", async () => {
  const { symbol, mark, quantity, small } = BTC;
  await operator.setIndex(symbol, mark);
  const [victim, other, bidder, seller] = await openTraders();
  await other.buy(quantity, mark);
  await victim.sell(quantity, mark);
  const terms = { symbol, side: "BUY", type: "STOP_MARKET", closePosition: true, triggerBy: "LAST" } as const;
  const { orderId } = await victim.place({ ...terms, triggerPrice: "61800" });
  const equity = (await victim.balance()).equity;
  await seller.sell(small, "62900");
  await seller.sell(quantity, "62900");
  await bidder.market("BUY", small);
  await operator.setIndex(symbol, mark);
  assert.equal((await victim.order(orderId)).status, "UNTRIGGERED");
  assert.equal((await victim.balance()).equity, equity);
  await Promise.all([victim, seller].map((trader) => trader.cancelAll()));
});

test("the limit is among those of the symbol", async () => {
  const { data } = await operator.get<InstrumentList>("/market/symbols");
  const limits = data.map(({ symbol, lastTriggerLimit }) => [symbol, lastTriggerLimit]);
  assert.deepEqual(limits.slice(0, 2), [
    ["BTC-PERP", "0.01"],
    ["ETH-PERP", "0"],
  ]);
});
