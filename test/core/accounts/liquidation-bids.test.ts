import assert from "node:assert/strict";
import { test } from "node:test";
import {
  type LiquidationBid,
  LiquidationBids,
  NOT_IN_BOOK,
  NOT_NOW,
} from "../../../src/core/accounts/liquidation-bids.ts";
import { everyInterleavingOf, SteppedBids } from "../support/interleave.ts";

const SYMBOLS = ["BTC-PERP", "ETH-PERP", "SOL-PERP"];
const [BTC, ETH, SOL] = [0, 1, 2];
const ALICE = 17;
const EQUITY = 1000;

const bid = (fields: Partial<LiquidationBid> = {}): LiquidationBid => ({
  ...{ equity: EQUITY, maintenance: 500, cost: 400, gain: 0 },
  ...fields,
});

const table = (symbols = SYMBOLS): LiquidationBids =>
  new LiquidationBids(LiquidationBids.allocate(32, symbols.length), symbols);

/** Which of the symbols would act, when the maintenance margin of all bids together is 1500. */
function firstOf(bids: LiquidationBids, since = 1): number[] {
  return [BTC, ETH, SOL].filter((column) => {
    bids.compare(ALICE, column, 1500, since, false);
    return bids.isComplete && bids.isFirst;
  });
}

test("the bids are complete when they add up to the account's maintenance margin, and one is first", () => {
  const bids = table();
  bids.post(ALICE, BTC, bid({ cost: 300 }), 1);
  bids.post(ALICE, ETH, bid({ cost: 200 }), 1);
  assert.deepEqual(firstOf(bids), []);
  bids.post(ALICE, SOL, bid({ cost: 100 }), 1);
  assert.deepEqual(firstOf(bids), [SOL]);
  bids.endTurn(ALICE, SOL, 1);
  assert.deepEqual(firstOf(bids), []);
});

test("the order: cost, then gain, then the symbol's name; what no book takes comes later, what may not trade never", () => {
  const bids = table();
  const post = (...all: [Partial<LiquidationBid>, Partial<LiquidationBid>, Partial<LiquidationBid>]): number[] => {
    for (const [column, fields] of all.entries()) bids.post(ALICE, column, bid(fields), 1);
    return firstOf(bids);
  };
  assert.deepEqual(post({ cost: 3 }, { cost: 2 }, { cost: 4 }), [ETH]);
  assert.deepEqual(post({ gain: 0.5 }, { gain: 0.25 }, { gain: -0.5 }), [SOL]);
  assert.deepEqual(post({}, {}, {}), [BTC]);
  assert.deepEqual(post({ cost: NOT_IN_BOOK }, { cost: 900 }, { cost: NOT_NOW }), [ETH]);
  assert.deepEqual(post({ cost: NOT_IN_BOOK }, { cost: NOT_IN_BOOK, gain: -1 }, { cost: NOT_NOW }), [ETH]);
  assert.deepEqual(post({ cost: NOT_NOW }, { cost: NOT_NOW }, { cost: NOT_NOW }), []);
});

test("names decide whatever the columns are", () => {
  const bids = table(["ZEC-PERP", "ADA-PERP", "BNB-PERP"]);
  for (const column of [0, 1, 2]) bids.post(ALICE, column, bid(), 1);
  assert.deepEqual(firstOf(bids), [1]);
});

test("a bid for another equity and an old bid do not count, until a symbol has lost its patience", () => {
  const bids = table();
  bids.post(ALICE, BTC, bid({ cost: 300 }), 5);
  bids.post(ALICE, ETH, bid({ cost: 200, equity: EQUITY - 1 }), 5);
  bids.post(ALICE, SOL, bid({ cost: 100 }), 4);
  assert.deepEqual(firstOf(bids, 5), []);
  const isFirst = (column: number, since: number): boolean => {
    bids.compare(ALICE, column, 1500, since, true);
    return bids.isFirst;
  };
  assert.deepEqual([isFirst(BTC, 5), isFirst(ETH, 5)], [false, true]);
  assert.deepEqual([isFirst(BTC, 4), isFirst(ETH, 4), isFirst(SOL, 4)], [false, false, true]);
});

test("a symbol knows whether another one can close in its book", () => {
  const bids = table();
  const canOthersClose = (column: number): boolean => {
    bids.compare(ALICE, column, 1500, 1, false);
    return bids.canOthersClose;
  };
  bids.post(ALICE, BTC, bid(), 1);
  bids.post(ALICE, ETH, bid({ cost: NOT_IN_BOOK }), 1);
  bids.post(ALICE, SOL, bid({ cost: NOT_NOW }), 1);
  assert.deepEqual([BTC, ETH, SOL].map(canOthersClose), [false, true, true]);
});

test("a symbol knows that another one has had its turn lately", () => {
  const bids = table();
  const hadOthersTurn = (column: number, since: number): boolean => {
    bids.compare(ALICE, column, 1500, since, false);
    return bids.hadOthersTurn;
  };
  bids.post(ALICE, BTC, bid(), 7);
  bids.post(ALICE, ETH, bid(), 7);
  bids.endTurn(ALICE, ETH, 8);
  assert.deepEqual([hadOthersTurn(BTC, 8), hadOthersTurn(BTC, 9), hadOthersTurn(ETH, 8)], [true, false, false]);
  bids.post(ALICE, ETH, bid(), 9);
  assert.equal(hadOthersTurn(BTC, 8), false);
});

test("accounts do not share bids", () => {
  const bids = table();
  for (const column of [BTC, ETH, SOL]) bids.post(ALICE + 1, column, bid(), 1);
  bids.post(ALICE, BTC, bid(), 1);
  assert.deepEqual(firstOf(bids), []);
});

/** Posts a bid, and says whether the symbol would act. */
const act =
  (column: number, fields: Partial<LiquidationBid>) =>
  (bids: LiquidationBids): string => {
    bids.post(0, column, bid(fields), 2);
    bids.compare(0, column, 1000, 1, false);
    if (!bids.isComplete) return "waits";
    return bids.isFirst ? "acts" : "comes later";
  };

const twoSymbols = SYMBOLS.slice(0, 2);
const stepped = (buffer: SharedArrayBuffer): SteppedBids => new SteppedBids(buffer, twoSymbols);
const empty = (): ArrayBuffer => new Uint8Array(LiquidationBids.allocate(1, 2).byteLength).buffer;

test("in every order of two threads' steps: one of them sees both bids, and never do both act", () => {
  const seen = new Set<string>();
  const orders = everyInterleavingOf(
    empty(),
    stepped,
    [act(BTC, { cost: 7 }), act(ETH, { cost: 5 })],
    ({ results: [btc, eth], schedule }) => {
      const both = `${btc}, ${eth}`;
      seen.add(both);
      assert.ok(
        both === "comes later, waits" || both === "waits, acts" || both === "comes later, acts",
        `${both}: ${schedule}`,
      );
    },
  );
  assert.equal(seen.size, 3);
  assert.ok(orders > 1e6, String(orders));
});

test("in every order of steps a bid is read as it was before or after it is written again, never half of each", () => {
  const start = empty();
  // ETH's bid for an earlier equity would come first. The one that replaces it does not.
  new LiquidationBids(start as unknown as SharedArrayBuffer, twoSymbols).post(0, ETH, bid({ equity: 900, cost: 1 }), 1);
  const seen = new Set<string>();
  everyInterleavingOf(
    start,
    stepped,
    [act(BTC, { cost: 7 }), act(ETH, { cost: 9 })],
    ({ results: [btc], schedule }) => {
      seen.add(btc ?? "");
      assert.notEqual(btc, "comes later", String(schedule));
    },
  );
  assert.deepEqual([...seen].sort(), ["acts", "waits"]);
});
