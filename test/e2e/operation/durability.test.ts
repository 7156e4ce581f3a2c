import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { after, before, test } from "node:test";
import type {
  Challenge,
  CreatedApiKey,
  OpenInterest,
  OpenInterestHistory,
  Order,
  PlacedOrder,
  Transfer,
} from "../../../src/client/types.ts";
import { RECENT_TRANSFERS } from "../../../src/core/ledger/transfer-book.ts";
import { Api } from "../support/api.ts";
import { assertUnchanged } from "../support/funding.ts";
import { startServer, type TestServer } from "../support/server.ts";
import { Operator, openTrader, Trader } from "../support/trader.ts";
import { until } from "../support/wait.ts";
import { login, walletOf } from "../support/wallet.ts";

let server: TestServer;

before(async () => {
  server = await startServer({ environment: { PERPD_SNAPSHOT_INTERVAL_MS: "100" } });
});

after(() => server.dispose());

/** The same session at the server's new address. */
const again = (trader: Trader) =>
  new Trader(server.url, trader.token ?? "", trader.accountId, trader.address, trader.privateKey);

/** Everything that an account and the public can see, but for the moments at which they look. */
async function lookAt(...traders: Trader[]) {
  const accounts = await Promise.all(
    traders.map(async (trader) => {
      const { updatedAt: _, sequence: __, ...balance } = await trader.balance();
      return {
        balance,
        open: await trader.openOrders(),
        history: await trader.history(),
        positions: await trader.get("/positions"),
        fills: await trader.fills(),
        deposits: await trader.get("/account/deposits"),
        keys: await trader.get("/auth/keys"),
      };
    }),
  );
  const nobody = new Api(server.url);
  const ticker = await nobody.get<{ time: number }>("/market/ticker?symbol=BTC-PERP");
  const book = await nobody.get<{ bids: unknown; asks: unknown; checksum: number }>(
    "/market/orderbook?symbol=BTC-PERP",
  );
  const { openInterest, notional } = await nobody.get<OpenInterest>("/market/open-interest?symbol=BTC-PERP");
  const days = await nobody.get<OpenInterestHistory>("/market/open-interest/history?symbol=BTC-PERP&interval=1d");
  const [day] = days.data;
  assert.deepEqual([day?.openInterest, day?.notional], [openInterest, notional]);
  const { symbols, money, accounts: count } = await new Operator(server).soundAudit();
  return {
    accounts,
    ticker: { ...ticker, time: 0 },
    book: [book.bids, book.asks, book.checksum],
    trades: await nobody.get("/market/trades?symbol=BTC-PERP"),
    candles: await nobody.get<{ data: unknown[] }>("/market/klines?symbol=BTC-PERP&interval=1d"),
    openInterest: days.data.map((day) => ({ ...day, time: 0 })),
    audit: { symbols, money, count },
  };
}

test("after each of three kill -9 everything is as before", async () => {
  const operator = new Operator(server);
  await operator.setIndex("BTC-PERP", "65000");
  const [alice, bob] = await Promise.all([openTrader(server), openTrader(server)]);
  await alice.call(200, "POST", "/positions/BTC-PERP/leverage", { leverage: 25 });
  await bob.sell("0.3", "65000");
  const body = { symbol: "BTC-PERP", side: "BUY", type: "LIMIT", price: "65000", quantity: "0.1", clientOrderId: "a" };
  const traded = await alice.call<PlacedOrder>(201, "POST", "/orders", body);
  await alice.cancel((await alice.buy("0.1", "64000")).orderId);
  await alice.buy("0.2", "64000", { clientOrderId: "b" });
  const deposit = await alice.deposit("12.5", "gift");
  // So many later transfers that this one leaves the ledger's memory.
  const carol = await openTrader(server);
  for (let i = 0; i < RECENT_TRANSFERS; i += 100)
    await Promise.all(Array.from({ length: 100 }, () => carol.deposit("1")));
  const key = await alice.call<CreatedApiKey>(201, "POST", "/auth/keys", {
    label: "k",
    permissions: ["READ", "TRADE"],
  });
  const ended = await login(server.url, alice.privateKey);
  await new Api(server.url, ended.token).call(200, "POST", "/auth/logout");
  const since = Date.now();
  const before = await lookAt(alice, bob);

  const path = "/v1/orders";
  const text = JSON.stringify({ ...body, price: "60000", clientOrderId: undefined });
  const timestamp = String(Date.now());
  const signature = createHmac("sha256", key.secret).update(`${timestamp}POST${path}${text}`).digest("hex");
  const signed = { "x-api-key": key.apiKey, "x-timestamp": timestamp, "x-signature": signature };
  const nobody = new Api(server.url);
  const challenge = await nobody.call<Challenge>(200, "POST", "/auth/challenge", { address: alice.address });

  for (let kill = 0; kill < 3; kill++) {
    await server.kill();
    await server.start();
    assertUnchanged(since, await lookAt(again(alice), again(bob)), before, `after kill ${kill + 1}`);
  }

  const later = again(alice);
  const here = new Api(server.url);
  await new Api(server.url, ended.token).refused("INVALID_TOKEN", "GET", "/account/balance");
  // What was signed for the server that is gone is good for nothing now.
  await here.refused("TIMESTAMP_OUT_OF_WINDOW", "POST", "/orders", text, signed);
  const wallet = walletOf(alice.privateKey);
  const login_ = { message: challenge.message, signature: await wallet.signMessage({ message: challenge.message }) };
  await here.refused("CHALLENGE_NOT_FOUND", "POST", "/auth/login", login_);
  assert.equal((await login(server.url, alice.privateKey)).accountId, alice.accountId);

  // Lost answers are asked for again: the first ones.
  assert.deepEqual(await later.call<Order>(200, "POST", "/orders", body), { ...traded, duplicate: true });
  await later.refused("CLIENT_ORDER_ID_REUSED", "POST", "/orders", { ...body, quantity: "0.2" });
  await later.refused("CLIENT_ORDER_ID_REUSED", "POST", "/orders", { ...body, symbol: "ETH-PERP" });
  const gift = { asset: "USDC", amount: "12.5", reference: "gift" };
  assert.deepEqual(await later.call<Transfer>(200, "POST", "/account/deposit", gift), { ...deposit, duplicate: true });
  await later.refused("REFERENCE_REUSED", "POST", "/account/deposit", { ...gift, amount: "12" });

  // And it goes on: ids and sequences where they were.
  const next = await later.buy("0.05", "65000");
  assert.equal(next.status, "FILLED");
  assert.ok(next.sequence > traded.sequence);
  assert.ok(Number(next.orderId) > Number(traded.orderId));
  assert.equal((await later.position())?.size, "0.15");
  assert.equal((await later.position())?.leverage, 25);
  await new Operator(server).soundAudit();
});

test("a withdrawal in flight completes once after a crash", async () => {
  const slow = await startServer({ environment: { PERPD_WITHDRAWAL_DELAY_MS: "1500" } });
  try {
    const alice = await openTrader(slow, "100");
    const body = { asset: "USDC", amount: "40", address: alice.address, reference: "out" };
    await alice.call(201, "POST", "/account/withdraw", body);
    await slow.kill();
    await slow.start();
    const later = new Trader(slow.url, alice.token ?? "", alice.accountId, alice.address, alice.privateKey);
    assert.equal((await later.balance()).equity, "60");
    assert.equal((await later.call<Transfer>(200, "POST", "/account/withdraw", body)).amount, "40");
    await until("its arrival", async () => {
      const { data } = await later.get<{ data: Transfer[] }>("/account/withdrawals");
      assert.equal(data.length, 1);
      return data[0]?.status === "COMPLETED";
    });
    assert.equal((await later.balance()).equity, "60");
  } finally {
    await slow.dispose();
  }
});
