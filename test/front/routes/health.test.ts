import assert from "node:assert/strict";
import { test } from "node:test";
import { HALT_REASON, LEDGER, MODE_CANCEL_ONLY, MODE_HALTED } from "../../../src/core/base/enums.ts";
import { SelfCheckFailed, TradingHalted } from "../../../src/core/protocol/events.ts";
import { MarketData } from "../../../src/front/exchange/market.ts";
import { problemsOf } from "../../../src/front/routes/health.ts";
import { Symbols } from "../../../src/front/routing/context.ts";
import { make, ScriptedEngine } from "../support/scripted-engine.ts";

const BTC = 1;
const ETH = 2;

test("every problem is named with what it concerns, the most serious first, and a halt is none", async () => {
  const engine = new ScriptedEngine();
  const noPast = () => ({ minuteCandles: [], trades: [], liquidations: [], fundingRates: [] });
  const opening = MarketData.open(engine, noPast, () => engine.time);
  engine.describe();
  const market = await opening;
  const figures = { fundEquityQuanta: 0, fundNotionalQuanta: 0, deficitQuanta: 0 };
  const solvency = { gateReason: null as string | null, figures };
  const problems = () =>
    problemsOf({ engine, market, solvency, symbols: new Symbols(engine.instruments) }).map(
      ({ code, concerns }) => `${code} ${concerns}`,
    );
  engine.transaction(ETH, make(TradingHalted, { mode: MODE_CANCEL_ONLY, reason: HALT_REASON.OPERATOR }));
  assert.deepEqual(problems(), []);

  engine.isHistoryStalled = true;
  engine.hasDiskRoom = false;
  solvency.gateReason = "the insurance fund is below zero";
  engine.transaction(
    BTC,
    make(SelfCheckFailed, { fault: "Σ cash is 1 quanta, not 0" }),
    make(TradingHalted, { mode: MODE_HALTED, reason: HALT_REASON.SELF_CHECK }),
  );
  engine.unresponsive.add(LEDGER).add(ETH);
  const mild = [
    ...["UNRESPONSIVE ledger", "UNRESPONSIVE ETH-PERP", "UNSOUND BTC-PERP"],
    ...["INSOLVENT ledger", "STORAGE_FULL exchange", "HISTORY_STALLED exchange"],
  ];
  assert.deepEqual(problems(), mild);
  engine.down = true;
  engine.isStalled = true;
  const down = ["ledger", "BTC-PERP", "ETH-PERP"].map((name) => `REBUILDING ${name}`);
  assert.deepEqual(problems(), ["STALLED exchange", ...down, ...mild]);
});
