import { NONE } from "../base/columns.ts";
import { BUY, SELL, TRIGGER_SOURCES } from "../base/enums.ts";
import { PriceBitmap } from "../base/price-bitmap.ts";
import type { PriceTicks } from "../base/units.ts";
import { MOST_PRICE_TICKS } from "../protocol/instrument.ts";

/** Whether a price has reached a trigger that waits for it to rise, or to fall. */
export const reaches = (rises: boolean, priceTicks: PriceTicks, triggerTicks: PriceTicks): boolean =>
  rises ? priceTicks >= triggerTicks : priceTicks <= triggerTicks;

/**
 * The orders that wait for one price to rise to their triggers, or to fall to them. By trigger, then by age. The work for
 * a new price depends on how many orders it reaches, and not on how many wait.
 */
class TriggerQueue {
  readonly source: number;
  readonly rises: boolean;
  /** Made when it is first needed: for most prices no order ever waits. */
  private bitmap: PriceBitmap | null = null;
  private readonly slotsAt = new Map<PriceTicks, Set<number>>();
  private readonly ageOf: ((slot: number) => number) | null;

  constructor(source: number, rises: boolean, ageOf: ((slot: number) => number) | null) {
    this.ageOf = ageOf;
    this.source = source;
    this.rises = rises;
  }

  add(triggerTicks: PriceTicks, slot: number): void {
    const waiting = this.slotsAt.get(triggerTicks);
    if (waiting !== undefined) {
      waiting.add(slot);
      return;
    }
    this.slotsAt.set(triggerTicks, new Set([slot]));
    // Falling prices reach the highest trigger first, like bids. A trigger may be above today's maxPrice.
    this.bitmap ??= new PriceBitmap(MOST_PRICE_TICKS, this.rises ? SELL : BUY);
    this.bitmap.set(triggerTicks);
  }

  remove(triggerTicks: PriceTicks, slot: number): void {
    const waiting = this.slotsAt.get(triggerTicks);
    if (waiting === undefined || !waiting.delete(slot) || waiting.size > 0) return;
    this.slotsAt.delete(triggerTicks);
    this.bitmap?.clear(triggerTicks);
  }

  /** Takes out the orders at the first trigger that the price reaches, the oldest first. */
  takeReached(priceTicks: PriceTicks): readonly number[] {
    const { bitmap, slotsAt, ageOf } = this;
    const best = bitmap === null ? -1 : bitmap.best();
    if (best < 0 || priceTicks === 0 || !reaches(this.rises, priceTicks, best)) return [];
    const slots = [...(slotsAt.get(best) ?? [])];
    slotsAt.delete(best);
    bitmap?.clear(best);
    return ageOf === null ? slots : slots.sort((a, b) => ageOf(a) - ageOf(b));
  }

  /** The first order that the price reaches, or NONE. */
  firstReached(priceTicks: PriceTicks): number {
    const best = this.bitmap === null ? -1 : this.bitmap.best();
    if (best < 0 || priceTicks === 0 || !reaches(this.rises, priceTicks, best)) return NONE;
    const { ageOf } = this;
    let first = NONE;
    for (const slot of this.slotsAt.get(best) ?? []) {
      if (ageOf === null) return slot;
      if (first === NONE || ageOf(slot) < ageOf(first)) first = slot;
    }
    return first;
  }
}

/** Conditional orders, by the price that they wait for. */
export class Triggers {
  /** By source. For each the one for falling prices first, then the one for rising prices. */
  private readonly queues: readonly TriggerQueue[];

  /** `ageOf` is needed if orders may be added to one trigger in another order than that of their age. */
  constructor(ageOf: ((slot: number) => number) | null = null) {
    this.queues = TRIGGER_SOURCES.flatMap((_, source) =>
      [false, true].map((rises) => new TriggerQueue(source, rises, ageOf)),
    );
  }

  add(source: number, rises: boolean, triggerTicks: PriceTicks, slot: number): void {
    this.queueOf(source, rises).add(triggerTicks, slot);
  }

  remove(source: number, rises: boolean, triggerTicks: PriceTicks, slot: number): void {
    this.queueOf(source, rises).remove(triggerTicks, slot);
  }

  /** The first order that one of these prices reaches (0 = there is none yet), or NONE. */
  firstReached(markTicks: PriceTicks, lastTicks: PriceTicks, indexTicks: PriceTicks): number {
    const prices = [markTicks, lastTicks, indexTicks];
    for (const queue of this.queues) {
      const slot = queue.firstReached(prices[queue.source]);
      if (slot !== NONE) return slot;
    }
    return NONE;
  }

  /** The order that this price reaches next (0 = there is none yet), or NONE. */
  firstOf(source: number, rises: boolean, priceTicks: PriceTicks): number {
    return this.queueOf(source, rises).firstReached(priceTicks);
  }

  /** Takes out the orders at the first trigger that this price reaches; none when it reaches none. */
  takeReached(source: number, rises: boolean, priceTicks: PriceTicks): readonly number[] {
    return this.queueOf(source, rises).takeReached(priceTicks);
  }

  private queueOf(source: number, rises: boolean): TriggerQueue {
    return this.queues[source * 2 + (rises ? 1 : 0)];
  }
}
