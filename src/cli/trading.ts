import { randomUUID } from "node:crypto";
import type { NewOrder, PlacedOrder } from "../client/types.ts";
import { orderTable } from "./account.ts";
import { type Call, type Command, count, oneOf, text, UsageError, type Values } from "./command.ts";
import type { Paint } from "./terminal.ts";

const TIMES_IN_FORCE = ["GTC", "IOC", "FOK"] as const;
const SIDES = ["BUY", "SELL"] as const;
/** A level of the book in the place of a price. */
const LEVEL = /^(OPPONENT|QUEUE)(_5|_10|_20)?$/;

export const order: Command = {
  name: "order",
  usage: "buy|sell SYMBOL QUANTITY PRICE|queue|opponent|market",
  summary: "place an order, and show what it did",
  options: {
    "time-in-force": { type: "string", argument: "gtc|ioc|fok", description: "how long it rests" },
    "post-only": { type: "boolean", description: "refuse it if it would trade at once" },
    "reduce-only": { type: "boolean", description: "only against the open position" },
    stop: { type: "string", argument: "PRICE", description: "wait for it: to buy above or sell below today's price" },
    "take-profit": { type: "string", argument: "PRICE", description: "wait for it: to buy below or sell above" },
    name: { type: "string", argument: "ID", description: "its clientOrderId (default: one made up)" },
  },
  needsCredentials: true,
  async run({ client, positionals, values, terminal: { print, paint }, asJson }) {
    // With a name of its own it can be sent again when the answer is lost.
    const placed = await client.placeOrder(orderOf(positionals, values));
    print(asJson ? JSON.stringify(placed) : placedText(paint, placed));
  },
};

function placedText(paint: Paint, placed: PlacedOrder): string {
  const fills = placed.fills.map(
    ({ quantity, price, fee, feeAsset, liquidity }) =>
      `  ${quantity} at ${price}, fee ${fee} ${feeAsset} (${liquidity})`,
  );
  return [orderTable(paint, [placed]), ...fills].join("\n");
}

function orderOf([side = "", symbol = "", quantity = "", price = ""]: readonly string[], values: Values): NewOrder {
  const timeInForce = text(values, "time-in-force");
  return {
    symbol,
    side: oneOf("side", side, SIDES),
    quantity,
    ...typeOf(price, text(values, "stop"), text(values, "take-profit")),
    ...(timeInForce !== undefined && { timeInForce: oneOf("--time-in-force", timeInForce, TIMES_IN_FORCE) }),
    ...(values["post-only"] === true && { postOnly: true }),
    ...(values["reduce-only"] === true && { reduceOnly: true }),
    clientOrderId: text(values, "name") ?? randomUUID(),
  };
}

function typeOf(price: string, stop: string | undefined, takeProfit: string | undefined) {
  if (stop !== undefined && takeProfit !== undefined)
    throw new UsageError("an order waits for --stop or --take-profit");
  const isMarket = price.toLowerCase() === "market";
  const level = price.toUpperCase();
  if (LEVEL.test(level)) {
    if ((stop ?? takeProfit) !== undefined)
      throw new UsageError("an order that waits for a price has a PRICE, or market");
    return { type: "LIMIT", priceMatch: level as NonNullable<NewOrder["priceMatch"]> } as const;
  }
  const limit = isMarket ? {} : { price };
  if (stop !== undefined) return { type: isMarket ? "STOP_MARKET" : "STOP", triggerPrice: stop, ...limit } as const;
  if (takeProfit !== undefined) {
    const type = isMarket ? "TAKE_PROFIT_MARKET" : "TAKE_PROFIT";
    return { type, triggerPrice: takeProfit, ...limit } as const;
  }
  return { type: isMarket ? "MARKET" : "LIMIT", ...limit } as const;
}

export const close: Command = {
  name: "close",
  usage: "SYMBOL [QUANTITY]",
  summary: "close a position at market, all of it or a part",
  needsCredentials: true,
  async run({ client, positionals: [symbol = "", quantity], terminal: { print, paint }, asJson }) {
    const placed = await client.closePosition(symbol, quantity === undefined ? {} : { quantity });
    print(asJson ? JSON.stringify(placed) : placedText(paint, placed));
  },
};

export const leverage: Command = {
  name: "leverage",
  usage: "SYMBOL LEVERAGE",
  summary: "set the leverage of a symbol",
  needsCredentials: true,
  async run({ client, positionals: [symbol = "", given = ""], terminal: { print }, asJson }) {
    const set = await client.setLeverage(symbol, count({ leverage: given }, "leverage") ?? 0);
    print(asJson ? JSON.stringify(set) : `${set.symbol} ${set.leverage}x`);
  },
};

export const cancel: Command = {
  name: "cancel",
  usage: "[ID ...]",
  summary: "cancel orders by id or client:NAME, or --all of them",
  options: {
    all: { type: "boolean", description: "all open orders" },
    symbol: { type: "string", argument: "S", description: "with --all: of this symbol only" },
    side: { type: "string", argument: "buy|sell", description: "with --all: of this side only" },
  },
  needsCredentials: true,
  async run(call) {
    const { client, positionals, values } = call;
    const isAll = values.all === true;
    if (isAll === positionals.length > 0) throw new UsageError("cancel takes the ids of orders, or --all");
    const [symbol, side] = [text(values, "symbol"), text(values, "side")];
    if (!isAll && (symbol ?? side) !== undefined) throw new UsageError("--symbol and --side go with --all");
    const ended = isAll
      ? await client.cancelOrders({
          ...(symbol !== undefined && { symbol }),
          ...(side !== undefined && { side: oneOf("--side", side, SIDES) }),
        })
      : { data: await cancelEach(call) };
    const { print, paint } = call.terminal;
    if (call.asJson) print(JSON.stringify(ended.data));
    else print(ended.data.length === 0 ? "no open orders" : orderTable(paint, ended.data));
  },
};

async function cancelEach({ client, positionals }: Call) {
  const ended = [];
  for (const id of positionals) ended.push(await client.cancelOrder(id));
  return ended;
}
