import { must } from "../assert.ts";
import { BUY, EXPIRE_TAKER, GTC, LIMIT, POST_ONLY, SELL, type Side } from "../core/base/enums.ts";
import type { PriceTicks, Quanta, QuantityLots } from "../core/base/units.ts";
import { blank } from "../core/protocol/message-schema.ts";
import { CancelAll, CancelOrder, OrderView, PlaceOrder, Refused } from "../core/protocol/messages.ts";
import { as } from "./ask.ts";
import type { Desk } from "./desk.ts";
import type { Random } from "./random.ts";

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
const LIMIT_IN_BUDGETS = 3;
/** At the limit, the side that would close comes this much nearer to the index price and the other goes as far away. */
const SKEW = 0.8;
/** So near to the limit it opens no more than its money makes of a level. */
const LEAN = 0.5;
/** Beats until it asks again after a refusal, for a level or to begin anew. */
const REFUSAL_BEATS = 8;
/** A reply that is out for so long was lost with its worker. */
const LOST_BEATS = 80;

interface Quote {
  readonly side: Side;
  readonly level: number;
  readonly priceTicks: PriceTicks;
  /** What is not filled yet. */
  lots: QuantityLots;
  /** 0 while the order is on its way in. */
  orderId: number;
  /** Its cancel is on its way. */
  leaving: boolean;
  /** The beat of the last command about it. */
  beat: number;
}

/**
 * A market maker: rests post-only orders on both sides of the index price and moves only those that the price has left
 * behind. Position and open orders of a side together never pass its limit, and its quotes never cross each other.
 * Each beat has two halves, so that of all makers in a market the cancels go out before the new quotes.
 */
export class Maker {
  readonly desk: Desk;
  private readonly random: Random;
  private readonly quotes = new Set<Quote>();
  private readonly byOrderId = new Map<number, Quote>();
  private readonly slots: Slot[] = [];
  /** Its own view of the price, a few parts per million from the index, so that two makers do not quote alike. */
  private opinion = 0;
  private beat = 0;
  /** What it believes of its orders may be wrong: cancel them all and begin anew. */
  private lost = true;
  private askAgainBeat = 0;

  constructor(desk: Desk, random: Random) {
    this.desk = desk;
    this.random = random;
    // Outwards on both sides: where not all of them may be open, those next to the price are.
    for (const level of LEVELS.keys())
      for (const side of [BUY, SELL] as const)
        this.slots.push({ side, level, jitter: 1, quote: null, restUntilBeat: 0 });
  }

  /** First half of a beat: takes back the quotes that are off their targets. */
  retreat(): void {
    this.beat++;
    this.desk.recover();
    for (const quote of this.quotes)
      if ((quote.orderId === 0 || quote.leaving) && this.beat - quote.beat > LOST_BEATS) this.lost = true;
    if (this.lost) this.beginAnew();
    if (this.lost || this.desk.market.indexTicks === 0) return;
    this.opinion = 0.98 * this.opinion + 0.000002 * this.random.normal();
    for (const slot of this.slots) {
      const { quote } = slot;
      if (quote === null || quote.orderId === 0) continue;
      const tolerance = LEVELS[slot.level].distance * TOLERANCE * this.desk.market.indexTicks;
      if (Math.abs(quote.priceTicks - this.targetTicks(slot)) > Math.max(tolerance, 1)) this.cancel(slot, quote);
    }
  }

  /** Second half: fills the empty levels. */
  advance(): void {
    if (this.lost || this.desk.market.indexTicks === 0) return;
    for (const slot of this.slots) if (slot.quote === null && this.beat >= slot.restUntilBeat) this.place(slot);
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
    return limit === 0 ? 0 : Math.max(-1, Math.min(1, this.desk.positionLots / limit));
  }

  /** What it trades with: no more than makes the largest position that it may have. */
  private stakeQuanta(): Quanta {
    return Math.min(this.desk.budgetQuanta, this.desk.mostQuanta() / LIMIT_IN_BUDGETS);
  }

  private limitLots(): QuantityLots {
    return this.desk.lotsFor(LIMIT_IN_BUDGETS * this.stakeQuanta());
  }

  private targetTicks(slot: Slot): PriceTicks {
    const away = slot.side === BUY ? -1 : 1;
    const distance = LEVELS[slot.level].distance * slot.jitter * (1 - SKEW * away * this.inventory());
    const exact = this.desk.market.indexTicks * (1 + this.opinion) * (1 + away * distance);
    return slot.side === BUY ? Math.floor(exact) : Math.ceil(exact);
  }

  private place(slot: Slot): void {
    const { side, level } = slot;
    const { instrument } = this.desk.market;
    if (this.openCount() >= instrument.maxOpenOrders) return;
    slot.jitter = this.random.between(0.9, 1.1);
    const priceTicks = this.targetTicks(slot);
    const lots = this.sizeLots(slot);
    if (lots < this.desk.smallestLots() || priceTicks < 1 || priceTicks > instrument.maxPriceTicks) return;
    if (this.wouldCrossOwn(side, priceTicks)) return;
    const quote: Quote = { side, level, priceTicks, lots, orderId: 0, leaving: false, beat: this.beat };
    const command = {
      ...blank(PlaceOrder),
      accountId: this.desk.accountId,
      side,
      orderType: LIMIT,
      timeInForce: GTC,
      flags: POST_ONLY,
      selfTradePrevention: EXPIRE_TAKER,
      priceTicks,
      quantityLots: lots,
    };
    const sent = this.desk.send(command, (transaction) => {
      if (transaction === null) return this.forget(quote);
      const reply = transaction.messages[transaction.eventCount];
      const view = as(OrderView, reply);
      if (view !== null) {
        quote.orderId = view.orderId;
        this.byOrderId.set(view.orderId, quote);
        return;
      }
      if (as(Refused, reply)?.code === "INSUFFICIENT_MARGIN") this.desk.refusedForMargin();
      slot.restUntilBeat = this.beat + REFUSAL_BEATS;
      this.forget(quote);
    });
    if (!sent) return;
    slot.quote = quote;
    this.quotes.add(quote);
  }

  /** Those that stay: one whose cancel was sent is gone before a new one arrives. */
  private openCount(): number {
    let count = 0;
    for (const { leaving } of this.quotes) if (!leaving) count++;
    return count;
  }

  private sizeLots(slot: Slot): QuantityLots {
    const opens = slot.side === BUY ? this.inventory() : -this.inventory();
    const part = LEVELS[slot.level].part * this.random.between(0.5, 1.5) * (opens > 0 ? 1 - opens : 1);
    // With little money, or where an order may not be small: the smallest, until it leans.
    const least = opens < LEAN ? this.desk.smallestLots() : 0;
    const wanted = Math.max(least, this.desk.lotsFor(this.stakeQuanta() * part * this.desk.appetite));
    let openLots = 0;
    for (const quote of this.quotes) if (quote.side === slot.side) openLots += quote.lots;
    const room = this.desk.roomLots(slot.side, this.limitLots(), openLots);
    return Math.min(wanted, room, this.desk.market.instrument.maxQuantityLots);
  }

  /** Against quotes that stay. */
  private wouldCrossOwn(side: Side, priceTicks: PriceTicks): boolean {
    for (const quote of this.quotes)
      if (quote.side !== side && !quote.leaving)
        if (side === BUY ? priceTicks >= quote.priceTicks : priceTicks <= quote.priceTicks) return true;
    return false;
  }

  private cancel(slot: Slot, quote: Quote): void {
    const { accountId } = this.desk;
    const command = { type: CancelOrder.code, accountId, orderId: quote.orderId, clientOrderId: "" };
    const sent = this.desk.send(command, (transaction) => {
      // The end of an order comes with the log before any reply: if it is still here, it could not be canceled.
      if (!this.quotes.has(quote)) return;
      if (transaction !== null && as(Refused, transaction.messages[transaction.eventCount]) === null)
        this.forget(quote);
      else this.lost = true;
    });
    if (!sent) return;
    quote.leaving = true;
    quote.beat = this.beat;
    slot.quote = null;
  }

  private forget(quote: Quote): void {
    this.quotes.delete(quote);
    this.byOrderId.delete(quote.orderId);
    const slot = must(this.slots[2 * quote.level + quote.side], "slot");
    if (slot.quote === quote) slot.quote = null;
  }

  private beginAnew(): void {
    if (this.beat < this.askAgainBeat) return;
    const command = { type: CancelAll.code, accountId: this.desk.accountId, side: -1 };
    const sent = this.desk.send(command, (transaction) => {
      if (transaction === null || as(Refused, transaction.messages[transaction.eventCount]) !== null) {
        this.askAgainBeat = this.beat + REFUSAL_BEATS;
        return;
      }
      for (const quote of this.quotes) this.forget(quote);
      this.lost = false;
      this.askAgainBeat = 0;
    });
    if (sent) this.askAgainBeat = this.beat + LOST_BEATS;
  }
}

interface Slot {
  readonly side: Side;
  readonly level: number;
  /** Keeps the ladder from looking ruled. */
  jitter: number;
  quote: Quote | null;
  /** No new quote before this beat. */
  restUntilBeat: number;
}
