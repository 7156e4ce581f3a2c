import type { PerpdClient } from "../client/client.ts";
import type { LedgerEntry, Order, OrderList } from "../client/types.ts";
import { type Command, count, defined, text, type Values } from "./command.ts";
import { keyValues, table } from "./table.ts";
import { type Paint, signed } from "./terminal.ts";

const SYMBOL = { symbol: { argument: "S", description: "only this symbol" } };

/** The query for the option `symbol`; empty for all symbols. */
const symbolQuery = (values: Values) => defined({ symbol: text(values, "symbol") });

export const balance: Command = {
  name: "balance",
  summary: "equity, margin and what is available",
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

export const marginCall: Command = {
  name: "margin-call",
  usage: "[RATIO]",
  summary: "show or set the margin ratio at which `stream margin-calls` warns of liquidation",
  async run({ client, positionals: [ratio], terminal: { print }, asJson }) {
    const setting = ratio === undefined ? await client.marginCall() : await client.setMarginCall(ratio);
    print(asJson ? JSON.stringify(setting) : setting.ratio);
  },
};

export const positions: Command = {
  name: "positions",
  summary: "open positions",
  options: SYMBOL,
  async run({ client, values, terminal: { print, paint }, asJson }) {
    const { data } = await client.positions(symbolQuery(values));
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
  summary: "open orders, newest first",
  options: SYMBOL,
  async run({ client, values, terminal: { print, paint }, asJson }) {
    const open = await openOrders(client, values);
    if (asJson) return print(JSON.stringify(open));
    print(open.length === 0 ? "no open orders" : orderTable(paint, open));
  },
};

/** Reads all pages: an order that rests in the book must not be missing from the list. */
async function openOrders(client: PerpdClient, values: Values): Promise<Order[]> {
  const open: Order[] = [];
  let cursor: string | null = null;
  do {
    const page: OrderList = await client.openOrders({
      ...symbolQuery(values),
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
    reference: { argument: "TEXT", description: "idempotency key: repeated deposits with it are credited once" },
  },
  async run({ client, positionals: [amount = ""], values, terminal: { print }, asJson }) {
    const reference = text(values, "reference");
    const transfer = await client.deposit({ asset: "USDC", amount, ...defined({ reference }) });
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

const DEFAULT_LIMIT = 20;
const PAGE_OPTIONS = {
  ...SYMBOL,
  limit: { argument: "N", description: `maximum number of rows, up to 1000 (default ${DEFAULT_LIMIT})` },
};

const pageQuery = (values: Values) => ({ ...symbolQuery(values), limit: count(values, "limit") ?? DEFAULT_LIMIT });
const at = (time: number): string => new Date(time).toISOString().slice(0, 19).replace("T", " ");

export const fills: Command = {
  name: "fills",
  summary: "the account's trades, newest first",
  options: PAGE_OPTIONS,
  async run({ client, values, terminal: { print, paint }, asJson }) {
    const { data } = await client.fills(pageQuery(values));
    if (asJson) return print(JSON.stringify(data));
    if (data.length === 0) return print("no fills");
    const columns = ["time (UTC)", "symbol", "side", ">quantity", ">price", ">fee", ">profit", "liquidity", "order"];
    const rows = data.map((fill) => [
      at(fill.time),
      fill.symbol,
      paint(fill.side === "BUY" ? "green" : "red", fill.side),
      fill.quantity,
      fill.price,
      fill.fee,
      signed(paint, fill.realizedPnl),
      fill.execType === "TRADE" ? fill.liquidity : fill.execType,
      fill.orderId ?? "-",
    ]);
    print(table(paint, columns, rows));
  },
};

export const positionHistory: Command = {
  name: "positions-history",
  summary: "closed positions with their profit and loss, the last closed first",
  options: PAGE_OPTIONS,
  async run({ client, values, terminal: { print, paint }, asJson }) {
    const { data } = await client.positionHistory(pageQuery(values));
    if (asJson) return print(JSON.stringify(data));
    if (data.length === 0) return print("no closed positions");
    const columns = [
      "closed (UTC)",
      "symbol",
      "side",
      ">size",
      ">entry",
      ">exit",
      ">profit",
      ">fees",
      ">funding",
      ">net",
    ];
    const rows = data.map((position) => [
      at(position.closedAt),
      position.symbol,
      paint(position.side === "SHORT" ? "red" : "green", position.side),
      position.closedSize,
      position.entryPrice,
      position.exitPrice,
      signed(paint, position.realizedPnl),
      position.liquidationFee === "0" ? position.fee : `${position.fee} + ${position.liquidationFee}`,
      signed(paint, position.funding),
      signed(paint, position.netPnl),
      position.closeType,
    ]);
    print(table(paint, [...columns, "by"], rows));
  },
};

export const ledger: Command = {
  name: "ledger",
  summary: "every change of the account's money, newest first",
  options: { ...PAGE_OPTIONS, type: { argument: "T", description: "deposit, fee, funding ..." } },
  async run({ client, values, terminal: { print, paint }, asJson }) {
    const type = text(values, "type");
    const { data } = await client.ledger({
      ...pageQuery(values),
      ...(type !== undefined && { type: type.toUpperCase() as LedgerEntry["type"] }),
    });
    if (asJson) return print(JSON.stringify(data));
    if (data.length === 0) return print("no entries");
    const columns = ["time (UTC)", "type", "symbol", ">amount", "asset", "of"];
    const rows = data.map((entry) => [
      at(entry.time),
      entry.type,
      entry.symbol ?? "-",
      signed(paint, entry.amount),
      entry.asset,
      entry.tradeId ?? entry.transferId ?? (entry.fundingTime === null ? "-" : at(entry.fundingTime)),
    ]);
    print(table(paint, columns, rows));
  },
};
