import type { Quanta, QuantityLots } from "./units.ts";

const STRIDE = 3;
const LOTS = 0;
const QUANTA = 1;
const FEE = 2;

/**
 * What orders have traded: lots, their notional and fees. Apart from the orders, since nearly all that rest have traded
 * nothing. A place is a number from 1 on; 0 = nothing has traded.
 */
export class Fills {
  private numbers = new Float64Array(STRIDE * 64);
  private readonly freePlaces: number[] = [];
  private used = 1;

  lots(place: number): QuantityLots {
    return this.numbers[place * STRIDE + LOTS];
  }
  quanta(place: number): Quanta {
    return this.numbers[place * STRIDE + QUANTA];
  }
  feeQuanta(place: number): Quanta {
    return this.numbers[place * STRIDE + FEE];
  }

  /** A place where nothing has traded yet. */
  take(): number {
    const place = this.freePlaces.pop();
    if (place !== undefined) return place;
    if (this.used * STRIDE === this.numbers.length) this.numbers = larger(this.numbers);
    return this.used++;
  }

  free(place: number): void {
    const at = place * STRIDE;
    this.numbers[at + LOTS] = 0;
    this.numbers[at + QUANTA] = 0;
    this.numbers[at + FEE] = 0;
    this.freePlaces.push(place);
  }

  add(place: number, lots: QuantityLots, quanta: Quanta, feeQuanta: Quanta): void {
    const { numbers } = this;
    const at = place * STRIDE;
    numbers[at + LOTS] = numbers[at + LOTS] + lots;
    numbers[at + QUANTA] = numbers[at + QUANTA] + quanta;
    numbers[at + FEE] = numbers[at + FEE] + feeQuanta;
  }
}

/** A copy with twice the room. */
export function larger(numbers: Float64Array): Float64Array<ArrayBuffer> {
  const copy = new Float64Array(numbers.length * 2);
  copy.set(numbers);
  return copy;
}
