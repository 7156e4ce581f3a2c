import { randomUUID } from "node:crypto";
import type { NewOrder, OrderChanges } from "../client/types.ts";
import { defined, type Option, oneOf, text, UsageError, type Values } from "./command.ts";

const TIMES_IN_FORCE = ["GTC", "IOC", "FOK"] as const;
export const SIDES = ["BUY", "SELL"] as const;
/** Names of book levels that may replace a price. */
const LEVEL = /^(OPPONENT|QUEUE)(_5|_10|_20)?$/;

/** For good-till-date orders. */
export const UNTIL: Option = {
  argument: "TIME",
  description: "expires then, for example 2026-12-01T12:00Z",
};

/** For orders at market. */
const SLIPPAGE: Option = {
  argument: "RATE",
  description: "at market: largest distance from the best price, or from the mark if it waits; 0.01 = 1 %",
};

export const ORDER_OPTIONS: Readonly<Record<string, Option>> = {
  "time-in-force": { argument: "gtc|ioc|fok", description: "time in force" },
  until: UNTIL,
  "post-only": { description: "refuse it if it would trade at once" },
  "reduce-only": { description: "only against the open position" },
  display: { argument: "QUANTITY", description: "iceberg: show at most this quantity" },
  stop: { argument: "PRICE", description: "trigger price: buy above or sell below the current price" },
  "take-profit": { argument: "PRICE", description: "trigger price: buy below or sell above the current price" },
  trail: { argument: "RATE", description: "trailing stop at market: callback rate, 0.01 = 1 %" },
  from: { argument: "PRICE", description: "with --trail: activation price" },
  "max-slippage": SLIPPAGE,
  "then-stop": { argument: "PRICE", description: "attach a stop-loss at market with this trigger price" },
  "then-take-profit": { argument: "PRICE", description: "attach a take-profit; either leg cancels the other" },
  "dry-run": { description: "simulate the order without placing it" },
  name: { argument: "ID", description: "its clientOrderId (default: random)" },
};

/** The order of a command line. It always has a clientOrderId, so that it can be sent again after a lost reply. */
export function orderOf(
  [side = "", symbol = "", quantity = "", price = ""]: readonly string[],
  values: Values,
): NewOrder {
  const timeInForce = text(values, "time-in-force");
  const goodTillDate = goodTillDateOf(values);
  if (timeInForce !== undefined && goodTillDate !== undefined)
    throw new UsageError("give either --time-in-force or --until");
  return {
    symbol,
    side: oneOf("side", side, SIDES),
    quantity,
    ...typeOf(price, values),
    ...legOf("stopLoss", text(values, "then-stop")),
    ...legOf("takeProfit", text(values, "then-take-profit")),
    ...(timeInForce !== undefined && { timeInForce: oneOf("--time-in-force", timeInForce, TIMES_IN_FORCE) }),
    ...(goodTillDate !== undefined && { timeInForce: "GTD", goodTillDate }),
    ...(values["post-only"] === true && { postOnly: true }),
    ...(values["reduce-only"] === true && { reduceOnly: true }),
    ...defined({ displayQuantity: text(values, "display"), maxSlippage: text(values, "max-slippage") }),
    clientOrderId: text(values, "name") ?? randomUUID(),
  };
}

/** In milliseconds since the epoch. */
export function goodTillDateOf(values: Values): number | undefined {
  const until = text(values, "until");
  if (until === undefined) return undefined;
  const time = Date.parse(until);
  if (Number.isNaN(time)) throw new UsageError("--until takes a time such as 2026-12-01T12:00Z");
  return time;
}

const legOf = (name: "stopLoss" | "takeProfit", triggerPrice: string | undefined) =>
  triggerPrice === undefined ? {} : { [name]: { triggerPrice } };

/** The attached legs of an amendment. `none` removes one. */
export function legChangesOf(values: Values): Pick<OrderChanges, "stopLoss" | "takeProfit" | "remove"> {
  const [stop, takeProfit] = [text(values, "then-stop"), text(values, "then-take-profit")];
  const remove: NonNullable<OrderChanges["remove"]> = [];
  if (stop === "none") remove.push("stopLoss");
  if (takeProfit === "none") remove.push("takeProfit");
  return {
    ...(stop !== "none" && legOf("stopLoss", stop)),
    ...(takeProfit !== "none" && legOf("takeProfit", takeProfit)),
    ...(remove.length > 0 && { remove }),
  };
}

/** Type and prices. `price`: a price, the word market, or the name of a book level. */
function typeOf(price: string, values: Values) {
  const [stop, takeProfit, trail] = [text(values, "stop"), text(values, "take-profit"), text(values, "trail")];
  const from = text(values, "from");
  const waits = [stop, takeProfit, trail].filter((given) => given !== undefined);
  if (waits.length > 1) throw new UsageError("give only one of --stop, --take-profit and --trail");
  if (from !== undefined && trail === undefined) throw new UsageError("--from needs --trail");
  const isMarket = price.toLowerCase() === "market";
  const level = price.toUpperCase();
  if (LEVEL.test(level)) {
    if (waits.length > 0) throw new UsageError("a conditional order takes a PRICE or market, not a book level");
    return { type: "LIMIT", priceMatch: level as NonNullable<NewOrder["priceMatch"]> } as const;
  }
  const limit = isMarket ? {} : { price };
  if (stop !== undefined) return { type: isMarket ? "STOP_MARKET" : "STOP", triggerPrice: stop, ...limit } as const;
  if (takeProfit !== undefined) {
    const type = isMarket ? "TAKE_PROFIT_MARKET" : "TAKE_PROFIT";
    return { type, triggerPrice: takeProfit, ...limit } as const;
  }
  if (trail === undefined) return { type: isMarket ? "MARKET" : "LIMIT", ...limit } as const;
  if (!isMarket) throw new UsageError("a trailing order is a market order: use market as its price");
  return { type: "TRAILING_STOP_MARKET", callbackRate: trail, ...defined({ activationPrice: from }) } as const;
}
