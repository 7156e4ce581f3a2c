import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { PerpdClient } from "../../../src/client/index.ts";
import type { EquityPoint, LedgerEntry, Page, Position } from "../../../src/client/types.ts";
import { Api } from "../support/api.ts";
import { sum } from "../support/decimal.ts";
import { startServer, type TestServer } from "../support/server.ts";
import { Operator, openTrader, Trader } from "../support/trader.ts";
import { until } from "../support/wait.ts";

let server: TestServer;
let operator: Operator;
let alice: Trader;
/** Takes the other side of whatever alice does. */
let market: Trader;

before(async () => {
  server = await startServer({ environment: { PERPD_SNAPSHOT_INTERVAL_MS: "200" } });
  operator = new Operator(server);
  await operator.setIndex("BTC-PERP", "65000");
  await operator.setIndex("ETH-PERP", "3000");
  [alice, market] = await Promise.all([openTrader(server, "1000"), openTrader(server, "1000000")]);
});
after(async () => {
  await operator.soundAudit();
  await server.dispose();
});

const ledger = async (query = ""): Promise<LedgerEntry[]> =>
  (await alice.get<Page<LedgerEntry>>(`/account/ledger${query}`)).data;
const shown = (entries: readonly LedgerEntry[]): string[] =>
  entries.map(({ type, amount, symbol }) => [type, amount, ...(symbol === null ? [] : [symbol])].join(" "));

/** What alice has by her balance and positions, without what is unrealised. */
async function wallet(): Promise<string> {
  const { walletBalance } = await alice.balance();
  const { data } = await alice.get<Page<Position>>("/positions");
  const pockets = data.filter(({ marginMode }) => marginMode === "ISOLATED");
  const setAside = pockets.flatMap(({ isolatedMargin, unrealizedPnl }) => [isolatedMargin ?? "0", `-${unrealizedPnl}`]);
  return sum(walletBalance, ...setAside.map((text) => text.replace(/^--/, "")));
}

async function assertExplained(): Promise<void> {
  assert.equal(sum(...(await ledger("?limit=1000")).map(({ amount }) => amount)), await wallet());
}

test("deposits, withdrawals, profit, fees, isolated margin and liquidation: each change of money has a ledger entry", async () => {
  await alice.deposit("500.25", "second");
  await alice.call(201, "POST", "/account/withdraw", { asset: "USDC", amount: "100", address: alice.address });
  assert.deepEqual(shown(await ledger()), ["WITHDRAWAL -100", "DEPOSIT 500.25", "DEPOSIT 1000"]);
  await assertExplained();

  // Fees 0.05 %: 3.25 and 3.255; 10 won. As a maker 0.02 %.
  await market.sell("0.1", "65000");
  const bought = await alice.buy("0.1", "65000");
  await market.buy("0.1", "65100");
  const sold = await alice.sell("0.1", "65100");
  const trades = await ledger("?limit=3");
  assert.deepEqual(shown(trades), ["FEE -3.255 BTC-PERP", "REALIZED_PNL 10 BTC-PERP", "FEE -3.25 BTC-PERP"]);
  assert.deepEqual(
    trades.map(({ orderId, tradeId, sequence }) => [orderId, tradeId, sequence]),
    [sold, sold, bought].map(({ orderId, fills, sequence }) => [orderId, fills[0]?.tradeId, sequence]),
  );
  await assertExplained();

  // What is set aside is still hers.
  await alice.call(200, "POST", "/positions/ETH-PERP/margin-mode", { mode: "ISOLATED" });
  await market.sell("0.5", "3000", { symbol: "ETH-PERP" });
  await alice.buy("0.5", "3000", { symbol: "ETH-PERP" });
  await alice.call(200, "POST", "/positions/ETH-PERP/margin", { amount: "12.5" });
  assert.deepEqual(shown(await ledger("?symbol=ETH-PERP")), ["FEE -0.75 ETH-PERP"]);
  await operator.setIndex("ETH-PERP", "3001");
  await assertExplained();

  await alice.call(200, "POST", "/positions/BTC-PERP/leverage", { leverage: 100 });
  await market.sell("1", "65000");
  await alice.buy("1", "65000");
  await market.buy("0.4", "64240");
  await operator.setIndex("BTC-PERP", "63900");
  await until("the liquidation", async () => (await alice.position()) === null);
  const kinds = new Set((await ledger("?symbol=BTC-PERP")).map(({ type }) => type));
  assert.deepEqual([...kinds].sort(), ["FEE", "LIQUIDATION_FEE", "REALIZED_PNL"]);
  const [penalty] = await ledger("?type=LIQUIDATION_FEE");
  const fill = (await alice.fills()).data.find(({ tradeId }) => tradeId === penalty?.tradeId);
  assert.deepEqual(
    [fill?.execType, `-${fill?.fee}`, fill?.orderId],
    ["LIQUIDATION", penalty?.amount, penalty?.orderId],
  );
  await assertExplained();
});

/** Balances, positions and the last row of the equity's history at one price. */
async function assertEquity(): Promise<void> {
  const { data } = await alice.get<Page<EquityPoint>>("/account/equity/history?interval=1m&limit=1");
  const { equity } = await alice.balance();
  const positions = await alice.get<Page<Position>>("/positions");
  const setAside = positions.data.map(({ isolatedMargin }) => isolatedMargin ?? "0");
  const unrealized = positions.data.map(({ unrealizedPnl }) => unrealizedPnl);
  const [row] = data;
  assert.equal(row?.equity, sum(equity, ...setAside));
  assert.equal(row?.unrealizedPnl, sum("0", ...unrealized));
  assert.equal(row?.walletBalance, await wallet());
  const transfers = (await ledger("?limit=1000")).filter(({ type }) => type === "DEPOSIT" || type === "WITHDRAWAL");
  assert.equal(row?.netDeposits, sum(...transfers.map(({ amount }) => amount)));
  assert.equal(sum(row?.pnl ?? "", row?.netDeposits ?? ""), row?.equity, "a deposit is no profit");
}

test("the equity's history ends with the present equity, also after a kill", async () => {
  await alice.deposit("1000", "third");
  await market.sell("0.01", "65000");
  await alice.buy("0.01", "65000");
  await operator.setIndex("BTC-PERP", "65200");
  await assertEquity();
  await restart();
  await operator.setIndex("BTC-PERP", "65100");
  await assertEquity();
  assert.equal((await alice.refused("MISSING_FIELD", "GET", "/account/equity/history")).field, "interval");
});

async function restart(): Promise<void> {
  await server.kill();
  await server.start();
  operator = new Operator(server);
  alice = new Trader(server.url, alice.token ?? "", alice.accountId, alice.address, alice.privateKey);
  market = new Trader(server.url, market.token ?? "", market.accountId, market.address, market.privateKey);
}

test("after a kill the ledger is the same, entry by entry and in pages of any size", async () => {
  const entries = await ledger("?limit=1000");
  const ids = entries.map(({ entryId }) => entryId);
  assert.equal(new Set(ids).size, ids.length);
  await server.kill();
  await server.start();
  operator = new Operator(server);
  alice = new Trader(server.url, alice.token ?? "", alice.accountId, alice.address, alice.privateKey);
  assert.deepEqual(await ledger("?limit=1000"), entries);
  await operator.setIndex("ETH-PERP", "3001");
  await assertExplained();

  const client = new PerpdClient({ baseUrl: server.url, token: alice.token ?? "" });
  for (const limit of [1, 2, 5]) {
    const paged: LedgerEntry[] = [];
    let cursor: string | null = null;
    do {
      const page = await client.ledger({ limit, ...(cursor !== null && { cursor }) });
      paged.push(...page.data);
      cursor = page.nextCursor;
    } while (cursor !== null);
    assert.deepEqual(paged, entries, `limit ${limit}`);
  }
  const inside = entries.slice(3, 8);
  const [startTime, endTime] = [inside.at(-1)?.time ?? 0, inside[0]?.time ?? 0];
  assert.deepEqual(
    await ledger(`?startTime=${startTime}&endTime=${endTime}`),
    entries.filter(({ time }) => time >= startTime && time <= endTime),
  );
  const fees = entries.filter(({ type, symbol }) => type === "FEE" && symbol === "BTC-PERP");
  assert.deepEqual(await ledger("?type=FEE&symbol=BTC-PERP"), fees);
  assert.deepEqual(await ledger("?type=DEPOSIT&symbol=BTC-PERP"), []);
});

test("invalid ledger queries are refused", async () => {
  const refused = (code: Parameters<Trader["refused"]>[0], query: string) =>
    alice.refused(code, "GET", `/account/ledger?${query}`);
  await refused("UNKNOWN_SYMBOL", "symbol=DOGE-PERP");
  assert.equal((await refused("BAD_VALUE", "type=BONUS")).field, "type");
  for (const query of ["limit=0", "limit=1001", "cursor=x", "cursor=1.2.3.4", "startTime=-1"])
    await refused("BAD_VALUE", query);
  await refused("UNKNOWN_FIELD", "since=1");
  await refused("BAD_COMBINATION", "startTime=2&endTime=1");
  await new Api(server.url).refused("UNAUTHENTICATED", "GET", "/account/ledger");
});
