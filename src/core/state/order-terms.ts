import { ATTACHED, BUY, CLOSE_POSITION, STOP, STOP_MARKET, TRAILING_STOP_MARKET } from "../base/enums.ts";
import type { PriceTicks, QuantityLots, RatePpm, TimeMs } from "../base/units.ts";
import type { AttachedLegs } from "../protocol/payloads.ts";
import type { DueTerms } from "./due-orders.ts";
import type { Trailing } from "./trailing.ts";

/** Fields that few orders have. Kept apart, so that the other orders need no memory for them. */
export interface OrderTerms extends Trailing, DueTerms {
  /** 0 = the order is not conditional, or does not trail yet. */
  triggerTicks: PriceTicks;
  readonly triggerBy: number;
  /**
   * Its place in the queue of its price, among the serials of the other orders: taken when it came to rest later than it
   * was placed. 0 = the order's own serial.
   */
  queueSerial: number;
  /** 0 = none. */
  readonly goodTillDate: TimeMs;
  /** Of an attached order: the order that it belongs to, and the other order attached to that. 0 = none. */
  readonly parentId: number;
  siblingId: number;
  /** Legs of a parent, and their attached orders; 0 = the next fill places it. */
  readonly legs: AttachedLegs | null;
  takeProfitId: number;
  stopLossId: number;
  /** Of an iceberg: the size of its slices, and the lots that the book shows now. 0 = it is none. See iceberg.ts. */
  displayLots: QuantityLots;
  shownLots: QuantityLots;
  /** Of a conditional order at market: how far from the mark it may trade when it fires. 0 = as far as the price band. */
  maxSlippagePpm: RatePpm;
}

export const NO_TERMS: OrderTerms = {
  triggerTicks: 0,
  triggerBy: 0,
  queueSerial: 0,
  goodTillDate: 0,
  parentId: 0,
  siblingId: 0,
  legs: null,
  takeProfitId: 0,
  stopLossId: 0,
  callbackPpm: 0,
  activationTicks: 0,
  bestTicks: 0,
  displayLots: 0,
  shownLots: 0,
  dueSerial: 0,
  maxSlippagePpm: 0,
};

/** Conditional orders with one of these flags end with their position. */
export const WITH_POSITION = CLOSE_POSITION | ATTACHED;

/** Fills of an order with legs in this transaction. Its attached orders do not have them yet. */
export interface EntryFill {
  readonly orderId: number;
  readonly accountId: number;
  readonly side: number;
  readonly lots: QuantityLots;
}

/** Whether the order waits for the price to rise: a stop BUY and a take-profit SELL do. */
export function waitsForRise(orderType: number, side: number): boolean {
  const isStop = orderType === STOP || orderType === STOP_MARKET || orderType === TRAILING_STOP_MARKET;
  return isStop === (side === BUY);
}

/** Terms in a snapshot. `waits`: the order has not fired. */
type LoadedTerms = OrderTerms & { waits: boolean };

/** The terms of the orders that have any, by slot. */
export class OrderTermsTable {
  private readonly bySlot = new Map<number, OrderTerms>();
  /** Orders whose terms the last snapshot holds. */
  private readonly persisted = new Set<number>();
  private removedSerials: number[] = [];
  /** Terms of a snapshot whose orders are not loaded yet, by serial. */
  private readonly loaded = new Map<number, LoadedTerms>();

  of(slot: number): OrderTerms {
    return this.bySlot.get(slot) ?? NO_TERMS;
  }

  set(slot: number, terms: OrderTerms): void {
    this.bySlot.set(slot, terms);
  }

  remove(slot: number, serial: number): void {
    this.bySlot.delete(slot);
    if (this.persisted.delete(serial)) this.removedSerials.push(serial);
  }

  markPersisted(serial: number): void {
    this.persisted.add(serial);
  }

  takeRemoved(removed: (serial: number) => void): void {
    for (const serial of this.removedSerials) removed(serial);
    this.removedSerials = [];
  }

  load(serial: number, terms: LoadedTerms): void {
    this.loaded.set(serial, terms);
    this.persisted.add(serial);
  }

  /** Takes the loaded terms of an order out of the table. */
  takeLoaded(serial: number): LoadedTerms | undefined {
    const terms = this.loaded.get(serial);
    if (terms !== undefined) this.loaded.delete(serial);
    return terms;
  }
}
