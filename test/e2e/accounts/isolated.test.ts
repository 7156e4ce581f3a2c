import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import type { ErrorBody, MarginMode, MovedMargin, Position } from "../../../src/client/types.ts";
import { assertUnchanged } from "../support/funding.ts";
import { startServer, type TestServer } from "../support/server.ts";
import { Operator, openTrader, Trader } from "../support/trader.ts";
import { until } from "../support/wait.ts";

let server: TestServer;
let operator: Operator;
let alice: Trader;
/** Takes the other side of whatever alice does, with more than enough money. */
let market: Trader;

before(async () => {
  server = await startServer({ environment: { PERPD_SNAPSHOT_INTERVAL_MS: "100" } });
  operator = new Operator(server);
});

beforeEach(async () => {
  [alice, market] = await Promise.all([openTrader(server, "10000"), openTrader(server, "1000000")]);
  await operator.setIndex("BTC-PERP", "65000");
});

after(() => server.dispose());

const setMode = (mode: string): Promise<MarginMode> =>
  alice.call(200, "POST", "/positions/BTC-PERP/margin-mode", { mode });
const moveMargin = (amount: string, more: object = {}): Promise<MovedMargin> =>
  alice.call(200, "POST", "/positions/BTC-PERP/margin", { amount, ...more });
const setLeverage = (leverage: number): Promise<unknown> =>
  alice.call(200, "POST", "/positions/BTC-PERP/leverage", { leverage });

/** 1 BTC at 65000 with 10x: 6500 set aside. */
async function openIsolated(): Promise<Position> {
  await setMode("ISOLATED");
  await market.sell("1", "65000");
  await alice.buy("1", "65000");
  const position = await alice.position();
  assert.ok(position !== null);
  return position;
}

test("an isolated position: every figure, margin added and removed, then closed", async () => {
  assert.deepEqual(await setMode("ISOLATED"), { symbol: "BTC-PERP", marginMode: "ISOLATED" });
  const position = await openIsolated();
  const figures = ({ marginMode, isolatedMargin, initialMargin, maintenanceMargin, ...rest }: Position) => ({
    marginMode,
    isolatedMargin,
    initialMargin,
    maintenanceMargin,
    liquidationPrice: rest.liquidationPrice,
    bankruptcyPrice: rest.bankruptcyPrice,
  });
  assert.deepEqual(figures(position), {
    marginMode: "ISOLATED",
    isolatedMargin: "6500",
    initialMargin: "6500",
    maintenanceMargin: "260",
    liquidationPrice: "58735", // (65000 − 6500) ÷ 0.996, up to the tick
    bankruptcyPrice: "58500",
  });
  const balance = await alice.balance();
  assert.equal(balance.equity, "3467.5"); // 10000 − 32.5 − 6500
  assert.equal(balance.withdrawable, "3467.5");
  assert.equal(balance.maintenanceMargin, "0");
  assert.equal(balance.positionInitialMargin, "0");

  const added = await moveMargin("1000.5");
  assert.equal(added.isolatedMargin, "7500.5");
  assert.equal(added.bankruptcyPrice, "57499.5");
  assert.ok(added.sequence > position.sequence);
  assert.deepEqual(await alice.position(), added);
  assert.equal((await alice.balance()).equity, "2467");
  await alice.refused("INSUFFICIENT_MARGIN", "POST", "/positions/BTC-PERP/margin", { amount: "2467.000001" });
  const short = await alice.refused("INSUFFICIENT_MARGIN", "POST", "/positions/BTC-PERP/margin", {
    amount: "-1000.500001",
  });
  assert.deepEqual(short.details, { required: "1000.500001", available: "1000.5" });
  assert.equal((await moveMargin("-1000.5")).isolatedMargin, "6500");

  // Lower leverage would need 13,000; higher leverage lets nothing go, since a tenth of the notional stays.
  await alice.refused("INSUFFICIENT_MARGIN", "POST", "/positions/BTC-PERP/leverage", { leverage: 5 });
  await setLeverage(20);
  const kept = await alice.refused("INSUFFICIENT_MARGIN", "POST", "/positions/BTC-PERP/margin", {
    amount: "-0.000001",
  });
  assert.deepEqual(kept.details, { required: "0.000001", available: "0" });
  await alice.refused("INSUFFICIENT_BALANCE", "POST", "/account/withdraw", {
    asset: "USDC",
    amount: "3467.500001",
    address: alice.address,
  });

  await market.buy("1", "65000");
  await alice.call(201, "POST", "/positions/BTC-PERP/close", {});
  assert.equal((await alice.balance()).equity, "9935");
  await operator.soundAudit();
});

test("the margin mode of an open position changes when margin suffices and no order is open", async () => {
  await market.sell("1", "65000");
  await alice.buy("1", "65000");
  await alice.buy("0.1", "60000");
  const error: ErrorBody = await alice.refused("OPEN_ORDERS_EXIST", "POST", "/positions/BTC-PERP/margin-mode", {
    mode: "ISOLATED",
  });
  assert.deepEqual(error.details, { openOrders: 1 });
  assert.deepEqual(await setMode("CROSS"), { symbol: "BTC-PERP", marginMode: "CROSS" });
  await alice.refused("POSITION_NOT_ISOLATED", "POST", "/positions/BTC-PERP/margin", { amount: "1" });
  await alice.cancelAll();
  await setMode("ISOLATED");
  assert.equal((await alice.position())?.isolatedMargin, "6500");
  await setMode("CROSS");
  const position = await alice.position();
  assert.equal(position?.isolatedMargin, null);
  assert.equal(position?.liquidationPrice, "55253.6");
  await market.buy("1", "65000");
  await alice.call(201, "POST", "/positions/BTC-PERP/close", {});
  await alice.refused("NO_POSITION", "POST", "/positions/BTC-PERP/margin", { amount: "1" });
});

test("invalid modes and amounts are refused, and nothing changes", async () => {
  const path = "/positions/BTC-PERP";
  await openIsolated();
  const before = await alice.position();
  for (const [code, body] of [
    ["BAD_VALUE", { mode: "isolated" }],
    ["BAD_VALUE", { mode: "PORTFOLIO" }],
    ["BAD_VALUE", { mode: 1 }],
    ["MISSING_FIELD", {}],
    ["UNKNOWN_FIELD", { mode: "CROSS", leverage: 5 }],
    ["BAD_TYPE", []],
  ] as const)
    await alice.refused(code, "POST", `${path}/margin-mode`, body);
  for (const [code, body] of [
    ["BAD_NUMBER", { amount: 5 }],
    ["BAD_NUMBER", { amount: "+5" }],
    ["BAD_NUMBER", { amount: "--5" }],
    ["BAD_NUMBER", { amount: "-" }],
    ["BAD_NUMBER", { amount: "" }],
    ["BAD_NUMBER", { amount: "1e3" }],
    ["BAD_NUMBER", { amount: "-.5" }],
    ["BAD_NUMBER", { amount: "NaN" }],
    ["BAD_NUMBER", { amount: "1e100000000" }],
    ["BAD_VALUE", { amount: "0" }],
    ["BAD_VALUE", { amount: "-0" }],
    ["AMOUNT_TOO_FINE", { amount: "-0.0000001" }],
    ["MISSING_FIELD", {}],
    ["UNKNOWN_FIELD", { amount: "1", type: "ADD" }],
    ["INSUFFICIENT_MARGIN", { amount: "900000000" }],
    ["INSUFFICIENT_MARGIN", { amount: "-900000000" }],
  ] as const)
    await alice.refused(code, "POST", `${path}/margin`, body);
  for (const amount of ["0", "-0", "0.000000", "-0.0"]) {
    const { message } = await alice.refused("BAD_VALUE", "POST", `${path}/margin`, { amount });
    assert.equal(message, "amount must not be 0.");
  }
  const fine = await alice.refused("AMOUNT_TOO_FINE", "POST", `${path}/margin`, { amount: "-1.0000005" });
  assert.deepEqual(fine.details, { nearest: ["-1", "-1.000001"] });
  for (const end of ["margin", "margin-mode"]) {
    const body = end === "margin" ? { amount: "1" } : { mode: "CROSS" };
    await alice.refused("UNKNOWN_SYMBOL", "POST", `/positions/NONE-PERP/${end}`, body);
    await new Trader(server.url, "no-token", "0", "", alice.privateKey).refused(
      "INVALID_TOKEN",
      "POST",
      `${path}/${end}`,
      body,
    );
  }
  assert.deepEqual(await alice.position(), before);
  await market.buy("1", "65000");
  await alice.call(201, "POST", "/positions/BTC-PERP/close", {});
});

test("an isolated position is liquidated by its own margin only, and the rest of the account is untouched", async () => {
  await setLeverage(100);
  await openIsolated();
  const before = await alice.balance();
  assert.equal(before.equity, "9317.5"); // 10000 − 32.5 − 650
  await alice.buy("0.1", "60000");
  // 400 lost of 650: less than the 258.4 that are needed. Nobody buys, so the fund takes over where the bucket is empty.
  await operator.setIndex("BTC-PERP", "64600");
  await until("the liquidation", async () => (await alice.position()) === null);
  const after = await alice.balance();
  assert.equal(after.equity, before.equity);
  assert.equal(after.initialMargin, "0");
  const [fill] = (await alice.fills()).data;
  assert.deepEqual([fill?.execType, fill?.price, fill?.fee], ["LIQUIDATION", "64350", "0"]);
  assert.deepEqual((await alice.openOrders()).data, []);
  await operator.soundAudit();
});

test("margin mode and isolated margin survive kill -9", async () => {
  const since = Date.now();
  await openIsolated();
  const moved = await moveMargin("123.456789");
  const balance = await alice.balance();
  for (let i = 0; i < 2; i++) {
    await server.kill();
    await server.start();
    alice = new Trader(server.url, alice.token ?? "", alice.accountId, alice.address, alice.privateKey);
    operator = new Operator(server);
    assertUnchanged(since, await alice.position(), moved);
    assert.deepEqual(
      { ...(await alice.balance()), updatedAt: 0, sequence: 0 },
      { ...balance, updatedAt: 0, sequence: 0 },
    );
    await operator.soundAudit();
  }
});

test("a repeated margin move with one reference is applied once, also after kill -9", async () => {
  await openIsolated();
  const named = { reference: "top-up 1" };
  const first = await moveMargin("100", named);
  assert.equal("duplicate" in first, false);
  assert.deepEqual(await moveMargin("100", named), { ...first, duplicate: true });
  const error = await alice.refused("REFERENCE_REUSED", "POST", "/positions/BTC-PERP/margin", {
    amount: "-100",
    ...named,
  });
  assert.deepEqual([error.field, error.details], ["reference", { moved: "100" }]);
  await server.kill();
  await server.start();
  alice = new Trader(server.url, alice.token ?? "", alice.accountId, alice.address, alice.privateKey);
  operator = new Operator(server);
  const { isolatedMargin, duplicate } = await moveMargin("100", named);
  assert.deepEqual([isolatedMargin, duplicate], [first.isolatedMargin, true]);
  await operator.soundAudit();
});

test("settings that arrive after their expiresAt are refused, and nothing changes", async () => {
  await market.sell("0.1", "65000");
  await alice.buy("0.1", "65000");
  const path = "/positions/BTC-PERP";
  const before = await alice.position();
  const later = Date.now() + 60_000;
  const settings: [end: string, body: object][] = [
    ["leverage", { leverage: 7 }],
    ["margin-mode", { mode: "ISOLATED" }],
    ["margin", { amount: "5" }],
  ];
  for (const [end, body] of settings) {
    await alice.refused("REQUEST_EXPIRED", "POST", `${path}/${end}`, { ...body, expiresAt: 1 });
    assert.deepEqual(await alice.position(), before);
  }
  for (const [end, body] of settings) await alice.call(200, "POST", `${path}/${end}`, { ...body, expiresAt: later });
  const after = await alice.position();
  assert.deepEqual([after?.leverage, after?.marginMode], [7, "ISOLATED"]);
});
