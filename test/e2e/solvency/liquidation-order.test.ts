import assert from "node:assert/strict";
import { test } from "node:test";
import { type ServerOptions, startServer } from "../support/server.ts";
import { Operator, openTrader } from "../support/trader.ts";
import { until } from "../support/wait.ts";

/**
 * Attack A6, which is none: with cross margin, the id of a symbol and the number of workers decided which position was
 * closed. A healthy long of BTC went to the insurance fund, though a losing short of ETH could be closed in the book.
 */
const WORKERS = [1, 2, 3];
const IDS = [
  ["1", "2"],
  ["2", "1"],
].map(([btc, eth]) => ({ "BTC-PERP": Number(btc), "ETH-PERP": Number(eth) }));

/** With the default fee, all that the price leaves above bankruptcy goes to the fund. With a lower one, the account keeps some. */
const FEES = { default: "0.005", low: "0.0005" };

interface Outcome {
  /** Of the fills of the liquidation, oldest first. */
  readonly fills: string[][];
  readonly btc: string | null;
  readonly eth: string | null;
  readonly equity: string;
}

async function liquidate(workers: number, ids: Record<string, number>, liquidationFeeRate: string): Promise<Outcome> {
  const instruments: ServerOptions["instruments"] = {};
  for (const [symbol, id] of Object.entries(ids)) instruments[symbol] = { id, liquidationFeeRate };
  const server = await startServer({ flags: ["--workers", String(workers)], instruments });
  try {
    const operator = new Operator(server);
    const [alice, bob] = await Promise.all([openTrader(server, "1000"), openTrader(server, "1000000")]);
    await operator.setIndex("BTC-PERP", "64000");
    await operator.setIndex("ETH-PERP", "3200");
    for (const symbol of ["BTC-PERP", "ETH-PERP"])
      await alice.call(200, "POST", `/positions/${symbol}/leverage`, { leverage: 100 });
    await bob.sell("0.5", "64000");
    await alice.buy("0.5", "64000");
    await bob.buy("10", "3200", { symbol: "ETH-PERP" });
    await alice.sell("10", "3200", { symbol: "ETH-PERP" });
    // What the book offers for the short. Nobody bids for the long.
    await bob.sell("20", "3328", { symbol: "ETH-PERP" });
    await operator.setIndex("BTC-PERP", "65000");
    // Another worker sees a gain when the symbol has settled its mark, which is after the reply to the price.
    await until("the gain of BTC to count", async () => Number((await alice.balance()).equity) > 1400);
    // Equity is 1000 − 32 of fees + 500 − 1268, maintenance margin 130 + 166.
    await operator.setIndex("ETH-PERP", "3326.8");
    await until("alice to be liquidated, and to have her margin again", async () => {
      const { data } = await alice.fills();
      const { equity, maintenanceMargin } = await alice.balance();
      return data[0]?.execType === "LIQUIDATION" && Number(equity) >= Number(maintenanceMargin);
    });
    await operator.soundAudit();
    const { data } = await alice.fills();
    return {
      fills: data
        .filter(({ execType }) => execType === "LIQUIDATION")
        .map(({ symbol, side, price, quantity, fee, orderId }) => [
          ...[symbol, side, price, quantity, fee],
          orderId === null ? "fund" : "book",
        ])
        .reverse(),
      btc: (await alice.position("BTC-PERP"))?.size ?? null,
      eth: (await alice.position("ETH-PERP"))?.size ?? null,
      equity: (await alice.balance()).equity,
    };
  } finally {
    await server.dispose();
  }
}

for (const [name, fee] of Object.entries(FEES))
  test(`a losing short is closed in the book before a healthy long, for any ids and workers: ${name} liquidation fee`, async () => {
    const first = await liquidate(1, { "BTC-PERP": 1, "ETH-PERP": 2 }, fee);
    assert.deepEqual(first.fills[0]?.slice(0, 2), ["ETH-PERP", "BUY"]);
    assert.equal(first.fills[0]?.at(-1), "book");
    if (name === "low") {
      assert.equal(first.fills.length, 1);
      assert.equal(first.btc, "0.5");
      assert.notEqual(first.eth, null);
    } else {
      assert.deepEqual(
        first.fills.map((fill) => [fill[0], fill.at(-1)]),
        [
          ["ETH-PERP", "book"],
          ["BTC-PERP", "fund"],
        ],
      );
      assert.deepEqual([first.btc, first.eth], [null, null]);
    }
    for (const workers of WORKERS)
      for (const ids of IDS) {
        if (workers === 1 && ids["BTC-PERP"] === 1) continue;
        assert.deepEqual(await liquidate(workers, ids, fee), first, `${workers} workers, ids ${JSON.stringify(ids)}`);
      }
  });
