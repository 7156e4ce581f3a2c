import type { PerpdClient } from "../client/client.ts";
import type { ClosedPosition, Fill, LedgerEntry, Order, OrderList, Position } from "../client/types.ts";
import { type Command, count, defined, text, type Values } from "./command.ts";
import { keyValues, tableOr } from "./table.ts";
import { type Paint, signed } from "./terminal.ts";

const SYMBOL = { symbol: { argument: "S", description: "only this symbol" } };

/** The query for the option `symbol`; empty for all symbols. */
const symbolQuery = (values: Values) => defined({ symbol: text(values, "symbol") });

export const balance: Command = {
  name: "balance",
  summary: "equity, margin and what is available",
  async run({ client, terminal: { paint }, show }) {
    show(await client.balance(), (balance) =>
      keyValues(paint, [
        ["equity", `${balance.equity} ${balance.asset}`],
        ["wallet balance", balance.walletBalance],
        ["unrealized profit", signed(paint, balance.unrealizedPnl)],
        ["initial margin", `${balance.initialMargin} (orders: ${balance.openOrderInitialMargin})`],
        ["maintenance margin", balance.maintenanceMargin],
        ["available", balance.availableBalance],
        ["additional margin", balance.additionalMargin],
        ["withdrawable", balance.withdrawable],
      ]),
    );
  },
};

export const marginCall: Command = {
  name: "margin-call",
  usage: "[RATIO]",
  summary: "show or set the margin ratio at which `stream margin-calls` warns of liquidation",
  async run({ client, positionals: [ratio], show }) {
    show(ratio === undefined ? await client.marginCall() : await client.setMarginCall(ratio), (set) => set.ratio);
  },
};

export const positions: Command = {
  name: "positions",
  summary: "open positions",
  options: SYMBOL,
  async run({ client, values, terminal: { paint }, show }) {
    const { data } = await client.positions(symbolQuery(values));
    const columns = ["symbol", "side", ">size", ">entry", ">mark", ">liquidation", ">leverage", ">margin", ">profit"];
    const rowOf = (position: Position) => [
      position.symbol,
      paint(position.side === "SHORT" ? "red" : "green", position.side ?? "-"),
      position.size,
      position.entryPrice ?? "-",
      position.markPrice ?? "-",
      position.liquidationPrice ?? "-",
      `${position.leverage}x`,
      position.initialMargin,
      signed(paint, position.unrealizedPnl),
    ];
    show(data, () => tableOr("no open positions", paint, columns, data.map(rowOf)));
  },
};

export const orders: Command = {
  name: "orders",
  summary: "open orders, newest first",
  options: SYMBOL,
  async run({ client, values, terminal: { paint }, show }) {
    show(await openOrders(client, values), (open) => orderTable(paint, open));
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
  async run({ client, positionals: [amount = ""], values, show }) {
    const reference = text(values, "reference");
    const transfer = await client.deposit({ asset: "USDC", amount, ...defined({ reference }) });
    show(transfer, ({ status, amount, asset }) => `${status} ${amount} ${asset}`);
  },
};

export function orderTable(paint: Paint, rows: readonly Order[]): string {
  const columns = ["order", "name", "symbol", "side", "type", ">price", ">quantity", ">filled", ">average", "status"];
  return tableOr(
    "no open orders",
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
  async run({ client, values, terminal: { paint }, show }) {
    const { data } = await client.fills(pageQuery(values));
    const columns = ["time (UTC)", "symbol", "side", ">quantity", ">price", ">fee", ">profit", "liquidity", "order"];
    const rowOf = (fill: Fill) => [
      at(fill.time),
      fill.symbol,
      paint(fill.side === "BUY" ? "green" : "red", fill.side),
      fill.quantity,
      fill.price,
      fill.fee,
      signed(paint, fill.realizedPnl),
      fill.execType === "TRADE" ? fill.liquidity : fill.execType,
      fill.orderId ?? "-",
    ];
    show(data, () => tableOr("no fills", paint, columns, data.map(rowOf)));
  },
};

export const positionHistory: Command = {
  name: "positions-history",
  summary: "closed positions with their profit and loss, the last closed first",
  options: PAGE_OPTIONS,
  async run({ client, values, terminal: { paint }, show }) {
    const { data } = await client.positionHistory(pageQuery(values));
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
    const rowOf = (position: ClosedPosition) => [
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
    ];
    show(data, () => tableOr("no closed positions", paint, [...columns, "by"], data.map(rowOf)));
  },
};

export const ledger: Command = {
  name: "ledger",
  summary: "every change of the account's money, newest first",
  options: { ...PAGE_OPTIONS, type: { argument: "T", description: "deposit, fee, funding ..." } },
  async run({ client, values, terminal: { paint }, show }) {
    const type = text(values, "type");
    const { data } = await client.ledger({
      ...pageQuery(values),
      ...(type !== undefined && { type: type.toUpperCase() as LedgerEntry["type"] }),
    });
    const columns = ["time (UTC)", "type", "symbol", ">amount", "asset", "of"];
    const rowOf = (entry: LedgerEntry) => [
      at(entry.time),
      entry.type,
      entry.symbol ?? "-",
      signed(paint, entry.amount),
      entry.asset,
      entry.tradeId ?? entry.transferId ?? (entry.fundingTime === null ? "-" : at(entry.fundingTime)),
    ];
    show(data, () => tableOr("no entries", paint, columns, data.map(rowOf)));
  },
};
