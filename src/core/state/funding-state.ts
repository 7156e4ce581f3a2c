import * as columns from "../base/columns.ts";
import type { PriceTicks, Quanta, QuantityLots, TimeMs } from "../base/units.ts";
import { fundingPayment, fundingRatePpb, intervalBefore } from "../formulas/funding.ts";
import type { FundingSettled } from "../protocol/events.ts";
import type { Instrument } from "../protocol/instrument.ts";
import type { MessageOf } from "../protocol/message-schema.ts";
import type { Positions } from "./positions.ts";

const { FUNDING_TIME, SIZE } = columns;

/** The funding interval that runs, the one that ended last, and which positions have not paid that yet. */
export class FundingState {
  /** When the running interval ends. */
  nextTime: TimeMs = 0;
  /** Σ k × premium of the k-th sample of the running interval, in parts per billion of the index. */
  premiumSum = 0;
  premiumCount = 0;
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

  /** Adds a premium sample to the running interval. */
  sample(premiumPpb: number, nextTime: TimeMs): void {
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
  }

  /** A position of this size has paid. */
  notePaid(sizeLots: QuantityLots): void {
    this.owingCount--;
    this.owingLots -= sizeLots;
  }

  /** The rate of the interval that ends at `endTime`, from its premiums: by default those until now. */
  intervalRatePpb(endTime: TimeMs, premiumSum = this.premiumSum, premiumCount = this.premiumCount): number {
    const { instrument, lastTime } = this;
    return fundingRatePpb(instrument, premiumSum, premiumCount, intervalBefore(instrument, endTime, lastTime));
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
