import type { Draft, Side } from "../order-form/draft.ts";

/** The orders that make sense at a price. Pure. */

export interface Offer {
  readonly side: Side;
  readonly kind: "LIMIT" | "STOP_MARKET" | "TAKE_PROFIT_MARKET";
}

/** Below the market one buys at a limit, and sells when the price falls to a stop. Above it is the reverse. */
export function offersAt(price: number, market: number): readonly Offer[] {
  const [near, far]: readonly [Side, Side] = price < market ? ["BUY", "SELL"] : ["SELL", "BUY"];
  return [
    { side: near, kind: "LIMIT" },
    { side: far, kind: "STOP_MARKET" },
    { side: near, kind: "TAKE_PROFIT_MARKET" },
  ];
}

/** The input of the order form. `price`: a decimal text. */
export const draftOf = ({ side, kind }: Offer, price: string): Partial<Draft> => ({
  side,
  kind,
  ...(kind === "LIMIT" ? { price } : { triggerPrice: price }),
});
