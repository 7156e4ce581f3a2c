import { ATTACHED, BUY, CLOSE_POSITION, STOP, STOP_MARKET, TRAILING_STOP_MARKET } from "../base/enums.ts";
import type { PriceTicks, QuantityLots, TimeMs } from "../base/units.ts";
import type { AttachedLegs } from "../protocol/payloads.ts";
import type { DueTerms } from "./due-orders.ts";
import type { Trailing } from "./trailing.ts";

/** What an order has beyond what every order has. Kept beside the orders, so that those without it do not pay for it. */
export interface OrderTerms extends Trailing, DueTerms {
  /** 0 = it does not wait for a price, nor has it; or does not trail yet. */
  triggerTicks: PriceTicks;
  readonly triggerBy: number;
  /**
   * Its place in the queue of its price, among the serials of the others: one of its own, taken when it came to rest
   * later than it was placed. 0 = the order's serial.
   */
  queueSerial: number;
  /** 0 = none. */
  readonly goodTillDate: TimeMs;
  /** Of an order that came with another one: that one, and the other that did. 0 = none. */
  readonly parentId: number;
  siblingId: number;
  /** What waits once the order has filled, and the orders that do since; 0 = it comes to wait with the next fill. */
  readonly legs: AttachedLegs | null;
  takeProfitId: number;
  stopLossId: number;
  /** Of an iceberg: the size of its slices, and what the book shows of it now; see iceberg.ts. 0 = it is none. */
  displayLots: QuantityLots;
  shownLots: QuantityLots;
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
};

/** Orders with one of these flags end with the position that they wait to close. */
export const WITH_POSITION = CLOSE_POSITION | ATTACHED;

/** What an order with legs has filled in this turn and not handed on yet, for the orders that it lets wait. */
export interface EntryFill {
  readonly orderId: number;
  readonly accountId: number;
  readonly side: number;
  readonly lots: QuantityLots;
}

/** Whether the trigger waits for the price to rise: a stop goes with the movement, a take-profit against it. */
export function waitsForRise(orderType: number, side: number): boolean {
  const isStop = orderType === STOP || orderType === STOP_MARKET || orderType === TRAILING_STOP_MARKET;
  return isStop === (side === BUY);
}

/** As a snapshot has them. `waits`: the order waits for a price. */
type LoadedTerms = OrderTerms & { waits: boolean };

/** The terms of the orders that have any, by slot; and which of them a snapshot must forget. */
export class OrderTermsTable {
  private readonly bySlot = new Map<number, OrderTerms>();
  /** Orders whose terms the last snapshot holds. */
  private readonly persisted = new Set<number>();
  private removedSerials: number[] = [];
  /** Rows of a snapshot that wait for their orders, by serial. */
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

  /** The terms that were loaded for an order, once. */
  takeLoaded(serial: number): LoadedTerms | undefined {
    const terms = this.loaded.get(serial);
    if (terms !== undefined) this.loaded.delete(serial);
    return terms;
  }
}
