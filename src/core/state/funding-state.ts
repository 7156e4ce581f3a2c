import * as columns from "../base/columns.ts";
import type { PriceTicks, Quanta, QuantityLots, TimeMs } from "../base/units.ts";
import { fundingPayment, fundingRatePpb, intervalBefore, MAX_SAMPLE_MS } from "../formulas/funding.ts";
import type { FundingSettled } from "../protocol/events.ts";
import type { Instrument } from "../protocol/instrument.ts";
import type { MessageOf } from "../protocol/message-schema.ts";
import type { Positions } from "./positions.ts";

const { FUNDING_TIME, SIZE } = columns;

/** The funding interval that runs, the one that ended last, and which positions have not paid that yet. */
export class FundingState {
  /** When the running interval ends. */
  nextTime: TimeMs = 0;
  /** How many samples of the premium the running interval has. */
  premiumCount = 0;
  /** The last sample, in parts per billion of the index, and when it was taken. */
  premiumPpb = 0;
  sampledAt: TimeMs = 0;
  /** Σ premium × ms and Σ ms of the samples before the last one: each counts for the time that it stood. */
  premiumMsSum = 0;
  premiumMs = 0;
  /** Σ k × premium of the k-th sample, by which earlier programs decided. Still here because it is in their digests. */
  premiumSum = 0;
  /** When the last interval ended. Positions with an older FUNDING_TIME owe its payment. */
  lastTime: TimeMs = 0;
  /** Rate of the last interval, in parts per billion of the notional at lastMarkTicks. */
  lastRatePpb = 0;
  lastMarkTicks: PriceTicks = 0;
  /** How many open positions owe the payment of the last interval. */
  owingCount = 0;
  /** Their sizes, longs less shorts. */
  owingLots: QuantityLots = 0;
  private readonly instrument: Instrument;
  private readonly positions: Positions;

  constructor(instrument: Instrument, positions: Positions) {
    this.instrument = instrument;
    this.positions = positions;
  }

  /** How long the last sample of the running interval has stood, in ms, as far as that counts. */
  heldMs(time: TimeMs): number {
    return this.premiumCount === 0 ? 0 : Math.max(0, Math.min(MAX_SAMPLE_MS, time - this.sampledAt));
  }

  /** Adds a premium sample to the running interval. The sample before it stood for `heldMs`. */
  sample(premiumPpb: number, heldMs: number, nextTime: TimeMs, time: TimeMs): void {
    this.premiumMsSum += this.premiumPpb * heldMs;
    this.premiumMs += heldMs;
    this.premiumPpb = premiumPpb;
    this.sampledAt = time;
    this.nextTime = nextTime;
    this.premiumCount++;
    this.premiumSum += this.premiumCount * premiumPpb;
  }

  /** An interval has ended, and every open position owes its payment. */
  settle(event: MessageOf<typeof FundingSettled>): void {
    this.lastTime = event.fundingTime;
    this.lastRatePpb = event.ratePpb;
    this.lastMarkTicks = event.markTicks;
    this.owingCount = this.positions.open.length;
    // Longs and shorts of a symbol are equal.
    this.owingLots = 0;
    this.nextTime = event.nextFundingTime;
    this.premiumSum = 0;
    this.premiumCount = 0;
    this.premiumPpb = 0;
    this.premiumMsSum = 0;
    this.premiumMs = 0;
  }

  /** A position of this size has paid. */
  notePaid(sizeLots: QuantityLots): void {
    this.owingCount--;
    this.owingLots -= sizeLots;
  }

  /** The average premium of the running interval until `time`, in parts per billion of the index, weighted by time. */
  averagePremiumPpb(time: TimeMs): number {
    const heldMs = this.heldMs(time);
    const ms = this.premiumMs + heldMs;
    return ms === 0 ? this.premiumPpb : Math.trunc((this.premiumMsSum + this.premiumPpb * heldMs) / ms);
  }

  /** The rate of the running interval, from its premiums until `time`: by default until the last sample. */
  intervalRatePpb(time: TimeMs = this.sampledAt): number {
    const { instrument, lastTime } = this;
    return fundingRatePpb(
      instrument,
      this.averagePremiumPpb(time),
      intervalBefore(instrument, this.nextTime, lastTime),
    );
  }

  /** Whether the position in the row owes the payment of the last interval. */
  owes(at: number): boolean {
    const n = this.positions.numbers;
    return n[at + SIZE] !== 0 && n[at + FUNDING_TIME] < this.lastTime;
  }

  /** After recovery: derives the counts from the rows, which hold what they have paid. */
  countOwing(): void {
    const owing = this.positions.open.filter((at) => this.owes(at));
    this.owingCount = owing.length;
    this.owingLots = owing.reduce((sum, at) => sum + this.positions.numbers[at + SIZE], 0);
  }

  /**
   * Funding that the insurance fund has advanced, in quanta; negative when it holds more than it has paid out. All
   * payments go through the fund, and not all at once: its equity must not change because some come first.
   */
  inTransit(): Quanta {
    return -fundingPayment(this.instrument, this.owingLots, this.lastMarkTicks, this.lastRatePpb);
  }
}
