import type { DryRunOrder, Position } from "../../client/types.ts";
import { isAbove, sum } from "../text/decimal.ts";

/** The position after all of an order has traded, from its dry run, which ends with what trades at once. Pure. */

interface Holding {
  /** Negative: short. */
  readonly size: string;
  /** Null: there is no position, or the price is not known. */
  readonly entryPrice: number | null;
}

const absolute = (size: string): string => size.replace("-", "");
const isOpposite = (size: string, other: string): boolean => Number(size) * Number(other) < 0;

/** `quantity`: negative for a sale. `price`: null when it is not known. */
function add({ size, entryPrice }: Holding, quantity: string, price: number | null): Holding {
  const next = sum([size, quantity]);
  if (Number(next) === 0) return { size: next, entryPrice: null };
  if (Number(size) === 0 || isOpposite(size, next)) return { size: next, entryPrice: price };
  // A reduction leaves the entry of the rest.
  if (isOpposite(size, quantity)) return { size: next, entryPrice };
  const isKnown = entryPrice !== null && price !== null;
  const value = isKnown ? Number(size) * entryPrice + Number(quantity) * price : null;
  return { size: next, entryPrice: value === null ? null : value / Number(next) };
}

/**
 * `position`: the one that the page has; undefined = none. A resting order trades at its price. One that waits for
 * its trigger may trade at a better price.
 */
export function positionIfFilled(tried: DryRunOrder, position: Position | undefined): Holding {
  const { side, status, fills, price, remainingQuantity, reduceOnly, before, after } = tried;
  const signed = (quantity: string): string => (side === "SELL" && Number(quantity) !== 0 ? `-${quantity}` : quantity);
  const size = position === undefined ? "0" : position.side === "SHORT" ? `-${position.size}` : position.size;
  // The engine's answer and the stream of positions come apart from each other.
  const isSame = Number(size) === Number(before.positionSize);
  const held = { size: before.positionSize, entryPrice: isSame && position ? Number(position.entryPrice) : null };
  const traded = fills.reduce<Holding>((sofar, fill) => add(sofar, signed(fill.quantity), Number(fill.price)), held);
  const rest = signed(remainingQuantity);
  const left = absolute(after.positionSize);
  // The exchange cuts a reduce-only order to the position.
  const isCut = reduceOnly && isAbove(remainingQuantity, left);
  const isKnown = price != null && status !== "UNTRIGGERED";
  return add(traded, isCut ? signed(left) : rest, isKnown ? Number(price) : null);
}
