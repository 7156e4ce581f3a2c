import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { LocalOrderBook } from "../../../src/client/order-book.ts";
import type { OrderBook, OrderBookMessage, PublicTradeList } from "../../../src/client/types.ts";
import { takeSeed } from "../../core/support/seed.ts";
import { Random } from "../support/random.ts";
import { startServer, type TestServer } from "../support/server.ts";
import { SocketClient, type SocketMessage } from "../support/socket.ts";
import { Operator, openTrader, type Trader } from "../support/trader.ts";
import { until } from "../support/wait.ts";

const SYMBOL = "BTC-PERP";

let server: TestServer;
let operator: Operator;
let traders: Trader[];
/** Opened first and looked at last: by then it has been quiet for a while. */
let quiet: SocketClient;

before(async () => {
  server = await startServer();
  operator = new Operator(server);
  await operator.setIndex(SYMBOL, "65000");
  traders = await Promise.all([1, 2, 3].map(() => openTrader(server, "1000000")));
  quiet = await SocketClient.open(server.wsUrl);
  await quiet.subscribe({ channel: "orderbook", symbol: "SOL-PERP" }, { channel: "trades", symbol: "SOL-PERP" });
});

after(async () => {
  await operator.soundAudit();
  await server.dispose();
});

/** A book kept up from all messages of one subscription; every message must fit onto the one before it. */
class Folded {
  readonly book = new LocalOrderBook();
  private applied = 0;
  private readonly client: SocketClient;
  private readonly depth: number;

  constructor(client: SocketClient, depth: number) {
    this.client = client;
    this.depth = depth;
  }

  fold(): void {
    const messages = this.client.ofChannel("orderbook").filter((message) => message.depth === this.depth);
    for (; this.applied < messages.length; this.applied++) {
      const message = messages[this.applied] as OrderBookMessage;
      assert.equal(message.type, this.applied === 0 ? "SNAPSHOT" : "DELTA");
      const prevSequence = this.applied === 0 ? null : this.book.sequence;
      assert.equal(message.prevSequence, prevSequence, "each names the one before it");
      assert.ok(message.sequence > (prevSequence ?? -1));
      assert.ok(this.book.apply(message), `message ${this.applied} does not fit: ${JSON.stringify(message)}`);
    }
  }

  /** Once everything has come, it is the book that REST shows. */
  async expectEqual(): Promise<void> {
    const shown = await traders[0]?.get<OrderBook>(`/market/orderbook?symbol=${SYMBOL}&depth=${this.depth}`);
    assert.ok(shown !== undefined);
    await until(`the book of depth ${this.depth} to be complete`, () => {
      this.fold();
      return this.book.checksum() === shown.checksum && this.book.bids.length === shown.bids.length;
    });
    assert.deepEqual([this.book.bids, this.book.asks], [shown.bids, shown.asks]);
  }
}

test("a book built from snapshot and deltas equals the real one under random trading", async () => {
  const seed = takeSeed("socket-market.test");
  const random = new Random(seed);
  const early = await SocketClient.open(server.wsUrl);
  await early.subscribe(
    { channel: "orderbook", symbol: SYMBOL, depth: 1000 },
    { channel: "orderbook", symbol: SYMBOL, depth: 5 },
    { channel: "orderbook", symbol: SYMBOL, depth: 25, updateMs: 100 },
    { channel: "trades", symbol: SYMBOL },
  );
  const folds = [new Folded(early, 1000), new Folded(early, 5), new Folded(early, 25)];
  const open: { trader: Trader; orderId: string }[] = [];
  const step = async (): Promise<void> => {
    const trader = random.pick(traders);
    const roll = random.next();
    if (roll < 0.25 && open.length > 0) {
      const [order] = open.splice(random.between(0, open.length - 1), 1);
      await order?.trader.request("DELETE", `/orders/${order.orderId}`);
      return;
    }
    const side = random.pick(["BUY", "SELL"] as const);
    const price = (650_000 + random.between(-60, 60) + (side === "BUY" ? -20 : 20)) / 10;
    const { body } = await trader.request<{ orderId: string; status: string }>("POST", "/orders", {
      symbol: SYMBOL,
      side,
      type: "LIMIT",
      price: String(price),
      quantity: `0.0${random.between(1, 9)}`,
      timeInForce: random.pick(["GTC", "GTC", "GTC", "IOC"]),
    });
    if (body.status === "NEW" || body.status === "PARTIALLY_FILLED") open.push({ trader, orderId: body.orderId });
  };
  const rounds = async (count: number) => {
    for (let i = 0; i < count; i++) await Promise.all(Array.from({ length: 6 }, step));
  };
  await rounds(40);
  // Somebody comes in the middle: a snapshot for him, and nothing strange for the others.
  const late = await SocketClient.open(server.wsUrl);
  const joining = late.subscribe({ channel: "orderbook", symbol: SYMBOL, depth: 1000 });
  await rounds(40);
  await joining;
  folds.push(new Folded(late, 1000));
  for (const fold of folds) await fold.expectEqual();
  // Nothing rests at the end either.
  for (const trader of traders) await trader.cancelAll();
  for (const fold of folds) await fold.expectEqual();
  assert.deepEqual(folds[0]?.book.bids, []);

  // The public trades, all of them and in order.
  const { data: trades } = await operator.get<PublicTradeList>(`/market/trades?symbol=${SYMBOL}&limit=1000`);
  assert.ok(trades.length > 20, `only ${trades.length} trades`);
  const streamed = () => early.ofChannel("trades").flatMap((message) => message.data);
  await until("all trades", () => streamed().length >= trades.length);
  assert.deepEqual(streamed(), [...trades].reverse());
  let sequence: number | null = null;
  for (const message of early.ofChannel("trades")) {
    assert.equal(message.prevSequence, sequence);
    sequence = message.sequence;
  }
  await Promise.all([early.close(), late.close()]);
});

test("a delta comes with every change, and a removed level has quantity 0", async () => {
  const client = await SocketClient.open(server.wsUrl);
  await client.subscribe({ channel: "orderbook", symbol: SYMBOL });
  const [alice] = traders as [Trader];
  const order = await alice.buy("0.5", "64000");
  const added = await client.find("the new level", (message) => message.sequence === order.sequence);
  assert.deepEqual(pick(added), { type: "DELTA", bids: [["64000", "0.5"]], asks: [] });
  const more = await alice.buy("0.25", "64000");
  const grown = await client.find("the larger level", (message) => message.sequence === more.sequence);
  assert.deepEqual(pick(grown), { type: "DELTA", bids: [["64000", "0.75"]], asks: [] });
  assert.equal(grown.prevSequence, order.sequence);
  const gone = await alice.cancelAll();
  const last = Math.max(...gone.data.map((each) => each.sequence));
  const removed = await client.find("the removed level", (message) => message.sequence === last);
  assert.deepEqual(pick(removed), { type: "DELTA", bids: [["64000", "0"]], asks: [] });

  // Unsubscribed is silent; subscribed again begins with a snapshot.
  const reply = await client.request("unsubscribe", { channels: [{ channel: "orderbook", symbol: SYMBOL }] });
  assert.equal(reply.op, "unsubscribed");
  const count = client.messages.length;
  const unseen = await alice.buy("0.5", "64000");
  await client.subscribe({ channel: "orderbook", symbol: SYMBOL });
  const snapshot = await client.find("a snapshot", (message) => message.type === "SNAPSHOT", count);
  assert.equal(snapshot.sequence, unseen.sequence);
  assert.equal(client.messages.slice(count).filter((message) => message.type === "DELTA").length, 0);
  await alice.cancelAll();
  await client.close();
});

const pick = (message: SocketMessage) => {
  const { type, bids, asks } = message as SocketMessage & { bids: unknown; asks: unknown };
  return { type, bids, asks };
};

test("ping and pong, of the API and of the protocol", async () => {
  const client = await SocketClient.open(server.wsUrl);
  const reply = await client.request("ping");
  assert.equal(reply.op, "pong");
  assert.ok(Math.abs((reply.serverTime ?? 0) - Date.now()) < 60_000);
  client.send({ op: "ping", id: "a string" });
  assert.equal((await client.find("a pong", (message) => message.id === "a string")).op, "pong");
  client.send({ op: "ping" });
  assert.equal((await client.find("a pong", (message) => message.id === null)).op, "pong");
  const pong = new Promise((resolve) => client.socket.once("pong", resolve));
  client.socket.ping("data");
  assert.equal(String(await pong), "data");
  await client.close();
});

test("a quiet channel sends heartbeats with its last sequence", async () => {
  for (const channel of ["orderbook", "trades"]) {
    const snapshot = quiet.messages.find((message) => message.channel === channel && message.type === "SNAPSHOT");
    const beat = await quiet.find("a heartbeat", (each) => each.channel === channel && each.type === "HEARTBEAT");
    assert.equal(beat.sequence, snapshot?.sequence);
    assert.equal(beat.symbol, "SOL-PERP");
  }
  await quiet.close();
});
