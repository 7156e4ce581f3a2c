import { BadRequest, type Dict, InvalidOrder } from "ccxt";

/** What an order waits for, in the exchange's words. */
export interface Condition {
  kind: "STOP" | "TAKE_PROFIT";
  triggerPrice: unknown;
  triggerBy: string | undefined;
  /** Made to close a position. */
  closes: boolean;
}

/**
 * Reads ccxt's params of conditional orders: `stopLossPrice` and `takeProfitPrice`, which close a position, and
 * `triggerPrice` with `triggerDirection`, which is a stop where no direction is given. Null for an order that does not
 * wait; `rest`: the params that are left.
 */
export function readCondition(side: string, params: Dict): { condition: Condition | null; rest: Dict } {
  const { triggerPrice, stopPrice, stopLossPrice, takeProfitPrice, triggerDirection, triggerPriceType, ...rest } =
    params;
  const prices = [triggerPrice ?? stopPrice, stopLossPrice, takeProfitPrice];
  const given = prices.filter((price) => price !== undefined);
  if (given.length === 0) return { condition: null, rest: params };
  if (given.length > 1)
    throw new InvalidOrder("perpd createOrder() takes one of triggerPrice, stopLossPrice and takeProfitPrice");
  const closes = stopLossPrice !== undefined || takeProfitPrice !== undefined;
  const isStop = closes ? stopLossPrice !== undefined : isStopDirection(side, triggerDirection);
  return {
    condition: {
      kind: isStop ? "STOP" : "TAKE_PROFIT",
      triggerPrice: given[0],
      triggerBy: triggerPriceType === undefined ? undefined : String(triggerPriceType).toUpperCase(),
      closes,
    },
    rest,
  };
}

/** A stop buys above today's price and sells below it. */
function isStopDirection(side: string, direction: unknown): boolean {
  if (direction === undefined) return true;
  if (direction === "ascending" || direction === "above") return side === "buy";
  if (direction === "descending" || direction === "below") return side === "sell";
  throw new BadRequest(`perpd createOrder(): a triggerDirection is ascending or descending, not ${String(direction)}`);
}
