import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { ClosedPosition, Page } from "../../../src/client/types.ts";
import { sum } from "../support/decimal.ts";
import { startServer, type TestServer } from "../support/server.ts";
import { SocketClient } from "../support/socket.ts";
import { Operator, openTrader, Trader } from "../support/trader.ts";
import { until } from "../support/wait.ts";

let server: TestServer;
let operator: Operator;

before(async () => {
  server = await startServer();
  operator = new Operator(server);
  for (const [symbol, price] of PRICES) await operator.setIndex(symbol, price);
});

after(async () => {
  await operator.soundAudit();
  await server.dispose();
});

const PRICES = [
  ["BTC-PERP", "65000"],
  ["ETH-PERP", "3000"],
] as const;

const closedOf = async (trader: Trader, query = ""): Promise<ClosedPosition[]> =>
  (await trader.get<Page<ClosedPosition>>(`/positions/history${query}`)).data;

/** The same account after a restart, which may have changed the port. */
const again = ({ token, accountId, address, privateKey }: Trader): Trader =>
  new Trader(server.url, token ?? "", accountId, address, privateKey);

test("a position that was closed in two parts is listed with its exact profit, and one that is open is not", async () => {
  const [alice, bob] = await Promise.all([openTrader(server), openTrader(server)]);
  await alice.call(200, "POST", "/positions/BTC-PERP/leverage", { leverage: 20 });
  await bob.sell("0.3", "65000");
  await alice.buy("0.3", "65000"); // fee 9.75
  await bob.buy("0.1", "65300");
  await alice.sell("0.1", "65300"); // fee 3.265
  assert.deepEqual(await closedOf(alice), []);
  const openedAt = (await alice.position())?.openedAt;
  await alice.sell("0.2", "65100");
  const { sequence } = await bob.buy("0.2", "65100"); // Alice is the maker: fee 2.604
  const [position, ...none] = await closedOf(alice);
  const [fill] = (await alice.fills("?limit=1")).data;
  assert.deepEqual(none, []);
  assert.deepEqual(position, {
    ...{ positionId: fill?.tradeId, symbol: "BTC-PERP", side: "LONG", marginMode: "CROSS", leverage: 20 },
    ...{ maxSize: "0.3", closedSize: "0.3", liquidatedSize: "0", deleveragedSize: "0", closeType: "TRADE" },
    ...{ entryPrice: "65000", exitPrice: "65166.66666", realizedPnl: "50", fee: "15.619", liquidationFee: "0" },
    ...{ funding: "0", netPnl: "34.381", openedAt, closedAt: fill?.time, sequence },
  });
  // All that the account earned.
  assert.equal((await alice.balance()).walletBalance, sum("100000", position?.netPnl ?? ""));
  const [short] = await closedOf(bob);
  assert.deepEqual([short?.side, short?.realizedPnl, short?.leverage], ["SHORT", "-50", 10]);
});

test("a flip lists the position that it closed; pages, filters and refusals are those of every list", async () => {
  const [alice, bob] = await Promise.all([openTrader(server), openTrader(server)]);
  for (let i = 0; i < 12; i++) {
    const [symbol, price] = PRICES[i % 2] as (typeof PRICES)[number];
    // 0.1 long, then 0.1 short, and so on.
    const quantity = i < 2 ? "0.1" : "0.2";
    const isBuy = i % 4 < 2;
    await (isBuy ? bob.sell(quantity, price, { symbol }) : bob.buy(quantity, price, { symbol }));
    await (isBuy ? alice.buy(quantity, price, { symbol }) : alice.sell(quantity, price, { symbol }));
  }
  const all = await closedOf(alice);
  assert.deepEqual(
    all.map(({ symbol, side }) => `${symbol} ${side}`),
    ["LONG", "SHORT", "LONG", "SHORT", "LONG"].flatMap((side) => [`ETH-PERP ${side}`, `BTC-PERP ${side}`]),
  );
  const pages: ClosedPosition[] = [];
  let cursor = "";
  do {
    const page = await alice.get<Page<ClosedPosition>>(`/positions/history?limit=3${cursor}`);
    pages.push(...page.data);
    cursor = page.nextCursor === null ? "" : `&cursor=${page.nextCursor}`;
  } while (cursor !== "");
  assert.deepEqual(pages, all);
  const ofEth = all.filter(({ symbol }) => symbol === "ETH-PERP");
  assert.deepEqual(await closedOf(alice, "?symbol=ETH-PERP"), ofEth);
  const [from, to] = [all[7]?.closedAt ?? 0, all[2]?.closedAt ?? 0];
  assert.deepEqual(
    await closedOf(alice, `?startTime=${from}&endTime=${to}`),
    all.filter(({ closedAt }) => closedAt >= from && closedAt <= to),
  );
  await alice.refused("UNKNOWN_SYMBOL", "GET", "/positions/history?symbol=DOGE-PERP");
  await alice.refused("BAD_VALUE", "GET", "/positions/history?cursor=1.2");
  await alice.refused("BAD_COMBINATION", "GET", "/positions/history?startTime=2&endTime=1");
  await alice.refused("UNKNOWN_FIELD", "GET", "/positions/history?status=CLOSED");
});

test("the list is the same after kill -9, and a position that was open then is whole when it closes", async () => {
  let [alice, bob] = await Promise.all([openTrader(server), openTrader(server)]);
  await operator.setIndex("BTC-PERP", "65000");
  await bob.sell("0.2", "65000");
  await alice.buy("0.2", "65000");
  await bob.buy("0.1", "65100");
  await alice.sell("0.1", "65100");
  await bob.sell("0.5", "3000", { symbol: "ETH-PERP" });
  await alice.buy("0.5", "3000", { symbol: "ETH-PERP" });
  await bob.buy("0.5", "3010", { symbol: "ETH-PERP" });
  await alice.sell("0.5", "3010", { symbol: "ETH-PERP" });
  const before = await closedOf(alice);
  const openedAt = (await alice.position())?.openedAt;
  assert.equal(before.length, 1);
  for (let kills = 0; kills < 2; kills++) {
    await server.kill();
    await server.start();
    operator = new Operator(server);
    [alice, bob] = [again(alice), again(bob)];
    assert.deepEqual(await closedOf(alice), before);
  }
  await operator.setIndex("BTC-PERP", "65000");
  await bob.buy("0.1", "65200");
  await alice.sell("0.1", "65200");
  const [position, ...rest] = await closedOf(alice);
  assert.deepEqual(rest, before);
  assert.deepEqual(
    [position?.openedAt, position?.maxSize, position?.closedSize, position?.entryPrice, position?.exitPrice],
    [openedAt, "0.2", "0.2", "65000", "65150"],
  );
  assert.equal(position?.realizedPnl, "30");
  const balance = await alice.balance();
  const earned = (await closedOf(alice)).map(({ netPnl }) => netPnl);
  assert.equal(balance.walletBalance, sum("100000", ...earned));
});

test("the channel sends each position that is closed as the list shows it, also after kill -9", async () => {
  const [alice, bob] = await Promise.all([openTrader(server), openTrader(server)]);
  for (const [symbol, price] of PRICES) await operator.setIndex(symbol, price);
  const round = async (symbol: string, price: string, exit: string): Promise<void> => {
    await bob.sell("0.1", price, { symbol });
    await alice.buy("0.1", price, { symbol });
    await bob.buy("0.1", exit, { symbol });
    await alice.sell("0.1", exit, { symbol });
  };
  await round("BTC-PERP", "65000", "65010");
  const client = await SocketClient.openAs(server.wsUrl, alice.token);
  await client.subscribe({ channel: "positions-history" }, { channel: "positions-history", symbol: "ETH-PERP" });
  const sent = (symbol?: string) =>
    client.ofChannel("positions-history").filter((message) => message.symbol === symbol);
  await until("the snapshots", () => sent().length + sent("ETH-PERP").length === 2);
  assert.deepEqual([sent()[0]?.data, sent("ETH-PERP")[0]?.data], [await closedOf(alice), []]);
  // One after the other: a busy server may send two positions in one message.
  await round("ETH-PERP", "3000", "3001");
  await until("the first update", () => sent().length === 2 && sent("ETH-PERP").length === 2);
  await round("BTC-PERP", "65000", "64990");
  await until("the second update", () => sent().length === 3);
  const rows = (symbol?: string) => sent(symbol).flatMap(({ data }) => data);
  assert.deepEqual(rows(), (await closedOf(alice)).reverse());
  assert.deepEqual(rows("ETH-PERP"), await closedOf(alice, "?symbol=ETH-PERP"));
  const [snapshot, ...updates] = sent();
  assert.deepEqual(
    updates.map(({ type, sequence, prevSequence, data }) => [type, sequence, prevSequence, data.length]),
    [
      ["UPDATE", updates[0]?.data[0]?.sequence, snapshot?.sequence, 1],
      ["UPDATE", updates[1]?.data[0]?.sequence, updates[0]?.sequence, 1],
    ],
  );
  await client.close();
  await server.kill();
  await server.start();
  operator = new Operator(server);
  const after = await SocketClient.openAs(server.wsUrl, alice.token);
  await after.subscribe({ channel: "positions-history" });
  await until("the snapshot", () => after.ofChannel("positions-history").length === 1);
  assert.deepEqual(after.ofChannel("positions-history")[0]?.data, rows());
  await after.close();
});

// Last on this server: the insurance fund takes over a position here. It would sell it to the bids of later tests.
test("a liquidated position says so, and the maker's does not", async () => {
  const [alice, bob, carol] = await Promise.all([
    openTrader(server, "1000"),
    openTrader(server, "1000000"),
    openTrader(server, "1000000"),
  ]);
  await operator.setIndex("BTC-PERP", "65000");
  await alice.call(200, "POST", "/positions/BTC-PERP/leverage", { leverage: 100 });
  await bob.sell("1", "65000");
  await alice.buy("1", "65000");
  await carol.sell("0.4", "64300");
  await bob.buy("0.4", "64300");
  await carol.buy("0.4", "64240");
  await operator.setIndex("BTC-PERP", "64250");
  const [position] = await until("the liquidation", async () => {
    const found = await closedOf(alice);
    return found.length > 0 && found;
  });
  // As in liquidation.test: 0.4 at 64240 with a fee of 83, and 0.6 at 64032.5 to the fund.
  const { closeType, closedSize, liquidatedSize, exitPrice, realizedPnl, fee, liquidationFee, netPnl } = position ?? {};
  assert.deepEqual([closeType, closedSize, liquidatedSize, exitPrice], ["LIQUIDATION", "1", "1", "64115.5"]);
  assert.deepEqual([realizedPnl, fee, liquidationFee, netPnl], ["-884.5", "32.5", "83", "-1000"]);
  const [carols] = await closedOf(carol);
  assert.deepEqual([carols?.side, carols?.closeType, carols?.liquidatedSize], ["SHORT", "TRADE", "0"]);
});

test("without a fund the bankrupt account reads LIQUIDATION, and the account that was closed against it ADL", async (t) => {
  const poor = await startServer({ environment: { PERPD_INSURANCE_SEED: "0" } });
  t.after(() => poor.dispose());
  const [broke, winner] = await Promise.all([openTrader(poor, "700"), openTrader(poor, "100000")]);
  await new Operator(poor).setIndex("BTC-PERP", "60000");
  await broke.call(200, "POST", "/positions/BTC-PERP/leverage", { leverage: 100 });
  await winner.sell("1", "60000");
  await broke.buy("1", "60000");
  await new Operator(poor).setIndex("BTC-PERP", "58000");
  const [lost, won] = await until("both positions to be closed", async () => {
    const closed = await Promise.all([broke, winner].map((trader) => closedOf(trader)));
    return closed.every(({ length }) => length === 1) && closed.map(([position]) => position);
  });
  assert.deepEqual(
    [lost, won].map((position) => [position?.closeType, position?.liquidatedSize, position?.deleveragedSize]),
    [
      ["LIQUIDATION", "1", "0"],
      ["ADL", "0", "1"],
    ],
  );
  assert.equal(lost?.exitPrice, won?.exitPrice);
  const last = async (trader: Trader) => (await trader.fills("?limit=1")).data[0];
  const [loss, gain] = [await last(broke), await last(winner)];
  assert.deepEqual(
    [loss, gain].map((fill) => [fill?.tradeId, fill?.execType, fill?.orderId, fill?.positionSize]),
    [
      [lost?.positionId, "LIQUIDATION", null, "0"],
      [won?.positionId, "ADL", null, "0"],
    ],
  );
  await new Operator(poor).soundAudit();
});
