import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { BUY_LOTS, SELL_LOTS, SIZE } from "../../../src/core/base/columns.ts";
import { BUY, LEDGER } from "../../../src/core/base/enums.ts";
import { QUANTA_PER_USDC } from "../../../src/core/base/units.ts";
import { type BatchItem, Deposit, OrderBatch } from "../../../src/core/protocol/commands.ts";
import type { Instrument } from "../../../src/core/protocol/instrument.ts";
import type { Message, MessageOf } from "../../../src/core/protocol/message-schema.ts";
import type { Refused } from "../../../src/core/protocol/replies.ts";
import { Exchange, make } from "../support/exchange.ts";
import { instrument, PLAIN } from "../support/instruments.ts";
import { runUntilReached, takeSeed } from "../support/seed.ts";
import { eventfulStep, type Step } from "../support/steps.ts";
import { Traffic } from "../support/traffic.ts";

const STEPS = 10_000;
/** Each kind of step must occur at least so often. */
const ENOUGH = 20;
/** The mark is 100 ticks of 1 USDC. */
const LIMIT_LOTS = 20;
const LIMIT_USDC = 100 * LIMIT_LOTS;
const LIMIT_QUANTA = LIMIT_USDC * QUANTA_PER_USDC;

/**
 * The step as it tries the limit most: prices near each other, since a mark counts for what was asked at it; every other
 * order turns the position of its account around and as far as it may go; and in the place of what moves money, closing.
 */
function bold(step: Step, sizeLots: number): Step | null {
  const { symbol, account, waitMs } = step;
  switch (step.kind) {
    case "halt":
    case "cancelAfter":
      return null;
    case "index":
      return { ...step, waitMs: waitMs % 1000, indexTicks: 99 + (step.indexTicks % 3) };
    case "deposit":
    case "withdraw":
    case "margin":
    case "marginMode":
      return { kind: "close", symbol, account, waitMs, quantityLots: 0, priceTicks: 0 };
    case "place":
    case "shy":
    case "extended":
    case "trigger":
    case "trailing": {
      if (step.quantityLots % 2 === 0) return step;
      const againstLots = Math.max(0, step.side === BUY ? -sizeLots : sizeLots);
      return { ...step, quantityLots: LIMIT_LOTS + againstLots };
    }
    default:
      return step;
  }
}

/** The command as sent with an API key that has this limit. */
function withKey(command: Message, keyPositionQuanta: number): Message {
  if (command.type === OrderBatch.code) {
    const { items } = command as MessageOf<typeof OrderBatch>;
    return make(OrderBatch, { items: items.map((item) => withKey(item, keyPositionQuanta) as BatchItem) });
  }
  return "keyPositionQuanta" in command ? Object.assign({ ...command }, { keyPositionQuanta }) : command;
}

/** How often each kind of step occurred. */
interface Reached {
  refused: number;
  turnedAround: number;
  atLimit: number;
}

/** Four accounts trade with each other at random. */
function trade(of: Instrument, keyPositionQuanta: number, refusal: string, seed: number, reached: Reached): void {
  const exchange = new Exchange([of]);
  const traffic = new Traffic(exchange, [of.id]);
  for (const { actorId, command } of traffic.opening()) traffic.send(actorId, command);
  for (const accountId of traffic.accounts)
    traffic.send(LEDGER, make(Deposit, { accountId, amountQuanta: 1e6 * QUANTA_PER_USDC }));
  const { state } = exchange.symbol(of.id);
  const { positions } = state;
  const rows = traffic.accounts.map((accountId) => positions.ensure(accountId));
  let lowestTicks = state.markTicks;
  for (const wild of fc.sample(eventfulStep, { numRuns: STEPS, seed })) {
    const before = rows.map((row) => positions.numbers[row + SIZE]);
    const step = bold(wild, before[wild.account]);
    if (step === null) continue;
    const asked = traffic.command(step);
    const command = withKey(asked.command, keyPositionQuanta);
    exchange.time += step.waitMs;
    const said = traffic.send(asked.actorId, command);
    if (said.replies.some((reply) => (reply as MessageOf<typeof Refused>).code === refusal)) reached.refused++;
    lowestTicks = Math.min(lowestTicks, state.markTicks);
    const limitLots = Math.floor(LIMIT_QUANTA / (lowestTicks * of.quantaPerTickLot));
    for (const [i, row] of rows.entries()) {
      const size = positions.numbers[row + SIZE];
      const behind = (lots: number): string => `${lots} of ${limitLots} lots behind ${JSON.stringify(step)}`;
      assert.ok(Math.abs(size) <= limitLots, behind(size));
      // And the largest possible position: it may be closed before the resting orders of the other side fill.
      const long = Math.max(0, size) + positions.numbers[row + BUY_LOTS];
      const short = Math.max(0, -size) + positions.numbers[row + SELL_LOTS];
      assert.ok(Math.max(long, short) <= limitLots, behind(Math.max(long, short)));
      if (size * before[i] < 0) reached.turnedAround++;
      if (size !== before[i] && Math.abs(size) >= 0.9 * limitLots) reached.atLimit++;
    }
  }
  assert.deepEqual(exchange.audit(of.id).faults, []);
}

function tradeUntilReached(of: Instrument, keyPositionQuanta: number, refusal: string): void {
  const reached: Reached = { refused: 0, turnedAround: 0, atLimit: 0 };
  runUntilReached(
    takeSeed(refusal),
    (seed) => trade(of, keyPositionQuanta, refusal, seed, reached),
    () => Object.entries(reached).flatMap(([what, times]) => (times < ENOUGH ? [what] : [])),
  );
}

test("no sequence of orders, amendments, triggers, closes and batches takes a position beyond the last risk tier", () => {
  const riskTiers = [{ maxNotional: String(LIMIT_USDC), maxLeverage: 31, maintenanceMarginRate: "0.01" }];
  tradeUntilReached(instrument(PLAIN, { riskTiers }), 0, "POSITION_LIMIT");
});

test("nor beyond the position limit of the API key that sent all of it", () => {
  tradeUntilReached(instrument(PLAIN), LIMIT_QUANTA, "KEY_POSITION_LIMIT");
});
