import { BUY, EXPIRE_TAKER, IOC, LIMIT, MARKET, SELL, type Side } from "../core/base/enums.ts";
import { QUANTA_PER_USDC, type QuantityLots } from "../core/base/units.ts";
import { blank } from "../core/protocol/message-schema.ts";
import { PlaceOrder, Refused } from "../core/protocol/messages.ts";
import { as } from "./ask.ts";
import { BEAT_MS, type Desk } from "./desk.ts";
import type { Random } from "./random.ts";

const ORDERS_PER_SECOND = 1.2;
const BURST_ORDERS_PER_SECOND = 6;
const SECONDS_BETWEEN_BURSTS = 60;
const MEAN_BURST_BEATS = 24;
/** A usual order is small, a rare one many times larger: the size is this at the middle of a lognormal distribution. */
const MEDIAN_ORDER_USDC = 150;
const SIZE_SPREAD = 1.1;
const LARGEST_ORDER_USDC = 20_000;
/** The largest position, in the taker's own money. */
const LIMIT_IN_BUDGETS = 0.2;
const MARKET_SHARE = 0.7;
/** How far from the mark an IOC limit order may trade. */
const LIMIT_DISTANCE = 0.0004;
const LOST_BEATS = 80;

/**
 * A taker: buys and sells at random moments, in bursts now and then, the more against its position the larger that is.
 * One order at a time, so its position never passes its limit.
 */
export class Taker {
  readonly desk: Desk;
  private readonly random: Random;
  private beat = 0;
  private burst: { side: Side; untilBeat: number } | null = null;
  /** The beat of the order whose reply is out; −1 = none. */
  private askedAt = -1;

  constructor(desk: Desk, random: Random) {
    this.desk = desk;
    this.random = random;
  }

  trade(): void {
    this.beat++;
    this.desk.recover();
    const { indexTicks, markTicks } = this.desk.market;
    if (indexTicks === 0 || markTicks === 0) return;
    this.planBurst();
    const rate = this.burst === null ? ORDERS_PER_SECOND : BURST_ORDERS_PER_SECOND;
    if (!this.happens(rate)) return;
    if (this.askedAt >= 0 && this.beat - this.askedAt < LOST_BEATS) return;
    this.order();
  }

  /** Whether an event of a Poisson process with this rate falls into the beat. */
  private happens(ratePerSecond: number): boolean {
    return this.random.chance(1 - Math.exp((-ratePerSecond * BEAT_MS) / 1000));
  }

  private planBurst(): void {
    if (this.burst !== null && this.beat >= this.burst.untilBeat) this.burst = null;
    if (this.burst === null && this.happens(1 / SECONDS_BETWEEN_BURSTS)) {
      const untilBeat = this.beat + this.random.exponential(MEAN_BURST_BEATS);
      this.burst = { side: this.random.pick([BUY, SELL] as const), untilBeat };
    }
  }

  private order(): void {
    const { desk, random } = this;
    const limit = desk.lotsFor(Math.min(LIMIT_IN_BUDGETS * desk.budgetQuanta, desk.mostQuanta()));
    const side = this.chooseSide(limit);
    const usdc = Math.min(MEDIAN_ORDER_USDC * Math.exp(SIZE_SPREAD * random.normal()), LARGEST_ORDER_USDC);
    const wanted = Math.max(desk.lotsFor(usdc * QUANTA_PER_USDC * desk.appetite), desk.smallestLots());
    const lots = Math.min(wanted, desk.roomLots(side, limit, 0), desk.market.instrument.maxQuantityLots);
    if (lots < desk.smallestLots()) return;
    const atMarket = random.chance(MARKET_SHARE);
    const away = (side === BUY ? 1 : -1) * random.uniform() * LIMIT_DISTANCE;
    const command = {
      ...blank(PlaceOrder),
      accountId: desk.accountId,
      side,
      orderType: atMarket ? MARKET : LIMIT,
      timeInForce: IOC,
      flags: 0,
      selfTradePrevention: EXPIRE_TAKER,
      priceTicks: atMarket ? 0 : this.withinBitmap(Math.round(desk.market.markTicks * (1 + away))),
      quantityLots: lots,
    };
    const sent = desk.send(command, (transaction) => {
      this.askedAt = -1;
      if (
        transaction !== null &&
        as(Refused, transaction.messages[transaction.eventCount])?.code === "INSUFFICIENT_MARGIN"
      )
        desk.refusedForMargin();
    });
    if (sent) this.askedAt = this.beat;
  }

  /** Leans against the position, at the limit always. */
  private chooseSide(limit: QuantityLots): Side {
    const inventory = limit === 0 ? 0 : Math.max(-1, Math.min(1, this.desk.positionLots / limit));
    if (this.burst !== null && Math.abs(inventory) < 0.7) return this.burst.side;
    return this.random.chance(0.5 - 0.5 * inventory) ? BUY : SELL;
  }

  private withinBitmap(ticks: number): number {
    return Math.min(Math.max(ticks, 1), this.desk.market.instrument.maxPriceTicks);
  }
}
