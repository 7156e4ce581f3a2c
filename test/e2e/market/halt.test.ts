import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { InstrumentList, Order, Page, Ticker, TradingStatus, Transfer } from "../../../src/client/types.ts";
import { Api } from "../support/api.ts";
import { startServer, type TestServer } from "../support/server.ts";
import { SocketClient } from "../support/socket.ts";
import { Operator, openTrader, Trader } from "../support/trader.ts";
import { until } from "../support/wait.ts";

let server: TestServer;
let operator: Operator;
let alice: Trader;
let bob: Trader;
/** Where the index is to grow old; elsewhere it stays fresh for longer than any test takes. */
const MAX_AGE_MS = 2000;

before(async () => {
  server = await startServer();
  operator = new Operator(server);
  await operator.setIndex("BTC-PERP", "65000");
  [alice, bob] = await Promise.all([openTrader(server), openTrader(server)]);
});
after(async () => {
  await operator.soundAudit();
  await server.dispose();
});

/** The same session after a restart on another port. */
const follow = ({ token = "", accountId, address, privateKey }: Trader) =>
  new Trader(server.url, token, accountId, address, privateKey);
/** With prices that grow old after so long; 0: not soon. */
async function restart(maxAgeMs = 0): Promise<void> {
  await server.stop();
  server.environment = { PERPD_MAX_INDEX_AGE_MS: String(maxAgeMs) };
  await server.start();
  operator = new Operator(server);
  alice = follow(alice);
  bob = follow(bob);
}
const price = () => operator.setIndex("BTC-PERP", "65000");
const halt = (body: object | undefined, status = 200) =>
  operator.call<TradingStatus>(status, "POST", "/operator/symbols/BTC-PERP/halt", body);
const resume = () => operator.call<TradingStatus>(200, "POST", "/operator/symbols/BTC-PERP/resume");

/** As everyone sees it, at both places. */
async function status(): Promise<[string, string | null]> {
  const api = new Api(server.url);
  const inTicker = async (): Promise<[string, string | null]> => {
    const { status, statusReason } = await api.get<Ticker>("/market/ticker?symbol=BTC-PERP");
    return [status, statusReason];
  };
  for (;;) {
    const before = await inTicker();
    const { data } = await api.get<Page<{ status: string; statusReason: string | null }>>(
      "/market/symbols?symbol=BTC-PERP",
    );
    const after = await inTicker();
    // It may change between two looks.
    if (before[0] !== after[0] || before[1] !== after[1]) continue;
    assert.deepEqual([data[0]?.status, data[0]?.statusReason], after);
    return after;
  }
}
const limit = (side: "BUY" | "SELL", at: string, more: object = {}) => ({
  symbol: "BTC-PERP",
  side,
  type: "LIMIT",
  price: at,
  quantity: "0.01",
  ...more,
});

test("a CANCEL_ONLY halt allows only cancels, is public, survives a restart, and ends with resume", async () => {
  await bob.sell("1", "65000");
  await alice.buy("0.1", "65000");
  const { orderId } = await alice.buy("0.01", "64000");
  const halted = await halt(undefined);
  assert.deepEqual([halted.status, halted.statusReason, halted.until], ["CANCEL_ONLY", "OPERATOR", null]);
  assert.deepEqual(await status(), ["CANCEL_ONLY", "OPERATOR"]);

  const error = await alice.refused("SYMBOL_HALTED", "POST", "/orders", limit("BUY", "64000"));
  assert.deepEqual(error.details, { status: "CANCEL_ONLY" });
  await alice.refused("SYMBOL_HALTED", "POST", "/positions/BTC-PERP/close");
  assert.equal((await alice.cancel(orderId)).status, "CANCELED");

  await restart();
  await server.logs(/trading is halted/);
  await price();
  assert.deepEqual(await status(), ["CANCEL_ONLY", "OPERATOR"]);

  assert.equal((await halt({ mode: "REDUCE_ONLY" })).status, "REDUCE_ONLY");
  await alice.refused("SYMBOL_HALTED", "POST", "/orders", limit("BUY", "64000"));
  assert.equal((await alice.sell("0.01", "65100", { reduceOnly: true })).status, "NEW");
  await price();
  assert.deepEqual([(await resume()).status, (await resume()).statusReason], ["TRADING", null]);
  await price();
  assert.equal((await alice.buy("0.01", "64000")).status, "NEW");
});

test("HALTED refuses cancels by order or symbol, while cancel-all still cancels in other symbols", async () => {
  await operator.setIndex("ETH-PERP", "3500");
  const { orderId } = await alice.buy("0.01", "64000", { clientOrderId: "stays" });
  const { orderId: elsewhere } = await alice.buy("1", "3000", { symbol: "ETH-PERP" });
  await halt({ mode: "HALTED" });
  for (const path of [`/orders/${orderId}`, "/orders/client:stays", "/orders?symbol=BTC-PERP"]) {
    const error = await alice.refused("SYMBOL_HALTED", "DELETE", path);
    assert.deepEqual([error.field, error.details], ["symbol", { status: "HALTED" }], path);
  }
  const batch = { symbol: "BTC-PERP", items: [{ action: "CANCEL", orderId }] };
  const { data } = await alice.call<{ data: { error?: { code: string } }[] }>(200, "POST", "/orders/batch", batch);
  assert.equal(data[0]?.error?.code, "SYMBOL_HALTED");
  const canceled = await alice.call<{ data: Order[] }>(200, "DELETE", "/orders");
  assert.ok(canceled.data.some((order) => order.orderId === elsewhere));
  assert.ok(canceled.data.every(({ symbol }) => symbol === "ETH-PERP"));
  assert.equal((await alice.order(orderId)).status, "NEW");
  await resume();
  await price();
  assert.equal((await alice.cancel(orderId)).status, "CANCELED");
});

test("a stale index allows only reduce-only orders until a new price comes", async () => {
  await restart(MAX_AGE_MS);
  await price();
  await until("the index to grow old", async () => (await status())[1] === "STALE_INDEX");
  assert.deepEqual(await status(), ["REDUCE_ONLY", "STALE_INDEX"]);
  const error = await bob.refused("STALE_PRICE", "POST", "/orders", limit("BUY", "64000"));
  assert.deepEqual(error.details, { status: "REDUCE_ONLY", maxAge: MAX_AGE_MS });
  assert.equal((await alice.sell("0.01", "65200", { reduceOnly: true })).status, "NEW");
  // Again and again, since it may be old once more before anybody looks.
  await until("the index to be fresh", async () => {
    await price();
    return (await status())[0] === "TRADING";
  });
  await until("an order to be taken", async () => {
    await price();
    return (await bob.request("POST", "/orders", limit("BUY", "64000"))).status === 201;
  });
  for (const line of [/index price is stale/, /fresh again/]) await server.logs(line);
  await restart();
});

test("withdrawals are refused while margin is in use in a stale or halted symbol, but others withdraw and repeats are answered", async () => {
  let idle = await openTrader(server);
  const body = (trader: Trader, reference: string) => ({
    asset: "USDC",
    amount: "10",
    address: trader.address,
    reference,
  });
  const withdraw = (trader: Trader, reference: string, status = 201) =>
    trader.call<Transfer & { duplicate?: boolean }>(status, "POST", "/account/withdraw", body(trader, reference));
  await price();
  const { transferId } = await withdraw(alice, "first");
  await restart(MAX_AGE_MS);
  idle = follow(idle);
  await until("the index to grow old", async () => (await status())[1] === "STALE_INDEX");
  const stale = await alice.refused("STALE_PRICE", "POST", "/account/withdraw", body(alice, "second"));
  assert.deepEqual(
    [stale.field, stale.details, stale.retryable],
    [undefined, { symbol: "BTC-PERP", status: "REDUCE_ONLY", maxAge: MAX_AGE_MS, retryAfterMs: 1000 }, true],
  );
  const { headers } = await alice.request("POST", "/account/withdraw", body(alice, "second"));
  assert.equal(headers["retry-after"], "1");
  const again = await withdraw(alice, "first", 200);
  assert.deepEqual([again.transferId, again.duplicate], [transferId, true]);
  await withdraw(idle, "stale");
  await restart();
  idle = follow(idle);
  await price();
  await withdraw(alice, "second");

  for (const mode of ["REDUCE_ONLY", "CANCEL_ONLY", "HALTED"]) {
    await halt({ mode });
    const halted = await alice.refused("SYMBOL_HALTED", "POST", "/account/withdraw", body(alice, "third"));
    assert.deepEqual([halted.field, halted.details], [undefined, { symbol: "BTC-PERP", status: mode }]);
    await withdraw(idle, mode);
    const { headers } = await alice.request("POST", "/account/withdraw", body(alice, "third"));
    assert.equal(headers["retry-after"], undefined, "an operator decides when it ends");
  }
  await resume();
  await price();
  await withdraw(alice, "third");
});

test("a guarded price jump needs two confirmations and then trips the circuit breaker", async () => {
  await price();
  const client = await SocketClient.open(server.wsUrl);
  await client.subscribe({ channel: "symbols", symbol: "BTC-PERP" });
  const put = (at: string, guarded: boolean) => ["PUT", "/operator/index/BTC-PERP", { price: at, guarded }] as const;
  await operator.call(200, ...put("65000", true));
  const error = await operator.refused("PRICE_JUMP", ...put("50000", true));
  assert.deepEqual(error.details, { index: "65000", limitRate: "0.0075", missing: 2 });
  const last = () => client.ofChannel("symbols").at(-1)?.data[0];
  // A state that ends within 50 ms may be in no message, so the second price waits for this one.
  await until("the pending price in the stream", () => last()?.pendingIndexPrice === "50000");
  await operator.refused("PRICE_JUMP", ...put("50010", true));
  await operator.call(200, ...put("50005", true));
  const [tripped, reason] = await status();
  assert.deepEqual([tripped, reason], ["REDUCE_ONLY", "PRICE_JUMP"]);
  await until("the trip in the stream", () => last()?.statusReason === "PRICE_JUMP");
  const { data } = await operator.get<InstrumentList>("/market/symbols?symbol=BTC-PERP");
  assert.deepEqual(last(), data[0], "the same row as over REST");
  assert.ok(Number(data[0]?.statusUntil) > Date.now());
  const withdrawal = { asset: "USDC", amount: "10", address: alice.address };
  const { details } = await alice.refused("SYMBOL_HALTED", "POST", "/account/withdraw", withdrawal);
  const endsAt = Date.now() + Number(details?.retryAfterMs);
  assert.ok(Math.abs(endsAt - Number(data[0]?.statusUntil)) < 5000, "retryAfterMs leads to the end of the halt");
  await resume();
  await until("trading in the stream", () => last()?.status === "TRADING");
  assert.equal(last()?.pendingIndexPrice, null);
  await client.close();
});

test("operators' acts are listed with their names, also those from before a restart", async () => {
  const all = <T>(query: string) => operator.get<Page<T>>(`/operator/acts?limit=1000${query}`);
  const { data } = await all<{ act: string; mode: string | null; operator: string; symbol: string }>("");
  // The tests above restart the exchange.
  const { act, mode, operator: name, symbol } = data.at(-1)!;
  assert.deepEqual([act, mode, name, symbol], ["HALT", "CANCEL_ONLY", "operator", "BTC-PERP"]);
  assert.ok(data.every((each) => each.act !== "INDEX_PRICE"));
  const latest = await resume();
  assert.equal((await all<{ sequence: number }>("")).data[0]?.sequence, latest.sequence);
  assert.deepEqual((await all("&symbol=ETH-PERP")).data, []);
  const { data: prices } = await all<{ price: string; act: string }>("&kind=INDEX_PRICE&symbol=ETH-PERP");
  assert.deepEqual(prices.map(({ act, price }) => [act, price]).at(-1), ["INDEX_PRICE", "3500"]);
  await operator.refused("BAD_VALUE", "GET", "/operator/acts?kind=HALT");
  await operator.refused("BAD_VALUE", "GET", "/operator/acts?cursor=x");
});

test("invalid operator requests are refused", async () => {
  await operator.refused("BAD_VALUE", "POST", "/operator/symbols/BTC-PERP/halt", { mode: "TRADING" });
  await operator.refused("UNKNOWN_SYMBOL", "POST", "/operator/symbols/DOGE-PERP/halt");
  await alice.refused("OPERATOR_REQUIRED", "POST", "/operator/symbols/BTC-PERP/halt", { mode: "HALTED" });
  await operator.refused("UNEXPECTED_BODY", "POST", "/operator/symbols/BTC-PERP/resume", {});
  await price();
  assert.deepEqual(await status(), ["TRADING", null]);
});
