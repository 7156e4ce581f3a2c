import { must } from "../assert.ts";
import { BUY, EXPIRE_TAKER, GTC, LIMIT, POST_ONLY, SELL, type Side } from "../core/base/enums.ts";
import type { PriceTicks, Quanta, QuantityLots } from "../core/base/units.ts";
import { CancelAll, CancelOrder, PlaceOrder } from "../core/protocol/commands.ts";
import { blank } from "../core/protocol/message-schema.ts";
import { OrderView, Refused } from "../core/protocol/replies.ts";
import type { BotAccount } from "./bot-account.ts";
import type { Random } from "./random.ts";
import { messageAs } from "./request.ts";

/** Quoted levels: distance from the index price, and size as a part of the maker's stake. */
const LEVELS = [
  { distance: 0.0001, part: 0.01 },
  { distance: 0.00018, part: 0.015 },
  { distance: 0.00028, part: 0.02 },
  { distance: 0.00042, part: 0.03 },
  { distance: 0.0006, part: 0.04 },
  { distance: 0.00085, part: 0.05 },
  { distance: 0.0012, part: 0.06 },
  { distance: 0.0017, part: 0.07 },
  { distance: 0.0025, part: 0.08 },
] as const;

/** A quote moves when it is off its target by this part of its distance. */
const TOLERANCE = 0.5;
/** The largest position, in the maker's own money: with ten times leverage a third of it is margin. */
const MAX_POSITION_BUDGETS = 3;
/** At the limit, the side that would close comes this much nearer to the index price and the other goes as far away. */
const SKEW = 0.8;
/** So near to the limit it opens no more than its money makes of a level. */
const MIN_SIZE_INVENTORY = 0.5;
/** Beats until it asks again after a refusal, for a level or to begin anew. */
const REFUSAL_STEPS = 8;
/** A reply that is out for so long was lost with its worker. */
const LOST_STEPS = 80;

interface Quote {
  readonly side: Side;
  readonly level: number;
  readonly priceTicks: PriceTicks;
  /** What is not filled yet. */
  lots: QuantityLots;
  /** 0 while the order is on its way in. */
  orderId: number;
  /** Its cancel is on its way. */
  isCanceling: boolean;
  /** The beat of the last command about it. */
  sentStep: number;
}

/**
 * A market maker: rests post-only orders on both sides of the index price and moves only those that the price has left
 * behind. Position and open orders of a side together never pass its limit, and its quotes never cross each other.
 * Each beat has two halves, so that of all makers in a market the cancels go out before the new quotes.
 */
export class Maker {
  readonly account: BotAccount;
  private readonly random: Random;
  private readonly quotes = new Set<Quote>();
  private readonly byOrderId = new Map<number, Quote>();
  private readonly slots: Slot[] = [];
  /** Its own view of the price, a few parts per million from the index, so that two makers do not quote alike. */
  private priceBias = 0;
  private step = 0;
  /** What it believes of its orders may be wrong: cancel them all and begin anew. */
  private isOutOfSync = true;
  private resyncStep = 0;

  constructor(desk: BotAccount, random: Random) {
    this.account = desk;
    this.random = random;
    // Outwards on both sides: where not all of them may be open, those next to the price are.
    for (const level of LEVELS.keys())
      for (const side of [BUY, SELL] as const) this.slots.push({ side, level, jitter: 1, quote: null, retryStep: 0 });
  }

  /** First half of a beat: takes back the quotes that are off their targets. */
  cancelStaleQuotes(): void {
    this.step++;
    this.account.recoverSize();
    for (const quote of this.quotes)
      if ((quote.orderId === 0 || quote.isCanceling) && this.step - quote.sentStep > LOST_STEPS)
        this.isOutOfSync = true;
    if (this.isOutOfSync) this.resync();
    if (this.isOutOfSync || this.account.market.indexTicks === 0) return;
    this.priceBias = 0.98 * this.priceBias + 0.000002 * this.random.normal();
    for (const slot of this.slots) {
      const { quote } = slot;
      if (quote === null || quote.orderId === 0) continue;
      const tolerance = LEVELS[slot.level].distance * TOLERANCE * this.account.market.indexTicks;
      if (Math.abs(quote.priceTicks - this.targetTicks(slot)) > Math.max(tolerance, 1)) this.cancel(slot, quote);
    }
  }

  /** Second half: fills the empty levels. */
  placeMissingQuotes(): void {
    if (this.isOutOfSync || this.account.market.indexTicks === 0) return;
    for (const slot of this.slots) if (slot.quote === null && this.step >= slot.retryStep) this.place(slot);
  }

  /** A trade of one of its orders stands in the log. */
  onFilled(orderId: number, lots: QuantityLots): void {
    const quote = this.byOrderId.get(orderId);
    if (quote === undefined) return;
    quote.lots -= lots;
    if (quote.lots <= 0) this.forget(quote);
  }

  /** One of its orders ended. */
  onClosed(orderId: number): void {
    const quote = this.byOrderId.get(orderId);
    if (quote !== undefined) this.forget(quote);
  }

  /** −1 to 1: how near the position is to the limit. */
  private inventory(): number {
    const limit = this.limitLots();
    return limit === 0 ? 0 : Math.max(-1, Math.min(1, this.account.positionLots / limit));
  }

  /** What it trades with: no more than makes the largest position that it may have. */
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
      const reply = transaction.messages[transaction.eventCount];
      const view = messageAs(OrderView, reply);
      if (view !== null) {
        quote.orderId = view.orderId;
        this.byOrderId.set(view.orderId, quote);
        return;
      }
      if (messageAs(Refused, reply)?.code === "INSUFFICIENT_MARGIN") this.account.onMarginRefused();
      slot.retryStep = this.step + REFUSAL_STEPS;
      this.forget(quote);
    });
    if (!sent) return;
    slot.quote = quote;
    this.quotes.add(quote);
  }

  /** Those that stay: one whose cancel was sent is gone before a new one arrives. */
  private openCount(): number {
    let count = 0;
    for (const { isCanceling } of this.quotes) if (!isCanceling) count++;
    return count;
  }

  private sizeLots(slot: Slot): QuantityLots {
    const opens = slot.side === BUY ? this.inventory() : -this.inventory();
    const part = LEVELS[slot.level].part * this.random.between(0.5, 1.5) * (opens > 0 ? 1 - opens : 1);
    // With little money, or where an order may not be small: the smallest, until it leans.
    const least = opens < MIN_SIZE_INVENTORY ? this.account.minOrderLots() : 0;
    const wanted = Math.max(least, this.account.lotsFor(this.stakeQuanta() * part * this.account.sizeFactor));
    let openLots = 0;
    for (const quote of this.quotes) if (quote.side === slot.side) openLots += quote.lots;
    const room = this.account.roomLots(slot.side, this.limitLots(), openLots);
    return Math.min(wanted, room, this.account.market.instrument.maxQuantityLots);
  }

  /** Against quotes that stay. */
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
      // The end of an order comes with the log before any reply: if it is still here, it could not be canceled.
      if (!this.quotes.has(quote)) return;
      if (transaction !== null && messageAs(Refused, transaction.messages[transaction.eventCount]) === null)
        this.forget(quote);
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
      if (transaction === null || messageAs(Refused, transaction.messages[transaction.eventCount]) !== null) {
        this.resyncStep = this.step + REFUSAL_STEPS;
        return;
      }
      for (const quote of this.quotes) this.forget(quote);
      this.isOutOfSync = false;
      this.resyncStep = 0;
    });
    if (sent) this.resyncStep = this.step + LOST_STEPS;
  }
}

interface Slot {
  readonly side: Side;
  readonly level: number;
  /** Keeps the ladder from looking ruled. */
  jitter: number;
  quote: Quote | null;
  /** No new quote before this beat. */
  retryStep: number;
}
