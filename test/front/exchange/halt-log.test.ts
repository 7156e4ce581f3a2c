import assert from "node:assert/strict";
import { test } from "node:test";
import {
  GATE,
  HALT_REASON,
  LEDGER,
  MODE_CANCEL_ONLY,
  MODE_HALTED,
  MODE_TRADING,
} from "../../../src/core/base/enums.ts";
import {
  IndexJumpHeld,
  IndexWentStale,
  LedgerUnsound,
  PriceUpdated,
  SelfCheckFailed,
  SolvencyChanged,
  TradingHalted,
} from "../../../src/core/protocol/events.ts";
import { logHalts } from "../../../src/front/exchange/halt-log.ts";
import { MarketData } from "../../../src/front/exchange/market.ts";
import { make, ScriptedEngine } from "../support/scripted-engine.ts";

const BTC = 1;
const ETH = 2;

/** An engine whose halts are logged, the lines of the log, and the market that shows the same. */
async function openLogged() {
  const engine = new ScriptedEngine();
  const opening = MarketData.open(
    engine,
    () => ({ minuteCandles: [], trades: [], liquidations: [], fundingRates: [] }),
    () => engine.time,
  );
  engine.describe();
  const market = await opening;
  const lines: [level: string, fields: object, message: string][] = [];
  const line =
    (level: string) =>
    (fields: object, message: string): void =>
      void lines.push([level, fields, message]);
  logHalts(engine, { info: line("info"), warn: line("warn"), error: line("error") });
  return { engine, market, lines };
}

test("each change of the trading status is logged once, and shown", async () => {
  const { engine, market, lines } = await openLogged();
  const price = make(PriceUpdated, { indexTicks: 100, markTicks: 100 });
  const shown = () => market.symbol(BTC).status;
  engine.transaction(BTC, price);
  assert.deepEqual(shown(), { status: "TRADING", statusReason: null });
  for (const count of [1, 2]) engine.transaction(BTC, make(IndexJumpHeld, { indexTicks: 120, count }));
  assert.deepEqual(shown(), { status: "REDUCE_ONLY", statusReason: "PRICE_PENDING" });
  engine.transaction(BTC, price);
  assert.deepEqual(shown(), { status: "TRADING", statusReason: null });
  engine.transaction(BTC, make(IndexWentStale));
  assert.deepEqual(shown(), { status: "REDUCE_ONLY", statusReason: "STALE_INDEX" });
  engine.transaction(
    BTC,
    make(TradingHalted, { mode: MODE_CANCEL_ONLY, reason: HALT_REASON.PRICE_JUMP, until: engine.time + 60_000 }),
  );
  assert.deepEqual(shown(), { status: "CANCEL_ONLY", statusReason: "PRICE_JUMP" });
  engine.transaction(BTC, price);
  engine.transaction(BTC, price);
  engine.transaction(BTC, make(TradingHalted, { mode: MODE_TRADING, reason: HALT_REASON.PRICE_JUMP }));
  assert.deepEqual(shown(), { status: "TRADING", statusReason: null });
  assert.deepEqual(market.symbol(ETH).status, { status: "HALTED", statusReason: "NO_PRICE" });
  assert.deepEqual(
    lines.map(([level, fields, message]) => [level, (fields as { symbol: string }).symbol, message]),
    [
      ["warn", "BTC-PERP", "the index price has jumped: no new risk until more prices confirm it"],
      ["warn", "BTC-PERP", "the index price is stale: no new risk and no liquidations until there is another"],
      ["warn", "BTC-PERP", "trading is halted"],
      ["info", "BTC-PERP", "the index price is fresh again"],
      ["info", "BTC-PERP", "the halt is over"],
    ],
  );
});

test("a symbol whose self-check failed shows the fault until it is resumed", async () => {
  const { engine, market, lines } = await openLogged();
  assert.deepEqual(market.symbol(BTC).faults, []);
  engine.transaction(
    BTC,
    make(SelfCheckFailed, { fault: "Σ cash is 1 quanta, not 0" }),
    make(TradingHalted, { mode: MODE_HALTED, reason: HALT_REASON.SELF_CHECK }),
  );
  assert.deepEqual(market.symbol(BTC).faults, ["BTC-PERP: Σ cash is 1 quanta, not 0"]);
  assert.deepEqual(lines[0], [
    "error",
    { symbol: "BTC-PERP", fault: "Σ cash is 1 quanta, not 0" },
    "the self-check has failed",
  ]);
  assert.deepEqual(engine.asked, [], "the symbol has halted itself");
  engine.transaction(BTC, make(TradingHalted, { mode: MODE_TRADING, reason: HALT_REASON.OPERATOR }));
  assert.deepEqual(market.symbol(BTC).faults, []);
});

test("a failed self-check of the ledger is logged as an error", async () => {
  const { engine, lines } = await openLogged();
  engine.transaction(LEDGER, make(LedgerUnsound, { fault: "Σ balances is 2 quanta" }));
  assert.deepEqual(lines, [["error", { fault: "Σ balances is 2 quanta" }, "the ledger's self-check has failed"]]);
});

test("the gate of withdrawals is logged when it closes and opens, also when it was closed at the start", () => {
  const engine = new ScriptedEngine();
  const lines: unknown[][] = [];
  const note =
    (level: string) =>
    (fields: object, message: string): void =>
      void lines.push([level, (fields as { reason: unknown }).reason, message]);
  logHalts(engine, { info: note("info"), warn: note("warn"), error: note("error") }, GATE.DEFICITS);
  const say = (gate: number, deficitQuanta: number): void =>
    void engine.transaction(LEDGER, make(SolvencyChanged, { gate, deficitQuanta }));
  say(GATE.DEFICITS, 5);
  say(GATE.OPEN, 0);
  say(GATE.OPEN, 1);
  say(GATE.FUND_BELOW_ZERO, 1);
  assert.deepEqual(lines, [
    ["info", null, "withdrawals are paid out again"],
    ["error", "the insurance fund is below zero", "withdrawals are gated"],
  ]);
});
