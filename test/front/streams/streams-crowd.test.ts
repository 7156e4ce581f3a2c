import assert from "node:assert/strict";
import { test } from "node:test";
import { MarginTable } from "../../../src/core/accounts/margin-table.ts";
import { LEDGER } from "../../../src/core/base/enums.ts";
import { Deposited, FundingPaid, FundingSettled, PriceUpdated } from "../../../src/core/protocol/events.ts";
import { PositionView } from "../../../src/core/protocol/replies.ts";
import { MarketData } from "../../../src/front/exchange/market.ts";
import { Transfers } from "../../../src/front/exchange/transfers.ts";
import type { Subscriber } from "../../../src/front/streams/base/stream.ts";
import { Streams } from "../../../src/front/streams/streams.ts";
import { EMPTY_HISTORY, make, ScriptedEngine } from "../support/scripted-engine.ts";
import { BTC, nextTurn } from "../support/scripted-exchange.ts";

const CROWD = 2000;
const LAST = CROWD;

class Listener implements Subscriber {
  snapshots = 0;
  send(): void {
    this.snapshots++;
  }
  sendAll(): void {}
  noteLargeMessage(): void {}
  subscribe(): void {}
  unsubscribe(): void {}
  fail(): void {}
}

async function openStreams(onRead: () => void) {
  const engine = Object.assign(new ScriptedEngine(), { marginTable: MarginTable.allocate(CROWD + 1) });
  const now = (): number => engine.time;
  const opening = MarketData.open(
    engine,
    () => ({ minuteCandles: [], trades: [], liquidations: [], fundingRates: [] }),
    now,
  );
  engine.describe({});
  const published: string[] = [];
  const streams = new Streams({
    ...{ engine, market: await opening, now, monotonic: now, log: { error: assert.fail } },
    transfers: new Transfers(engine),
    history: {
      ...EMPTY_HISTORY,
      fillsOf: () => {
        onRead();
        return { data: [], nextCursor: null };
      },
    },
    publish: (topic) => void published.push(topic),
  });
  engine.onReleased((transaction) => streams.apply(transaction));
  engine.onDrained(() => streams.flush());
  const nothing = { instrument: null, depth: null, updateMs: null, interval: null, priceType: null, resume: null };
  const member = new Listener();
  const join = (channel: "positions" | "fills" | "funding", accountId: number) =>
    streams.subscribe(member, { ...nothing, channel }, accountId);
  return { engine, streams, published, member, join };
}

/** Subscribes to the positions of accounts 1 to CROWD. Each has one in BTC. */
async function openCrowd() {
  const { engine, streams, published, member, join } = await openStreams(assert.fail);
  for (let accountId = 1; accountId <= CROWD; accountId++) join("positions", accountId);
  const position = make(PositionView, { sizeLots: 1500, markTicks: 650000, leverage: 10 });
  while (engine.answer(({ actorId }) => (actorId === BTC ? [position] : [])));
  assert.equal(member.snapshots, CROWD);
  published.length = 0;
  return { engine, streams, published, member };
}

test("a price makes very many accounts flush over several event-loop iterations, each once; an account's own event does not wait", async () => {
  const { engine, streams } = await openCrowd();
  engine.transaction(BTC, make(PriceUpdated, { markTicks: 650001 }));
  engine.drain();
  const first = engine.asked.length;
  assert.ok(first > 0 && first < CROWD / 2, `${first} at once`);

  streams.flushAll();
  assert.equal(engine.asked.length, first, "time that passes does not hurry it");
  engine.transaction(LEDGER, make(Deposited, { accountId: LAST }));
  engine.drain();
  assert.deepEqual(
    engine.asked.slice(first).map(({ command }) => (command as { accountId?: number }).accountId),
    [LAST],
  );
  for (let i = 0; i < CROWD; i++) await nextTurn();
  assert.equal(new Set(engine.asked.map(({ command }) => (command as { accountId?: number }).accountId)).size, CROWD);
  assert.equal(engine.asked.length, CROWD);
});

test("the heartbeats of very many streams are sent over several event-loop iterations, but not those of closed streams", async () => {
  const { streams, published, member } = await openCrowd();
  streams.heartbeat();
  for (let i = 0; i < CROWD; i++) await nextTurn();
  assert.equal(published.length, 0, "each has just heard something");
  streams.heartbeat();
  const first = published.length;
  assert.ok(first > 0 && first < CROWD / 2, `${first} at once`);
  streams.unsubscribe(member, `positions/${LAST}/all`, false);
  for (let i = 0; i < CROWD; i++) await nextTurn();
  assert.equal(published.length, CROWD - 1);
  assert.ok(!published.includes(`positions/${LAST}/all`));
});

test("funding of very many accounts is published over several event-loop iterations; an account that trades does not wait", async () => {
  const { engine, published, member, join } = await openStreams(assert.fail);
  for (let accountId = 1; accountId <= CROWD; accountId++) join("funding", accountId);
  while (member.snapshots < CROWD) await nextTurn();
  const payments = Array.from({ length: CROWD }, (_, i) => make(FundingPaid, { accountId: i + 1 }));
  engine.transaction(BTC, make(FundingSettled), ...payments);
  engine.transaction(LEDGER, make(Deposited, { accountId: LAST }));
  engine.drain();
  const first = published.length;
  assert.ok(first > 0 && first < CROWD / 2, `${first} at once`);
  assert.equal(published[0], `funding/${LAST}/all`);
  for (let i = 0; i < CROWD; i++) await nextTurn();
  assert.equal(published.length, CROWD);
  assert.equal(new Set(published).size, CROWD);
});

test("the fills of very many accounts are read over several event-loop iterations", async () => {
  let reads = 0;
  const { engine, member, join } = await openStreams(() => reads++);
  for (let accountId = 1; accountId <= 100; accountId++) join("fills", accountId);
  while (engine.answer(() => []));
  while (member.snapshots < 100) {
    const before = reads;
    await nextTurn();
    assert.ok(reads - before < 10, `${reads - before} in one turn`);
  }
});

test("the fills of accounts that have unsubscribed meanwhile are not read", async () => {
  let reads = 0;
  const { engine, streams, member, join } = await openStreams(() => reads++);
  for (let accountId = 1; accountId <= 100; accountId++) join("fills", accountId);
  while (engine.answer(() => []));
  for (let accountId = 11; accountId <= 100; accountId++) streams.unsubscribe(member, `fills/${accountId}/all`, false);
  join("fills", 100);
  while (engine.answer(() => []));
  while (member.snapshots < 11) await nextTurn();
  assert.equal(reads, 11);
});
