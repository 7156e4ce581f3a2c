import assert from "node:assert/strict";
import { MarginTable } from "../../../src/core/accounts/margin-table.ts";
import { EXEC_ADL, EXEC_LIQUIDATION } from "../../../src/core/base/enums.ts";
import { LedgerActor } from "../../../src/core/ledger/ledger.ts";
import type { Actor } from "../../../src/core/protocol/actor.ts";
import { DeficitCovered, FundingPaid, PositionTransferred, Traded } from "../../../src/core/protocol/events.ts";
import { SymbolActor } from "../../../src/core/symbol.ts";
import { Random } from "../../../src/sandbox/random.ts";
import { IsolatedWatch } from "./isolated-watch.ts";
import { Markets, randomStep } from "./random-markets.ts";

const ACCOUNTS = 12;
const AUDIT_EVERY_STEPS = 100;
const NOBODY = 0;

export interface MarginRun {
  liquidations: number;
  adl: number;
  funding: number;
  covered: number;
  /** Isolated positions that a price or a tick has ended. */
  isolatedEnds: number;
}

/**
 * Days of orders, price crashes, funding and liquidations in two symbols, audited all the way. At the end prices stand
 * still: positions below their margin must be closed, and no account may stay below zero. The log alone restores it all.
 */
export function runMargin(seed: number, steps: number): MarginRun {
  const random = new Random(seed, "liquidation");
  const markets = new Markets();
  if (seed % 2 === 0) markets.fund(200_000);
  const accounts = Array.from({ length: ACCOUNTS }, () => markets.open(500 + Math.floor(random.uniform() * 20_000)));
  const index = [650_000, 320_000];
  const seen: MarginRun = { liquidations: 0, adl: 0, funding: 0, covered: 0, isolatedEnds: 0 };
  const watch = new IsolatedWatch(markets);
  markets.symbols.forEach((symbol, i) => void markets.price(symbol, index[i]));
  for (let step = 0; step < steps; step++) {
    const events = randomStep(markets, random, accounts, index);
    for (const event of events as unknown as { type: number; execType?: number }[]) {
      if (event.type === Traded.code && event.execType === EXEC_LIQUIDATION) seen.liquidations++;
      if (event.type === PositionTransferred.code && event.execType === EXEC_ADL) seen.adl++;
      if (event.type === PositionTransferred.code && event.execType === EXEC_LIQUIDATION) seen.liquidations++;
      if (event.type === FundingPaid.code) seen.funding++;
      if (event.type === DeficitCovered.code) seen.covered++;
    }
    watch.check(events, markets.acting);
    if (step % AUDIT_EVERY_STEPS !== 0) continue;
    const known = markets.log.length;
    const [ledger] = markets.audit();
    // An audit is a command: background work behind it may liquidate an account against orders of others.
    watch.check(
      markets.log.slice(known).flatMap((record) => record.events),
      NOBODY,
    );
    watch.checkSum(String(ledger?.depositsMinusWithdrawalsQuanta));
  }
  for (let i = 0; i < 40; i++) {
    markets.symbols.forEach((symbol, which) => void markets.price(symbol, index[which]));
    for (let look = 0; look < 4; look++) markets.tick();
  }
  for (const accountId of accounts) {
    assert.ok(markets.marginTable.equity(accountId) >= 0, `account ${accountId} is below zero`);
    assert.ok(
      markets.marginTable.equity(accountId) >= markets.marginTable.maintenance(accountId),
      `account ${accountId} is below its margin`,
    );
  }
  watch.checkMargins();
  seen.isolatedEnds = watch.ended;
  compareWithReplay(markets, accounts);
  return seen;
}

/** The log alone restores the same state. */
export function compareWithReplay(markets: Markets, accounts: readonly number[]): void {
  const reports = markets.audit();
  const marginTable = MarginTable.allocate(markets.marginTable.maxAccounts);
  const symbols = markets.symbols.map((symbol) => new SymbolActor(symbol.state.instrument, marginTable));
  const ledger = new LedgerActor({ faucetCapQuanta: 1e15, withdrawalDelayMs: 0 }, marginTable);
  const all: Actor[] = [ledger, ...symbols];
  for (const { actorId, time, sequence, events } of markets.log) {
    const actor = all.find((each) => each.actorId === actorId) as Actor;
    for (const event of events) actor.apply(event, time);
    actor.settle(sequence, time);
  }
  for (const actor of all) actor.restored();
  const replayed = new Markets();
  Object.assign(replayed, { marginTable, symbols, ledger, time: markets.time });
  assert.deepEqual(
    replayed.audit().map((report) => report.digest),
    reports.map((report) => report.digest),
  );
  for (const accountId of accounts) assert.equal(marginTable.equity(accountId), markets.marginTable.equity(accountId));
}
