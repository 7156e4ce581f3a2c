import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { LocalOrderBook } from "../../src/client/order-book.ts";
import type { Level, OrderBookMessage } from "../../src/client/types.ts";

const HEAD = { channel: "orderbook", symbol: "BTC-PERP", depth: 50, time: 0 } as const;

/** The checksum of the exchange's documentation. */
const KNOWN: Pick<OrderBookMessage, "bids" | "asks" | "checksum"> = {
  bids: [
    ["65000.5", "1.2"],
    ["65000", "3"],
  ],
  asks: [["65001", "0.5"]],
  checksum: 842467022,
};

function snapshot(sequence: number, book = KNOWN): OrderBookMessage {
  return { ...HEAD, type: "SNAPSHOT", sequence, prevSequence: null, ...structuredClone(book) };
}

test("a snapshot with the documented checksum is accepted", () => {
  const book = new LocalOrderBook();
  assert.equal(book.apply(snapshot(5)), true);
  assert.deepEqual([book.bids, book.asks, book.sequence], [KNOWN.bids, KNOWN.asks, 5]);
});

test("a gap or a wrong checksum is detected, and a snapshot repairs the book", () => {
  const gone: Level = ["65000", "0"];
  const removal = { ...HEAD, type: "DELTA" as const, bids: [gone], asks: [] };
  const after = new LocalOrderBook();
  after.apply(snapshot(1, { ...KNOWN, bids: [KNOWN.bids[0]!] }));
  const checksum = after.checksum();
  const rows: [name: string, prevSequence: number, checksum: number, good: boolean][] = [
    ["next", 7, checksum, true],
    ["gap", 6, checksum, false],
    ["other book", 7, checksum + 1, false],
  ];
  for (const [name, prevSequence, sum, good] of rows) {
    const book = new LocalOrderBook();
    book.apply(snapshot(7));
    assert.equal(book.apply({ ...removal, sequence: 9, prevSequence, checksum: sum }), good, name);
    assert.equal(book.apply(snapshot(12)), true, name);
  }
});

test("a snapshot replaces both sides of the book", () => {
  const book = new LocalOrderBook();
  book.apply(snapshot(1, { bids: [["64999", "1"]], asks: [["65002", "1"]], checksum: 0 }));
  assert.equal(book.apply(snapshot(5)), true);
  assert.deepEqual([book.bids, book.asks], [KNOWN.bids, KNOWN.asks]);
});

test("the checksum covers the best 25 levels of each side", () => {
  const levels = (from: number, step: number): Level[] =>
    Array.from({ length: 26 }, (_, i) => [String(from + i * step), "1"]);
  const bids = levels(1000, -1);
  const asks = levels(1001, 1);
  const book = new LocalOrderBook();
  const checksumWith = (change: Partial<Pick<OrderBookMessage, "bids" | "asks">>): number => {
    book.apply(snapshot(1, { bids, asks, checksum: 0, ...change }));
    return book.checksum();
  };
  const before = checksumWith({});
  for (const side of ["bids", "asks"] as const) {
    const own = side === "bids" ? bids : asks;
    const changed = (at: number): Level[] => own.with(at, [own[at]![0], "2"]);
    assert.notEqual(checksumWith({ [side]: changed(24) }), before, `${side}: the 25th`);
    assert.equal(checksumWith({ [side]: changed(25) }), before, `${side}: the 26th`);
  }
});

test("an empty book has the checksum of an empty text", () => {
  const book = new LocalOrderBook();
  assert.equal(book.apply(snapshot(1, { bids: [], asks: [], checksum: 0 })), true);
});

test("after any sequence of changes the levels are correct, best first (seed printed on failure)", () => {
  const change = fc.record({
    isBid: fc.boolean(),
    tick: fc.integer({ min: 1, max: 60 }),
    lots: fc.integer({ min: 0, max: 3 }),
  });
  fc.assert(
    fc.property(fc.array(change, { maxLength: 200 }), (changes) => {
      const book = new LocalOrderBook();
      const sides = [new Map<number, number>(), new Map<number, number>()] as const;
      for (const { isBid, tick, lots } of changes) {
        const side = sides[isBid ? 0 : 1];
        if (lots === 0) side.delete(tick);
        else side.set(tick, lots);
        const level: Level = [String(tick / 10), String(lots)];
        const levels = isBid ? { bids: [level], asks: [] } : { bids: [], asks: [level] };
        book.apply({ ...HEAD, type: "DELTA", sequence: 0, prevSequence: 0, checksum: 0, ...levels });
      }
      const expected = (side: Map<number, number>, sign: number): Level[] =>
        [...side].sort(([a], [b]) => sign * (a - b)).map(([tick, lots]) => [String(tick / 10), String(lots)]);
      assert.deepEqual(book.bids, expected(sides[0], -1));
      assert.deepEqual(book.asks, expected(sides[1], 1));
    }),
  );
});
