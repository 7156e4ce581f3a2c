import type { PriceTicks, Quanta, QuantityLots, TimeMs } from "../base/units.ts";

const STRIDE = 8; // one cache line
const FILLED_LOTS = 0;
const FILLED_QUANTA = 1;
const FEE = 2;
const QUANTITY = 3;
const UPDATED_AT = 4;
const MARGIN_PRICE = 5;
const LOSS = 6;

/**
 * Numbers of orders that have traded or changed, or that are priced through the mark. Few resting orders have them, so
 * they are apart and the other orders stay small. Places count from 1. Place 0 holds the fills of orders without: none.
 */
export class OrderDetails {
  private numbers = new Float64Array(STRIDE * 64);
  private readonly freePlaces: number[] = [];
  private used = 1;

  filledLots(place: number): QuantityLots {
    return this.numbers[place * STRIDE + FILLED_LOTS];
  }
  filledQuanta(place: number): Quanta {
    return this.numbers[place * STRIDE + FILLED_QUANTA];
  }
  feeQuanta(place: number): Quanta {
    return this.numbers[place * STRIDE + FEE];
  }
  quantityLots(place: number): QuantityLots {
    return this.numbers[place * STRIDE + QUANTITY];
  }
  updatedAt(place: number): TimeMs {
    return this.numbers[place * STRIDE + UPDATED_AT];
  }
  marginPriceTicks(place: number): PriceTicks {
    return this.numbers[place * STRIDE + MARGIN_PRICE];
  }
  lossTicks(place: number): PriceTicks {
    return this.numbers[place * STRIDE + LOSS];
  }

  /** Takes a place for an order that has not traded, with the values that an order without details has. */
  take(quantityLots: QuantityLots, updatedAt: TimeMs, marginPriceTicks: PriceTicks): number {
    const place = this.freePlaces.pop() ?? this.add();
    const { numbers } = this;
    const at = place * STRIDE;
    numbers[at + FILLED_LOTS] = 0;
    numbers[at + FILLED_QUANTA] = 0;
    numbers[at + FEE] = 0;
    numbers[at + QUANTITY] = quantityLots;
    numbers[at + UPDATED_AT] = updatedAt;
    numbers[at + MARGIN_PRICE] = marginPriceTicks;
    numbers[at + LOSS] = 0;
    return place;
  }

  free(place: number): void {
    this.freePlaces.push(place);
  }

  addFill(place: number, lots: QuantityLots, quanta: Quanta, feeQuanta: Quanta): void {
    const { numbers } = this;
    const at = place * STRIDE;
    numbers[at + FILLED_LOTS] = numbers[at + FILLED_LOTS] + lots;
    numbers[at + FILLED_QUANTA] = numbers[at + FILLED_QUANTA] + quanta;
    numbers[at + FEE] = numbers[at + FEE] + feeQuanta;
  }
  setQuantityLots(place: number, quantityLots: QuantityLots): void {
    this.numbers[place * STRIDE + QUANTITY] = quantityLots;
  }
  setUpdatedAt(place: number, updatedAt: TimeMs): void {
    this.numbers[place * STRIDE + UPDATED_AT] = updatedAt;
  }
  setMarginTerms(place: number, marginPriceTicks: PriceTicks, lossTicks: PriceTicks): void {
    this.numbers[place * STRIDE + MARGIN_PRICE] = marginPriceTicks;
    this.numbers[place * STRIDE + LOSS] = lossTicks;
  }

  private add(): number {
    if (this.used * STRIDE === this.numbers.length) {
      const larger = new Float64Array(this.numbers.length * 2);
      larger.set(this.numbers);
      this.numbers = larger;
    }
    return this.used++;
  }
}
