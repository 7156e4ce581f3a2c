import type { Instrument, Level } from "../client/types.ts";
import { type Command, count } from "./command.ts";
import { keyValues, table } from "./table.ts";
import { signed } from "./terminal.ts";

const DEFAULT_DEPTH = 10;
const PRICES = [">last", ">mark", ">24h %", ">volume", ">funding"];
const MARKET_COLUMNS = ["symbol", "status", ...PRICES, ">tick", ">step", ">leverage"];

export const markets: Command = {
  name: "markets",
  summary: "every symbol with its prices, funding and limits",
  isPublic: true,
  async run({ client, terminal: { paint }, show }) {
    const [{ data: symbols }, { data: tickers }] = await Promise.all([client.symbols(), client.tickers()]);
    const rowOf = (instrument: Instrument): string[] => {
      const ticker = tickers.find(({ symbol }) => symbol === instrument.symbol);
      return [
        instrument.symbol,
        instrument.status,
        ticker?.lastPrice ?? "-",
        ticker?.markPrice ?? "-",
        signed(paint, ticker?.priceChangePercent24h ?? "0"),
        ticker?.volume24h ?? "0",
        ticker?.fundingRate ?? "0",
        instrument.tickSize,
        instrument.stepSize,
        `${instrument.maxLeverage}x`,
      ];
    };
    show({ symbols, tickers }, () => table(paint, MARKET_COLUMNS, symbols.map(rowOf)));
  },
};

export const book: Command = {
  name: "book",
  usage: "SYMBOL",
  summary: "the best levels of the order book",
  options: { depth: { argument: "N", description: `levels of each side (default ${DEFAULT_DEPTH})` } },
  isPublic: true,
  async run({ client, positionals: [symbol = ""], values, terminal: { print, paint }, asJson }) {
    const shown = await client.orderBook(symbol, count(values, "depth") ?? DEFAULT_DEPTH);
    if (asJson) return print(JSON.stringify(shown));
    const side = (levels: readonly Level[], colour: "red" | "green") =>
      levels.map(([price, quantity]) => [paint(colour, price), quantity]);
    const rows = [...side(shown.asks, "red").reverse(), ["", ""], ...side(shown.bids, "green")];
    print(table(paint, [">price", ">quantity"], rows));
    print(
      keyValues(paint, [
        ["at", new Date(shown.time).toISOString()],
        ["sequence", String(shown.sequence)],
      ]),
    );
  },
};
