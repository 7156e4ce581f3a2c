import assert from "node:assert/strict";
import { test } from "node:test";
import { MARGIN_MODE, NONE } from "../../../src/core/base/columns.ts";
import {
  EXEC_ADL,
  EXEC_LIQUIDATION,
  INSURANCE_ACCOUNT,
  ISOLATED,
  isCustomer,
  SELL,
} from "../../../src/core/base/enums.ts";
import { isolatedEquity } from "../../../src/core/margin/isolated.ts";
import type { Actor, Transaction } from "../../../src/core/protocol/actor.ts";
import { SetIndexPrice } from "../../../src/core/protocol/commands.ts";
import { FundingPaid, PositionTransferred } from "../../../src/core/protocol/events.ts";
import type { Message, MessageOf } from "../../../src/core/protocol/message-schema.ts";
import { SymbolActor } from "../../../src/core/symbol.ts";
import { Random } from "../../../src/sandbox/random.ts";
import { IsolatedWatch } from "../support/isolated-watch.ts";
import { compareWithReplay } from "../support/margin-run.ts";
import { Markets, randomStep, setRandomTerms } from "../support/random-markets.ts";
import { runUntilReached, takeSeed } from "../support/seed.ts";

const ACCOUNTS = 14;
const STEPS = 1500;
const LARGEST_JUMP = 0.4;
const CHECKED_EVERY_STEPS = 10;

/** Checks each transaction, and each settlement, for what must hold whatever is traded at whatever price. */
class WatchedMarkets extends Markets {
  readonly seen = { jumps: 0, settled: 0, isolated: 0, takeovers: 0, atTheMark: 0 };
  /** Quanta that each account has paid as funding since it was last seen at zero or above. */
  private readonly fundingPaid = new Map<number, number>();
  private readonly actors: Actor[] = [this.ledger, ...this.symbols];
  private readonly random: Random | null;

  /** `random`: the symbols do their work a part at a time, in any order, as on several threads. Otherwise all at once. */
  constructor(random: Random | null) {
    // So little that prices carry its positions beyond it: then it closes the excess at the mark.
    super("30000");
    this.random = random;
  }

  override run(actor: Actor, command: Message): Message[] {
    if (this.random !== null) return this.runWithOthers(actor, command, this.random);
    const said = super.run(actor, command);
    if (actor instanceof SymbolActor && command.type === SetIndexPrice.code) this.checkAccounts(actor);
    return said;
  }

  private runWithOthers(actor: Actor, command: Message, random: Random): Message[] {
    const events: Message[] = [];
    while (actor.isSettlingMark) events.push(...this.work(actor).events);
    const said = this.transaction(actor, (transaction) => actor.decide(command, transaction));
    events.push(...said.events);
    while (random.chance(0.6)) events.push(...this.work(random.pick(this.actors)).events);
    return [...events, ...said.replies];
  }

  /** Nothing is left to do: then all rows are at the mark. Returns the events. */
  finish(): Message[] {
    const events: Message[] = [];
    for (const actor of this.actors)
      for (let more = true; more; ) {
        const next = this.work(actor);
        events.push(...next.events);
        more = next.more;
      }
    for (const symbol of this.symbols) this.checkAccounts(symbol);
    return events;
  }

  private work(actor: Actor): { events: Message[]; more: boolean } {
    let more = true;
    const { events } = this.transaction(actor, (transaction) => {
      if (actor.isSettlingMark) actor.settleMark(transaction);
      else more = actor.runBackground(transaction);
    });
    return { events, more: more || actor.isSettlingMark };
  }

  protected override transaction(
    actor: Actor,
    run: (transaction: Transaction) => void,
  ): { events: Message[]; replies: Message[] } {
    const isSettlement = actor.isSettlingMark;
    const said = super.transaction(actor, run);
    // The price itself may take more than the fund has: the settlement behind it pays that back.
    const fund = this.marginTable.equity(INSURANCE_ACCOUNT);
    assert.ok(fund >= 0 || this.symbols.some((symbol) => symbol.isSettlingMark), `the fund is at ${fund}`);
    for (const event of said.events)
      if (event.type === FundingPaid.code) this.noteFunding(event as MessageOf<typeof FundingPaid>);
    if (actor instanceof SymbolActor)
      for (const event of said.events)
        if (event.type === PositionTransferred.code)
          this.checkTransfer(actor, event as MessageOf<typeof PositionTransferred>, isSettlement);
    return said;
  }

  private noteFunding({ accountId, amountQuanta }: MessageOf<typeof FundingPaid>): void {
    if (amountQuanta < 0) this.fundingPaid.set(accountId, (this.fundingPaid.get(accountId) ?? 0) - amountQuanta);
  }

  /** A counterparty loses at most what the step of the mark has given it, and outside of a settlement nothing. */
  private checkTransfer(
    { state }: SymbolActor,
    event: MessageOf<typeof PositionTransferred>,
    isSettlement: boolean,
  ): void {
    const { markTicks, markBeforeTicks, instrument } = state;
    if (event.execType === EXEC_LIQUIDATION) {
      this.seen.takeovers++;
      return;
    }
    assert.equal(event.execType, EXEC_ADL);
    const perTick = event.quantityLots * instrument.quantaPerTickLot;
    // The account sells, so the counterparty's short is bought back; or the other way round.
    const sign = event.side === SELL ? 1 : -1;
    const lossQuanta = sign * (event.quanta - perTick * markTicks);
    const gainQuanta = Math.max(0, sign * (markBeforeTicks - markTicks) * perTick);
    const where = JSON.stringify({ ...event, markTicks, markBeforeTicks, isSettlement });
    assert.ok(lossQuanta <= (isSettlement ? gainQuanta : 0), `loses ${lossQuanta}, gained ${gainQuanta}: ${where}`);
    if (lossQuanta > 0) this.seen.settled++;
    else this.seen.atTheMark++;
    const row = state.positions.find(event.accountId);
    if (isSettlement && state.positions.numbers[row + MARGIN_MODE] === ISOLATED) this.seen.isolated++;
  }

  /**
   * When a price is settled and all rows are at the mark, nobody is below zero. An account with less than the funding that it
   * pays is below zero by that: no step of the mark is the cause.
   */
  private checkAccounts({ state }: SymbolActor): void {
    state.positions.each((row) => {
      const account = state.positions.numbers[row];
      if (!isCustomer(account)) return;
      const fundingQuanta = this.fundingPaid.get(account) ?? 0;
      const equity = this.marginTable.equity(account);
      assert.ok(equity >= -fundingQuanta, `account ${account} is at ${equity}`);
      const isolated = state.isIsolated(row) ? isolatedEquity(state, row) : 0;
      assert.ok(isolated >= -fundingQuanta, `account ${account} is at ${isolated}, isolated`);
    });
    for (const account of this.fundingPaid.keys()) if (this.isSolvent(account)) this.fundingPaid.delete(account);
  }

  private isSolvent(account: number): boolean {
    const isBelowZero = ({ state }: SymbolActor): boolean => {
      const row = state.positions.find(account);
      return row !== NONE && state.isIsolated(row) && isolatedEquity(state, row) < 0;
    };
    return this.marginTable.equity(account) >= 0 && !this.symbols.some(isBelowZero);
  }
}

function runJumps(seed: number, isInParts: boolean, seen: Record<string, number>): void {
  const random = new Random(seed, "settlement");
  const markets = new WatchedMarkets(isInParts ? random : null);
  const fund = random.pick([0, 2000, 20_000]);
  if (fund > 0) markets.fund(fund);
  const accounts = Array.from({ length: ACCOUNTS }, () => markets.open(500 + Math.floor(random.uniform() * 50_000)));
  const index = [650_000, 320_000];
  markets.symbols.forEach((symbol, i) => void markets.price(symbol, index[i]));
  setRandomTerms(markets, random, accounts);
  const watch = new IsolatedWatch(markets);
  for (let step = 0; step < STEPS; step++) {
    const events = randomStep(markets, random, accounts, index);
    if (!isInParts) watch.check(events, markets.acting);
    if (random.chance(0.03)) {
      const which = random.chance(0.5) ? 0 : 1;
      const jump = (random.uniform() * 2 - 1) * LARGEST_JUMP;
      index[which] = Math.max(10_000, Math.min(5_000_000, Math.round(index[which] * (1 + jump))));
      markets.time += 1000;
      const settled = markets.price(markets.symbols[which], index[which]);
      if (!isInParts) watch.check(settled, 0);
      markets.seen.jumps++;
    }
    if (isInParts && step % CHECKED_EVERY_STEPS !== 0) continue;
    const rest = markets.finish();
    if (!isInParts) watch.check(rest, 0);
    const { depositedQuanta, withdrawnQuanta } = markets.ledger.state;
    watch.checkSum(String(depositedQuanta - withdrawnQuanta));
  }
  markets.finish();
  compareWithReplay(markets, accounts);
  for (const [name, count] of Object.entries(markets.seen)) seen[name] = (seen[name] ?? 0) + count;
}

const first = takeSeed("solvency-property.test");

for (const isInParts of [false, true])
  test(`whatever is traded, and however prices jump: nobody is below zero, no money is made, and a counterparty loses at most the step's gain, ${isInParts ? "symbols in turns" : "one after the other"}`, () => {
    const seen: Record<string, number> = {};
    let seed = first;
    for (let i = 0; i < 3; i++) runJumps(seed++, isInParts, seen);
    runUntilReached(
      seed,
      (next) => runJumps(next, isInParts, seen),
      () => Object.keys(seen).filter((name) => seen[name] === 0),
    );
  });
