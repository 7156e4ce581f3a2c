import assert from "node:assert/strict";
import { test } from "node:test";
import { HALT_REASON, LEDGER, MODE_HALTED } from "../../../src/core/base/enums.ts";
import { HaltSymbol } from "../../../src/core/protocol/commands.ts";
import { LedgerUnsound, TradingHalted } from "../../../src/core/protocol/events.ts";
import { haltOnUnsoundLedger } from "../../../src/front/exchange/ledger-failsafe.ts";
import { MarketData } from "../../../src/front/exchange/market.ts";
import { until } from "../../e2e/support/wait.ts";
import { make, ScriptedEngine } from "../support/scripted-engine.ts";

const BTC = 1;
const ETH = 2;

test("an unsound ledger halts every symbol, also one whose queue is full at first", async () => {
  const engine = new ScriptedEngine();
  const noPast = () => ({ minuteCandles: [], trades: [], liquidations: [], fundingRates: [] });
  const opening = MarketData.open(engine, noPast, () => engine.time);
  engine.describe();
  const market = await opening;
  haltOnUnsoundLedger(engine);
  engine.full = true;
  engine.transaction(LEDGER, make(LedgerUnsound, { fault: "Σ balances is 2 quanta but deposits − withdrawals are 1" }));
  assert.deepEqual(engine.asked, []);
  engine.full = false;
  await until("both to be asked", () => engine.asked.length === 2);
  const halt = { type: HaltSymbol.code, mode: MODE_HALTED, reason: HALT_REASON.SELF_CHECK, operator: "" };
  for (const { command } of engine.asked) assert.deepEqual(command, halt);
  assert.deepEqual(engine.asked.map(({ actorId }) => actorId).sort(), [BTC, ETH]);
  engine.transaction(ETH, make(TradingHalted, { mode: MODE_HALTED, reason: HALT_REASON.SELF_CHECK }));
  assert.deepEqual(market.symbol(ETH).faults, ["ETH-PERP: stopped for the ledger"]);
});
