import { isOrderReference } from "../client/paths.ts";
import type { Order, PlacedOrder, TriedOrder } from "../client/types.ts";
import { orderTable } from "./account.ts";
import { type Call, type Command, oneOf, PartlyFailedError, text, UsageError } from "./command.ts";
import { errorLines } from "./error-lines.ts";
import { goodTillDateOf, ORDER_OPTIONS, orderOf, SIDES, UNTIL } from "./new-order.ts";
import type { Paint } from "./terminal.ts";

export const order: Command = {
  name: "order",
  usage: "buy|sell SYMBOL QUANTITY PRICE|queue|opponent|market",
  summary: "place an order, and show what it did",
  options: ORDER_OPTIONS,
  needsCredentials: true,
  async run({ client, positionals, values, terminal: { print, paint }, asJson }) {
    const { clientOrderId, ...given } = orderOf(positionals, values);
    if (values["dry-run"] === true) {
      const tried = await client.tryOrder(given);
      return print(asJson ? JSON.stringify(tried) : triedText(paint, tried));
    }
    const placed = await client.placeOrder({ ...given, ...(clientOrderId !== undefined && { clientOrderId }) });
    print(asJson ? JSON.stringify(placed) : placedText(paint, placed));
  },
};

function triedText(paint: Paint, tried: TriedOrder): string {
  const { fills, marginRequired, before } = tried;
  return [
    orderTable(paint, [{ ...tried, orderId: "-" }]),
    ...fills.map(({ quantity, price, fee }) => `  ${quantity} at ${price}, fee ${fee}`),
    `not placed; it would need ${marginRequired} of ${before.availableBalance} USDC available`,
  ].join("\n");
}

export function placedText(paint: Paint, placed: PlacedOrder): string {
  const fills = placed.fills.map(
    ({ quantity, price, fee, feeAsset, liquidity }) =>
      `  ${quantity} at ${price}, fee ${fee} ${feeAsset} (${liquidity})`,
  );
  return [orderTable(paint, [placed]), ...fills].join("\n");
}

export const amend: Command = {
  name: "amend",
  usage: "ID",
  summary: "change price, quantity, trigger or expiry of an open order, by id or client:NAME",
  options: {
    price: { type: "string", argument: "PRICE", description: "the new limit" },
    quantity: { type: "string", argument: "Q", description: "the new quantity, including what was filled" },
    display: { type: "string", argument: "Q", description: "iceberg: show at most this quantity" },
    trigger: { type: "string", argument: "PRICE", description: "the new trigger price" },
    until: UNTIL,
    trail: {
      type: "string",
      argument: "RATE",
      description: "the new callback rate of a trailing order",
    },
    from: {
      type: "string",
      argument: "PRICE",
      description: "the new activation price of a trailing order",
    },
  },
  needsCredentials: true,
  async run({ client, positionals: [id = ""], values, terminal: { print, paint }, asJson }) {
    if (!isOrderReference(id)) throw new UsageError("amend takes an order id, or client:NAME");
    const [price, quantity] = [text(values, "price"), text(values, "quantity")];
    const [displayQuantity, triggerPrice] = [text(values, "display"), text(values, "trigger")];
    const [callbackRate, activationPrice] = [text(values, "trail"), text(values, "from")];
    const goodTillDate = goodTillDateOf(values);
    const changes = {
      ...(price !== undefined && { price }),
      ...(quantity !== undefined && { quantity }),
      ...(displayQuantity !== undefined && { displayQuantity }),
      ...(triggerPrice !== undefined && { triggerPrice }),
      ...(callbackRate !== undefined && { callbackRate }),
      ...(activationPrice !== undefined && { activationPrice }),
      ...(goodTillDate !== undefined && { goodTillDate }),
    };
    if (Object.keys(changes).length === 0)
      throw new UsageError(
        "amend takes at least one of --price, --quantity, --display, --trigger, --trail, --from and --until",
      );
    const amended = await client.amendOrder(id, changes);
    print(asJson ? JSON.stringify(amended) : placedText(paint, amended));
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
    if (isAll === positionals.length > 0) throw new UsageError("cancel takes order ids, or --all");
    const [symbol, side] = [text(values, "symbol"), text(values, "side")];
    if (!isAll && (symbol ?? side) !== undefined) throw new UsageError("--symbol and --side need --all");
    if (!isAll) return cancelEach(call);
    const { data } = await client.cancelOrders({
      ...(symbol !== undefined && { symbol }),
      ...(side !== undefined && { side: oneOf("--side", side, SIDES) }),
    });
    const { print, paint } = call.terminal;
    if (call.asJson) print(JSON.stringify(data));
    else print(data.length === 0 ? "no open orders" : orderTable(paint, data));
  },
};

/** Tries every id even after a failure: no order that was meant to be canceled may rest unnoticed. */
async function cancelEach({ client, positionals, terminal: { print, paint }, asJson }: Call): Promise<void> {
  const canceled: Order[] = [];
  const failures: string[] = [];
  for (const id of positionals)
    try {
      canceled.push(await client.cancelOrder(id));
    } catch (error) {
      if (!(error instanceof Error)) throw error;
      failures.push(`${id}: ${errorLines(error)[0]}`);
    }
  if (asJson) print(JSON.stringify(canceled));
  else if (canceled.length > 0) print(orderTable(paint, canceled));
  if (failures.length > 0) throw new PartlyFailedError(failures);
}
