import assert from "node:assert/strict";
import { after, before, type TestContext, test } from "node:test";
import type { Dict } from "ccxt";
import type { perpd } from "../../src/ccxt/index.ts";
import { until } from "../e2e/support/wait.ts";
import { connectionOf, subscribed } from "./support/connection.ts";
import { BTC, ETH, type Market, openMarket, programOf } from "./support/market.ts";

/** Several loops of a program that watch the same, each at a pace of its own. */
let market: Market;
let actor: perpd;

before(async () => {
  market = await openMarket();
  actor = market.maker.exchange;
  for (const [symbol, price] of [
    [BTC, 65000],
    [ETH, 3000],
  ] as const) {
    await actor.createLimitSellOrder(symbol, 5, price + 10);
    await actor.createLimitBuyOrder(symbol, 5, price - 10);
  }
});

after(() => market.server.dispose());

async function open(t: TestContext): Promise<perpd> {
  const program = await programOf(market.server, market.taker.trader);
  t.after(() => program.close());
  return program;
}

const take = (amount: number) => market.taker.exchange.createMarketBuyOrder(BTC, amount);

/** Calls again and again, after a pause if it is given one, until the program is closed; what it was told. */
function loop<Told>(t: TestContext, watch: () => Promise<Told>, pauseMs = 0): Told[] {
  const told: Told[] = [];
  let isOver = false;
  t.after(() => {
    isOver = true;
  });
  const run = async (): Promise<void> => {
    while (!isOver) {
      told.push(await watch());
      if (pauseMs > 0) await actor.sleep(pauseMs);
    }
  };
  run().catch(() => {});
  return told;
}

const idsOf = (told: readonly (readonly Dict[])[]): string[] => told.flat().map(({ id }) => id);

test("two callers that watch the same trades get the same trades, in loops or concurrently", async (t) => {
  const program = await open(t);
  await take(0.01);
  const known = await Promise.all([program.watchTrades(BTC), program.watchTrades(BTC)]);
  assert.ok(idsOf(known.slice(0, 1)).length > 0);
  assert.deepEqual(known[0], known[1]);
  const loops = [loop(t, () => program.watchTrades(BTC)), loop(t, () => program.watchTrades(BTC))] as const;
  for (let i = 0; i < 5; i++) await take(0.01);
  await until("five trades", () => loops.every((told) => idsOf(told).length === 5));
  assert.deepEqual(idsOf(loops[0]), idsOf(loops[1]));
});

test("each method gets its own updates of a shared stream, whatever its pauses", async (t) => {
  const program = await open(t);
  const fast = loop(t, () => program.watchTrades(BTC));
  const slow = loop(t, () => program.watchTradesForSymbols([BTC, ETH]), 120);
  await until("what is known", () => fast.length > 0 && slow.length > 0);
  for (let i = 0; i < 8; i++) {
    await take(0.01);
    await actor.sleep(25);
  }
  await until("all", () => idsOf(slow).at(-1) === idsOf(fast).at(-1));
  assert.deepEqual(idsOf(slow), idsOf(fast));
  assert.equal(new Set(idsOf(fast)).size, idsOf(fast).length);
});

test("tickers reach every watcher, of one symbol or of several", async (t) => {
  const program = await open(t);
  const loops = [
    loop(t, () => program.watchTicker(BTC)),
    loop(t, () => program.watchTicker(ETH)),
    loop(t, () => program.watchTickers([BTC, ETH])),
    loop(t, () => program.watchBidsAsks([BTC])),
  ];
  await until("the first of each", () => loops.every(({ length }) => length > 0));
  const counts = loops.map(({ length }) => length);
  await take(0.01);
  await until("more", () => [0, 2, 3].every((i) => (loops[i]?.length ?? 0) > (counts[i] ?? 0)));
  const { last } = await program.fetchTicker(BTC);
  const latest = loops.map((told) => told.at(-1) as Dict);
  assert.deepEqual([latest[0]?.last, latest[2]?.[BTC].last, latest[3]?.[BTC].last], [last, last, last]);
});

test("a book reaches every watcher, of one symbol or of several", async (t) => {
  const program = await open(t);
  const loops = [
    loop(t, () => program.watchOrderBook(BTC, 5)),
    loop(t, () => program.watchOrderBookForSymbols([BTC], 5)),
    loop(t, () => program.watchOrderBookForSymbols([ETH, BTC], 5), 20),
  ];
  await until("the first of each", () => loops.every((told) => told.some(({ symbol }) => symbol === BTC)));
  for (let i = 0; i < 3; i++) {
    const counts = loops.map(({ length }) => length);
    await take(0.01);
    await until("more", () => loops.every(({ length }, n) => length > (counts[n] ?? 0)));
  }
  const { nonce } = await program.fetchOrderBook(BTC);
  await until("the latest", () =>
    loops.every((told) => told.findLast(({ symbol }) => symbol === BTC)?.nonce === nonce),
  );
});

test("each watcher gets current positions and orders, whatever its pauses", async (t) => {
  const program = await open(t);
  const positions = [
    loop(t, () => program.watchPositions([BTC])),
    loop(t, () => program.watchPositions([ETH])),
    loop(t, () => program.watchPositions([ETH]), 70),
    loop(t, () => program.watchPositions([ETH]), 110),
  ];
  const orders = [0, 30, 90].map((pauseMs) => loop(t, () => program.watchOrders(ETH), pauseMs));
  await subscribed(program);
  for (let i = 0; i < 6; i++) {
    await take(0.01);
    const { id } = await market.taker.exchange.createMarketOrder(ETH, "buy", 0.01 * (i + 1));
    await actor.sleep(i * 15);
    if (i % 3 !== 2) continue;
    const now = await program.fetchPositions();
    const sizeOf = (asked: string, rows: readonly Dict[]) => rows.findLast(({ symbol }) => symbol === asked)?.contracts;
    await until("the positions of now", () =>
      positions.every((told, n) => {
        const symbol = n === 0 ? BTC : ETH;
        return sizeOf(symbol, told.flat()) === sizeOf(symbol, now);
      }),
    );
    await until("the last order", () => orders.every((told) => idsOf(told).at(-1) === id));
  }
  await market.taker.exchange.closePosition(ETH);
});

test("a stream is unsubscribed with the last method that watches it", async (t) => {
  const program = await open(t);
  const told = loop(t, () => program.watchTicker(BTC));
  await program.watchBidsAsks([BTC]);
  const waiting = program.watchBidsAsks([BTC]);
  await until("the ticker", () => told.length > 0);
  await Promise.all([assert.rejects(waiting, { name: "UnsubscribeError" }), program.unWatchBidsAsks([BTC])]);
  const count = told.length;
  await take(0.01);
  await until("another", () => told.length > count);
  const isFollowed = () => "ticker:BTC-PERP:1000" in connectionOf(program).subscriptions;
  assert.equal(isFollowed(), true);
  await program.unWatchTicker(BTC);
  assert.equal(isFollowed(), false);

  const positions = program.watchPositions([ETH]);
  await program.watchPositions([BTC]);
  await Promise.all([assert.rejects(positions, { name: "UnsubscribeError" }), program.unWatchPositions([ETH])]);
  const next = program.watchPositions([BTC]);
  await take(0.01);
  assert.equal((await next)[0]?.symbol, BTC);
  await program.unWatchPositions();
  assert.equal("positions" in connectionOf(program).subscriptions, false);
});
