import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Health, Page, Transfer } from "../../../src/client/types.ts";
import { Api } from "../support/api.ts";
import { startServer, type TestServer } from "../support/server.ts";
import { Operator, openTrader, Trader } from "../support/trader.ts";
import { until } from "../support/wait.ts";

/** Longer than it takes until withdrawals are gated: about 3 s on an idle machine. */
const DELAY_MS = 20_000;
const TO = "0x00000000000000000000000000000000000000aa";
const REASON = "the insurance fund's positions are larger than its equity";

let server: TestServer;
let operator: Operator;

before(async () => {
  // A small fund, which the operator lets take over more than it has.
  server = await startServer({
    environment: { PERPD_INSURANCE_SEED: "500", PERPD_WITHDRAWAL_DELAY_MS: String(DELAY_MS) },
    instruments: { "BTC-PERP": { fundMaxNotional: "1000000", fundLossLimit: "0.5" } },
  });
  operator = new Operator(server);
});
after(() => server.dispose());

const health = () => new Api(server.url).get<Health>("/health");
const withdrawal = (reference: string, amount = "10") =>
  ["POST", "/account/withdraw", { asset: "USDC", amount, address: TO, reference }] as const;
const statusOf = async (trader: Trader, reference: string) => {
  const { data } = await trader.get<Page<Transfer>>("/account/withdrawals");
  return data.find((each) => each.reference === reference)?.status;
};
const solventMetric = async () =>
  /^perpd_solvent (\d)$/m.exec((await operator.request("GET", "/metrics")).text)?.[1] ?? "none";
const again = ({ token = "", accountId, address, privateKey }: Trader) =>
  new Trader(server.url, token, accountId, address, privateKey);

test("while the insurance fund holds more than it has, nobody is paid out, also after a restart", async () => {
  await operator.setIndex("BTC-PERP", "65000");
  const [whale, loser] = await Promise.all([openTrader(server), openTrader(server, "1000")]);
  let honest = await openTrader(server);
  await loser.call(200, "POST", "/positions/BTC-PERP/leverage", { leverage: 100 });
  await whale.sell("0.9", "65000");
  await loser.buy("0.9", "65000");
  const { solvency, solvent, status } = await health();
  assert.deepEqual([status, solvent], ["OK", true]);
  assert.deepEqual(solvency, { gateReason: null, fundEquity: "500", fundNotional: "0", deficit: "0" });
  assert.equal(await solventMetric(), "1");
  assert.equal((await honest.call<Transfer>(201, ...withdrawal("before"))).status, "PENDING");
  const requestedAt = Date.now();

  // Nobody bids for what is liquidated.
  await operator.setIndex("BTC-PERP", "64150");
  await until("withdrawals to be gated", async () => (await health()).status === "INSOLVENT" || undefined);
  await gated(honest);
  assert.equal((await honest.call<Transfer & { duplicate?: boolean }>(200, ...withdrawal("before"))).duplicate, true);
  // Everything else goes on.
  await honest.deposit("5");
  await whale.sell("0.01", "66000");

  await server.kill();
  await server.start();
  operator = new Operator(server);
  honest = again(honest);
  await gated(honest);
  await until("the delay to be over", async () => Date.now() > requestedAt + DELAY_MS + 1000 || undefined);
  assert.equal(await statusOf(honest, "before"), "PENDING");

  // Somebody buys what the fund sells.
  await again(whale).buy("1", "64150");
  await until("the fund to sell", async () => {
    // A new price keeps the index fresh.
    await operator.setIndex("BTC-PERP", "64150");
    return (await health()).solvent || undefined;
  });
  assert.equal((await honest.call<Transfer>(201, ...withdrawal("after"))).status, "PENDING");
  await until("the first to be sent", async () => (await statusOf(honest, "before")) === "SENT" || undefined);
  const audit = await operator.soundAudit();
  assert.equal(audit.solvent, true);
  assert.equal(await solventMetric(), "1");
  await server.logs(/withdrawals are gated/);
  await server.logs(/withdrawals are paid out again/);
});

async function gated(trader: Trader): Promise<void> {
  const { field, details = {}, retryable } = await trader.refused("WITHDRAWALS_GATED", ...withdrawal("gated"));
  const { reason, retryAfterMs, fundEquity, fundNotional, deficit } = details;
  assert.deepEqual([field, retryable, reason, deficit], [undefined, true, REASON, "0"]);
  assert.ok(Number(retryAfterMs) > 0 && Number(retryAfterMs) <= 1000, String(retryAfterMs));
  assert.ok(Number(fundNotional) > Number(fundEquity), `${fundNotional} of positions, ${fundEquity} of equity`);
  const { status, solvent, solvency } = await health();
  assert.deepEqual([status, solvent, solvency.gateReason], ["INSOLVENT", false, REASON]);
  const audit = await operator.audit();
  assert.deepEqual([audit.balanced, audit.solvent, audit.faults], [true, false, []]);
  assert.deepEqual(audit.solvency, {
    fundEquity: solvency.fundEquity,
    fundNotional: solvency.fundNotional,
    deficit: "0",
  });
  assert.equal(await solventMetric(), "0");
}

test("honest withdrawals go on while many accounts are liquidated", async () => {
  const crowded = await startServer({ flags: ["--workers", "2"] });
  try {
    const chief = new Operator(crowded);
    await chief.setIndex("BTC-PERP", "65000");
    const whale = await openTrader(crowded, "1000000");
    const honest = await openTrader(crowded);
    const losers = await Promise.all(Array.from({ length: 20 }, (_, i) => openTrader(crowded, String(140 + 20 * i))));
    await whale.sell("4", "65000");
    for (const loser of losers) {
      await loser.call(200, "POST", "/positions/BTC-PERP/leverage", { leverage: 100 });
      await loser.buy("0.2", "65000");
    }
    let price = 65_000;
    let paid = 0;
    while ((await Promise.all(losers.map((each) => each.position()))).some((position) => position !== null)) {
      price -= 250;
      await chief.setIndex("BTC-PERP", String(price));
      await honest.call(201, "POST", "/account/withdraw", { asset: "USDC", amount: "1", address: TO });
      paid++;
      assert.notEqual((await new Api(crowded.url).get<Health>("/health")).status, "INSOLVENT");
    }
    assert.ok(paid > 3, `${paid} withdrawals`);
    for (const loser of losers) assert.ok(Number((await loser.balance()).equity) >= -0.0001);
    assert.equal((await chief.soundAudit()).solvent, true);
  } finally {
    await crowded.dispose();
  }
});
