import type { LedgerEntry } from "../client/types.ts";
import { type Command, count, type Option, text, type Values } from "./command.ts";
import { table } from "./table.ts";
import { signed } from "./terminal.ts";

const DEFAULT_LIMIT = 20;
const OPTIONS: Readonly<Record<string, Option>> = {
  symbol: { type: "string", argument: "S", description: "only this symbol" },
  limit: {
    type: "string",
    argument: "N",
    description: `maximum number of rows, up to 1000 (default ${DEFAULT_LIMIT})`,
  },
};

const queryOf = (values: Values) => {
  const symbol = text(values, "symbol");
  return { ...(symbol !== undefined && { symbol }), limit: count(values, "limit") ?? DEFAULT_LIMIT };
};
const at = (time: number): string => new Date(time).toISOString().slice(0, 19).replace("T", " ");

export const fills: Command = {
  name: "fills",
  usage: "",
  summary: "the account's trades, newest first",
  options: OPTIONS,
  needsCredentials: true,
  async run({ client, values, terminal: { print, paint }, asJson }) {
    const { data } = await client.fills(queryOf(values));
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

export const ledger: Command = {
  name: "ledger",
  usage: "",
  summary: "every change of the account's money, newest first",
  options: { ...OPTIONS, type: { type: "string", argument: "T", description: "deposit, fee, funding ..." } },
  needsCredentials: true,
  async run({ client, values, terminal: { print, paint }, asJson }) {
    const type = text(values, "type");
    const { data } = await client.ledger({
      ...queryOf(values),
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
