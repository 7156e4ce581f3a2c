import { BadRequest, type Dict, InvalidOrder, NotSupported, Precise } from "ccxt";

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

/** The terms that the type of an order alone decides. */
interface NamedType {
  /** Null = the params alone say whether the order has a condition. */
  kind: Condition["kind"] | null;
  isMarket: boolean;
}

/** ccxt's two types, and those of other exchanges that say what they mean. */
const TYPES: Readonly<Record<string, NamedType>> = {
  LIMIT: { kind: null, isMarket: false },
  MARKET: { kind: null, isMarket: true },
  STOP: { kind: "STOP", isMarket: false },
  STOP_LIMIT: { kind: "STOP", isMarket: false },
  STOP_LOSS_LIMIT: { kind: "STOP", isMarket: false },
  STOP_MARKET: { kind: "STOP", isMarket: true },
  TAKE_PROFIT: { kind: "TAKE_PROFIT", isMarket: false },
  TAKE_PROFIT_LIMIT: { kind: "TAKE_PROFIT", isMarket: false },
  TAKE_PROFIT_MARKET: { kind: "TAKE_PROFIT", isMarket: true },
  TRAILING_STOP: { kind: "TRAILING_STOP", isMarket: true },
  TRAILING_STOP_MARKET: { kind: "TRAILING_STOP", isMarket: true },
};

/** `stopMarket`, `stop-market` and `STOP_MARKET` are the same. Throws NotSupported for an unknown type. */
export function readType(type: string): NamedType {
  const name = type
    .replace(/([a-z])([A-Z])/g, "$1_$2")
    .replace(/[- ]/g, "_")
    .toUpperCase();
  if (Object.hasOwn(TYPES, name)) return TYPES[name] as NamedType;
  throw new NotSupported(`perpd createOrder() knows no type ${type}, but ${Object.keys(TYPES).join(", ")}`);
}

/**
 * Reads ccxt's params of conditional orders: `stopLossPrice` and `takeProfitPrice`, which close a position;
 * `triggerPrice` with `triggerDirection` (a stop when no direction is given); and `trailingPercent` with
 * `trailingTriggerPrice`. A type such as `STOP_MARKET` decides, so that params which contradict it are refused. Returns
 * null for an order without a condition; `rest`: the remaining params. Throws InvalidOrder for more than one condition.
 */
export function readCondition(
  named: Condition["kind"] | null,
  side: string,
  params: Dict,
): { condition: Condition | null; rest: Dict } {
  const { trailingPercent, trailingAmount, trailingTriggerPrice, triggerPriceType, ...others } = params;
  const { triggerPrice, stopPrice, stopLossPrice, takeProfitPrice, triggerDirection, ...rest } = others;
  if (trailingAmount !== undefined)
    throw new NotSupported("perpd createOrder() takes trailingPercent, and no trailingAmount");
  const prices = [triggerPrice ?? stopPrice, stopLossPrice, takeProfitPrice];
  const given = [...prices, trailingPercent].filter((value) => value !== undefined);
  const trails = trailingPercent !== undefined || rest.callbackRate !== undefined;
  if (given.length === 0 && named === null && !trails) return { condition: null, rest: params };
  if (given.length > 1)
    throw new InvalidOrder(
      "perpd createOrder() takes one of triggerPrice, stopLossPrice, takeProfitPrice and trailingPercent",
    );
  const triggerBy = triggerPriceType === undefined ? undefined : String(triggerPriceType).toUpperCase();
  if (trails || named === "TRAILING_STOP") {
    if (!trails || (named ?? "TRAILING_STOP") !== "TRAILING_STOP" || given[0] !== trailingPercent)
      throw new InvalidOrder("perpd createOrder(): a trailing order, and no other, has a trailingPercent");
    const callbackRate = trailingPercent === undefined ? rest.callbackRate : callbackRateOf(trailingPercent);
    const condition = { kind: "TRAILING_STOP", callbackRate, activationPrice: trailingTriggerPrice } as const;
    return { condition: { ...condition, triggerBy, closes: false }, rest };
  }
  if (given.length === 0) throw new InvalidOrder(`perpd createOrder(): a ${named} order needs a triggerPrice`);
  const closes = stopLossPrice !== undefined || takeProfitPrice !== undefined;
  const kind = conditionKind(named, side, { stopLossPrice, takeProfitPrice, triggerDirection });
  return { condition: { kind, triggerPrice: given[0], triggerBy, closes }, rest };
}

/** The kind by the type and the params together. Throws InvalidOrder if they contradict each other. */
function conditionKind(
  named: "STOP" | "TAKE_PROFIT" | null,
  side: string,
  { stopLossPrice, takeProfitPrice, triggerDirection }: Dict,
): "STOP" | "TAKE_PROFIT" {
  const said = new Set<"STOP" | "TAKE_PROFIT">();
  if (named !== null) said.add(named);
  if (stopLossPrice !== undefined) said.add("STOP");
  if (takeProfitPrice !== undefined) said.add("TAKE_PROFIT");
  if (triggerDirection !== undefined) said.add(isStopDirection(side, triggerDirection) ? "STOP" : "TAKE_PROFIT");
  const [kind = "STOP", other] = said;
  if (other === undefined) return kind;
  throw new InvalidOrder("perpd createOrder(): the type, the trigger price and its direction contradict each other");
}

/** ccxt's trailingPercent as a fraction. */
export const callbackRateOf = (percent: unknown): string | undefined => Precise.stringDiv(String(percent), "100");

/** A stop buys above the current price and sells below it. */
function isStopDirection(side: string, direction: unknown): boolean {
  if (direction === "ascending" || direction === "above") return side === "buy";
  if (direction === "descending" || direction === "below") return side === "sell";
  throw new BadRequest(`perpd createOrder(): a triggerDirection is ascending or descending, not ${String(direction)}`);
}
