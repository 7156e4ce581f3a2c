import assert from "node:assert/strict";
import { test } from "node:test";
import { sparkline } from "../../src/terminal/market/sparkline.ts";
import { Tape } from "../../src/terminal/state/tape.ts";
import { largestFall, worthOf } from "../../src/terminal/tables/equity-data.ts";
import { NO_FILTER, timesOf } from "../../src/terminal/tables/filter.ts";
import { mergePages } from "../../src/terminal/tables/merged-pages.ts";
import { windowOf } from "../../src/terminal/tables/window.ts";

test("a time range becomes the times of a request, in the zone that is shown", () => {
  const now = 1_800_000_000_000;
  assert.deepEqual(timesOf(NO_FILTER, "utc", now), {});
  assert.deepEqual(timesOf({ ...NO_FILTER, range: "day" }, "utc", now), { startTime: now - 86_400_000 });
  const custom = { ...NO_FILTER, range: "custom" as const };
  const from = Date.UTC(2026, 10, 24, 9, 30);
  assert.deepEqual(timesOf(custom, "utc", now), {});
  const minute = { ...custom, from: "2026-11-24T09:30", to: "2026-11-24T09:30" };
  assert.deepEqual(timesOf(minute, "utc", now), { startTime: from, endTime: from + 59_999 });
  const local = new Date(2026, 10, 24, 9, 30).getTime();
  assert.deepEqual(timesOf({ ...custom, from: minute.from }, "local", now), { startTime: local });
  assert.equal(timesOf({ ...minute, to: "2026-11-24T09:29" }, "utc", now), null);
  // Nonsense is no limit.
  assert.deepEqual(timesOf({ ...custom, from: "soon", to: "0001-01-01T00:00" }, "utc", now), {});
});

test("pages of two lists become one list in which nothing is missing, doubled or out of order", () => {
  const lists = [
    [90, 80, 70, 70, 10],
    [85, 84, 83, 70, 60, 50, 40],
  ].map((times, list) => times.map((createdAt, index) => ({ createdAt, id: `${list}-${index}` })));
  for (const limit of [2, 3, 100]) {
    const pageOf = (rows: { createdAt: number; id: string }[], end: number) => {
      const rest = rows.filter(({ createdAt }) => createdAt <= end);
      return { data: rest.slice(0, limit), nextCursor: rest.length > limit ? "more" : null };
    };
    const seen: { createdAt: number; id: string }[] = [];
    let end: string | null = "1000";
    for (let page = 0; end !== null; page++) {
      assert.ok(page < 100, "it does not end");
      const merged = mergePages(lists.map((rows) => pageOf(rows, Number(end))));
      seen.push(...merged.data);
      end = merged.nextCursor;
    }
    const all = lists.flat().sort((a, b) => b.createdAt - a.createdAt);
    assert.deepEqual(
      seen.map(({ createdAt }) => createdAt),
      all.map(({ createdAt }) => createdAt),
      `${limit}`,
    );
    assert.equal(new Set(seen.map(({ id }) => id)).size, all.length);
  }
});

test("the rows that are drawn cover the view, and never leave the list", () => {
  const cases = [
    [0, 200, 1000],
    [15_000, 200, 1000],
    [29_800, 200, 1000],
    [-50, 200, 61],
    [90_000, 200, 61],
    [0, 0, 100],
  ] as const;
  for (const [above, view, count] of cases) {
    const { first, end } = windowOf(above, view, 30, count);
    assert.ok(first >= 0 && first < end && end <= count, `${above}`);
    const top = Math.max(0, Math.min(count - 1, Math.floor(above / 30)));
    assert.ok(first <= top && end > Math.min(count - 1, top), `${above}`);
    assert.ok(end - first < 60);
  }
});

test("profit begins at 0, leaves deposits out, and ends with the worth of this moment", () => {
  const row = (time: number, equity: number, netDeposits: number) => ({
    time,
    equity: String(equity),
    walletBalance: String(equity),
    unrealizedPnl: "0",
    netDeposits: String(netDeposits),
    pnl: String(equity - netDeposits),
  });
  const points = [row(4000, 1140, 1050), row(3000, 1120, 1050), row(2000, 1080, 1000), row(1000, 1050, 1000)];
  const profits = (now: number | null) =>
    worthOf(points, "1h", 3_600_000, now).map(({ timeMs, profit }) => [timeMs, profit]);
  assert.deepEqual(profits(null), [
    [1000, 0],
    [2000, 30],
    [3000, 20],
    [4000, 40],
  ]);
  assert.deepEqual(profits(1105).at(-1), [3_600_000, 5]);
  // Younger than the range: all of its profit is in it.
  assert.deepEqual(worthOf(points, "1d", 4500, null)[0]?.profit, 50);
  assert.deepEqual(worthOf(points, "all", 4500, null)[0]?.profit, 50);
  assert.equal(profits(1105).length, 4);
  assert.deepEqual(worthOf([], "1h", 4500, 1), []);
  // Opened a moment ago: it begins at its deposits.
  assert.deepEqual(worthOf([row(61_000, 990, 1000)], "1h", 62_000, 980), [
    { timeMs: 1000, equity: 1000, profit: 0 },
    { timeMs: 62_000, equity: 980, profit: -20 },
  ]);
  assert.equal(largestFall(worthOf([row(61_000, 990, 1000)], "1h", 62_000, 980)), 20);
  assert.equal(largestFall(worthOf(points, "1h", 4500, null)), 10);
  assert.equal(largestFall(worthOf(points, "1h", 4500, 1105)), 25);
});

test("a tape keeps its order and no trade twice, and large is far above the usual size", () => {
  const trade = (tradeId: number, quantity: string) =>
    ({
      tradeId: String(tradeId),
      symbol: "BTC-PERP",
      side: "BUY",
      price: "100",
      quantity,
      time: 1,
      execType: "TRADE",
      sequence: tradeId,
    }) as const;
  const ids = (tape: Tape): string => tape.rows.map(({ tradeId }) => tradeId).join(" ");
  const tape = new Tape();
  tape.add([trade(5, "1"), trade(6, "0.5"), trade(7, "2")], 100);
  assert.equal(ids(tape), "7 5");
  tape.add([trade(3, "3"), trade(5, "1"), trade(7, "2"), trade(8, "1")], 100);
  assert.equal(ids(tape), "8 7 5 3");
  tape.keep(200);
  assert.equal(ids(tape), "7 3");
  // Too few to compare with.
  assert.equal(tape.largeFrom, Number.POSITIVE_INFINITY);
  for (let id = 10; id < 500; id++) tape.add([trade(id, id % 40 === 0 ? "50" : "1")], 0);
  assert.equal(tape.rows.length, 200);
  assert.equal(tape.largeFrom, 400);
  for (let id = 500; id < 800; id++) tape.add([trade(id, "7")], 0);
  assert.ok(tape.largeFrom > 700, "of trades of one size none is large");
  tape.clear();
  assert.equal(tape.rows.length, 0);
});

test("a sparkline fills its box, and a price that does not move is a line in the middle", () => {
  assert.equal(sparkline(["10", "30", "20"], 100, 20), "0.0,19.0 50.0,1.0 100.0,10.0");
  assert.equal(sparkline(["10", "10"], 100, 20), "0.0,10.0 100.0,10.0");
  for (const prices of [[], ["10"]]) assert.equal(sparkline(prices, 100, 20), "");
});
