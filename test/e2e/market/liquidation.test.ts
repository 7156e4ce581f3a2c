import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Insurance, OpenInterest, OpenInterestHistory, PublicTradeList } from "../../../src/client/types.ts";
import { Api } from "../support/api.ts";
import { sum } from "../support/decimal.ts";
import { startServer, type TestServer } from "../support/server.ts";
import { SocketClient } from "../support/socket.ts";
import { Operator, openTrader, type Trader } from "../support/trader.ts";
import { until } from "../support/wait.ts";

const LIQUIDATIONS = { channel: "liquidations", symbol: "BTC-PERP" } as const;

let server: TestServer;
let operator: Operator;
let nobody: Api;
/** Long with 100x. */
let alice: Trader;
/** Short against her. */
let bob: Trader;
/** Buys what is liquidated. */
let carol: Trader;

before(async () => {
  server = await startServer();
  operator = new Operator(server);
  nobody = new Api(server.url);
  await operator.setIndex("BTC-PERP", "65000");
  [alice, bob, carol] = await Promise.all([
    openTrader(server, "1000"),
    openTrader(server, "1000000"),
    openTrader(server, "1000000"),
  ]);
});

after(async () => {
  await operator.soundAudit();
  await server.dispose();
});

const insurance = () => nobody.get<Insurance>("/market/insurance");
/** Of each day: what was open, and its notional. */
const openDays = async () =>
  (
    await new Api(server.url).get<OpenInterestHistory>("/market/open-interest/history?symbol=BTC-PERP&interval=1d")
  ).data.map(({ openInterest, notional }) => [openInterest, notional]);
const shortFills = async (trader: Trader) =>
  (await trader.fills()).data.map((fill) => [
    ...[fill.execType, fill.side, fill.liquidity, fill.price, fill.quantity, fill.quoteQuantity],
    ...[fill.fee, fill.feeRate, fill.positionSize, fill.orderId === null],
  ]);

test("the insurance fund starts with its seed", async () => {
  const { data, ...fund } = await insurance();
  assert.deepEqual(fund, { asset: "USDC", balance: "1000000", unrealizedPnl: "0", nextCursor: null });
  assert.deepEqual(
    data.map(({ kind, symbol, amount }) => [kind, symbol, amount]),
    [["DEPOSIT", null, "1000000"]],
  );
});

test("liquidating a 100x long cancels its orders, sells into the book and gives the rest to the fund, exact to the quantum", async () => {
  await alice.call(200, "POST", "/positions/BTC-PERP/leverage", { leverage: 100 });
  await bob.sell("1", "65000");
  assert.equal((await alice.buy("1", "65000")).status, "FILLED"); // fee 32.5: 967.5 are left
  assert.equal((await alice.position())?.adlRank, 5);
  const far = await alice.buy("0.01", "62000");
  await carol.buy("0.4", "64240");
  const watcher = await SocketClient.open(server.wsUrl);
  await watcher.subscribe(LIQUIDATIONS);

  // Equity 967.5 − 750 = 217.5; maintenance margin 0.4 % of 64250 = 257.
  await operator.setIndex("BTC-PERP", "64250");
  await until("the liquidation", async () => (await alice.position()) === null);

  const canceled = await alice.order(far.orderId);
  assert.deepEqual([canceled.status, canceled.reason, canceled.createdBy], ["CANCELED", "LIQUIDATION", "USER"]);
  // 217.5 below 64250 is the bankruptcy price, 64032.5. Carol's 0.4 are 83 better than that, and the fee is all of it
  // (0.5 % would be 128.48).
  assert.deepEqual(await shortFills(alice), [
    ["LIQUIDATION", "SELL", "TAKER", "64032.5", "0.6", "38419.5", "0", "0", "0", true],
    ["LIQUIDATION", "SELL", "TAKER", "64240", "0.4", "25696", "83", "0.00323", "0.6", false],
    ["TRADE", "BUY", "TAKER", "65000", "1", "65000", "32.5", "0.0005", "1", false],
  ]);
  assert.deepEqual((await shortFills(carol))[0], [
    ...["LIQUIDATION", "BUY", "MAKER", "64240", "0.4", "25696"],
    ...["5.1392", "0.0002", "0.4", false],
  ]);
  const [liquidation] = (await alice.history()).data.filter((order) => order.type === "MARKET");
  assert.equal(liquidation?.reduceOnly, true);
  assert.deepEqual(
    [liquidation?.createdBy, liquidation?.status, liquidation?.reason, liquidation?.filledQuantity],
    ["LIQUIDATION", "EXPIRED", "NO_LIQUIDITY", "0.4"],
  );
  const balance = await alice.balance();
  assert.deepEqual([balance.equity, balance.initialMargin, balance.maintenanceMargin], ["0", "0", "0"]);

  const fund = await insurance();
  // 0.6 came for 38419.5 and are worth 38550.
  assert.deepEqual([fund.balance, fund.unrealizedPnl], ["1000213.5", "130.5"]);
  assert.deepEqual(
    fund.data.map(({ kind, symbol, amount }) => [kind, symbol, amount]),
    [
      ["TAKEOVER", "BTC-PERP", "0"],
      ["LIQUIDATION_FEE", "BTC-PERP", "83"],
      ["DEPOSIT", null, "1000000"],
    ],
  );
  const open = await nobody.get<OpenInterest>("/market/open-interest?symbol=BTC-PERP");
  assert.deepEqual([open.openInterest, open.notional], ["1", "64250"]);
  assert.deepEqual((await openDays())[0], ["1", "64250"]);
  await operator.soundAudit();

  // What everyone sees: the channel has both, the list of trades has what happened in the book.
  await watcher.find("the liquidations", (message) => message.channel === "liquidations" && message.type === "UPDATE");
  const [snapshot, update] = watcher.ofChannel("liquidations");
  assert.deepEqual([snapshot?.type, snapshot?.data], ["SNAPSHOT", []]);
  assert.deepEqual(
    update?.data.map((row) => [row.execType, row.side, row.price, row.quantity, row.sequence]),
    [
      ["LIQUIDATION", "SELL", "64240", "0.4", update.sequence],
      ["LIQUIDATION", "SELL", "64032.5", "0.6", update.sequence],
    ],
  );
  assert.equal(fund.data[0]?.sequence, update.sequence);
  const path = "/market/liquidations?symbol=BTC-PERP";
  const newest = await nobody.get<PublicTradeList>(`${path}&limit=1`);
  const rest = await nobody.get<PublicTradeList>(`${path}&cursor=${newest.nextCursor}`);
  assert.deepEqual([...newest.data, ...rest.data], update.data.toReversed());
  assert.equal(rest.nextCursor, null);
  assert.deepEqual((await nobody.get<PublicTradeList>(`${path}&endTime=${(update.data[0]?.time ?? 0) - 1}`)).data, []);
  await watcher.close();
  const { data: trades } = await nobody.get<PublicTradeList>("/market/trades?symbol=BTC-PERP");
  assert.deepEqual(
    trades.map((trade) => [trade.execType, trade.quantity]),
    [
      ["LIQUIDATION", "0.4"],
      ["TRADE", "1"],
    ],
  );
});

test("the fund sells positions that it took over, and its history adds up to its balance", async () => {
  await operator.setIndex("BTC-PERP", "64250"); // a price that is not stale
  await carol.buy("1", "64240");
  // A fifth of 0.6 at a time.
  const fund = await until("the fund's first sale", async () => {
    const now = await insurance();
    return now.data.some(({ kind }) => kind === "TRADE") && now;
  });
  const first = fund.data.findLast(({ kind }) => kind === "TRADE");
  // 0.12 for 7708.8, less 0.0005 of it; they cost a fifth of 38419.5.
  assert.equal(first?.amount, sum("7708.8", "-3.8544", "-7683.9"));
  await carol.cancelAll();
  const { data, balance, unrealizedPnl } = await insurance();
  assert.equal(sum(...data.map(({ amount }) => amount), unrealizedPnl), balance);
  const [one] = (await nobody.get<Insurance>("/market/insurance?symbol=BTC-PERP&limit=1")).data;
  assert.equal(one?.symbol, "BTC-PERP");
  assert.deepEqual((await nobody.get<Insurance>("/market/insurance?symbol=ETH-PERP")).data, []);
});

test("after a restart the liquidations channel repeats earlier ones, and the fund is not seeded twice", async () => {
  const was = await insurance();
  const wasOpen = await nobody.get<OpenInterest>("/market/open-interest?symbol=BTC-PERP");
  await server.stop();
  await server.start();
  operator = new Operator(server);
  const now = await new Api(server.url).get<Insurance>("/market/insurance");
  assert.deepEqual(now.data.slice(-was.data.length), was.data);
  assert.equal(now.data.filter(({ kind }) => kind === "DEPOSIT").length, 1);
  assert.deepEqual((await openDays())[0], [wasOpen.openInterest, wasOpen.notional]);
  const socket = await SocketClient.open(server.wsUrl);
  await socket.subscribe(LIQUIDATIONS);
  await socket.find("a snapshot", (message) => message.type === "SNAPSHOT");
  assert.deepEqual(
    socket.ofChannel("liquidations")[0]?.data.map((row) => row.quantity),
    ["0.4", "0.6"],
  );
  await socket.close();
});

test("funding and open-interest lists support the usual list fields, and the account's list is private", async () => {
  const api = new Api(server.url);
  await api.get("/market/funding?symbol=BTC-PERP&startTime=1&endTime=2&limit=5&cursor=3600000");
  await api.refused("MISSING_FIELD", "GET", "/market/funding");
  await api.refused("BAD_VALUE", "GET", "/market/funding?symbol=BTC-PERP&cursor=1.2");
  await api.refused("BAD_COMBINATION", "GET", "/market/funding?symbol=BTC-PERP&startTime=2&endTime=1");
  for (const path of ["funding", "insurance", "open-interest"])
    await api.refused("UNKNOWN_SYMBOL", "GET", `/market/${path}?symbol=DOGE-PERP`);
  const history = "/market/open-interest/history?symbol=BTC-PERP";
  await api.get(`${history}&interval=4h&startTime=1&endTime=2&limit=5&cursor=3600000`);
  await api.refused("MISSING_FIELD", "GET", history);
  await api.refused("BAD_VALUE", "GET", `${history}&interval=1m`);
  await api.refused("BAD_VALUE", "GET", `${history}&interval=5m&cursor=1.2`);
  await api.refused("BAD_COMBINATION", "GET", `${history}&interval=5m&startTime=2&endTime=1`);
  await api.refused("UNKNOWN_SYMBOL", "GET", "/market/open-interest/history?symbol=DOGE-PERP&interval=5m");
  await api.refused("UNAUTHENTICATED", "GET", "/account/funding");
  const own = await openTrader(server, "0");
  assert.deepEqual(await own.get("/account/funding?symbol=BTC-PERP"), { data: [], nextCursor: null });
});
