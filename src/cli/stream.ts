import type { PerpdError } from "../client/error.ts";
import { LocalOrderBook } from "../client/order-book.ts";
import type { BookDepth, ChannelMessage, ChannelRequest, KlinesQuery } from "../client/types.ts";
import { type Command, count, oneOf, text, UsageError, type Values } from "./command.ts";
import { DONE, type Paint, signed } from "./terminal.ts";

const PUBLIC = ["ORDERBOOK", "TRADES", "LIQUIDATIONS", "TICKER", "TICKERS", "MARK-PRICE", "SYMBOLS", "KLINES"] as const;
/** The others follow all symbols when none is named. */
const OF_ONE_SYMBOL: readonly string[] = ["ORDERBOOK", "TICKER", "KLINES"];
const PRIVATE = [
  "ORDERS",
  "FILLS",
  "POSITIONS",
  "POSITIONS-HISTORY",
  "BALANCE",
  "TRANSFERS",
  "FUNDING",
  "MARGIN-CALLS",
] as const;

export const stream: Command = {
  name: "stream",
  usage: "CHANNEL [SYMBOL]",
  summary: `follow a channel until Ctrl-C: ${[...PUBLIC, ...PRIVATE].join(", ").toLowerCase()}`,
  options: {
    depth: { argument: "N", description: "orderbook: levels of each side (default 5)" },
    interval: { argument: "I", description: "klines: 1s to 1M (default 1m)" },
    price: { argument: "TYPE", description: "klines: last, mark, index or premium (default last)" },
    count: { argument: "N", description: "end after N messages" },
  },
  isPublic: true,
  async run({ client, positionals: [channel = "", symbol], values, terminal, asJson }) {
    const { print, paint, closed } = terminal;
    const request = requestOf(channel, symbol, values);
    const last = count(values, "count") ?? Number.POSITIVE_INFINITY;
    const show = asJson ? (message: ChannelMessage) => [JSON.stringify(message)] : linesOf(paint);
    endWhenInterrupted();
    // A stream retries for ever, so first check that the exchange answers at all: the address may be mistyped.
    await client.health();
    await new Promise<void>((resolve, reject) => {
      let messages = 0;
      const following = client.stream([request], {
        onMessage(message) {
          for (const line of show(message)) print(line);
          if (++messages >= last) end();
        },
        onError: (error: PerpdError) => reject(error),
        onDisconnect: ({ message }) => terminal.printError(`${message}; trying again`),
      });
      const end = (): void => {
        following.close();
        resolve();
      };
      closed.addEventListener("abort", end, { once: true });
      if (closed.aborted) end();
    });
  },
};

/**
 * Ctrl-C ends a stream with exit code 0. It does not close the connection first, since an exchange that hangs would
 * delay that. Output that was printed is flushed; a second Ctrl-C does not wait for it.
 */
function endWhenInterrupted(): void {
  for (const signal of ["SIGINT", "SIGTERM"] as const)
    process.once(signal, () => process.stdout.write("", () => process.exit(DONE)));
}

function requestOf(name: string, symbol: string | undefined, values: Values): ChannelRequest {
  const word = oneOf("channel", name, [...PUBLIC, ...PRIVATE]);
  const channel = word.toLowerCase() as ChannelRequest["channel"];
  if (symbol === undefined && OF_ONE_SYMBOL.includes(word)) throw new UsageError(`${channel} takes a SYMBOL`);
  return {
    channel,
    ...(symbol !== undefined && { symbol }),
    ...(channel === "orderbook" && { depth: (count(values, "depth") ?? 5) as BookDepth }),
    ...(channel === "klines" && {
      interval: (text(values, "interval") ?? "1m") as KlinesQuery["interval"],
      priceType: oneOf("--price", text(values, "price") ?? "last", ["LAST", "MARK", "INDEX", "PREMIUM"]),
    }),
  };
}

/** Formats messages for people, one line per row. */
function linesOf(paint: Paint): (message: ChannelMessage) => string[] {
  const book = new LocalOrderBook();
  const side = (name: string, words: string) => paint(name === "BUY" || name === "LONG" ? "green" : "red", words);
  const at = (time: number) => paint("dim", new Date(time).toISOString().slice(11, 23));
  return (message) => {
    switch (message.channel) {
      case "orderbook": {
        book.apply(message);
        const [[bid, bidSize] = ["-", "-"]] = book.bids;
        const [[ask, askSize] = ["-", "-"]] = book.asks;
        return [`${at(message.time)}  ${bidSize} @ ${paint("green", bid)}  ${paint("red", ask)} @ ${askSize}`];
      }
      case "trades":
      case "liquidations":
        return message.data.map(
          (row) =>
            `${at(row.time)}  ${row.symbol}  ${side(row.side, row.side.padEnd(4))} ${row.quantity} @ ${row.price}`,
        );
      case "ticker":
      case "tickers":
        return [message.data].flat().map(({ time, symbol, lastPrice, markPrice, bidPrice, askPrice, fundingRate }) => {
          const prices = `last ${lastPrice ?? "-"}  mark ${markPrice ?? "-"}  ${bidPrice ?? "-"} / ${askPrice ?? "-"}`;
          return `${at(time)}  ${symbol}  ${prices}  funding ${fundingRate}`;
        });
      case "mark-price":
        return message.data.map(({ time, symbol, markPrice, indexPrice, fundingRate }) => {
          const prices = `mark ${markPrice ?? "-"}  index ${indexPrice ?? "-"}`;
          return `${at(time ?? 0)}  ${symbol}  ${prices}  funding ${fundingRate}`;
        });
      case "klines":
        return message.data.map(
          (row) =>
            `${at(row.openTime)}  ${row.open} ${row.high} ${row.low} ${row.close}  ${row.volume}${row.closed ? "  closed" : ""}`,
        );
      case "orders":
        return message.data.map((row) => {
          const what = `${row.filledQuantity}/${row.quantity} @ ${row.price ?? "market"}`;
          return `${at(row.updatedAt)}  ${row.orderId}  ${row.symbol}  ${side(row.side, row.side.padEnd(4))} ${what}  ${row.status}`;
        });
      case "fills":
        return message.data.map((row) => {
          const what = `${side(row.side, row.side.padEnd(4))} ${row.quantity} @ ${row.price}`;
          return `${at(row.time)}  ${row.symbol}  ${what}  fee ${row.fee}  position ${row.positionSize}`;
        });
      case "positions":
        return message.data.map((row) => {
          const what = `${side(row.side ?? "", (row.side ?? "FLAT").padEnd(5))} ${row.size} @ ${row.entryPrice ?? "-"}`;
          return `${row.symbol}  ${what}  mark ${row.markPrice ?? "-"}  profit ${signed(paint, row.unrealizedPnl)}  ${row.leverage}x`;
        });
      case "positions-history":
        return message.data.map((row) => {
          const what = `${side(row.side, row.side.padEnd(5))} ${row.closedSize} @ ${row.entryPrice} to ${row.exitPrice}`;
          return `${at(row.closedAt)}  ${row.symbol}  ${what}  net ${signed(paint, row.netPnl)}  ${row.closeType}`;
        });
      case "balance": {
        const { updatedAt, equity, availableBalance, unrealizedPnl } = message.data;
        const profit = signed(paint, unrealizedPnl);
        return [`${at(updatedAt)}  equity ${equity}  available ${availableBalance}  profit ${profit}`];
      }
      case "transfers":
        return message.data.map(
          (row) => `${at(row.updatedAt)}  ${row.kind}  ${row.amount} ${row.asset}  ${row.status}`,
        );
      case "symbols":
        return message.data.map(({ symbol, status, statusReason, pendingIndexPrice, openInterest }) => {
          const why = statusReason === null ? "" : ` ${statusReason}`;
          const pending = pendingIndexPrice === null ? "" : `  pending index ${pendingIndexPrice}`;
          return `${symbol}  ${status}${why}${pending}  open interest ${openInterest}`;
        });
      case "margin-calls":
        return message.data.map(({ time, symbol, active, ratio, threshold }) => {
          const what = `${symbol ?? "cross"}  margin ratio ${ratio ?? "without equity"}`;
          return `${at(time)}  ${what}  ${active ? paint("red", `call at ${threshold}`) : "call ended"}`;
        });
      case "funding":
        return message.data.map((row) => {
          const what = `${signed(paint, row.amount)} for ${row.positionSize} at ${row.fundingRate}`;
          return `${at(row.time)}  ${row.symbol}  ${what}`;
        });
    }
  };
}
