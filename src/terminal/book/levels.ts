import type { Level } from "../../client/types.ts";

/** The rows of a book at a coarser price step. Pure. */

export interface Row {
  price: number;
  quantity: number;
  /** Of this row and all better ones. */
  total: number;
}

/** Prices of bids are rounded down, those of asks up, so that a row never looks better than it is. */
export function groupLevels(levels: readonly Level[], step: number, isBid: boolean, count: number): Row[] {
  const rows: Row[] = [];
  let total = 0;
  let last: Row | undefined;
  for (const [priceText, quantityText] of levels) {
    const steps = Number(priceText) / step;
    // A multiple of the step may lie a hair beside it in binary.
    const nearest = Math.round(steps);
    const whole = Math.abs(steps - nearest) < 1e-6 ? nearest : isBid ? Math.floor(steps) : Math.ceil(steps);
    const price = whole * step;
    const quantity = Number(quantityText);
    if (last === undefined || Math.abs(last.price - price) > step / 2) {
      if (rows.length === count) break;
      last = { price, quantity: 0, total };
      rows.push(last);
    }
    total += quantity;
    last.quantity += quantity;
    last.total = total;
  }
  return rows;
}

/** Price steps to choose from: the tick times 1, 10, 100, 1000 and their halves, up to a hundredth of the price. */
export function groupSteps(tick: number, price: number): number[] {
  const steps: number[] = [];
  for (const factor of [1, 5, 10, 50, 100, 500, 1000, 5000]) {
    const step = Number((tick * factor).toPrecision(12));
    if (factor === 1 || price === 0 || step <= price / 100) steps.push(step);
  }
  return steps;
}
