import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { LocalOrderBook } from "../../../src/client/order-book.ts";
import type {
  ChannelMessage,
  ChannelRequest,
  Fill,
  Kline,
  KlineList,
  Order,
  OrderBook,
  OrderBookMessage,
  Page,
  PublicTrade,
  PublicTradeList,
  Ticker,
  TradesMessage,
} from "../../../src/client/types.ts";
import { takeSeed } from "../../core/support/seed.ts";
import { Random } from "../support/random.ts";
import { startServer, type TestServer } from "../support/server.ts";
import { SocketClient } from "../support/socket.ts";
import { Operator, openTrader, type Trader } from "../support/trader.ts";
import { until } from "../support/wait.ts";

const BTC = "BTC-PERP";
const ETH = "ETH-PERP";
const MIDDLE = { [BTC]: 65_000, [ETH]: 3_000 };

let server: TestServer;
let operator: Operator;
let traders: [Trader, Trader];

before(async () => {
  server = await startServer();
  operator = new Operator(server);
  await operator.setIndex(BTC, "65000");
  await operator.setIndex(ETH, "3000");
  traders = await Promise.all([openTrader(server, "1000000"), openTrader(server, "1000000")]);
});

after(async () => {
  await operator.soundAudit();
  await server.dispose();
});

/** Each message names the one before it, and none goes back. */
function checkChain(messages: readonly ChannelMessage[]): void {
  let sequence: number | null = null;
  for (const message of messages) {
    assert.equal(message.type, sequence === null ? "SNAPSHOT" : "UPDATE");
    assert.equal(message.prevSequence, sequence);
    assert.ok(message.sequence >= (sequence ?? 0));
    sequence = message.sequence;
  }
}

/** One random act of one of the traders. */
async function act(random: Random): Promise<void> {
  const trader = random.pick(traders);
  const roll = random.next();
  const symbol = random.pick([BTC, ETH] as const);
  if (roll < 0.15) {
    const { data } = await trader.openOrders(`?symbol=${symbol}`);
    if (data.length > 0) await trader.request("DELETE", `/orders/${random.pick(data).orderId}`);
    return;
  }
  if (roll < 0.18) return void (await trader.request("DELETE", `/orders?symbol=${symbol}`));
  if (roll < 0.22) return void (await trader.request("POST", `/positions/${symbol}/close`));
  const side = random.pick(["BUY", "SELL"] as const);
  const away = random.between(-20, 20) + (side === "BUY" ? -8 : 8);
  const isMarket = random.next() < 0.1;
  await trader.request("POST", "/orders", {
    symbol,
    side,
    type: isMarket ? "MARKET" : "LIMIT",
    ...(!isMarket && {
      price: String(MIDDLE[symbol] + away / 2),
      timeInForce: random.pick(["GTC", "GTC", "GTC", "IOC", "FOK"]),
    }),
    quantity: symbol === BTC ? `0.0${random.between(1, 9)}` : `0.${random.between(1, 9)}`,
    reduceOnly: random.next() < 0.2,
    selfTradePreventionMode: random.pick(["EXPIRE_TAKER", "EXPIRE_MAKER", "EXPIRE_BOTH", "DECREMENT"]),
    ...(random.next() < 0.3 && { clientOrderId: `c${random.between(1, 1_000_000)}` }),
  });
}

async function actMany(random: Random, rounds: number): Promise<void> {
  for (let i = 0; i < rounds; i++) await Promise.all(Array.from({ length: 4 }, () => act(random)));
}

/** Everything of a REST list. */
async function all<T>(trader: Trader, path: string): Promise<T[]> {
  const rows: T[] = [];
  for (let cursor = ""; ; ) {
    const page: Page<T> = await trader.get(`${path}${path.includes("?") ? "&" : "?"}limit=1000${cursor}`);
    rows.push(...page.data);
    if (page.nextCursor === null) return rows;
    cursor = `&cursor=${page.nextCursor}`;
  }
}

test("streamed orders and fills equal those of REST under random trading", async () => {
  const seed = takeSeed("socket-streams.test");
  const random = new Random(seed);
  const channels: ChannelRequest[] = [{ channel: "orders" }, { channel: "fills" }];
  const clients = await Promise.all(traders.map((trader) => SocketClient.openAs(server.wsUrl, trader.token)));
  for (const client of clients) await client.subscribe(...channels);
  await actMany(random, 80);
  // In the middle of it, one more who joins streams that others follow, and one with streams of its own.
  const [alice] = traders;
  const late = await SocketClient.openAs(server.wsUrl, alice.token);
  const single = await SocketClient.openAs(server.wsUrl, alice.token);
  const joining = Promise.all([
    late.subscribe(...channels),
    single.subscribe({ channel: "orders", symbol: ETH }, { channel: "fills", symbol: ETH }),
  ]);
  await actMany(random, 80);
  await joining;
  // Chance may have let few of them meet.
  const fillsOfOne = (): Promise<Fill[]> => all<Fill>(alice, `/account/trades?symbol=${ETH}`);
  for (let i = 0; i < 20 && (await fillsOfOne()).length <= 20; i++) await actMany(random, 20);

  const cases: [client: SocketClient, trader: Trader, symbol: string, isWhole: boolean][] = [
    ...clients.map((client, i): [SocketClient, Trader, string, boolean] => [client, traders[i] as Trader, "", true]),
    [late, alice, "", false],
    [single, alice, `?symbol=${ETH}`, false],
  ];
  for (const [client, trader, query, isWhole] of cases) {
    const open = await all<Order>(trader, `/orders${query}`);
    const closed = await all<Order>(trader, `/orders/history${query}`);
    const fills = await all<Fill>(trader, `/account/trades${query}`);
    assert.ok(closed.length > 20 && fills.length > 20, `${closed.length} orders, ${fills.length} fills`);

    const newest = fills[0] as Fill;
    const streamedFills = () => client.ofChannel("fills").flatMap((message) => message.data);
    await until("the last fill", () => streamedFills().at(-1)?.tradeId === newest.tradeId);
    const expected = fills.reverse().slice(-streamedFills().length);
    assert.deepEqual(streamedFills(), expected);
    if (isWhole) assert.equal(fills.length, expected.length);

    const lastOf = () => {
      const last = new Map<string, Order>();
      for (const message of client.ofChannel("orders"))
        for (const order of message.data) last.set(order.orderId, order);
      return last;
    };
    const sequence = Math.max(...[...open, ...closed].map((order) => order.sequence));
    await until("the last change", () => (client.ofChannel("orders").at(-1)?.sequence ?? 0) >= sequence);
    const known = lastOf();
    const expectedOrders = [...open, ...closed].filter((order) => isWhole || known.has(order.orderId));
    assert.equal(known.size, expectedOrders.length);
    for (const order of expectedOrders) assert.deepEqual(known.get(order.orderId), order);
    for (const order of open) assert.ok(known.has(order.orderId));

    checkChain(client.ofChannel("orders"));
    checkChain(client.ofChannel("fills"));
    // One message for each turn, with the turn's sequence on all that it changed.
    for (const message of [...client.ofChannel("orders"), ...client.ofChannel("fills")])
      if (message.type === "UPDATE") for (const row of message.data) assert.equal(row.sequence, message.sequence);
  }

  // Whoever comes now sees in the snapshots what REST shows now.
  const fresh = await SocketClient.openAs(server.wsUrl, alice.token);
  await fresh.subscribe(...channels);
  await until("both snapshots", () => fresh.ofChannel("orders").length + fresh.ofChannel("fills").length === 2);
  assert.deepEqual(fresh.ofChannel("orders")[0]?.data, (await alice.openOrders()).data);
  assert.deepEqual(fresh.ofChannel("fills")[0]?.data, (await alice.fills()).data.reverse());
  await Promise.all([...clients, late, single, fresh].map((client) => client.close()));
  for (const trader of traders) await trader.cancelAll();
});

/** A client that loses its connection again and again, and says on its return what it saw last. */
class Unsteady {
  readonly book = new LocalOrderBook();
  readonly trades: PublicTrade[] = [];
  snapshots = 0;
  resumed = 0;
  private client: SocketClient | null = null;
  private taken = 0;
  private tradesSequence = 0;

  async connect(): Promise<void> {
    this.client = await SocketClient.open(server.wsUrl);
    this.taken = 0;
    const channels: ChannelRequest[] = [
      { channel: "orderbook", symbol: BTC, depth: 50 },
      { channel: "trades", symbol: BTC },
    ];
    const places = [this.book.sequence, this.tradesSequence];
    await this.client.subscribe(
      ...channels.map((channel, i) => (places[i] === 0 ? channel : { ...channel, resume: places[i] as number })),
    );
  }

  take(): void {
    const messages = (this.client?.messages ?? []) as unknown as (ChannelMessage & { op?: string })[];
    for (; this.taken < messages.length; this.taken++) {
      const message = messages[this.taken] as ChannelMessage & { op?: string };
      if (message.op !== undefined || (message.type as string) === "HEARTBEAT") continue;
      if (message.type === "SNAPSHOT") this.snapshots++;
      else if (this.taken < 3) this.resumed++;
      if (message.channel === "orderbook") assert.ok(this.book.apply(message as OrderBookMessage));
      else this.takeTrades(message as TradesMessage);
    }
  }

  drop(): void {
    this.client?.socket.terminate();
    this.take();
  }

  private takeTrades(message: TradesMessage): void {
    if (message.type === "SNAPSHOT") assert.equal(this.trades.length, 0, "only the first time");
    else assert.equal(message.prevSequence, this.tradesSequence);
    this.trades.push(...message.data);
    this.tradesSequence = message.sequence;
  }
}

test("a client that resumes after random cuts ends with the state of one that stayed", async () => {
  const seed = takeSeed("socket-streams.test");
  const random = new Random(seed);
  // Nobody else follows this depth: the stream is kept for the client that is away.
  const unsteady = new Unsteady();
  await actMany(random, 5);
  await unsteady.connect();
  // A line that is cut at once may not have brought anything yet.
  for (let i = 0; i < 25 || (i < 100 && unsteady.resumed <= 10); i++) {
    await actMany(random, random.between(0, 3));
    unsteady.take();
    unsteady.drop();
    await actMany(random, random.between(0, 3));
    await unsteady.connect();
  }
  const shown = await operator.get<OrderBook>(`/market/orderbook?symbol=${BTC}&depth=50`);
  const { data: trades } = await operator.get<PublicTradeList>(`/market/trades?symbol=${BTC}&limit=1000`);
  await until("the book and the trades", () => {
    unsteady.take();
    return unsteady.book.checksum() === shown.checksum && unsteady.trades.at(-1)?.tradeId === trades[0]?.tradeId;
  });
  assert.deepEqual([unsteady.book.bids, unsteady.book.asks], [shown.bids, shown.asks]);
  assert.deepEqual(unsteady.trades, trades.reverse().slice(-unsteady.trades.length));
  assert.equal(unsteady.snapshots, 2, "one of each channel, the first time");
  assert.ok(unsteady.resumed > 10, `${unsteady.resumed} resumed`);
  unsteady.drop();
  for (const trader of traders) await trader.cancelAll();
});

test("streamed ticker and klines converge to those of REST", async () => {
  const [alice, bob] = traders;
  const client = await SocketClient.open(server.wsUrl);
  const klines = { channel: "klines", symbol: ETH, interval: "1m" } as const;
  await client.subscribe({ channel: "ticker", symbol: ETH, updateMs: 100 }, klines, { ...klines, interval: "1M" });
  const candles = (interval: string): Kline[] =>
    client
      .ofChannel("klines")
      .filter((message) => message.interval === interval)
      .flatMap((message) => message.data);
  await until("all snapshots", () => candles("1m").length > 0 && candles("1M").length > 0);
  for (const price of ["3000", "3010", "2990"]) {
    await bob.place({ symbol: ETH, side: "SELL", type: "LIMIT", price, quantity: "1" });
    await alice.place({ symbol: ETH, side: "BUY", type: "LIMIT", price, quantity: "1" });
    const shown = await alice.get<Ticker>(`/market/ticker?symbol=${ETH}`);
    await until(`a ticker at ${price}`, () => {
      const last = client.ofChannel("ticker").at(-1)?.data;
      return last?.lastPrice === price && last.volume24h === shown.volume24h;
    });
    for (const interval of ["1m", "1M"]) {
      await until(`the candle of ${interval} at ${price}`, async () => {
        const { data } = await alice.get<KlineList>(`/market/klines?symbol=${ETH}&interval=${interval}&limit=1`);
        const last = candles(interval).at(-1);
        return JSON.stringify(last) === JSON.stringify(data[0]) && last?.close === price;
      });
    }
  }
  checkChain(client.ofChannel("ticker"));
  for (const interval of ["1m", "1M"])
    checkChain(client.ofChannel("klines").filter((message) => message.interval === interval));
  await client.close();
});

test("klines of mark and index prices are sent with each price", async () => {
  const [alice] = traders;
  const client = await SocketClient.open(server.wsUrl);
  const klines = { channel: "klines", symbol: ETH, interval: "1M" } as const;
  const priceTypes = ["LAST", "MARK", "INDEX"] as const;
  const channels = [klines, { ...klines, priceType: "MARK" }, { ...klines, priceType: "INDEX" }];
  const reply = await client.request("subscribe", { channels });
  assert.deepEqual(
    reply.channels?.map((request) => request.priceType),
    priceTypes,
  );
  const candles = (priceType: string): Kline[] =>
    client
      .ofChannel("klines")
      .filter((message) => message.priceType === priceType)
      .flatMap((message) => message.data);
  await until("all snapshots", () => priceTypes.every((priceType) => candles(priceType).length > 0));
  for (const price of ["3001", "2999.5", "3000"]) {
    await new Operator(server).setIndex(ETH, price);
    for (const priceType of priceTypes) {
      const path = `/market/klines?symbol=${ETH}&interval=1M&limit=1&priceType=${priceType}`;
      await until(`the ${priceType} candle at ${price}`, async () => {
        const { data } = await alice.get<KlineList>(path);
        return JSON.stringify(candles(priceType).at(-1)) === JSON.stringify(data[0]);
      });
    }
    assert.equal(candles("INDEX").at(-1)?.close, price);
  }
  for (const priceType of priceTypes)
    checkChain(client.ofChannel("klines").filter((message) => message.priceType === priceType));
  await client.close();
});

test("at the end of an interval its candle is sent closed, and then the next one", async () => {
  const client = await SocketClient.open(server.wsUrl);
  await client.subscribe({ channel: "klines", symbol: ETH, interval: "1s" });
  const candles = () => client.ofChannel("klines").flatMap((message) => message.data);
  await until("some seconds", () => candles().filter((candle) => candle.closed).length >= 2);
  const seen = candles();
  const closed = seen.filter((candle) => candle.closed);
  for (const [i, candle] of closed.entries())
    if (i > 0) assert.equal(candle.openTime, (closed[i - 1] as Kline).closeTime + 1);
  assert.equal(seen.at(-1)?.closed, false);
  await client.close();
});
