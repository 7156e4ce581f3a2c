import { unreachable } from "../../assert.ts";
import type { ChannelRequest } from "./channel-requests.ts";

/** The topic that a request subscribes to. Equal requests of one account have the same topic and share a stream. */
export function topicOf(request: ChannelRequest, accountId: number): string {
  const { channel, instrument, depth, updateMs, interval, priceType } = request;
  switch (channel) {
    case "orderbook":
      return `orderbook/${instrument?.id}/${depth}/${updateMs}`;
    case "trades":
      return `trades/${instrument?.id ?? "all"}/${updateMs}`;
    case "liquidations":
    case "mark-price":
    case "symbols":
      return `${channel}/${instrument?.id ?? "all"}`;
    case "ticker":
      return `ticker/${instrument?.id}/${updateMs}`;
    case "tickers":
      return `tickers/${updateMs}`;
    case "klines":
      return `klines/${instrument?.id}/${interval}/${priceType}`;
    case "orders":
    case "fills":
    case "positions":
    case "positions-history":
    case "funding":
      return `${channel}/${accountId}/${instrument?.id ?? "all"}`;
    case "balance":
    case "transfers":
    case "margin-calls":
      return `${channel}/${accountId}`;
    default:
      return unreachable(channel);
  }
}
