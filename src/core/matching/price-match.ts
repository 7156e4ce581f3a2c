import { PRICE_MATCHES } from "../base/enums.ts";
import type { PriceTicks } from "../base/units.ts";
import type { Transaction } from "../protocol/actor.ts";
import { refuse } from "../protocol/refusals.ts";
import type { SymbolState } from "../state/symbol-state.ts";

/** The level that each priceMatch names, best = 1; the same for OPPONENT and QUEUE, in the order of PRICE_MATCHES. */
const LEVELS = [1, 5, 10, 20];

/**
 * The current price in ticks of the book level that `priceMatch` names (Binance USDⓈ-M Futures, priceMatch). OPPONENT is
 * the other side of the book, QUEUE the order's own side. Levels of the account's own orders count. If the side has too
 * few levels, it refuses the order and returns −1.
 */
export function matchPrice(state: SymbolState, side: number, priceMatch: number, transaction: Transaction): PriceTicks {
  const index = priceMatch - 1;
  const bitmap = index < LEVELS.length ? state.book.opposite(side) : state.book.side(side);
  const requiredLevels = LEVELS[index % LEVELS.length];
  let levels = 0;
  for (let price = bitmap.best(); price >= 0; price = bitmap.next(price)) if (++levels === requiredLevels) return price;
  refuse(transaction, "NO_PRICE_LEVEL", "priceMatch", {
    priceMatch: String(PRICE_MATCHES[priceMatch]),
    requiredLevels,
    levels,
  });
  return -1;
}
