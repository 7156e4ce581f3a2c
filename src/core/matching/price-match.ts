import { PRICE_MATCHES } from "../base/enums.ts";
import type { PriceTicks } from "../base/units.ts";
import type { Transaction } from "../protocol/actor.ts";
import { refuse } from "../protocol/refusals.ts";
import type { SymbolState } from "../state/symbol-state.ts";

/** Of each side, in the order of PRICE_MATCHES: which of its levels, best first. */
const LEVELS = [1, 5, 10, 20];

/**
 * The price of an order that names a level of the book in the place of one (Binance USDⓈ-M Futures, priceMatch), as the
 * book is shown now: OPPONENT is the side that it would take, QUEUE the one that it would rest on, its own orders
 * included. −1 when that side has fewer levels: then it has been refused.
 */
export function matchPrice(state: SymbolState, side: number, priceMatch: number, transaction: Transaction): PriceTicks {
  const place = priceMatch - 1;
  const bitmap = place < LEVELS.length ? state.book.opposite(side) : state.book.side(side);
  const requiredLevels = LEVELS[place % LEVELS.length];
  let levels = 0;
  for (let price = bitmap.best(); price >= 0; price = bitmap.next(price)) if (++levels === requiredLevels) return price;
  refuse(transaction, "NO_PRICE_LEVEL", "priceMatch", {
    priceMatch: String(PRICE_MATCHES[priceMatch]),
    requiredLevels,
    levels,
  });
  return -1;
}
