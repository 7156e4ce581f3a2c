import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Page, Transfer, WithdrawalAddress, WithdrawalAddressList } from "../../../src/client/types.ts";
import { startServer, type TestServer } from "../support/server.ts";
import { FAUCET_CAP, Operator, openTrader, type Trader } from "../support/trader.ts";
import { inOneDay, until } from "../support/wait.ts";

const ADDRESS = "0x8ba1f109551bD432803012645Ac136ddd64DBA72";

let server: TestServer;
let operator: Operator;

before(async () => {
  server = await startServer({ environment: { PERPD_WITHDRAWAL_DELAY_MS: "400", PERPD_TICK_MS: "20" } });
  operator = new Operator(server);
  await operator.setIndex("BTC-PERP", "65000");
});

after(async () => {
  await operator.soundAudit();
  await server.dispose();
});

test("a new account is empty", async () => {
  const alice = await openTrader(server, "0");
  const { updatedAt, sequence, ...balance } = await alice.balance();
  assert.ok(updatedAt > 0 && sequence > 0);
  assert.deepEqual(balance, {
    asset: "USDC",
    walletBalance: "0",
    equity: "0",
    unrealizedPnl: "0",
    positionInitialMargin: "0",
    openOrderInitialMargin: "0",
    initialMargin: "0",
    maintenanceMargin: "0",
    availableBalance: "0",
    additionalMargin: "0",
    withdrawable: "0",
    marginRatio: "0",
  });
  const lists = ["/orders", "/orders/history", "/positions", "/account/trades", "/account/deposits"];
  for (const path of [...lists, "/account/withdrawals"])
    assert.deepEqual(await alice.get(path), { data: [], nextCursor: null }, path);
});

test("an address book is filled over REST, also where withdrawals do not need it", async () => {
  const [alice, bob] = await Promise.all([openTrader(server, "1"), openTrader(server, "0")]);
  const path = "/account/withdrawal-addresses";
  const lower = { address: ADDRESS.toLowerCase(), label: "cold" };
  const { addedAt, usableAt, ...added } = await alice.call<WithdrawalAddress>(201, "POST", path, lower);
  assert.deepEqual(added, { address: ADDRESS, label: "cold" });
  assert.equal(usableAt, addedAt + 86_400_000);
  const again = await alice.call<WithdrawalAddress>(200, "POST", path, { address: ADDRESS, label: "other" });
  assert.deepEqual(again, { ...added, addedAt, usableAt, duplicate: true });
  assert.deepEqual((await alice.get<WithdrawalAddressList>(path)).data, [{ ...added, addedAt, usableAt }]);
  assert.deepEqual((await bob.get<WithdrawalAddressList>(path)).data, []);
  await bob.refused("ADDRESS_NOT_FOUND", "DELETE", `${path}/${ADDRESS}`);
  for (const address of [ADDRESS.replace("bD", "BD"), `0x${"0".repeat(40)}`, "0x12"])
    await alice.refused("BAD_VALUE", "POST", path, { address, label: "wrong" });
  await alice.refused("ADDRESS_NOT_FOUND", "DELETE", `${path}/nonsense`);
  await alice.call(200, "DELETE", `${path}/${ADDRESS.toLowerCase()}`);
  assert.deepEqual((await alice.get<WithdrawalAddressList>(path)).data, []);
  await alice.call(201, "POST", "/account/withdraw", { asset: "USDC", amount: "1", address: ADDRESS });
});

test("a deposit is credited at once, once per reference, and up to the faucet's cap", () =>
  inOneDay(async () => {
    const alice = await openTrader(server, "0");
    const body = { asset: "USDC", amount: "1000.000001", reference: "first deposit" };
    const deposit = await alice.call<Transfer>(201, "POST", "/account/deposit", body);
    const { transferId, createdAt, updatedAt, ...fields } = deposit;
    assert.match(transferId, /^[1-9][0-9]*$/);
    assert.ok(createdAt > 0 && updatedAt === createdAt);
    assert.deepEqual(fields, {
      kind: "DEPOSIT",
      asset: "USDC",
      amount: "1000.000001",
      address: null,
      reference: "first deposit",
      status: "COMPLETED",
      txHash: null,
    });
    assert.equal((await alice.balance()).walletBalance, "1000.000001");

    const again = await alice.call<Transfer>(200, "POST", "/account/deposit", body);
    assert.deepEqual(again, { ...deposit, duplicate: true });
    const reused = await alice.refused("REFERENCE_REUSED", "POST", "/account/deposit", { ...body, amount: "1" });
    assert.deepEqual([reused.field, reused.details], ["reference", { transferId }]);
    assert.equal((await alice.balance()).walletBalance, "1000.000001");
    assert.deepEqual(await alice.get("/account/deposits"), { data: [deposit], nextCursor: null });

    // Without a reference each request is a deposit of its own.
    await alice.deposit("1");
    await alice.deposit("1");
    assert.equal((await alice.balance()).walletBalance, "1002.000001");

    const small = { asset: "USDC", amount: "0.999999" };
    const dust = await alice.refused("DEPOSIT_TOO_SMALL", "POST", "/account/deposit", small);
    assert.deepEqual([dust.field, dust.details], ["amount", { limit: "1" }]);

    const over = await alice.refused("DEPOSIT_CAP", "POST", "/account/deposit", { asset: "USDC", amount: FAUCET_CAP });
    assert.deepEqual(over.details, { limit: FAUCET_CAP, available: "998997.999999" });
    await alice.deposit("998997.999999");
    const empty = await alice.refused("DEPOSIT_CAP", "POST", "/account/deposit", { asset: "USDC", amount: "0.000001" });
    assert.deepEqual([empty.field, empty.details], ["amount", { limit: FAUCET_CAP, available: "0" }]);
    // The reference still answers though the cap is used up.
    assert.equal((await alice.call<Transfer>(200, "POST", "/account/deposit", body)).transferId, transferId);
    assert.equal((await alice.balance()).equity, FAUCET_CAP);
  }));

test("100 concurrent deposits with one reference are credited once", async () => {
  const alice = await openTrader(server, "0");
  const body = { asset: "USDC", amount: "10", reference: "storm" };
  const answers = await Promise.all(
    Array.from({ length: 100 }, () => alice.request<Transfer>("POST", "/account/deposit", body)),
  );
  assert.equal(answers.filter((answer) => answer.status === 201).length, 1);
  assert.equal(answers.filter((answer) => answer.status === 200).length, 99);
  assert.equal((await alice.balance()).equity, "10");
});

test("a withdrawal debits, waits, is sent and completed, once per reference", async () => {
  const alice = await openTrader(server, "1000");
  const body = { asset: "USDC", amount: "400.5", address: ADDRESS, reference: "out" };
  const withdrawal = await alice.call<Transfer>(201, "POST", "/account/withdraw", body);
  const { transferId, createdAt, updatedAt, ...fields } = withdrawal;
  assert.ok(createdAt > 0 && updatedAt === createdAt);
  assert.deepEqual(fields, {
    kind: "WITHDRAWAL",
    asset: "USDC",
    amount: "400.5",
    address: ADDRESS,
    reference: "out",
    status: "PENDING",
    txHash: null,
  });
  assert.equal((await alice.balance()).walletBalance, "599.5");

  const seen = await watch(alice, transferId);
  const completed = seen.get("COMPLETED");
  assert.deepEqual([completed?.createdAt, completed?.amount], [createdAt, "400.5"]);
  assert.equal((await alice.get<Page<Transfer>>("/account/withdrawals")).data.length, 1);

  const again = await alice.call<Transfer>(200, "POST", "/account/withdraw", body);
  assert.deepEqual(again, { ...completed, duplicate: true });
  const other = { ...body, address: "0x0000000000000000000000000000000000000001" };
  await alice.refused("REFERENCE_REUSED", "POST", "/account/withdraw", other);
  // Deposits have references of their own.
  await alice.deposit("400.5", "out");
  assert.equal((await alice.balance()).walletBalance, "1000");
});

test("a withdrawal is PENDING, then SENT with a hash, then COMPLETED", async () => {
  const alice = await openTrader(server, "1000");
  // One that a machine that was held up has not seen at every stage is followed by another.
  const seen = await until("a withdrawal that is seen at every stage", async () => {
    const body = { asset: "USDC", amount: "1", address: ADDRESS };
    const { transferId } = await alice.call<Transfer>(201, "POST", "/account/withdraw", body);
    const stages = await watch(alice, transferId);
    return stages.size === 3 && stages;
  });
  assert.deepEqual([...seen.keys()], ["PENDING", "SENT", "COMPLETED"]);
  const [sent, completed] = [seen.get("SENT"), seen.get("COMPLETED")];
  assert.match(sent?.txHash ?? "", /^0x[0-9a-f]{64}$/);
  assert.equal(completed?.txHash, sent?.txHash);
  assert.ok(completed !== undefined && sent !== undefined && completed.updatedAt > sent.updatedAt);
});

/** The withdrawal at each status that was seen until it was completed. */
async function watch(trader: Trader, transferId: string): Promise<Map<string, Transfer>> {
  const seen = new Map<string, Transfer>();
  await until("the withdrawal to be completed", async () => {
    const { data } = await trader.get<Page<Transfer>>("/account/withdrawals?limit=1");
    const [transfer] = data as [Transfer];
    assert.equal(transfer.transferId, transferId);
    seen.set(transfer.status, transfer);
    return transfer.status === "COMPLETED";
  });
  return seen;
}

test("only free balance can be withdrawn, and unrealized profit cannot", async () => {
  const [alice, market] = await Promise.all([openTrader(server, "10000"), openTrader(server, "1000000")]);
  const withdraw = (amount: string) => ({ asset: "USDC", amount, address: ADDRESS });
  const poor = await alice.refused("INSUFFICIENT_BALANCE", "POST", "/account/withdraw", withdraw("10000.000001"));
  assert.deepEqual([poor.field, poor.details], ["amount", { required: "10000.000001", available: "10000" }]);

  await alice.call(200, "POST", "/positions/BTC-PERP/leverage", { leverage: 100 });
  await market.sell("1", "65000");
  await alice.buy("1", "65000");
  const { withdrawable } = await alice.balance();
  assert.equal(withdrawable, "3467.5"); // 9967.5 − 6500: a tenth of the notional stays
  await operator.setIndex("BTC-PERP", "66000");
  const rich = await alice.balance();
  // 10967.5 − 660 is free, but a tenth stays: 10967.5 − max(660 + 5940, 1000).
  assert.deepEqual([rich.availableBalance, rich.additionalMargin, rich.withdrawable], ["10307.5", "5940", "4367.5"]);
  await alice.refused("INSUFFICIENT_BALANCE", "POST", "/account/withdraw", withdraw("4367.500001"));
  await alice.call(201, "POST", "/account/withdraw", withdraw("4367.5"));
  assert.equal((await alice.balance()).withdrawable, "0");
  await operator.soundAudit();
});

test("of two concurrent withdrawals of the same money one succeeds", async () => {
  const alice = await openTrader(server, "1000");
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, i) =>
      alice.request("POST", "/account/withdraw", {
        asset: "USDC",
        amount: "600",
        address: ADDRESS,
        reference: `race-${i}`,
      }),
    ),
  );
  assert.deepEqual(answers.map((answer) => answer.status).sort(), [201, ...Array(19).fill(422)]);
  assert.equal((await alice.balance()).equity, "400");
});

test("concurrent withdrawals and orders never spend the same money twice", async () => {
  for (let round = 0; round < 20; round++) {
    const alice = await openTrader(server, "1000");
    const order = { symbol: "BTC-PERP", side: "BUY", type: "LIMIT", price: "60000", quantity: "0.1" };
    // Each order binds 603, the withdrawal takes 700.
    const [withdrawal, ...orders] = await Promise.all([
      alice.request("POST", "/account/withdraw", { asset: "USDC", amount: "700", address: ADDRESS }),
      alice.request("POST", "/orders", order),
      alice.request("POST", "/orders", order),
    ]);
    const placed = orders.filter((answer) => answer.status === 201).length;
    assert.ok(placed + (withdrawal.status === 201 ? 1 : 0) <= 1, "the same money twice");
    const { equity, initialMargin, availableBalance } = await alice.balance();
    assert.equal(equity, withdrawal.status === 201 ? "300" : "1000");
    assert.equal(initialMargin, placed === 1 ? "603" : "0");
    assert.ok(Number(availableBalance) >= 0);
    await alice.cancelAll();
  }
});
