import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import fc from "fast-check";
import { LEDGER } from "../../../src/core/base/enums.ts";
import { Tick } from "../../../src/core/protocol/commands.ts";
import type { Event } from "../../../src/core/protocol/events.ts";
import { MarketData } from "../../../src/front/exchange/market.ts";
import { Transfers } from "../../../src/front/exchange/transfers.ts";
import type { Subscriber } from "../../../src/front/streams/base/stream.ts";
import type { ChannelRequest } from "../../../src/front/streams/channel-requests.ts";
import { Streams } from "../../../src/front/streams/streams.ts";
import { openDatabase } from "../../../src/store/database/database.ts";
import { History } from "../../../src/store/history/history.ts";
import { HistoryFold } from "../../../src/store/history/history-fold.ts";
import { eachMessage } from "../../../src/wire/codec.ts";
import { viewOf } from "../../../src/wire/record.ts";
import { Exchange, make } from "../../core/support/exchange.ts";
import { FREE, instrument, ODD } from "../../core/support/instruments.ts";
import { takeSeed } from "../../core/support/seed.ts";
import { eventfulStep } from "../../core/support/steps.ts";
import { Traffic } from "../../core/support/traffic.ts";
import { Random } from "../../e2e/support/random.ts";
import { ExchangeEngine } from "../support/exchange-engine.ts";
import { nextTurn } from "../support/scripted-exchange.ts";

const seed = takeSeed("streams-traffic.test");
const RUNS = 4;
const STEPS = 800;
const STEPS_PER_LOOK = 20;
const INSTRUMENTS = [instrument(ODD), instrument(FREE)];
const PROGRESS = ["PENDING", "SENT", "COMPLETED"];
/** A snapshot has the last hundred rows. */
const RECENT = ["fills", "positions-history", "transfers", "funding"];
const OPEN = ["NEW", "PARTIALLY_FILLED", "UNTRIGGERED"];

// biome-ignore lint/suspicious/noExplicitAny: messages are looked into field by field
type Received = any;

test("a long-time subscriber has the same state as a new one, for random orders", async () => {
  const seen = new Map<string, number>();
  for (let run = 0; run < RUNS; run++) await follow(seed + run, seen);
  for (const channel of [
    "orderbook",
    "orders",
    "fills",
    "positions",
    "positions-history",
    "balance",
    "transfers",
    "funding",
  ])
    assert.ok((seen.get(channel) ?? 0) > 100, `${seen.get(channel)} messages of ${channel}`);
});

/** Random traffic over the real actors. Transactions are released late and in groups. */
async function follow(seed: number, seen: Map<string, number>): Promise<void> {
  const random = new Random(seed);
  const exchange = new Exchange(INSTRUMENTS);
  const { history, catchUp, close } = openHistory(exchange);
  const engine = Object.assign(new ExchangeEngine(exchange, INSTRUMENTS), { historyCaughtUp: catchUp });
  const traffic = new Traffic(
    exchange,
    INSTRUMENTS.map(({ id }) => id),
  );
  const now = (): number => exchange.time;
  const opening = MarketData.open(
    engine,
    () => ({ minuteCandles: [], trades: [], liquidations: [], fundingRates: [] }),
    now,
  );
  const openingTransfers = Transfers.open(engine);
  engine.settle();
  const market = await opening;
  const transfers = await openingTransfers;
  for (const { actorId, command } of traffic.opening()) engine.note(actorId, exchange.do(actorId, command));
  const openStreams = (): { streams: Streams; join: (request: ChannelRequest, accountId: number) => Follower } => {
    const followers = new Set<Follower>();
    const streams = new Streams({
      ...{ engine, market, transfers, now, monotonic: now, log: { error: assert.fail } },
      history,
      publish(topic, text) {
        for (const follower of followers) if (follower.topic === topic) follower.send(text);
      },
    });
    engine.onReleased((transaction) => streams.apply(transaction));
    engine.onDrained(() => streams.flush());
    const join = (request: ChannelRequest, accountId: number): Follower => {
      const follower = new Follower(seen);
      followers.add(follower);
      streams.subscribe(follower, request, accountId);
      return follower;
    };
    return { streams, join };
  };
  const { streams, join } = openStreams();
  const followers = requestsOf(traffic.accounts).map((request) => ({ request, follower: join(...request) }));
  /** Each transaction of a settlement has a sequence of its own. */
  const settle = (actorId: number): void => {
    for (const said of exchange.settleInParts(actorId)) {
      traffic.note(said.events);
      engine.note(actorId, said);
    }
  };
  for (const [i, step] of fc.sample(eventfulStep, { seed, numRuns: STEPS }).entries()) {
    const { actorId, command } = traffic.command(step);
    exchange.time += step.waitMs;
    settle(actorId);
    const said = exchange.do(actorId, command);
    traffic.note(said.events);
    engine.note(actorId, said);
    if (random.next() < 0.2) engine.note(LEDGER, exchange.do(LEDGER, make(Tick)));
    if (actorId !== LEDGER)
      for (let more = true; more; ) {
        settle(actorId);
        const next = exchange.proceed(actorId);
        engine.note(actorId, next);
        more = next.more;
      }
    engine.isFull = random.next() < 0.1;
    if (random.next() < 0.5) engine.decide();
    if (random.next() < 0.5) engine.release(random.between(1, 8));
    if (random.next() < 0.2) await nextTurn();
    if (random.next() < 0.1) streams.flushAll();
    if (i % STEPS_PER_LOOK !== STEPS_PER_LOOK - 1) continue;

    engine.isFull = false;
    const others = openStreams();
    const anew = followers.map(({ request }) => others.join(...request));
    // The history is read one page per event-loop iteration.
    while (anew.some(({ topic }) => topic === "")) {
      if (random.next() < 0.1) engine.settle();
      await nextTurn();
    }
    // A heartbeat reads what changes without an event of the account: its rank for deleveraging.
    for (let round = 0; round < 4; round++) {
      streams.heartbeat();
      for (const each of [streams, others.streams]) each.flushAll();
      for (let transactions = 0; transactions < 4; transactions++) {
        engine.settle();
        await nextTurn();
      }
    }
    for (const [n, { request, follower }] of followers.entries())
      assert.deepEqual(follower.shown(), anew[n]!.shown(), `${request[0].channel} of ${request[1]} at step ${i}`);
  }
  await close();
}

/** A history of all transactions, also of those not released yet: the store does not wait for the front. */
function openHistory(exchange: Exchange) {
  const folder = mkdtempSync(join(tmpdir(), "perpd-traffic-"));
  const database = openDatabase(folder, { probe: false });
  const fold = new HistoryFold(database, INSTRUMENTS);
  let folded = 0;
  const catchUp = async (): Promise<boolean> => {
    const transactions = exchange.log.slice(folded);
    folded += transactions.length;
    for (const { actorId, sequence, time, bytes } of transactions) {
      fold.transaction(sequence, time, actorId);
      eachMessage(viewOf(bytes), bytes, 0, bytes.length, (event) => fold.apply(event as Event));
    }
    if (transactions.length > 0) fold.commit();
    return true;
  };
  const close = async (): Promise<void> => {
    await database.close();
    rmSync(folder, { recursive: true });
  };
  return { history: new History(database), catchUp, close };
}

function requestsOf(accounts: readonly number[]): [ChannelRequest, number][] {
  const nothing = { instrument: null, depth: null, updateMs: null, interval: null, priceType: null, resume: null };
  const [odd, free] = INSTRUMENTS;
  return [
    [{ ...nothing, channel: "orderbook", instrument: odd!, depth: 5, updateMs: 0 }, 0],
    [{ ...nothing, channel: "orderbook", instrument: free!, depth: 100, updateMs: 0 }, 0],
    ...accounts.flatMap((account): [ChannelRequest, number][] => [
      [{ ...nothing, channel: "orders" }, account],
      [{ ...nothing, channel: "orders", instrument: free! }, account],
      [{ ...nothing, channel: "fills" }, account],
      [{ ...nothing, channel: "positions" }, account],
      [{ ...nothing, channel: "positions-history" }, account],
      [{ ...nothing, channel: "positions-history", instrument: odd! }, account],
      [{ ...nothing, channel: "balance" }, account],
      [{ ...nothing, channel: "transfers" }, account],
      [{ ...nothing, channel: "funding" }, account],
    ]),
  ];
}

/** A client of one stream that keeps its messages and detects gaps. */
class Follower implements Subscriber {
  topic = "";
  private sequence = 0;
  private channel = "";
  private readonly rows = new Map<string, unknown>();
  private readonly seen: Map<string, number>;

  constructor(seen: Map<string, number>) {
    this.seen = seen;
  }

  send(text: string | Uint8Array): void {
    const message: Received = JSON.parse(Buffer.from(text as string).toString());
    if (message.type === "HEARTBEAT") return assert.equal(message.sequence, this.sequence);
    if (message.type === "SNAPSHOT") this.rows.clear();
    else assert.equal(message.prevSequence, this.sequence, `a gap in ${this.topic}`);
    this.sequence = message.sequence;
    this.channel = message.channel;
    this.seen.set(message.channel, (this.seen.get(message.channel) ?? 0) + 1);
    this.keep(message);
  }

  private keep(message: Received): void {
    const { rows } = this;
    const set = (key: string, row: unknown, isThere: boolean): unknown =>
      isThere ? rows.set(key, row) : rows.delete(key);
    switch (message.channel) {
      case "orderbook":
        for (const side of ["bids", "asks"])
          for (const [price, quantity] of message[side]) set(`${side} ${price}`, quantity, quantity !== "0");
        return;
      case "orders":
        for (const order of message.data) set(order.orderId, withoutPlace(order), OPEN.includes(order.status));
        return;
      case "fills":
        for (const fill of message.data) this.tell(`${fill.tradeId} ${fill.side}`, fill);
        return;
      case "transfers":
        for (const transfer of message.data) this.tell(transfer.transferId, transfer);
        return;
      case "funding":
        for (const payment of message.data) this.tell(`${payment.symbol} ${payment.fundingTime}`, payment);
        return;
      case "positions-history":
        for (const position of message.data) this.tell(position.positionId, position);
        return;
      case "positions":
        for (const position of message.data) set(position.symbol, position, position.size !== "0");
        return;
      case "balance": {
        const { updatedAt, sequence, ...figures } = message.data;
        set("balance", figures, true);
        return;
      }
    }
  }

  /** Each event is published once, and the status of a transfer never goes back. */
  private tell(key: string, row: Received): void {
    const before = this.rows.get(key) as Received;
    if (before !== undefined)
      assert.ok(PROGRESS.indexOf(row.status) > PROGRESS.indexOf(before.status), `${this.topic} again: ${key}`);
    this.rows.set(key, row);
  }

  shown(): unknown {
    assert.notEqual(this.topic, "", "no snapshot");
    if (RECENT.includes(this.channel)) return [this.channel, [...this.rows].slice(-100)];
    return [this.channel, [...this.rows].sort(([a], [b]) => (a < b ? -1 : 1))];
  }

  sendAll(texts: readonly string[]): void {
    for (const text of texts) this.send(text);
  }
  noteLargeMessage(): void {}
  subscribe(topic: string): void {
    this.topic = topic;
  }
  unsubscribe(): void {}
  fail(): void {
    assert.fail("cannot be shown");
  }
}

/** No event has the current trigger price of a trailing order. */
function withoutPlace(order: Received): Received {
  if (order.type !== "TRAILING_STOP_MARKET" || order.status !== "UNTRIGGERED") return order;
  const { triggerPrice, ...rest } = order;
  return rest;
}
