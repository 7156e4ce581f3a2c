import assert from "node:assert/strict";
import { test } from "node:test";
import { Subscriptions } from "../../src/client/subscriptions.ts";
import type { ChannelMessage, ChannelRequest } from "../../src/client/types.ts";
import { DEFAULT_BOOK_DEPTH, DEFAULT_PACE_MS, DEFAULT_TICKER_PACE_MS } from "../../src/wire/schema/channels.ts";

const BOOK = { channel: "orderbook", symbol: "BTC-PERP" } as const;
const DEEP = { ...BOOK, depth: 500, updateMs: 100 } as const;
const TRADES = { channel: "trades", symbol: "BTC-PERP" } as const;

const message = (names: object, type: string, sequence: number, prevSequence: number | null = null): ChannelMessage =>
  ({ ...names, type, sequence, prevSequence }) as unknown as ChannelMessage;
const requestsOf = (subscriptions: Subscriptions): ChannelRequest[] =>
  subscriptions.renew().map(({ request }) => request);

/** A subscription that has got its snapshot. */
function begun(...channels: ChannelRequest[]): Subscriptions {
  const subscriptions = new Subscriptions(channels);
  subscriptions.accept(subscriptions.renew());
  for (const names of channels) assert.equal(subscriptions.receive(message(names, "SNAPSHOT", 5)), "NEXT");
  return subscriptions;
}

test("requests name the defaults of the exchange", () => {
  const subscriptions = new Subscriptions([
    BOOK,
    { channel: "ticker", symbol: "BTC-PERP" },
    { channel: "tickers" },
    { channel: "klines", symbol: "BTC-PERP", interval: "1m" },
    TRADES,
  ]);
  assert.deepEqual(requestsOf(subscriptions), [
    { ...BOOK, depth: DEFAULT_BOOK_DEPTH, updateMs: DEFAULT_PACE_MS },
    { channel: "ticker", symbol: "BTC-PERP", updateMs: DEFAULT_TICKER_PACE_MS },
    { channel: "tickers", updateMs: DEFAULT_TICKER_PACE_MS },
    { channel: "klines", symbol: "BTC-PERP", interval: "1m", priceType: "LAST" },
    TRADES,
  ]);
});

test("a request that leaves out fields interrupts no other stream", () => {
  const subscriptions = begun(DEEP, TRADES);
  subscriptions.accept(subscriptions.add([BOOK, { channel: "trades" }]));
  for (const names of [DEEP, TRADES]) assert.equal(subscriptions.receive(message(names, "UPDATE", 7, 5)), "NEXT");
  // The new ones begin with their snapshots.
  assert.equal(subscriptions.receive(message({ ...BOOK, depth: 100 }, "UPDATE", 7, 5)), "DROP");
  assert.equal(subscriptions.receive(message({ ...BOOK, depth: 100 }, "SNAPSHOT", 7)), "NEXT");
});

test("a channel that is asked for twice, and refused the second time, goes on", () => {
  const subscriptions = begun(TRADES);
  const again = subscriptions.add([TRADES]);
  assert.equal(subscriptions.receive(message(TRADES, "UPDATE", 7, 5)), "NEXT");
  subscriptions.takeBack(again);
  assert.equal(subscriptions.receive(message(TRADES, "UPDATE", 9, 7)), "NEXT");
  assert.deepEqual(requestsOf(subscriptions), [{ ...TRADES, resume: 9 }]);
  // The same when both are on the way, and the first is accepted.
  const both = new Subscriptions([]);
  const [first, second] = [both.add([TRADES]), both.add([TRADES])];
  both.accept(first);
  both.takeBack(second);
  assert.deepEqual(requestsOf(both), [TRADES]);
});

test("however often a channel is asked for, a connection begins with one request for it", () => {
  const subscriptions = begun(TRADES);
  for (let i = 0; i < 300; i++) subscriptions.accept(subscriptions.add([TRADES]));
  for (let i = 0; i < 300; i++) subscriptions.add([TRADES]);
  assert.deepEqual(requestsOf(subscriptions), [{ ...TRADES, resume: 5 }]);
});

test("what is left before its snapshot, and asked for again, waits for a snapshot", () => {
  const subscriptions = new Subscriptions([TRADES]);
  subscriptions.remove([TRADES]);
  assert.equal(subscriptions.receive(message(TRADES, "SNAPSHOT", 5)), "DROP");
  subscriptions.add([TRADES]);
  for (const type of ["HEARTBEAT", "UPDATE"])
    assert.equal(subscriptions.receive(message(TRADES, type, 5, 3)), "DROP", type);
  assert.equal(subscriptions.receive(message(TRADES, "SNAPSHOT", 5)), "NEXT");
});

test("a request that has no answer yet is left by its full name", () => {
  const subscriptions = new Subscriptions([BOOK]);
  subscriptions.remove([{ ...BOOK, depth: 100, updateMs: 0 }]);
  assert.deepEqual(requestsOf(subscriptions), []);
  assert.equal(subscriptions.receive(message({ ...BOOK, depth: 100 }, "SNAPSHOT", 5)), "DROP");
  assert.equal(subscriptions.awaitSnapshot({ ...BOOK, depth: 100 }), false);
});

test("a stream goes on from the program's own resume point, and only from there", () => {
  const subscriptions = new Subscriptions([{ ...TRADES, resume: 5 }]);
  assert.deepEqual(requestsOf(subscriptions), [{ ...TRADES, resume: 5 }]);
  assert.equal(subscriptions.receive(message(TRADES, "UPDATE", 9, 7)), "GAP");
  assert.equal(subscriptions.receive(message(TRADES, "HEARTBEAT", 5)), "NEXT");
  assert.equal(subscriptions.receive(message(TRADES, "UPDATE", 9, 5)), "NEXT");
});

test("a snapshot is requested of an accepted stream, and of another one as soon as it is accepted", () => {
  const subscriptions = begun(TRADES);
  assert.equal(subscriptions.awaitSnapshot(TRADES), true);
  subscriptions.remove([TRADES]);
  const refused = subscriptions.add([TRADES]);
  assert.equal(subscriptions.awaitSnapshot(TRADES), false);
  subscriptions.takeBack(refused);
  assert.equal(subscriptions.lacksSnapshot(TRADES), false);
  const [accepted] = subscriptions.add([TRADES]);
  assert(accepted !== undefined);
  // All that has happened before the answer was read.
  assert.equal(subscriptions.receive(message(TRADES, "SNAPSHOT", 5)), "NEXT");
  assert.equal(subscriptions.receive(message(TRADES, "UPDATE", 9, 7)), "GAP");
  assert.equal(subscriptions.awaitSnapshot(TRADES), false);
  subscriptions.accept([accepted]);
  assert.deepEqual([subscriptions.takePostponed(accepted), subscriptions.takePostponed(accepted)], [true, false]);
});
