import { randomUUID } from "node:crypto";
import type { NewOrder } from "../client/types.ts";
import { type Option, oneOf, text, UsageError, type Values } from "./command.ts";

const TIMES_IN_FORCE = ["GTC", "IOC", "FOK"] as const;
export const SIDES = ["BUY", "SELL"] as const;
/** A level of the book in the place of a price. */
const LEVEL = /^(OPPONENT|QUEUE)(_5|_10|_20)?$/;

/** Of an order with an end. */
export const UNTIL: Option = { type: "string", argument: "TIME", description: "its end, like 2026-12-01T12:00Z" };

export const ORDER_OPTIONS: Readonly<Record<string, Option>> = {
  "time-in-force": { type: "string", argument: "gtc|ioc|fok", description: "how long it rests" },
  until: UNTIL,
  "post-only": { type: "boolean", description: "refuse it if it would trade at once" },
  "reduce-only": { type: "boolean", description: "only against the open position" },
  display: { type: "string", argument: "QUANTITY", description: "an iceberg: show no more than this of it" },
  stop: { type: "string", argument: "PRICE", description: "wait for it: to buy above or sell below today's price" },
  "take-profit": { type: "string", argument: "PRICE", description: "wait for it: to buy below or sell above" },
  trail: { type: "string", argument: "RATE", description: "at market, once the best price has come back by it: 0.01" },
  from: { type: "string", argument: "PRICE", description: "with --trail: trail from this price on" },
  "then-stop": { type: "string", argument: "PRICE", description: "close what it opened at market from here on" },
  "then-take-profit": {
    type: "string",
    argument: "PRICE",
    description: "the same where it has won; one cancels the other",
  },
  "dry-run": { type: "boolean", description: "do not place it: show what would come of it now" },
  name: { type: "string", argument: "ID", description: "its clientOrderId (default: one made up)" },
};

/** The order that a command line means. With a name of its own it can be sent again when the answer is lost. */
export function orderOf(
  [side = "", symbol = "", quantity = "", price = ""]: readonly string[],
  values: Values,
): NewOrder {
  const timeInForce = text(values, "time-in-force");
  const goodTillDate = goodTillDateOf(values);
  if (timeInForce !== undefined && goodTillDate !== undefined)
    throw new UsageError("an order has --time-in-force or --until");
  const displayQuantity = text(values, "display");
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
    ...(displayQuantity !== undefined && { displayQuantity }),
    clientOrderId: text(values, "name") ?? randomUUID(),
  };
}

/** In milliseconds since the epoch. */
export function goodTillDateOf(values: Values): number | undefined {
  const until = text(values, "until");
  if (until === undefined) return undefined;
  const time = Date.parse(until);
  if (Number.isNaN(time)) throw new UsageError("--until takes a time like 2026-12-01T12:00Z");
  return time;
}

const legOf = (name: "stopLoss" | "takeProfit", triggerPrice: string | undefined) =>
  triggerPrice === undefined ? {} : { [name]: { triggerPrice } };

/** Type and prices: `price` may be the word market, or name a level of the book. */
function typeOf(price: string, values: Values) {
  const [stop, takeProfit, trail] = [text(values, "stop"), text(values, "take-profit"), text(values, "trail")];
  const from = text(values, "from");
  const waits = [stop, takeProfit, trail].filter((given) => given !== undefined);
  if (waits.length > 1) throw new UsageError("an order waits for --stop, --take-profit or --trail");
  if (from !== undefined && trail === undefined) throw new UsageError("--from goes with --trail");
  const isMarket = price.toLowerCase() === "market";
  const level = price.toUpperCase();
  if (LEVEL.test(level)) {
    if (waits.length > 0) throw new UsageError("an order that waits for a price has a PRICE, or market");
    return { type: "LIMIT", priceMatch: level as NonNullable<NewOrder["priceMatch"]> } as const;
  }
  const limit = isMarket ? {} : { price };
  if (stop !== undefined) return { type: isMarket ? "STOP_MARKET" : "STOP", triggerPrice: stop, ...limit } as const;
  if (takeProfit !== undefined) {
    const type = isMarket ? "TAKE_PROFIT_MARKET" : "TAKE_PROFIT";
    return { type, triggerPrice: takeProfit, ...limit } as const;
  }
  if (trail === undefined) return { type: isMarket ? "MARKET" : "LIMIT", ...limit } as const;
  if (!isMarket) throw new UsageError("an order that trails is at market");
  const activation = from === undefined ? {} : { activationPrice: from };
  return { type: "TRAILING_STOP_MARKET", callbackRate: trail, ...activation } as const;
}
