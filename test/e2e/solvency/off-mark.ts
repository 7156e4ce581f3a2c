import type { NewOrder, PlacedOrder } from "../../../src/client/types.ts";
import type { Trader } from "../support/trader.ts";
import type { Arena } from "./arena.ts";

/** The market in which money is moved by bad trades. Nothing happens in it otherwise. */
export const ELSEWHERE = { symbol: "ETH-PERP", price: 3000 };
const STEP_SIZE = 0.01;
/** Distances from the mark. The price band is 5 %; near bankruptcy a closing order has a narrower one. */
const DISTANCES = [0.048, 0.03, 0.015, 0.005];
const LOTS = 660;
const ROUNDS = 5;

/** Members who will trade there have little margin in it. */
export async function prepareElsewhere(arena: Arena, traders: Trader[]): Promise<void> {
  await arena.setIndex(ELSEWHERE.symbol, ELSEWHERE.price);
  for (const trader of traders)
    await trader.call(200, "POST", `/positions/${ELSEWHERE.symbol}/leverage`, { leverage: 50 });
}

/** `from` loses money to `to`, as often and as much as the exchange lets it. Then both close, and withdraw what they may. */
export async function loseOffMark(arena: Arena, from: Trader, to: Trader, closes = true): Promise<void> {
  for (let round = 0; round < ROUNDS; round++) {
    await arena.setIndex(ELSEWHERE.symbol, ELSEWHERE.price);
    if (!(await passOn(arena, from, to, "SELL", LOTS))) break;
    const lots = -(await arena.size(from, ELSEWHERE.symbol));
    if (lots <= 0 || !(await passOn(arena, from, to, "BUY", lots))) break;
  }
  const left = await arena.size(from, ELSEWHERE.symbol);
  const [long, short] = left < 0 ? [from, to] : [to, from];
  if (closes && left !== 0) await arena.cross(long, short, ELSEWHERE.symbol, String(Math.abs(left)), ELSEWHERE.price);
  await arena.withdraw(to);
  await arena.withdraw(from);
}

/** `from` trades with `to` as far from the mark as it may, at most so many lots. Returns whether it did. */
async function passOn(arena: Arena, from: Trader, to: Trader, side: "BUY" | "SELL", lots: number): Promise<boolean> {
  const mark = await arena.mark(ELSEWHERE.symbol);
  for (const distance of DISTANCES) {
    const price = (mark * (side === "BUY" ? 1 + distance : 1 - distance)).toFixed(2);
    const order = { symbol: ELSEWHERE.symbol, type: "LIMIT", price } as const;
    const offer = await largest(arena, to, { ...order, side: side === "BUY" ? "SELL" : "BUY" }, lots);
    if (offer === null) continue;
    const taken = await largest(arena, from, { ...order, side, timeInForce: "IOC" }, Number(offer.quantity));
    await to.request("DELETE", `/orders/${offer.orderId}`);
    if (taken !== null && Number(taken.filledQuantity) > 0) return true;
  }
  return false;
}

/** Places the largest part of an order that the exchange accepts, down to a tenth. */
async function largest(
  arena: Arena,
  trader: Trader,
  order: Omit<NewOrder, "quantity">,
  lots: number,
): Promise<PlacedOrder | null> {
  for (let part = lots; part > lots / 10; part *= 0.7) {
    const quantity = (Math.floor(part / STEP_SIZE + 1e-9) * STEP_SIZE).toFixed(2);
    const placed = await arena.attempt(trader, { ...order, quantity } as NewOrder);
    if (placed !== null) return placed;
  }
  return null;
}
