import type { PerpdClient } from "../client/client.ts";
import type { Order, OrderList } from "../client/types.ts";
import { type Command, text } from "./command.ts";
import { keyValues, table } from "./table.ts";
import { type Paint, signed } from "./terminal.ts";

const SYMBOL = { symbol: { type: "string", argument: "S", description: "only this symbol" } } as const;

/** The query for a symbol; empty for all symbols. */
const ofSymbol = (symbol: string | undefined) => (symbol === undefined ? {} : { symbol });

export const balance: Command = {
  name: "balance",
  usage: "",
  summary: "equity, margin and what is available",
  needsCredentials: true,
  async run({ client, terminal: { print, paint }, asJson }) {
    const shown = await client.balance();
    if (asJson) return print(JSON.stringify(shown));
    const { asset } = shown;
    print(
      keyValues(paint, [
        ["equity", `${shown.equity} ${asset}`],
        ["wallet balance", shown.walletBalance],
        ["unrealized profit", signed(paint, shown.unrealizedPnl)],
        ["initial margin", `${shown.initialMargin} (orders: ${shown.openOrderInitialMargin})`],
        ["maintenance margin", shown.maintenanceMargin],
        ["available", shown.availableBalance],
        ["withdrawable", shown.withdrawable],
      ]),
    );
  },
};

export const positions: Command = {
  name: "positions",
  usage: "",
  summary: "open positions",
  options: SYMBOL,
  needsCredentials: true,
  async run({ client, values, terminal: { print, paint }, asJson }) {
    const { data } = await client.positions(ofSymbol(text(values, "symbol")));
    if (asJson) return print(JSON.stringify(data));
    if (data.length === 0) return print("no open positions");
    const columns = ["symbol", "side", ">size", ">entry", ">mark", ">liquidation", ">leverage", ">margin", ">profit"];
    const rows = data.map((position) => [
      position.symbol,
      paint(position.side === "SHORT" ? "red" : "green", position.side ?? "-"),
      position.size,
      position.entryPrice ?? "-",
      position.markPrice ?? "-",
      position.liquidationPrice ?? "-",
      `${position.leverage}x`,
      position.initialMargin,
      signed(paint, position.unrealizedPnl),
    ]);
    print(table(paint, columns, rows));
  },
};

export const orders: Command = {
  name: "orders",
  usage: "",
  summary: "open orders, newest first",
  options: SYMBOL,
  needsCredentials: true,
  async run({ client, values, terminal: { print, paint }, asJson }) {
    const open = await openOrders(client, text(values, "symbol"));
    if (asJson) return print(JSON.stringify(open));
    print(open.length === 0 ? "no open orders" : orderTable(paint, open));
  },
};

/** Reads all pages: an order that rests in the book must not be missing from the list. */
async function openOrders(client: PerpdClient, symbol: string | undefined): Promise<Order[]> {
  const open: Order[] = [];
  let cursor: string | null = null;
  do {
    const page: OrderList = await client.openOrders({
      ...ofSymbol(symbol),
      limit: 1000,
      ...(cursor !== null && { cursor }),
    });
    open.push(...page.data);
    cursor = page.nextCursor;
  } while (cursor !== null);
  return open;
}

export const deposit: Command = {
  name: "deposit",
  usage: "AMOUNT",
  summary: "take USDC from the sandbox's faucet",
  options: {
    reference: {
      type: "string",
      argument: "TEXT",
      description: "idempotency key: repeated deposits with it are credited once",
    },
  },
  needsCredentials: true,
  async run({ client, positionals: [amount = ""], values, terminal: { print }, asJson }) {
    const reference = text(values, "reference");
    const transfer = await client.deposit({ asset: "USDC", amount, ...(reference !== undefined && { reference }) });
    print(asJson ? JSON.stringify(transfer) : `${transfer.status} ${transfer.amount} ${transfer.asset}`);
  },
};

export function orderTable(paint: Paint, rows: readonly Order[]): string {
  const columns = ["order", "name", "symbol", "side", "type", ">price", ">quantity", ">filled", ">average", "status"];
  return table(
    paint,
    columns,
    rows.map((order) => [
      order.orderId,
      order.clientOrderId ?? "-",
      order.symbol,
      paint(order.side === "BUY" ? "green" : "red", order.side),
      order.type,
      order.triggerPrice === null ? (order.price ?? "-") : `${order.price ?? "market"} from ${order.triggerPrice}`,
      order.quantity,
      order.filledQuantity,
      order.avgPrice ?? "-",
      order.reason === null ? order.status : `${order.status} (${order.reason})`,
    ]),
  );
}
