import assert from "node:assert/strict";
import { test } from "node:test";
import { type Config, loadConfig } from "../src/config.ts";
import type { Exchange } from "../src/exchange.ts";
import { progressLine, welcome } from "../src/welcome.ts";

test("the progress line shows how far, how fast and how much longer", () => {
  const line = progressLine({ records: 50_000, total: 200_000, elapsedMs: 400 });
  assert.equal(line, "replaying the log: 50000 of 200000 transactions (25 %), 125000 transactions/s, 2 s left");
  assert.equal(
    progressLine({ records: 0, total: 10, elapsedMs: 0 }),
    "replaying the log: 0 of 10 transactions (0 %)",
    "no rate yet",
  );
  assert.match(
    progressLine({ records: 12, total: 10, elapsedMs: 1000 }),
    /10 of 10 transactions \(100 %\), 10 transactions\/s, 0 s left/,
  );
});

const TOKEN = "hush".repeat(8);

test("the operator is told how to set prices, and nobody is shown the token", () => {
  const demo = { accountId: 1, address: "", token: "t" };
  const exchange = { url: "", operatorUrl: "http://a/v1", socketUrl: "", markTicksOf: () => 0 } as unknown as Exchange;
  const shown = (...flags: string[]) => {
    const invocation = loadConfig(["start", "--operator-token", TOKEN, ...flags], {});
    assert.ok(invocation.kind === "start");
    return welcome(invocation.config, exchange, demo);
  };
  assert.match(shown("--price-source", "operator"), /-X PUT http:\/\/a\/v1\/operator\/index\/BTC-PERP /);
  assert.match(shown("--price-source", "operator"), /'\{"price":"65000"\}'/);
  assert.ok(!shown("--price-source", "operator").includes(TOKEN));
  const nobody = loadConfig(["start", "--price-source", "operator"], {});
  assert.ok(nobody.kind === "start");
  assert.doesNotMatch(welcome(nobody.config, exchange, demo), /operator/);
  assert.doesNotMatch(shown(), /operator\/index/);
  assert.match(shown(), /^operate in the browser: http:\/\/a\/operator$/m);
});

test("the lines to paste are valid orders for the first instrument", () => {
  const invocation = loadConfig(["start"], {});
  assert.ok(invocation.kind === "start");
  const [btc] = invocation.config.instruments as [Config["instruments"][number]];
  const coarse = { ...btc, tickSize: "5", stepSize: "0.5", minQuantity: "1.5", minNotional: "100" };
  const rows: [instrument: typeof btc, markTicks: number, price: string, quantity: string][] = [
    [btc, 650_000, "30000", "0.001"],
    [btc, 0, "5000", "0.001"],
    [coarse, 20, "50", "2"],
    [coarse, 1, "5", "20"],
    [coarse, 0, "70", "1.5"],
  ];
  const demo = { accountId: 1, address: "", token: "t" };
  for (const [instrument, markTicks, price, quantity] of rows) {
    const config = { ...invocation.config, instruments: [instrument] };
    const exchange = { url: "", socketUrl: "", markTicksOf: () => markTicks } as unknown as Exchange;
    const text = welcome(config, exchange, demo);
    const [market, passing] = [...text.matchAll(/-[db] '(\{.*?\})'/g)].map(([, body]) => JSON.parse(body ?? ""));
    assert.deepEqual([market.quantity, passing.quantity, passing.price], [quantity, quantity, price]);
  }
});
