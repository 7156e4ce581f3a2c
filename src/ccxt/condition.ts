import { BadRequest, type Dict, InvalidOrder, Precise } from "ccxt";

/** The trigger condition of an order, in the exchange's terms. */
export interface Condition {
  kind: "STOP" | "TAKE_PROFIT" | "TRAILING_STOP";
  triggerBy: string | undefined;
  /** True for orders made to close a position. */
  closes: boolean;
  /** For orders that do not trail. */
  triggerPrice?: unknown;
  /** For trailing orders: callback as a fraction of the best price, and the activation price. */
  callbackRate?: string | undefined;
  activationPrice?: unknown;
}

/**
 * Reads ccxt's params of conditional orders: `stopLossPrice` and `takeProfitPrice`, which close a position;
 * `triggerPrice` with `triggerDirection` (a stop when no direction is given); and `trailingPercent` with
 * `trailingTriggerPrice`. Returns null for an order without a condition; `rest`: the remaining params. Throws
 * InvalidOrder for more than one condition.
 */
export function readCondition(side: string, params: Dict): { condition: Condition | null; rest: Dict } {
  const { trailingPercent, trailingTriggerPrice, triggerPriceType, ...others } = params;
  const { triggerPrice, stopPrice, stopLossPrice, takeProfitPrice, triggerDirection, ...rest } = others;
  const prices = [triggerPrice ?? stopPrice, stopLossPrice, takeProfitPrice];
  const given = [...prices, trailingPercent].filter((value) => value !== undefined);
  if (given.length === 0) return { condition: null, rest: params };
  if (given.length > 1)
    throw new InvalidOrder(
      "perpd createOrder() takes one of triggerPrice, stopLossPrice, takeProfitPrice and trailingPercent",
    );
  const triggerBy = triggerPriceType === undefined ? undefined : String(triggerPriceType).toUpperCase();
  if (trailingPercent !== undefined) {
    const callbackRate = callbackRateOf(trailingPercent);
    const condition = { kind: "TRAILING_STOP", callbackRate, activationPrice: trailingTriggerPrice } as const;
    return { condition: { ...condition, triggerBy, closes: false }, rest };
  }
  const closes = stopLossPrice !== undefined || takeProfitPrice !== undefined;
  const isStop = closes ? stopLossPrice !== undefined : isStopDirection(side, triggerDirection);
  return {
    condition: { kind: isStop ? "STOP" : "TAKE_PROFIT", triggerPrice: given[0], triggerBy, closes },
    rest,
  };
}

/** ccxt's trailingPercent as a fraction. */
export const callbackRateOf = (percent: unknown): string | undefined => Precise.stringDiv(String(percent), "100");

/** A stop buys above the current price and sells below it. */
function isStopDirection(side: string, direction: unknown): boolean {
  if (direction === undefined) return true;
  if (direction === "ascending" || direction === "above") return side === "buy";
  if (direction === "descending" || direction === "below") return side === "sell";
  throw new BadRequest(`perpd createOrder(): a triggerDirection is ascending or descending, not ${String(direction)}`);
}
