import { isOrderReference } from "../client/paths.ts";
import type { DryRunOrder, MarginMode, Order, PlacedOrder, Position } from "../client/types.ts";
import { orderTable } from "./account.ts";
import {
  type Call,
  type Command,
  count,
  defined,
  errorLines,
  oneOf,
  PartlyFailedError,
  text,
  UsageError,
} from "./command.ts";
import { goodTillDateOf, legChangesOf, ORDER_OPTIONS, orderOf, SIDES, UNTIL } from "./new-order.ts";
import { table } from "./table.ts";
import type { Paint } from "./terminal.ts";

const MARGIN_MODES = ["CROSS", "ISOLATED"] as const;

export const order: Command = {
  name: "order",
  usage: "buy|sell SYMBOL QUANTITY PRICE|queue|opponent|market",
  summary: "place an order, and show what it did",
  options: ORDER_OPTIONS,
  async run({ client, positionals, values, terminal: { paint }, show }) {
    const { clientOrderId, ...given } = orderOf(positionals, values);
    if (values["dry-run"] === true) {
      const dryRun = await client.tryOrder(given);
      return show(dryRun, () => dryRunText(paint, dryRun));
    }
    const placed = await client.placeOrder({ ...given, ...defined({ clientOrderId }) });
    show(placed, () => placedText(paint, placed));
  },
};

export const maxSize: Command = {
  name: "max-size",
  usage: "SYMBOL PRICE|market",
  summary: "the largest order of each side that would be accepted now",
  options: { "reduce-only": { description: "only against the open position" } },
  async run({ client, positionals: [symbol = "", price = ""], values, terminal: { paint }, show }) {
    const isMarket = price.toLowerCase() === "market";
    const found = await client.maxOrderSize({
      symbol,
      ...(isMarket ? { type: "MARKET" } : { type: "LIMIT", price }),
      ...(values["reduce-only"] === true && { reduceOnly: true }),
    });
    show(found, ({ data }) => {
      const rows = data.map(({ side, maxQuantity, limitedBy }) => [side, maxQuantity, limitedBy?.code ?? "-"]);
      return table(paint, ["side", ">quantity", "limited by"], rows);
    });
  },
};

function dryRunText(paint: Paint, dryRun: DryRunOrder): string {
  const { fills, marginRequired, before } = dryRun;
  return [
    orderTable(paint, [{ ...dryRun, orderId: "-" }]),
    ...legLines(dryRun),
    ...fills.map(({ quantity, price, fee }) => `  ${quantity} at ${price}, fee ${fee}`),
    `not placed; it would need ${marginRequired} of ${before.availableBalance} USDC available`,
  ].join("\n");
}

function placedText(paint: Paint, placed: PlacedOrder): string {
  const fills = placed.fills.map(
    ({ quantity, price, fee, feeAsset, liquidity }) =>
      `  ${quantity} at ${price}, fee ${fee} ${feeAsset} (${liquidity})`,
  );
  return [orderTable(paint, [placed]), ...legLines(placed), ...fills].join("\n");
}

/** The orders that a fill of this one attaches. */
function legLines({ stopLoss, takeProfit }: Pick<Order, "stopLoss" | "takeProfit">): string[] {
  const legs = [["stop", stopLoss] as const, ["take-profit", takeProfit] as const];
  return legs.flatMap(([name, leg]) =>
    leg === null ? [] : [`  then ${name} at ${leg.triggerPrice} (${leg.triggerBy}), ${leg.price ?? "market"}`],
  );
}

export const amend: Command = {
  name: "amend",
  usage: "ID",
  summary: "change price, quantity, trigger or expiry of an open order, by id or client:NAME",
  options: {
    price: { argument: "PRICE", description: "the new limit" },
    quantity: { argument: "Q", description: "the new quantity, including what was filled" },
    display: { argument: "Q", description: "iceberg: show at most this quantity" },
    trigger: { argument: "PRICE", description: "the new trigger price" },
    until: UNTIL,
    trail: { argument: "RATE", description: "the new callback rate of a trailing order" },
    from: { argument: "PRICE", description: "the new activation price of a trailing order" },
    "max-slippage": { argument: "RATE", description: "the new maxSlippage of a conditional order at market" },
    "then-stop": { argument: "PRICE|none", description: "before the first fill: the attached stop-loss at market" },
    "then-take-profit": { argument: "PRICE|none", description: "before the first fill: the attached take-profit" },
  },
  async run({ client, positionals: [id = ""], values, terminal: { paint }, show }) {
    if (!isOrderReference(id)) throw new UsageError("amend takes an order id, or client:NAME");
    const changes = defined({
      price: text(values, "price"),
      quantity: text(values, "quantity"),
      displayQuantity: text(values, "display"),
      triggerPrice: text(values, "trigger"),
      callbackRate: text(values, "trail"),
      activationPrice: text(values, "from"),
      maxSlippage: text(values, "max-slippage"),
      goodTillDate: goodTillDateOf(values),
      ...legChangesOf(values),
    });
    if (Object.keys(changes).length === 0)
      throw new UsageError(
        "amend takes at least one of --price, --quantity, --display, --trigger, --trail, --from, --max-slippage, " +
          "--then-stop, --then-take-profit and --until",
      );
    const amended = await client.amendOrder(id, changes);
    show(amended, () => placedText(paint, amended));
  },
};

export const cancel: Command = {
  name: "cancel",
  usage: "[ID ...]",
  summary: "cancel orders by id or client:NAME, or --all of them",
  options: {
    all: { description: "all open orders" },
    symbol: { argument: "S", description: "with --all: of this symbol only" },
    side: { argument: "buy|sell", description: "with --all: of this side only" },
  },
  async run(call) {
    const { client, positionals, values } = call;
    const isAll = values.all === true;
    if (isAll === positionals.length > 0) throw new UsageError("cancel takes order ids, or --all");
    const [symbol, side] = [text(values, "symbol"), text(values, "side")];
    if (!isAll && (symbol ?? side) !== undefined) throw new UsageError("--symbol and --side need --all");
    if (!isAll) return cancelEach(call);
    const named = defined({ symbol, side: side === undefined ? undefined : oneOf("--side", side, SIDES) });
    const { data } = await client.cancelOrders(named);
    call.show(data, () => orderTable(call.terminal.paint, data));
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
  if (failures.length > 0) throw new PartlyFailedError(failures.join("\n"));
}

export const close: Command = {
  name: "close",
  usage: "SYMBOL [QUANTITY]",
  summary: "close a position at market, all of it or a part",
  options: { "max-slippage": { argument: "RATE", description: "largest distance from the mark price, 0.01 = 1 %" } },
  async run({ client, positionals: [symbol = "", quantity], values, terminal: { paint }, show }) {
    const how = defined({ quantity, maxSlippage: text(values, "max-slippage") });
    const placed = await client.closePosition(symbol, how);
    show(placed, () => placedText(paint, placed));
  },
};

export const leverage: Command = {
  name: "leverage",
  usage: "SYMBOL LEVERAGE",
  summary: "set the leverage of a symbol",
  async run({ client, positionals: [symbol = "", given = ""], show }) {
    const set = await client.setLeverage(symbol, count({ leverage: given }, "leverage") ?? 0);
    show(set, () => `${set.symbol} ${set.leverage}x`);
  },
};

export const margin: Command = {
  name: "margin",
  usage: "SYMBOL [cross|isolated]",
  summary: "set the margin mode of a symbol, or move an isolated position's margin",
  options: {
    add: { argument: "USDC", description: "move this amount from the account to the position" },
    remove: { argument: "USDC", description: "move this amount from the position to the account" },
    reference: { argument: "TEXT", description: "idempotency key: repeated moves with it are applied once" },
  },
  async run(call) {
    const set = await marginChange(call);
    const aside =
      "isolatedMargin" in set && set.isolatedMargin !== null ? `, isolated margin ${set.isolatedMargin} USDC` : "";
    call.show(set, () => `${set.symbol} ${set.marginMode}${aside}`);
  },
};

function marginChange({ client, positionals, values }: Call): Promise<MarginMode | Position> {
  const [symbol = "", mode] = positionals;
  const [add, remove] = [text(values, "add"), text(values, "remove")];
  if ([mode, add, remove].filter((given) => given !== undefined).length !== 1)
    throw new UsageError("margin takes one of cross, isolated, --add and --remove");
  if (mode !== undefined) return client.setMarginMode(symbol, oneOf("mode", mode, MARGIN_MODES));
  return client.moveMargin(symbol, add ?? `-${remove}`, text(values, "reference"));
}
