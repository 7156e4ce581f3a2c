import assert from "node:assert/strict";
import { DEFAULT_INSTRUMENTS } from "../../../src/config/instruments.ts";
import { MarginTable } from "../../../src/core/accounts/margin-table.ts";
import { NONE, SIZE } from "../../../src/core/base/columns.ts";
import { CROSS, INSURANCE_ACCOUNT, ISOLATED, MARKET } from "../../../src/core/base/enums.ts";
import { LedgerActor } from "../../../src/core/ledger/ledger.ts";
import type { Actor, Transaction } from "../../../src/core/protocol/actor.ts";
import {
  Audit,
  CancelAll,
  Deposit,
  MoveMargin,
  OpenSession,
  PlaceOrder,
  PrepareWithdrawal,
  SetIndexPrice,
  SetLeverage,
  SetMarginMode,
  Tick,
  Withdraw,
} from "../../../src/core/protocol/commands.ts";
import { compileInstrument } from "../../../src/core/protocol/instrument.ts";
import { blank, type Message } from "../../../src/core/protocol/message-schema.ts";
import type { ActorAudit } from "../../../src/core/protocol/payloads.ts";
import { AuditReport } from "../../../src/core/protocol/replies.ts";
import { TRACED_MS } from "../../../src/core/state/recent-fills.ts";
import { SymbolActor } from "../../../src/core/symbol.ts";
import type { Random } from "../../../src/sandbox/random.ts";
import { make } from "./exchange.ts";

export const HOUR_MS = 3_600_000;

/** Two symbols and the ledger on one margin table, as their workers run them, one transaction after the other. */
export class Markets {
  readonly marginTable = MarginTable.allocate(2048);
  readonly symbols: SymbolActor[];
  readonly ledger = new LedgerActor({ faucetCapQuanta: 1e15, withdrawalDelayMs: 0 }, this.marginTable);
  readonly log: { actorId: number; time: number; sequence: number; events: Message[] }[] = [];
  time = 1_700_000_000_000;
  /** The account of the last random step; 0 = a price or a tick. */
  acting = 0;

  /**
   * The leverage alone decides how much margin opening needs: opening-rate.test.ts is about the rest. The fund takes over
   * as much as the first tier allows, or `fundMaxNotional`. `maxPrices` of the two: a small book is allocated sooner.
   */
  constructor(fundMaxNotional?: string, maxPrices?: readonly [string, string]) {
    this.symbols = DEFAULT_INSTRUMENTS.slice(0, 2).map((defaults, i) => {
      const config = { ...defaults, maxPrice: maxPrices?.[i] ?? defaults.maxPrice };
      const most = fundMaxNotional ?? config.riskTiers[0]?.maxNotional;
      const instrument = compileInstrument({ ...config, maxMovePerSecond: "0", fundMaxNotional: most });
      return new SymbolActor(instrument, this.marginTable);
    });
  }

  /** Runs a command and all transactions that follow from it, as a worker does. Returns their events, then the replies. */
  run(actor: Actor, command: Message): Message[] {
    const said = this.transaction(actor, (transaction) => actor.decide(command, transaction));
    const events = [...said.events];
    for (let more = true; more; ) {
      const next = this.transaction(actor, (transaction) => {
        if (!actor.isSettlingMark) more = actor.runBackground(transaction);
        else actor.settleMark(transaction);
      });
      events.push(...next.events);
      more ||= actor.isSettlingMark;
    }
    return [...events, ...said.replies];
  }

  protected transaction(
    actor: Actor,
    run: (transaction: Transaction) => void,
  ): { events: Message[]; replies: Message[] } {
    const events: Message[] = [];
    const replies: Message[] = [];
    run({
      time: this.time,
      emit: (event) => void events.push({ ...event }),
      reply: (reply) => void replies.push({ ...reply }),
    });
    if (events.length > 0) {
      this.log.push({ actorId: actor.actorId, time: this.time, sequence: this.log.length + 1, events });
      actor.settle(this.log.length, this.time);
    }
    this.marginTable.commit();
    return { events, replies };
  }

  open(usdc: number): number {
    const opened = this.run(this.ledger, {
      ...blank(OpenSession),
      address: `0x${this.log.length}`,
      tokenHash: `${this.log.length}`,
    } as Message);
    const { accountId } = opened.at(-1) as unknown as { accountId: number };
    this.run(this.ledger, { ...blank(Deposit), accountId, amountQuanta: usdc * 1e6 } as Message);
    return accountId;
  }

  fund(usdc: number): void {
    this.run(this.ledger, { ...blank(Deposit), accountId: INSURANCE_ACCOUNT, amountQuanta: usdc * 1e6 } as Message);
  }

  price(symbol: SymbolActor, indexTicks: number): Message[] {
    return this.run(symbol, make(SetIndexPrice, { indexTicks }));
  }

  tick(): Message[] {
    this.time += 250;
    return this.symbols.flatMap((symbol) => this.run(symbol, { type: Tick.code }));
  }

  order(
    symbol: SymbolActor,
    accountId: number,
    side: number,
    priceTicks: number,
    quantityLots: number,
    orderType = 0,
  ): Message[] {
    return this.run(symbol, { ...blank(PlaceOrder), accountId, side, priceTicks, quantityLots, orderType } as Message);
  }

  audit(): ActorAudit[] {
    return [this.ledger, ...this.symbols].map((actor) => {
      const reply = this.run(actor, { type: Audit.code }).at(-1) as unknown as { type: number; report: ActorAudit };
      assert.equal(reply.type, AuditReport.code);
      assert.deepEqual(reply.report.faults, []);
      return reply.report;
    });
  }

  size(symbol: SymbolActor, accountId: number): number {
    const { positions } = symbol.state;
    const row = positions.find(accountId);
    return row === NONE ? 0 : positions.numbers[row + SIZE];
  }
}

export const BUY = 0;
export const SELL = 1;

/** Alice is long at 65000 with this leverage against bob, who has enough money. */
export function longOf(
  markets: Markets,
  lots: number,
  leverage: number,
  deposit: number,
): { alice: number; bob: number } {
  const [btc] = markets.symbols;
  const alice = markets.open(deposit);
  const bob = markets.open(10_000_000);
  markets.price(btc, 650_000);
  markets.run(btc, { ...blank(SetLeverage), accountId: alice, leverage } as Message);
  markets.order(btc, bob, SELL, 650_000, lots);
  markets.order(btc, alice, BUY, 650_000, lots);
  assert.equal(markets.size(btc, alice), lots);
  return { alice, bob };
}

/**
 * Moves the index to a price and trades there between two accounts, so that the last price and the mark follow. Returns the
 * events of the prices, which also settle them.
 */
export function moveTo(markets: Markets, ticks: number, lastAccounts: [number, number]): Message[] {
  const [btc] = markets.symbols;
  const said: Message[] = [];
  for (let i = 0; i < 3; i++) {
    markets.time += 1000;
    said.push(...markets.price(btc, ticks));
    markets.order(btc, lastAccounts[0], SELL, ticks, 1);
    markets.order(btc, lastAccounts[1], BUY, ticks, 1);
  }
  said.push(...markets.price(btc, ticks));
  return said;
}

/** So long that a settlement does not trace the trades before it. */
export function forgetTrades(markets: Markets): void {
  markets.time += TRACED_MS + 1;
  for (const symbol of markets.symbols) if (symbol.state.indexTicks > 0) markets.price(symbol, symbol.state.indexTicks);
}

/** An account takes over the insurance fund's position, at the best prices that it can get from the fund. */
export function takeFromFund(markets: Markets, accountId: number): void {
  const [btc] = markets.symbols;
  for (let tenths = 60; tenths >= -20; tenths--)
    for (let size = 0; size !== markets.size(btc, INSURANCE_ACCOUNT); ) {
      size = markets.size(btc, INSURANCE_ACCOUNT);
      const away = Math.sign(size) * tenths * 1e-4;
      const price = Math.round(btc.state.markTicks * (1 - away));
      markets.order(btc, accountId, size > 0 ? BUY : SELL, price, Math.abs(size));
      markets.tick();
      markets.run(btc, { ...blank(CancelAll), accountId, side: -1 } as Message);
    }
  assert.equal(markets.size(btc, INSURANCE_ACCOUNT), 0);
}

/** Each account gets a leverage and a margin mode in each symbol. */
export function setRandomTerms(markets: Markets, random: Random, accounts: readonly number[]): void {
  for (const accountId of accounts)
    for (const symbol of markets.symbols) {
      markets.run(symbol, make(SetLeverage, { accountId, leverage: random.pick([5, 20, 50, 100]) }));
      if (random.chance(0.3)) markets.run(symbol, make(SetMarginMode, { accountId, marginMode: ISOLATED }));
    }
}

/** One random command, price or tick, as on a day of crashes. `index`: in ticks, by symbol. */
export function randomStep(markets: Markets, random: Random, accounts: readonly number[], index: number[]): Message[] {
  const which = random.uniform() < 0.5 ? 0 : 1;
  const symbol = markets.symbols[which];
  const accountId = accounts[Math.floor(random.uniform() * accounts.length)];
  const dice = random.uniform();
  markets.acting = dice >= 0.55 && dice < 0.9 ? 0 : accountId;
  if (dice < 0.55) {
    const mark = symbol.state.markTicks;
    const side = random.uniform() < 0.5 ? BUY : SELL;
    const price = Math.round(mark * (1 + (random.uniform() - 0.5) * 0.02));
    const lots = 1 + Math.floor(random.uniform() * 400);
    return markets.order(symbol, accountId, side, price, lots, random.uniform() < 0.2 ? MARKET : 0);
  }
  if (dice < 0.7) {
    const jump = random.uniform() < 0.05 ? (random.uniform() - 0.5) * 0.3 : (random.uniform() - 0.5) * 0.01;
    index[which] = Math.max(10_000, Math.min(5_000_000, Math.round(index[which] * (1 + jump))));
    markets.time += random.uniform() < 0.05 ? HOUR_MS / 2 : 1000;
    return markets.price(symbol, index[which]);
  }
  if (dice < 0.9) return markets.tick();
  if (dice < 0.94) {
    const leverage = 1 + Math.floor(random.uniform() * 100);
    return markets.run(symbol, { ...blank(SetLeverage), accountId, leverage } as Message);
  }
  if (dice < 0.96) {
    const marginMode = random.uniform() < 0.6 ? ISOLATED : CROSS;
    // The mode cannot change under open orders.
    const canceled = markets.run(symbol, { ...blank(CancelAll), accountId, side: -1 } as Message);
    return [...canceled, ...markets.run(symbol, { ...blank(SetMarginMode), accountId, marginMode } as Message)];
  }
  if (dice < 0.975) {
    const amountQuanta = Math.round((random.uniform() - 0.5) * 1e9);
    return markets.run(symbol, { ...blank(MoveMargin), accountId, amountQuanta } as Message);
  }
  const amountQuanta = Math.floor(random.uniform() * 2e9) + 1;
  if (random.uniform() < 0.5)
    return markets.run(markets.ledger, { ...blank(Deposit), accountId, amountQuanta } as Message);
  const prepare = { ...blank(PrepareWithdrawal), accountId };
  const withdraw = { ...blank(Withdraw), accountId, amountQuanta, address: "0x0" };
  return [
    ...markets.symbols.flatMap((each) => markets.run(each, prepare)),
    ...markets.run(markets.ledger, withdraw as Message),
  ];
}
