import { must } from "../assert.ts";
import { BUY, EXPIRE_TAKER, GTC, LIMIT, POST_ONLY, SELL, type Side } from "../core/base/enums.ts";
import type { PriceTicks, Quanta, QuantityLots } from "../core/base/units.ts";
import { CancelAll, CancelOrder, PlaceOrder } from "../core/protocol/commands.ts";
import { blank } from "../core/protocol/message-schema.ts";
import { OrderView } from "../core/protocol/replies.ts";
import type { BotAccount } from "./bot-account.ts";
import type { Random } from "./random.ts";
import { messageAs, refusalOf } from "./request.ts";

/**
 * Quoted levels: distance from the index price, and size as a fraction of the stake. They are dense and small near the
 * price, so that trades walk through them. Their sum is below half of the largest position: all may be replaced at once.
 */
const LEVELS = [
  { distance: 0.00005, part: 0.015 },
  { distance: 0.00009, part: 0.03 },
  { distance: 0.00015, part: 0.045 },
  { distance: 0.00023, part: 0.065 },
  { distance: 0.00035, part: 0.085 },
  { distance: 0.00052, part: 0.11 },
  { distance: 0.00078, part: 0.13 },
  { distance: 0.0012, part: 0.145 },
  { distance: 0.0018, part: 0.16 },
  { distance: 0.0028, part: 0.175 },
  { distance: 0.0044, part: 0.19 },
  { distance: 0.007, part: 0.2 },
] as const;

/** A quote is replaced when it is off its target by this fraction of its distance. */
const TOLERANCE = 0.5;
/** The largest position in multiples of the budget. With 10x leverage a third of the budget is margin then. */
const MAX_POSITION_BUDGETS = 3;
/**
 * Inventory skew: at the position limit the closing side quotes this fraction nearer to the index, the other as much
 * farther.
 */
const SKEW = 0.8;
/** Above this share of the limit, opening orders are not rounded up to the minimum size. */
const MIN_SIZE_INVENTORY = 0.5;
/** Steps to wait after a refusal, of an order or of a resync. */
const REFUSAL_STEPS = 8;
/** A reply that is missing for so many steps was lost with its worker. */
const LOST_STEPS = 80;

interface Quote {
  readonly side: Side;
  readonly level: number;
  readonly priceTicks: PriceTicks;
  /** Unfilled quantity. */
  lots: QuantityLots;
  /** 0 until the reply to the placement. */
  orderId: number;
  /** A cancel was sent. */
  isCanceling: boolean;
  /** Step of the last command for it. */
  sentStep: number;
}

/**
 * A market maker. It keeps post-only orders on both sides of the index price and replaces only those that are off their
 * target. Position plus open orders of a side never exceed its limit, and its own quotes never cross.
 * Each step has two halves: all makers of a market cancel stale quotes before any of them places new ones.
 */
export class Maker {
  readonly account: BotAccount;
  private readonly random: Random;
  private readonly quotes = new Set<Quote>();
  private readonly byOrderId = new Map<number, Quote>();
  private readonly slots: Slot[] = [];
  /** Its deviation from the index price, a few parts per million, so that two makers quote differently. */
  private priceBias = 0;
  private step = 0;
  /** Its view of its orders may be wrong: cancel all and start again. */
  private isOutOfSync = true;
  private resyncStep = 0;

  constructor(account: BotAccount, random: Random) {
    this.account = account;
    this.random = random;
    // From the price outwards, so that a limit on open orders leaves out the outermost levels.
    for (const level of LEVELS.keys())
      for (const side of [BUY, SELL] as const) this.slots.push({ side, level, jitter: 1, quote: null, retryStep: 0 });
  }

  /** The account has no open orders now. */
  allCanceled(): void {
    for (const quote of this.quotes) this.forget(quote);
    this.isOutOfSync = false;
    this.resyncStep = 0;
  }

  /** First half of a step: cancels quotes that are off their targets. */
  cancelStaleQuotes(): void {
    this.step++;
    this.account.recoverSize();
    for (const quote of this.quotes)
      if ((quote.orderId === 0 || quote.isCanceling) && this.step - quote.sentStep > LOST_STEPS)
        this.isOutOfSync = true;
    if (this.isOutOfSync) this.resync();
    if (this.isOutOfSync || this.account.market.indexTicks === 0) return;
    this.priceBias = 0.98 * this.priceBias + 0.000001 * this.random.normal();
    for (const slot of this.slots) {
      const { quote } = slot;
      if (quote === null || quote.orderId === 0) continue;
      const tolerance = LEVELS[slot.level].distance * TOLERANCE * this.account.market.indexTicks;
      if (Math.abs(quote.priceTicks - this.targetTicks(slot)) > Math.max(tolerance, 1)) this.cancel(slot, quote);
    }
  }

  /** Second half of a step: fills empty levels. */
  placeMissingQuotes(): void {
    if (this.isOutOfSync || this.account.market.indexTicks === 0) return;
    for (const slot of this.slots) if (slot.quote === null && this.step >= slot.retryStep) this.place(slot);
  }

  onFilled(orderId: number, lots: QuantityLots): void {
    const quote = this.byOrderId.get(orderId);
    if (quote === undefined) return;
    quote.lots -= lots;
    if (quote.lots <= 0) this.forget(quote);
  }

  onClosed(orderId: number): void {
    const quote = this.byOrderId.get(orderId);
    if (quote !== undefined) this.forget(quote);
  }

  /** Position as a fraction of the limit, −1 to 1. */
  private inventory(): number {
    const limit = this.limitLots();
    return limit === 0 ? 0 : Math.max(-1, Math.min(1, this.account.positionLots / limit));
  }

  /** The part of the budget that it trades with, bounded by the largest position. */
  private stakeQuanta(): Quanta {
    return Math.min(this.account.budgetQuanta, this.account.maxPositionQuanta() / MAX_POSITION_BUDGETS);
  }

  private limitLots(): QuantityLots {
    return this.account.lotsFor(MAX_POSITION_BUDGETS * this.stakeQuanta());
  }

  private targetTicks(slot: Slot): PriceTicks {
    const away = slot.side === BUY ? -1 : 1;
    const distance = LEVELS[slot.level].distance * slot.jitter * (1 - SKEW * away * this.inventory());
    const exact = this.account.market.indexTicks * (1 + this.priceBias) * (1 + away * distance);
    return slot.side === BUY ? Math.floor(exact) : Math.ceil(exact);
  }

  private place(slot: Slot): void {
    const { side, level } = slot;
    const { instrument } = this.account.market;
    if (this.openCount() >= instrument.maxOpenOrders) return;
    slot.jitter = this.random.between(0.9, 1.1);
    const priceTicks = this.targetTicks(slot);
    const lots = this.sizeLots(slot);
    if (lots < this.account.minOrderLots() || priceTicks < 1 || priceTicks > instrument.maxPriceTicks) return;
    if (this.wouldCrossOwnQuotes(side, priceTicks)) return;
    const quote: Quote = { side, level, priceTicks, lots, orderId: 0, isCanceling: false, sentStep: this.step };
    const command = {
      ...blank(PlaceOrder),
      accountId: this.account.accountId,
      side,
      orderType: LIMIT,
      timeInForce: GTC,
      flags: POST_ONLY,
      selfTradePrevention: EXPIRE_TAKER,
      priceTicks,
      quantityLots: lots,
    };
    const sent = this.account.send(command, (transaction) => {
      if (transaction === null) return this.forget(quote);
      const view = messageAs(OrderView, transaction.messages[transaction.eventCount]);
      if (view !== null) {
        quote.orderId = view.orderId;
        this.byOrderId.set(view.orderId, quote);
        return;
      }
      if (refusalOf(transaction) === "INSUFFICIENT_MARGIN") this.account.onMarginRefused();
      slot.retryStep = this.step + REFUSAL_STEPS;
      this.forget(quote);
    });
    if (!sent) return;
    slot.quote = quote;
    this.quotes.add(quote);
  }

  /** Without quotes that are being canceled: the cancel arrives before a new order does. */
  private openCount(): number {
    let count = 0;
    for (const { isCanceling } of this.quotes) if (!isCanceling) count++;
    return count;
  }

  private sizeLots(slot: Slot): QuantityLots {
    const opens = slot.side === BUY ? this.inventory() : -this.inventory();
    const part = LEVELS[slot.level].part * this.random.between(0.5, 1.5) * (opens > 0 ? 1 - opens : 1);
    // The minimum order size, unless the position is near its limit.
    const least = opens < MIN_SIZE_INVENTORY ? this.account.minOrderLots() : 0;
    const wanted = Math.max(least, this.account.lotsFor(this.stakeQuanta() * part * this.account.sizeFactor));
    let openLots = 0;
    for (const quote of this.quotes) if (quote.side === slot.side) openLots += quote.lots;
    const room = this.account.roomLots(slot.side, this.limitLots(), openLots);
    return Math.min(wanted, room, this.account.market.instrument.maxQuantityLots);
  }

  /** Ignores quotes that are being canceled. */
  private wouldCrossOwnQuotes(side: Side, priceTicks: PriceTicks): boolean {
    for (const quote of this.quotes)
      if (quote.side !== side && !quote.isCanceling)
        if (side === BUY ? priceTicks >= quote.priceTicks : priceTicks <= quote.priceTicks) return true;
    return false;
  }

  private cancel(slot: Slot, quote: Quote): void {
    const { accountId } = this.account;
    const command = { type: CancelOrder.code, accountId, orderId: quote.orderId, clientOrderId: "" };
    const sent = this.account.send(command, (transaction) => {
      // The log delivers the end of an order before any reply. If the quote is still known here, it was not canceled.
      if (!this.quotes.has(quote)) return;
      if (transaction !== null && refusalOf(transaction) === null) this.forget(quote);
      else this.isOutOfSync = true;
    });
    if (!sent) return;
    quote.isCanceling = true;
    quote.sentStep = this.step;
    slot.quote = null;
  }

  private forget(quote: Quote): void {
    this.quotes.delete(quote);
    this.byOrderId.delete(quote.orderId);
    const slot = must(this.slots[2 * quote.level + quote.side], "slot");
    if (slot.quote === quote) slot.quote = null;
  }

  private resync(): void {
    if (this.step < this.resyncStep) return;
    const command = { type: CancelAll.code, accountId: this.account.accountId, side: -1 };
    const sent = this.account.send(command, (transaction) => {
      if (transaction === null || refusalOf(transaction) !== null) {
        this.resyncStep = this.step + REFUSAL_STEPS;
        return;
      }
      this.allCanceled();
    });
    if (sent) this.resyncStep = this.step + LOST_STEPS;
  }
}

interface Slot {
  readonly side: Side;
  readonly level: number;
  /** Random factor that keeps distances irregular. */
  jitter: number;
  quote: Quote | null;
  /** No new quote before this step. */
  retryStep: number;
}
