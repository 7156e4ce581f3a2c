import { BUY, EXPIRE_TAKER, IOC, LIMIT, MARKET, SELL, type Side } from "../core/base/enums.ts";
import { type PriceTicks, QUANTA_PER_USDC, type QuantityLots } from "../core/base/units.ts";
import { PlaceOrder } from "../core/protocol/commands.ts";
import { blank } from "../core/protocol/message-schema.ts";
import { type BotAccount, STEP_MS } from "./bot-account.ts";
import type { Random } from "./random.ts";
import { refusalOf } from "./request.ts";

const ORDERS_PER_SECOND = 1.8;
const BURST_ORDERS_PER_SECOND = 6;
const SECONDS_BETWEEN_BURSTS = 60;
const MEAN_BURST_STEPS = 24;
/** Order sizes are lognormal with this median: most are small, a few many times larger. */
const MEDIAN_ORDER_USDC = 500;
const SIZE_SPREAD = 1.4;
const LARGEST_ORDER_USDC = 60_000;
/** The largest position, in multiples of the budget. */
const MAX_POSITION_BUDGETS = 0.2;
const MARKET_SHARE = 0.7;
/** Largest distance of an IOC limit price from the mark. */
const LIMIT_DISTANCE = 0.0004;
const LOST_STEPS = 80;
/** A moving price draws trades: the pace follows the mean move of the last seconds, compared with that of the last minutes. */
const FAST_STEPS = 60;
const SLOW_STEPS = 3600;
const SLOWEST_PACE = 0.5;
const FASTEST_PACE = 3;

/**
 * A taker: buys and sells at random times, sometimes in bursts. The larger its position, the likelier it trades against
 * it. It has one order in flight, so its position never exceeds its limit.
 */
export class Taker {
  readonly account: BotAccount;
  private readonly random: Random;
  private step = 0;
  private burst: { side: Side; untilStep: number } | null = null;
  /** Step of the order in flight; −1 = none. */
  private pendingSince = -1;
  private lastIndexTicks = 0;
  private fastMove = 0;
  private slowMove = 0;

  constructor(account: BotAccount, random: Random) {
    this.account = account;
    this.random = random;
  }

  trade(): void {
    this.step++;
    this.account.recoverSize();
    const { indexTicks, markTicks } = this.account.market;
    if (indexTicks === 0 || markTicks === 0) return;
    this.planBurst();
    const rate = this.pace(indexTicks) * (this.burst === null ? ORDERS_PER_SECOND : BURST_ORDERS_PER_SECOND);
    if (!this.occurs(rate)) return;
    if (this.pendingSince >= 0 && this.step - this.pendingSince < LOST_STEPS) return;
    this.order();
  }

  /** True when an event of a Poisson process with this rate falls into this step. */
  private occurs(ratePerSecond: number): boolean {
    return this.random.chance(1 - Math.exp((-ratePerSecond * STEP_MS) / 1000));
  }

  /** 1 while the price moves as usual. */
  private pace(indexTicks: PriceTicks): number {
    const move = this.lastIndexTicks === 0 ? 0 : Math.abs(indexTicks / this.lastIndexTicks - 1);
    this.lastIndexTicks = indexTicks;
    this.fastMove += (move - this.fastMove) / Math.min(this.step, FAST_STEPS);
    this.slowMove += (move - this.slowMove) / Math.min(this.step, SLOW_STEPS);
    if (this.slowMove === 0) return 1;
    return Math.min(Math.max(this.fastMove / this.slowMove, SLOWEST_PACE), FASTEST_PACE);
  }

  private planBurst(): void {
    if (this.burst !== null && this.step >= this.burst.untilStep) this.burst = null;
    if (this.burst === null && this.occurs(1 / SECONDS_BETWEEN_BURSTS)) {
      const untilStep = this.step + this.random.exponential(MEAN_BURST_STEPS);
      this.burst = { side: this.random.pick([BUY, SELL] as const), untilStep };
    }
  }

  private order(): void {
    const { account, random } = this;
    const limit = account.lotsFor(Math.min(MAX_POSITION_BUDGETS * account.budgetQuanta, account.maxPositionQuanta()));
    const side = this.chooseSide(limit);
    const usdc = Math.min(MEDIAN_ORDER_USDC * Math.exp(SIZE_SPREAD * random.normal()), LARGEST_ORDER_USDC);
    const wanted = Math.max(account.lotsFor(usdc * QUANTA_PER_USDC * account.sizeFactor), account.minOrderLots());
    const lots = Math.min(wanted, account.roomLots(side, limit, 0), account.market.instrument.maxQuantityLots);
    if (lots < account.minOrderLots()) return;
    const atMarket = random.chance(MARKET_SHARE);
    const away = (side === BUY ? 1 : -1) * random.uniform() * LIMIT_DISTANCE;
    const command = {
      ...blank(PlaceOrder),
      accountId: account.accountId,
      side,
      orderType: atMarket ? MARKET : LIMIT,
      timeInForce: IOC,
      flags: 0,
      selfTradePrevention: EXPIRE_TAKER,
      priceTicks: atMarket ? 0 : this.withinBitmap(Math.round(account.market.markTicks * (1 + away))),
      quantityLots: lots,
    };
    const sent = account.send(command, (transaction) => {
      this.pendingSince = -1;
      if (transaction !== null && refusalOf(transaction) === "INSUFFICIENT_MARGIN") account.onMarginRefused();
    });
    if (sent) this.pendingSince = this.step;
  }

  /** Prefers the side that reduces the position; at the limit always that side. */
  private chooseSide(limit: QuantityLots): Side {
    const inventory = limit === 0 ? 0 : Math.max(-1, Math.min(1, this.account.positionLots / limit));
    if (this.burst !== null && Math.abs(inventory) < 0.7) return this.burst.side;
    return this.random.chance(0.5 - 0.5 * inventory) ? BUY : SELL;
  }

  private withinBitmap(ticks: number): number {
    return Math.min(Math.max(ticks, 1), this.account.market.instrument.maxPriceTicks);
  }
}
