import { CASH, NONE, SIZE } from "../../src/core/base/columns.ts";
import { BUY, EXEC_ADL, EXEC_LIQUIDATION, FEE_ACCOUNT, INSURANCE_ACCOUNT } from "../../src/core/base/enums.ts";
import { PPB } from "../../src/core/base/units.ts";
import * as events from "../../src/core/protocol/events.ts";
import type { Message, MessageOf } from "../../src/core/protocol/message-schema.ts";
import type { SymbolActor } from "../../src/core/symbol.ts";
import { sizeOf } from "./commands.ts";
import type { Watcher, World } from "./world.ts";

const { Traded, PositionTransferred, FundingPaid, DeficitCovered, IndexJumpHeld, PriceUpdated } = events;
const { WithdrawalRequested } = events;

/** Interest of an hour, in parts per billion: the funding rate while nobody moves the premium. */
const INTEREST_PPB = 100_000 / 8;

/** How often a kind of event came up: a run that reaches none of them proves nothing about it. */
export const COUNTED = ["trades", "liquidations", "adl", "covered", "funding", "withdrawals"] as const;
export type Counts = Record<(typeof COUNTED)[number], number>;

/** An honest account in one symbol: what it would have if it had only done what it wanted, without what was done to it. */
interface Explained {
  lots: number;
  quanta: number;
}

/** The trigger of an honest account's stop, and how near the mark must have come to it. */
export interface HonestStop {
  readonly account: number;
  readonly triggerTicks: number;
  readonly nearTicks: number;
}

/**
 * Watches a run and adds up what must never happen, in quanta. Definitions: docs/internals/testing.md.
 */
export class Measure implements Watcher {
  readonly counts: Counts = { trades: 0, liquidations: 0, adl: 0, covered: 0, funding: 0, withdrawals: 0 };
  /** The lowest equity of the fund at the end of a transaction. */
  fundLowest = Number.POSITIVE_INFINITY;
  /** The same after a mark was settled. */
  fundLowestSettled = Number.POSITIVE_INFINITY;
  /** The lowest equity of a customer after a mark was settled, without what only funding has taken from it. */
  lowestSettled = 0;
  /** What deleveraging took from honest accounts, against the mark; and the part of it beyond the gain of the step. */
  haircut = 0;
  /** The same of all accounts. */
  allHaircut = 0;
  haircutBeyondStep = 0;
  /** What honest accounts paid as funding beyond interest. */
  fundingBeyondInterest = 0;
  /** Paid out to the coalition. */
  withdrawn = 0;
  isTracing = false;
  readonly trace: string[] = [];
  private readonly explained = new Map<number, Explained>();
  /** By symbol: the mark, and the mark before it. */
  private readonly marks = new Map<number, [now: number, before: number]>();
  /** By symbol: the price that waits for confirmation. */
  private readonly pendingTicks = new Map<number, number>();
  /** By account: the funding that it has paid since it was not below zero. */
  private readonly fundingPaid = new Map<number, number>();
  private readonly world: World;
  private readonly honest: ReadonlySet<number>;
  private readonly coalition: ReadonlySet<number>;
  private readonly stops: readonly (HonestStop | null)[];

  constructor(
    world: World,
    honest: ReadonlySet<number>,
    coalition: ReadonlySet<number>,
    stops: readonly (HonestStop | null)[],
  ) {
    this.world = world;
    this.honest = honest;
    this.coalition = coalition;
    this.stops = stops;
  }

  onEvent(symbol: SymbolActor | null, event: Message): void {
    if (this.isTracing && event.type !== PriceUpdated.code) this.trace.push(`${this.world.time} ${describe(event)}`);
    switch (event.type) {
      case Traded.code:
        return this.onTrade(symbol as SymbolActor, event as MessageOf<typeof Traded>);
      case PositionTransferred.code:
        return this.onTransfer(symbol as SymbolActor, event as MessageOf<typeof PositionTransferred>);
      case FundingPaid.code:
        return this.onFunding(symbol as SymbolActor, event as MessageOf<typeof FundingPaid>);
      case DeficitCovered.code:
        this.counts.covered++;
        return;
      case IndexJumpHeld.code:
        this.pendingTicks.set((symbol as SymbolActor).actorId, (event as MessageOf<typeof IndexJumpHeld>).indexTicks);
        return;
      case PriceUpdated.code:
        return this.onPrice(symbol as SymbolActor, event as MessageOf<typeof PriceUpdated>);
      case WithdrawalRequested.code: {
        const { accountId, amountQuanta } = event as MessageOf<typeof WithdrawalRequested>;
        this.counts.withdrawals++;
        if (this.coalition.has(accountId)) this.withdrawn += amountQuanta;
      }
    }
  }

  onTransactionEnd(): void {
    const { fundEquity } = this.world;
    if (fundEquity < this.fundLowest) this.fundLowest = fundEquity;
  }

  onIdle(): void {
    this.fundLowestSettled = Math.min(this.fundLowestSettled, this.world.fundEquity);
    for (const account of this.coalition) this.checkSettled(account);
    for (const account of this.honest) this.checkSettled(account);
  }

  private checkSettled(account: number): void {
    const equity = this.world.totals.equity(account);
    const unpaid = equity < 0 ? (this.fundingPaid.get(account) ?? 0) : 0;
    if (equity >= 0) this.fundingPaid.delete(account);
    if (this.isTracing && equity < 0)
      this.trace.push(`${this.world.time} account ${account} is left at ${equity} quanta`);
    this.lowestSettled = Math.min(this.lowestSettled, equity + unpaid);
  }

  private onPrice(symbol: SymbolActor, { markTicks, indexTicks }: MessageOf<typeof PriceUpdated>): void {
    const [now] = this.marks.get(symbol.actorId) ?? [markTicks];
    this.marks.set(symbol.actorId, [markTicks, now]);
    this.pendingTicks.delete(symbol.actorId);
    if (this.isTracing && now !== markTicks)
      this.trace.push(`${this.world.time} S${symbol.actorId} index ${indexTicks} mark ${now} -> ${markTicks}`);
  }

  private onTrade(symbol: SymbolActor, event: MessageOf<typeof Traded>): void {
    this.counts.trades++;
    const { takerSide, quantityLots, priceTicks } = event;
    if (event.execType === EXEC_LIQUIDATION) this.counts.liquidations++;
    const lots = takerSide === BUY ? quantityLots : -quantityLots;
    const quanta = lots * priceTicks * symbol.state.instrument.quantaPerTickLot;
    if (this.honest.has(event.takerAccountId))
      this.explain(symbol, event.takerAccountId, lots, this.stopQuanta(symbol, event, lots, quanta));
    if (this.honest.has(event.makerAccountId))
      this.explain(symbol, event.makerAccountId, -lots, -this.quoteQuanta(symbol, event, lots, quanta));
  }

  /**
   * A fill of a quote by the coalition, which opens a position while a price waits for confirmation: that price is public, so
   * it explains the fill, and not the quote, which its owner may not replace.
   */
  private quoteQuanta(symbol: SymbolActor, event: MessageOf<typeof Traded>, lots: number, quanta: number): number {
    const pendingTicks = this.pendingTicks.get(symbol.actorId);
    const { takerAccountId, takerSizeLots } = event;
    const opens = Math.abs(takerSizeLots) > Math.abs(takerSizeLots - lots);
    if (pendingTicks === undefined || !opens || !this.coalition.has(takerAccountId)) return quanta;
    return lots * pendingTicks * symbol.state.instrument.quantaPerTickLot;
  }

  /** A stop that fired although the mark was nowhere near it: only the mark explains its fill. */
  private stopQuanta(symbol: SymbolActor, event: MessageOf<typeof Traded>, lots: number, quanta: number): number {
    const stop = this.stops[this.world.symbols.indexOf(symbol)];
    if (stop === null || stop === undefined || stop.account !== event.takerAccountId) return quanta;
    const { markTicks, instrument } = symbol.state;
    if (event.execType === EXEC_LIQUIDATION || markTicks <= stop.triggerTicks + stop.nearTicks) return quanta;
    return lots * markTicks * instrument.quantaPerTickLot;
  }

  private onTransfer(symbol: SymbolActor, event: MessageOf<typeof PositionTransferred>): void {
    if (event.execType === EXEC_ADL) this.counts.adl++;
    else this.counts.liquidations++;
    const { accountId, counterpartyId, side, quantityLots, quanta } = event;
    const lots = side === BUY ? quantityLots : -quantityLots;
    const paid = side === BUY ? quanta : -quanta;
    if (this.honest.has(accountId)) this.explain(symbol, accountId, lots, paid);
    if (event.execType !== EXEC_ADL) return;
    const { markTicks, instrument } = symbol.state;
    const atMark = -lots * markTicks * instrument.quantaPerTickLot;
    const taken = Math.max(0, -paid - atMark);
    this.allHaircut += taken;
    if (!this.honest.has(counterpartyId)) return;
    this.explain(symbol, counterpartyId, -lots, atMark);
    this.haircut += taken;
    const [now, before] = this.marks.get(symbol.actorId) ?? [markTicks, markTicks];
    const gain = Math.abs(now - before) * quantityLots * instrument.quantaPerTickLot;
    this.haircutBeyondStep += Math.max(0, taken - gain);
  }

  private onFunding(symbol: SymbolActor, event: MessageOf<typeof FundingPaid>): void {
    this.counts.funding++;
    if (event.amountQuanta < 0) {
      const before = this.fundingPaid.get(event.accountId) ?? 0;
      this.fundingPaid.set(event.accountId, before - event.amountQuanta);
    }
    if (!this.honest.has(event.accountId)) return;
    const { quantaPerTickLot } = symbol.state.instrument;
    const interest = Math.trunc((-event.sizeLots * event.markTicks * quantaPerTickLot * INTEREST_PPB) / PPB);
    this.fundingBeyondInterest += interest - event.amountQuanta;
    this.explain(symbol, event.accountId, 0, -interest);
  }

  private explain(symbol: SymbolActor, account: number, lots: number, paidQuanta: number): void {
    const key = account * 256 + symbol.actorId;
    const entry = this.explained.get(key) ?? { lots: 0, quanta: 0 };
    entry.lots += lots;
    entry.quanta -= paidQuanta;
    this.explained.set(key, entry);
  }

  /** What honest accounts have lost by what they wanted, without fees, at these prices; negative = gained. */
  honestLoss(finalTicks: readonly number[]): number {
    let gain = 0;
    for (const [key, { lots, quanta }] of this.explained) {
      const index = this.world.symbols.findIndex(({ actorId }) => actorId === key % 256);
      const { quantaPerTickLot } = this.world.symbols[index].state.instrument;
      gain += quanta + lots * finalTicks[index] * quantaPerTickLot;
    }
    return -gain;
  }

  /** What an account owns if its positions are valued at these prices. */
  worth(account: number, finalTicks: readonly number[]): number {
    let sum = this.world.ledger.state.balance(account);
    for (const [i, symbol] of this.world.symbols.entries()) {
      const row = symbol.state.positions.find(account);
      if (row === NONE) continue;
      const { numbers } = symbol.state.positions;
      sum += numbers[row + CASH] + numbers[row + SIZE] * finalTicks[i] * symbol.state.instrument.quantaPerTickLot;
    }
    return sum;
  }

  /** Open positions, for the trace. */
  positions(): string {
    const all = [...this.honest, ...this.coalition, INSURANCE_ACCOUNT, FEE_ACCOUNT];
    return all
      .map((account) => {
        const sizes = this.world.symbols.map((symbol) => sizeOf(symbol, account)).join(",");
        return `${account}: ${sizes} (${Math.round(this.world.totals.equity(account) / 1e6)})`;
      })
      .join("  ");
  }
}

const NAMES = new Map(
  Object.values(events)
    .filter((each) => typeof each === "object")
    .map(({ code, name }) => [code as number, name as string]),
);
const SHOWN =
  /account|Account|counterparty|side|Side|price|Price|quantity|quanta$|lots|Lots|exec|reason|amount|trigger|mode|leverage/;

function describe(event: Message): string {
  const fields = Object.entries(event).filter(([name, value]) => SHOWN.test(name) && value !== 0 && value !== "");
  return `${NAMES.get(event.type)} ${fields.map(([name, value]) => `${name}=${value}`).join(" ")}`;
}
