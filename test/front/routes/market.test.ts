import assert from "node:assert/strict";
import { test } from "node:test";
import { orderBookRoute, tradesRoute } from "../../../src/front/routes/market.ts";
import type { Context } from "../../../src/front/routing/context.ts";
import type { Route } from "../../../src/front/routing/route.ts";
import { fakeCall } from "../support/fake-call.ts";

const PRINTED_DEPTH = 999;
const symbol = "BTC-PERP";
const market = {
  latestTrades: () => ({ data: [], nextCursor: null }),
  hasOrderBookJson: (depth: number) => depth === PRINTED_DEPTH,
  orderBookJson: () => "{}",
};
const context = { symbols: { bySymbol: () => ({ id: 1 }) }, market: { symbol: () => market } } as unknown as Context;

/** Asks five times at once. Returns how many were answered at once, and the most in a later event-loop iteration. */
async function askAll(route: Route, query: Record<string, unknown>): Promise<{ atOnce: number; most: number }> {
  const responses = Array.from({ length: 5 }, () => {
    const { call, response } = fakeCall("GET", "/");
    const principal = { accountId: 0, permissions: [], credential: "", expiresAt: 0, record: null };
    void route.handle({ call, query, principal, operator: "", parameter: "", body: {} });
    return response;
  });
  const answered = () => responses.filter(({ status }) => status === 200).length;
  const atOnce = answered();
  let most = 0;
  for (let before = atOnce; before < responses.length; before = answered()) {
    await new Promise((resolve) => setImmediate(resolve));
    most = Math.max(most, answered() - before);
  }
  return { atOnce, most };
}

test("deep books that must be printed, and long lists of the newest trades, wait for their turn", async () => {
  const book = orderBookRoute(context);
  assert.deepEqual(await askAll(book, { symbol, depth: 100 }), { atOnce: 5, most: 0 });
  assert.deepEqual(await askAll(book, { symbol, depth: PRINTED_DEPTH }), { atOnce: 5, most: 0 });
  const deep = await askAll(book, { symbol, depth: 1000 });
  // The first and the second answer may come before the test looks.
  assert.ok(deep.atOnce === 0 && deep.most <= 2, JSON.stringify(deep));
  const trades = tradesRoute(context);
  assert.deepEqual(await askAll(trades, { symbol, limit: 100 }), { atOnce: 5, most: 0 });
  const long = await askAll(trades, { symbol, limit: 1000 });
  assert.ok(long.atOnce === 0 && long.most <= 2, JSON.stringify(long));
});
