import { applyFundingSettled, applyIndexJumpHeld, applyPriceUpdated } from "../apply/market-events.ts";
import { BUY, HALT_REASON, MODE_CANCEL_ONLY, MODE_TRADING, OPERATOR_ACT, SELL } from "../base/enums.ts";
import { PPB, PPM, type PriceTicks } from "../base/units.ts";
import { nextFundingTime, premiumPpb } from "../formulas/funding.ts";
import { markPrice, nextBasis1024 } from "../formulas/mark.ts";
import { payFunding } from "../margin/funding-payment.ts";
import type { Transaction } from "../protocol/actor.ts";
import type { SetIndexPrice } from "../protocol/commands.ts";
import { FundingSettled, IndexJumpHeld, PriceUpdated } from "../protocol/events.ts";
import type { Instrument } from "../protocol/instrument.ts";
import { blank, type MessageOf } from "../protocol/message-schema.ts";
import { refuse, refuses } from "../protocol/refusals.ts";
import { Done } from "../protocol/replies.ts";
import type { SymbolState } from "../state/symbol-state.ts";
import { setHalt } from "./halt.ts";
import { recordAct } from "./operator-acts.ts";
import { PremiumSamples } from "./premium-samples.ts";
import { CircuitBreaker, CONFIRMATIONS, countAgreeing, isJump } from "./price-guards.ts";

// One object per event type, filled again for each event: emit() copies it.
const priceUpdated = blank(PriceUpdated);
const fundingSettled = blank(FundingSettled);
const jumpHeld = blank(IndexJumpHeld);

/** Funding payments per transaction: a limit on how long the orders behind them wait. */
const PAYMENTS_AT_A_TIME = 500;

/** Index, mark and funding of a symbol. Each index price gives a mark and a premium; funding follows from the premiums. */
export class Pricing {
  private readonly instrument: Instrument;
  private readonly state: SymbolState;
  private readonly breaker = new CircuitBreaker();
  private readonly samples = new PremiumSamples();

  constructor(state: SymbolState) {
    this.instrument = state.instrument;
    this.state = state;
  }

  setIndexPrice(command: MessageOf<typeof SetIndexPrice>, transaction: Transaction): void {
    const { indexTicks } = command;
    if (indexTicks < 1 || indexTicks > this.instrument.maxPriceTicks)
      return refuse(transaction, "PRICE_TOO_HIGH", "price", { limitTicks: this.instrument.maxPriceTicks });
    recordAct(transaction, command.operator, OPERATOR_ACT.INDEX_PRICE, indexTicks);
    const isGuarded = command.isGuarded === 1;
    if (isGuarded && this.holdJump(indexTicks, transaction)) return;
    this.update(indexTicks, transaction);
    if (isGuarded) this.breakCircuit(transaction);
    transaction.reply({ type: Done.code });
  }

  /** After a halt of this mode, in which the mark stood still: if the index has left it, it follows before anyone trades. */
  endHalt(haltMode: number, transaction: Transaction): void {
    const { indexTicks, markTicks } = this.state;
    if (haltMode < MODE_CANCEL_ONLY || indexTicks === 0 || this.state.isIndexOld(transaction.time)) return;
    if (Math.abs(markTicks - indexTicks) * PPM > indexTicks * this.instrument.markLimitPpm)
      this.update(indexTicks, transaction);
  }

  private update(indexTicks: PriceTicks, transaction: Transaction): void {
    const { state } = this;
    const limitTicks = Math.floor((indexTicks * this.instrument.markLimitPpm) / PPM);
    const bidTicks = state.book.best(BUY);
    const askTicks = state.book.best(SELL);
    const basis1024 = nextBasis1024(state.basis1024, indexTicks, bidTicks, askTicks, limitTicks);
    const fundingTicks = this.fundingTicks(indexTicks, transaction.time);
    priceUpdated.indexTicks = indexTicks;
    priceUpdated.basis1024 = basis1024;
    // Nobody is liquidated during a halt. So no gain or loss may arise in it: the mark stands still.
    const standsStill = state.haltMode >= MODE_CANCEL_ONLY && state.markTicks !== 0;
    priceUpdated.markTicks = standsStill
      ? state.markTicks
      : markPrice(indexTicks, fundingTicks, basis1024, state.lastTicks, limitTicks);
    priceUpdated.premiumPpb = this.samples.isRunning(transaction.time)
      ? this.samples.take()
      : this.premiumPpb(indexTicks);
    priceUpdated.openInterestLots = state.openInterestLots;
    priceUpdated.lastTriggerPpm = this.instrument.lastTriggerPpm;
    priceUpdated.nextFundingTime = nextFundingTime(transaction.time, this.instrument.fundingIntervalMs);
    priceUpdated.premiumHeldMs = state.funding.heldMs(transaction.time);
    // The mark before is settled: no price is decided earlier.
    state.contributions.settleGains();
    applyPriceUpdated(state, priceUpdated, transaction.time);
    if (standsStill) state.contributions.refreshAdditionalOfOpen();
    // It follows from the event, and changes no state.
    priceUpdated.fundingRatePpb = state.funding.intervalRatePpb();
    transaction.emit(priceUpdated);
  }

  /** The premium against an old index would be the move of the market since then. */
  samplePremium(transaction: Transaction): void {
    const { state } = this;
    const isCurrent = state.indexTicks !== 0 && !state.isIndexStale && state.pendingIndexCount === 0;
    if (isCurrent) this.samples.add(this.premiumPpb(state.indexTicks), transaction.time);
    transaction.reply({ type: Done.code });
  }

  /** A halt keeps takers from the quotes that make a premium. So it makes none. */
  private premiumPpb(indexTicks: PriceTicks): number {
    const { instrument, state } = this;
    if (state.haltMode !== MODE_TRADING) return 0;
    return premiumPpb(instrument, state.book, indexTicks, state.openInterestLots);
  }

  /** Holds an index price back that jumped, until more prices confirm it. Returns whether it did. */
  private holdJump(indexTicks: PriceTicks, transaction: Transaction): boolean {
    const { state, instrument } = this;
    if (!isJump(state.indexTicks, indexTicks, instrument.indexJumpPpm)) return false;
    const count = countAgreeing(state.indexTicks, state, indexTicks, instrument.indexJumpPpm);
    if (count >= CONFIRMATIONS) return false;
    jumpHeld.indexTicks = indexTicks;
    jumpHeld.count = count;
    applyIndexJumpHeld(state, jumpHeld);
    transaction.emit(jumpHeld);
    state.contributions.refreshAdditionalOfOpen();
    return refuses(transaction, "PRICE_JUMP", "price", {
      indexTicks: state.indexTicks,
      limitRate: instrument.config.indexJumpLimit ?? "0.1",
      missing: CONFIRMATIONS - count,
    });
  }

  /**
   * Halts the symbol when the mark has moved too far too fast, unless it is halted as strictly already. A halt without an end
   * stays without an end.
   */
  private breakCircuit(transaction: Transaction): void {
    const { state, instrument } = this;
    const tripped = this.breaker.trips(state.markTicks, transaction.time, instrument.breakerPpm);
    if (!tripped || state.haltMode >= instrument.breakerMode) return;
    const isEndless = state.haltMode !== MODE_TRADING && state.haltUntil === 0;
    const until = isEndless ? 0 : transaction.time + instrument.breakerMs;
    setHalt(state, transaction, instrument.breakerMode, HALT_REASON.PRICE_JUMP, until);
  }

  /** The funding part of the mark, in ticks: the last rate at the start of the interval, falling to 0 at its end. */
  private fundingTicks(indexTicks: PriceTicks, time: number): PriceTicks {
    const { fundingIntervalMs } = this.instrument;
    const left = (nextFundingTime(time, fundingIntervalMs) - time) / fundingIntervalMs;
    return Math.round((indexTicks * this.state.funding.lastRatePpb * left) / PPB);
  }

  /**
   * Ends the funding interval if it is over. This comes before any trade of a transaction: a trade after the end neither owes
   * this funding nor avoids it. The rate follows from the interval's samples, the amount from the last mark, even a stale
   * one: to wait for a new price would let holders close first. An interval without samples, for example while the exchange was
   * down, costs nothing and is skipped.
   */
  settleDue(transaction: Transaction): void {
    const { state, instrument } = this;
    const { premiumCount, nextTime } = state.funding;
    if (premiumCount === 0 || transaction.time < nextTime) return;
    fundingSettled.fundingTime = nextTime;
    fundingSettled.nextFundingTime = nextFundingTime(transaction.time, instrument.fundingIntervalMs);
    fundingSettled.ratePpb = state.funding.intervalRatePpb(nextTime);
    fundingSettled.premiumPpb = state.funding.averagePremiumPpb(nextTime);
    fundingSettled.indexTicks = state.indexTicks;
    fundingSettled.markTicks = state.markTicks;
    // Payments of the previous interval come first: a position owes at most one interval.
    this.payUpTo(transaction, Number.POSITIVE_INFINITY);
    applyFundingSettled(state, fundingSettled);
    transaction.emit(fundingSettled);
    this.payUpTo(transaction, PAYMENTS_AT_A_TIME);
    state.contributions.trackDirty();
  }

  private payUpTo(transaction: Transaction, limit: number): void {
    const { state } = this;
    const { open } = state.positions;
    for (let i = open.length - 1, left = limit; i >= 0 && left > 0 && state.funding.owingCount > 0; i--) {
      if (!state.funding.owes(open[i])) continue;
      payFunding(state, transaction, open[i]);
      left--;
    }
  }

  /** Makes some of the payments that the last interval still needs. */
  payOwed(transaction: Transaction): void {
    if (this.state.funding.owingCount > 0) this.payUpTo(transaction, PAYMENTS_AT_A_TIME);
  }
}
