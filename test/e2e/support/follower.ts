import assert from "node:assert/strict";
import { isDeepStrictEqual } from "node:util";
import type WebSocket from "ws";
import { PerpdClient } from "../../../src/client/client.ts";
import { LocalOrderBook } from "../../../src/client/order-book.ts";
import type { Stream, WebSocketConstructor } from "../../../src/client/stream.ts";
import type {
  Balance,
  ChannelMessage,
  ChannelRequest,
  Fill,
  Order,
  OrderBook,
  Page,
  Position,
} from "../../../src/client/types.ts";
import { DocumentedWebSocket } from "./documents/documented-messages.ts";
import type { Trader } from "./trader.ts";

const CHANNELS: ChannelRequest[] = [
  { channel: "orderbook", symbol: "BTC-PERP", depth: 1000 },
  { channel: "orderbook", symbol: "BTC-PERP", depth: 5, updateMs: 100 },
  { channel: "trades", symbol: "BTC-PERP" },
  { channel: "orders" },
  { channel: "fills" },
  { channel: "positions" },
  { channel: "balance" },
];

/** Builds an account's whole state and a market's books from the streams alone, over any number of connections. */
export class Follower {
  readonly stream: Stream;
  /** Every trade and fill since the streams began, by id. */
  readonly trades = new Set<string>();
  readonly fills = new Map<string, Fill>();
  /** How often a connection resumed instead of starting with a snapshot. */
  resumed = 0;
  /** Whose state it follows, as the exchange itself says it. */
  trader: Trader;
  private readonly book = new LocalOrderBook();
  private readonly top = new LocalOrderBook();
  private readonly orders = new Map<string, Order>();
  private readonly positions = new Map<string, Position>();
  private balance: Balance | null = null;
  private socket: WebSocket | null = null;
  private justCut = false;

  constructor(url: string, trader: Trader) {
    this.trader = trader;
    const remember = (socket: WebSocket): void => {
      this.socket = socket;
    };
    class Remembered extends DocumentedWebSocket {
      constructor(address: string) {
        super(address);
        remember(this);
      }
    }
    const client = new PerpdClient({
      baseUrl: url,
      token: trader.token as string,
      WebSocket: Remembered as unknown as WebSocketConstructor,
    });
    this.stream = client.stream(CHANNELS, { onMessage: (message) => this.take(message) });
  }

  /** Drops the connection without a close frame, as a network failure does. */
  cut(): void {
    this.justCut = true;
    this.socket?.terminate();
  }

  /** Resolves with null when everything equals the exchange's state, else with the first difference. */
  async difference(): Promise<string | null> {
    const { trader } = this;
    const [book, top] = await Promise.all(
      [1000, 5].map((depth) => trader.get<OrderBook>(`/market/orderbook?symbol=BTC-PERP&depth=${depth}`)),
    );
    const equal = (what: string, ours: unknown, theirs: unknown): string | null =>
      isDeepStrictEqual(ours, theirs) ? null : `${what}: ${JSON.stringify(ours)} is not ${JSON.stringify(theirs)}`;
    const { bids, asks } = this.book;
    const byId = (a: Order, b: Order): number => Number(a.orderId) - Number(b.orderId);
    const { updatedAt: _, sequence: __, ...balance } = await trader.balance();
    const { updatedAt: ___, sequence: ____, ...ours } = this.balance ?? ({} as Balance);
    return (
      equal("book", [bids, asks, this.book.checksum()], [book?.bids, book?.asks, book?.checksum]) ??
      equal("top", [this.top.bids, this.top.asks], [top?.bids, top?.asks]) ??
      equal("orders", [...this.orders.values()].sort(byId), (await all<Order>(trader, "/orders")).sort(byId)) ??
      equal("positions", [...this.positions.values()], (await trader.get<Page<Position>>("/positions")).data) ??
      equal("balance", ours, balance)
    );
  }

  private take(message: ChannelMessage): void {
    if (this.justCut && message.type !== "SNAPSHOT") this.resumed++;
    this.justCut = false;
    switch (message.channel) {
      case "orderbook":
        assert.ok((message.depth === 5 ? this.top : this.book).apply(message), "the book's checksum");
        break;
      case "trades":
        for (const trade of message.data) this.trades.add(trade.tradeId);
        break;
      case "orders":
        if (message.type === "SNAPSHOT") this.orders.clear();
        for (const order of message.data) {
          if (order.status === "NEW" || order.status === "PARTIALLY_FILLED") this.orders.set(order.orderId, order);
          else this.orders.delete(order.orderId);
        }
        break;
      case "fills":
        for (const fill of message.data) this.fills.set(fill.tradeId, fill);
        break;
      case "positions":
        if (message.type === "SNAPSHOT") this.positions.clear();
        for (const position of message.data) {
          if (position.size === "0") this.positions.delete(position.symbol);
          else this.positions.set(position.symbol, position);
        }
        break;
      case "balance":
        this.balance = message.data;
    }
  }
}

async function all<T>(trader: Trader, path: string): Promise<T[]> {
  const rows: T[] = [];
  for (let cursor = ""; ; ) {
    const page: Page<T> = await trader.get(`${path}?limit=1000${cursor}`);
    rows.push(...page.data);
    if (page.nextCursor === null) return rows;
    cursor = `&cursor=${page.nextCursor}`;
  }
}
