import assert from "node:assert/strict";
import { test } from "node:test";
import { Standbys } from "../../../src/actor/host/standbys.ts";

test("the leader knows the standbys that it has heard in the last seconds, the furthest ahead first", () => {
  let nowMs = 1000;
  const standbys = new Standbys({ now: () => nowMs, onWrongClock: () => assert.fail() });
  const hear = (id: string, sequence: number): void => standbys.hear({ id, url: `http://${id}`, sequence }, 100);
  hear("a", 90);
  nowMs += 600;
  hear("b", 101);
  assert.deepEqual(standbys.list(), [
    { url: "http://b", sequence: 101, lagTransactions: 0, healthy: true, heardMsAgo: 0 },
    { url: "http://a", sequence: 90, lagTransactions: 10, healthy: true, heardMsAgo: 600 },
  ]);
  // An older program does not say whether it is.
  standbys.hear({ id: "b", url: "http://b", sequence: 101, isHealthy: false }, 100);
  assert.deepEqual(
    standbys.list().map(({ healthy }) => healthy),
    [false, true],
  );
  nowMs += 3000;
  assert.deepEqual(
    standbys.list().map(({ url }) => url),
    ["http://b"],
  );
  // Whoever can send notes cannot fill the memory, or hide a standby for good.
  for (let i = 0; i < 1000; i++) hear(`x${i}`, i);
  assert.equal(standbys.list().length, 32);
  nowMs += 4000;
  hear("a", 95);
  assert.deepEqual(
    standbys.list().map(({ url }) => url),
    ["http://a"],
  );
});

test("the leader is told once of a standby whose clock is wrong, and not of a late note", () => {
  let wallMs = 5_000_000;
  const found: [string, number][] = [];
  const standbys = new Standbys({ wallMs: () => wallMs, onWrongClock: (url, aheadMs) => found.push([url, aheadMs]) });
  const hear = (id: string, timeMs?: number): void =>
    standbys.hear({ id, url: id, sequence: 1, ...(timeMs === undefined ? {} : { timeMs }) }, 1);
  for (let i = 0; i < 5; i++) {
    wallMs += 1000;
    hear("ahead", wallMs + 3_600_000);
    hear("behind", wallMs - 2000);
    hear("right", wallMs - 900);
    hear("late", wallMs - (i % 2 === 0 ? 2000 : 10));
    hear("of an older program");
  }
  assert.deepEqual(found, [
    ["ahead", 3_600_000],
    ["behind", -2000],
  ]);
});
