import assert from "node:assert/strict";
import { test } from "node:test";
import { crc32 } from "node:zlib";
import fc from "fast-check";
import { BUY, SELL, type Side } from "../../../../src/core/base/enums.ts";
import { OrderClosed, OrderPlaced, Traded } from "../../../../src/core/protocol/events.ts";
import type { Message } from "../../../../src/core/protocol/message-schema.ts";
import { takeSeed } from "../../../core/support/seed.ts";
import type { Received, ScriptedClient } from "../../support/scripted-client.ts";
import { make, START } from "../../support/scripted-engine.ts";
import { ask, BTC, bid, book, ETH, open, subscribe, unsubscribe } from "../../support/scripted-exchange.ts";

const seed = takeSeed("channels-book.test");

test("an order book: a snapshot, then one delta per drain with all changes", async () => {
  const { engine, hub, connect } = await open({ [BTC]: { bids: [[100, 1]], asks: [[110, 2]] } });
  const client = connect();
  const primed = engine.sequence;
  const [subscribed, snapshot] = client.ask(subscribe(book({ depth: 5, resume: 3 })));
  assert.deepEqual(subscribed, {
    op: "subscribed",
    id: 1,
    channels: [{ channel: "orderbook", symbol: "BTC-PERP", depth: 5, updateMs: 0 }],
  });
  assert.deepEqual(snapshot, {
    channel: "orderbook",
    symbol: "BTC-PERP",
    depth: 5,
    type: "SNAPSHOT",
    sequence: primed,
    prevSequence: null,
    checksum: crc32("10:0.001:11:0.002"),
    time: START,
    bids: [["10", "0.001"]],
    asks: [["11", "0.002"]],
  });
  engine.time += 5;
  engine.transaction(BTC, bid(101, 3));
  engine.transaction(ETH, bid(5, 3));
  engine.transaction(BTC, bid(90, 1));
  const last = engine.transaction(BTC, make(OrderClosed, { side: BUY, priceTicks: 90, restingLots: 1 }), ask(110, 1));
  assert.deepEqual(client.take(), [], "nothing before the drain's end");
  engine.drain();
  assert.deepEqual(client.take(), [
    {
      channel: "orderbook",
      symbol: "BTC-PERP",
      depth: 5,
      type: "DELTA",
      sequence: last,
      prevSequence: primed,
      checksum: crc32("10.1:0.003:11:0.003:10:0.001"),
      time: START + 5,
      bids: [["10.1", "0.003"]],
      asks: [["11", "0.003"]],
    },
  ]);
  engine.transaction(BTC, make(Traded, { takerSide: SELL, priceTicks: 101, quantityLots: 3 }));
  engine.drain();
  assert.deepEqual(client.take()[0].bids, [["10.1", "0"]]);
  assert.equal(hub.published.length, 2);
  engine.drain();
  assert.equal(hub.published.length, 2, "a drain without changes is silent");
});

test("a channel without subscribers publishes nothing", async () => {
  const { engine, hub, connect } = await open();
  const client = connect();
  client.say(subscribe(book(), { channel: "trades", symbol: "BTC-PERP" }));
  client.say(unsubscribe(book()));
  engine.transaction(BTC, bid(101, 3));
  engine.drain();
  assert.deepEqual(hub.published, []);
  client.hangUp();
  engine.transaction(BTC, make(Traded, { takerSide: SELL, priceTicks: 101, quantityLots: 1 }));
  engine.drain();
  assert.deepEqual(hub.published, []);
});

test("a level that falls out of the depth is removed, and comes back when it is in the depth again", async () => {
  const { engine, connect } = await open({ [BTC]: { bids: [[100, 1]] } });
  const client = connect();
  client.say(subscribe(book({ depth: 1 })));
  client.take();
  engine.transaction(BTC, bid(101, 2));
  engine.drain();
  assert.deepEqual(client.take()[0].bids, [
    ["10.1", "0.002"],
    ["10", "0"],
  ]);
  engine.transaction(BTC, bid(99, 2));
  engine.drain();
  assert.deepEqual(client.take(), [], "deeper than shown");
  engine.transaction(BTC, make(OrderClosed, { side: BUY, priceTicks: 101, restingLots: 2 }));
  engine.drain();
  assert.deepEqual(client.take()[0].bids, [
    ["10.1", "0"],
    ["10", "0.001"],
  ]);
});

test("a longer updateMs combines changes", async () => {
  const { engine, channels, connect } = await open();
  const client = connect();
  client.say(subscribe(book({ updateMs: 100 })));
  client.take();
  engine.transaction(BTC, bid(100, 1));
  engine.drain();
  assert.equal(client.take().length, 1);
  for (let i = 0; i < 9; i++) {
    engine.time += 10;
    engine.transaction(BTC, bid(100, 1));
    engine.drain();
    channels.tick();
  }
  assert.deepEqual(client.take(), []);
  engine.time += 10;
  channels.tick();
  assert.deepEqual(client.take()[0].bids, [["10", "0.01"]]);
});

test("a new subscriber with a longer updateMs gets the levels published last, and does not speed up the others", async () => {
  const { engine, channels, connect } = await open();
  const client = connect();
  client.say(subscribe(book({ updateMs: 100 })));
  engine.transaction(BTC, bid(100, 1));
  engine.drain();
  const [, shown] = client.take().slice(-2);
  engine.time += 99;
  engine.transaction(BTC, bid(101, 1));
  engine.drain();
  const late = connect();
  const [, joined] = late.ask(subscribe(book({ updateMs: 100 })));
  assert.deepEqual(
    [joined.sequence, joined.time, joined.bids, joined.checksum],
    [shown.sequence, START, [["10", "0.001"]], crc32("10:0.001")],
  );
  assert.deepEqual(client.take(), []);
  engine.time += 1;
  channels.tick();
  const [delta] = client.take();
  assert.deepEqual([delta.prevSequence, delta.time, delta.bids], [shown.sequence, START + 99, [["10.1", "0.001"]]]);
  assert.deepEqual(late.take(), [delta]);
});

test("subscribing again sends another snapshot; unsubscribing names the ended channels", async () => {
  const { engine, connect } = await open();
  const client = connect();
  client.say(subscribe(book({ depth: 5 }), book({ depth: 10 }), { channel: "trades", symbol: "BTC-PERP" }));
  engine.transaction(BTC, bid(100, 1));
  assert.deepEqual(
    client.ask(subscribe(book({ depth: 5 }))).map((message) => message.op ?? message.type),
    ["subscribed", "DELTA", "SNAPSHOT"],
    "a pending change is published before the snapshot that shows it",
  );
  const [left] = client.ask(unsubscribe(book()));
  assert.deepEqual(left, {
    op: "unsubscribed",
    id: 2,
    channels: [
      { channel: "orderbook", symbol: "BTC-PERP", depth: 5, updateMs: 0 },
      { channel: "orderbook", symbol: "BTC-PERP", depth: 10, updateMs: 0 },
    ],
  });
  assert.deepEqual(client.ask(unsubscribe(book()))[0].channels, []);
  assert.equal(client.topics.size, 1);
});

/** A client's copy of a book, built only from the messages it got. */
class Copy {
  readonly depth: number;
  sequence = -1;
  heartbeats = 0;
  private readonly sides: [Map<string, string>, Map<string, string>] = [new Map(), new Map()];

  constructor(depth: number) {
    this.depth = depth;
  }

  take(message: Received): void {
    if (message.type === "HEARTBEAT") {
      assert.equal(message.sequence, this.sequence);
      this.heartbeats++;
      return;
    }
    if (message.type === "SNAPSHOT") {
      for (const side of this.sides) side.clear();
      assert.ok(message.sequence >= this.sequence);
    } else {
      assert.equal(message.prevSequence, this.sequence, "a gap");
      assert.ok(message.sequence > this.sequence, "a delta that the copy holds already");
      assert.ok(message.bids.length + message.asks.length > 0);
    }
    this.sequence = message.sequence;
    for (const [side, changes] of [message.bids, message.asks].entries())
      for (const [price, quantity] of changes) {
        const known = this.sides[side].get(price);
        assert.notEqual(known, quantity, "a change that changes nothing");
        if (quantity === "0") assert.ok(this.sides[side].delete(price), "a level removed that was not there");
        else this.sides[side].set(price, quantity);
      }
    assert.equal(message.checksum, this.checksum());
  }

  levels(side: Side): [string, string][] {
    const worse = side === BUY ? -1 : 1;
    return [...this.sides[side]].sort(([a], [b]) => worse * (Number(a) - Number(b)));
  }

  private checksum(): number {
    const [bids, asks] = [this.levels(BUY), this.levels(SELL)];
    const parts: string[] = [];
    for (let i = 0; i < 25; i++) parts.push(...(bids[i] ?? []), ...(asks[i] ?? []));
    return crc32(parts.join(":"));
  }
}

test("every subscriber at any time: no gap, no repetition, and its copy equals the book", async () => {
  const TICK_MS = 2000;
  const depths = [1, 5, 20, 1000];
  let heartbeats = 0;
  const step = fc.oneof(
    {
      weight: 8,
      arbitrary: fc.record({
        kind: fc.constant("change" as const),
        side: fc.constantFrom<Side>(BUY, SELL),
        tick: fc.integer({ min: 1, max: 25 }),
        lots: fc.integer({ min: 0, max: 3 }),
      }),
    },
    { weight: 4, arbitrary: fc.record({ kind: fc.constant("drain" as const) }) },
    {
      weight: 2,
      arbitrary: fc.record({
        kind: fc.constant("join" as const),
        depth: fc.constantFrom(...depths),
        updateMs: fc.constantFrom(0, 100),
      }),
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant("leave" as const), pick: fc.nat(20) }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant("again" as const), pick: fc.nat(20) }) },
    {
      weight: 2,
      arbitrary: fc.record({ kind: fc.constant("time" as const), ms: fc.integer({ min: 1, max: 20_000 }) }),
    },
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 80 }), async (steps) => {
      const { engine, market, channels, connect } = await open();
      const clients: { client: ScriptedClient; copy: Copy; updateMs: number }[] = [];
      const resting = new Map<number, number>();
      const listen = (): void => {
        for (const { client, copy } of clients)
          for (const message of client.take()) if (message.op === undefined) copy.take(message);
      };
      for (const each of steps) {
        switch (each.kind) {
          case "change": {
            // Bids are below 26 and asks above, so they never cross. A level is set by closing its order and placing a new one.
            const { side, lots } = each;
            const priceTicks = side === BUY ? each.tick : 25 + each.tick;
            const there = resting.get(priceTicks) ?? 0;
            const events: Message[] = [];
            if (there > 0) events.push(make(OrderClosed, { side, priceTicks, restingLots: there }));
            if (lots > 0) events.push(make(OrderPlaced, { side, priceTicks, quantityLots: lots, rests: 1 }));
            resting.set(priceTicks, lots);
            if (events.length > 0) engine.transaction(BTC, ...events);
            break;
          }
          case "drain":
            engine.drain();
            break;
          case "join": {
            const client = connect();
            client.say(subscribe(book({ depth: each.depth, updateMs: each.updateMs })));
            clients.push({ client, copy: new Copy(each.depth), updateMs: each.updateMs });
            break;
          }
          case "leave":
            clients.splice(each.pick, 1)[0]?.client.hangUp();
            break;
          case "again": {
            const found = clients[each.pick];
            found?.client.say(subscribe(book({ depth: found.copy.depth, updateMs: found.updateMs })));
            break;
          }
          case "time":
            for (let leftMs = each.ms; leftMs > 0; leftMs -= TICK_MS) {
              engine.time += Math.min(leftMs, TICK_MS);
              channels.tick();
            }
            break;
        }
        listen();
      }
      engine.time += 100;
      engine.drain();
      listen();
      for (const { copy } of clients) {
        const { bids, asks } = JSON.parse(market.symbol(BTC).orderBookJson(copy.depth).toString());
        assert.deepEqual([copy.levels(BUY), copy.levels(SELL)], [bids, asks]);
        heartbeats += copy.heartbeats;
      }
    }),
    { seed, numRuns: 150 },
  );
  assert.ok(heartbeats > 0, "no book was ever quiet");
});

test("a heartbeat repeats the sequence of a quiet channel", async () => {
  const { engine, channels, connect } = await open({ [BTC]: { bids: [[100, 5]] } });
  const client = connect();
  client.say(subscribe(book({ depth: 5 }), { channel: "trades", symbol: "BTC-PERP" }));
  const sequence = engine.transaction(BTC, make(Traded, { takerSide: SELL, priceTicks: 100, quantityLots: 1 }));
  engine.drain();
  client.take();
  engine.time += 5000;
  channels.tick();
  assert.deepEqual(client.take(), [], "it has not been quiet for the whole time");
  engine.time += 4999;
  channels.tick();
  assert.deepEqual(client.take(), []);
  engine.time += 1;
  channels.tick();
  assert.deepEqual(client.take(), [
    { channel: "orderbook", symbol: "BTC-PERP", depth: 5, type: "HEARTBEAT", sequence },
    { channel: "trades", symbol: "BTC-PERP", type: "HEARTBEAT", sequence },
  ]);
  engine.transaction(BTC, bid(100, 1));
  engine.drain();
  client.take();
  engine.time += 5000;
  channels.tick();
  assert.deepEqual(
    client.take().map((message) => message.channel),
    ["trades"],
    "the book has just been heard",
  );
});
