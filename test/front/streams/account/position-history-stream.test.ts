import assert from "node:assert/strict";
import { test } from "node:test";
import { BUY, SELL } from "../../../../src/core/base/enums.ts";
import { Traded } from "../../../../src/core/protocol/events.ts";
import type { SymbolSummary } from "../../../../src/core/protocol/payloads.ts";
import { ClosedPositionRecord } from "../../../../src/store/database/history-schema.ts";
import type { Received } from "../../support/scripted-client.ts";
import { make, type ScriptedEngine, START } from "../../support/scripted-engine.ts";
import { ALICE, BOB, BTC, ETH, nextTurn, open, subscribe } from "../../support/scripted-exchange.ts";

const idsOf = ({ data }: Received): string[] => data.map(({ positionId }: Received) => positionId);

/** Bids for the sells to trade with. */
const DEEP: Record<number, Partial<SymbolSummary>> = { [BTC]: { bids: [[1, 9999]] }, [ETH]: { bids: [[1, 9999]] } };

/** A history that a test fills. */
function historyOf() {
  const closed: ClosedPositionRecord[] = [];
  let reads = 0;
  return {
    get reads() {
      return reads;
    },
    /** Alice's sell of `lots` by which her position becomes `sizeLots`, and the record of the position that it closed, if any. */
    trade(engine: ScriptedEngine, actorId: number, lots: number, sizeLots: number, isClosing: boolean): number {
      const fields = { takerAccountId: ALICE, makerAccountId: BOB, takerSide: SELL, takerSizeLots: sizeLots };
      const event = make(Traded, { ...fields, makerSizeLots: lots, quantityLots: lots, priceTicks: 1 });
      const sequence = engine.transaction(actorId, event);
      if (isClosing) this.close(actorId, sequence, engine.time);
      return sequence;
    },
    close(instrumentId: number, sequence: number, time: number): void {
      const sums = { closedLots: 1, exitQuanta: "100", leverage: 5 };
      closed.push(make(ClosedPositionRecord, { instrumentId, tradeId: sequence, side: BUY, time, sequence, ...sums }));
    },
    source: {
      /** Pages of at most 3 rows, so that a test has many. */
      closedPositionsOf: (
        accountId: number,
        query: {
          limit: number;
          cursor?: string | undefined;
          throughSequence?: number;
          instrumentId?: number | undefined;
          startTime?: number | undefined;
        },
      ) => {
        assert.equal(accountId, ALICE);
        reads++;
        const { limit, cursor = "0", throughSequence = 1e9, instrumentId, startTime = 0 } = query;
        const rows = closed
          .filter((row) => row.sequence <= throughSequence && row.time >= startTime)
          .filter((row) => instrumentId === undefined || row.instrumentId === instrumentId)
          .reverse();
        const end = Number(cursor) + Math.min(3, limit);
        return { data: rows.slice(Number(cursor), end), nextCursor: end < rows.length ? String(end) : null };
      },
    },
  };
}

const passTurns = async (): Promise<void> => {
  for (let turns = 0; turns < 40; turns++) await nextTurn();
};

test("positions-history: the last hundred, oldest first, then each closing, read at a tick", async () => {
  const history = historyOf();
  const { engine, channels, connect } = await open(DEEP, undefined, null, history.source);
  for (let i = 1; i <= 120; i++) history.close(i % 2 === 0 ? BTC : ETH, i - 1000, START - 1000 + i);
  const client = connect();
  client.say({ op: "auth", token: "alice" });
  client.say(subscribe({ channel: "positions-history" }, { channel: "positions-history", symbol: "BTC-PERP" }));
  client.take();
  await passTurns();
  await passTurns();
  const [all, btc] = client.take().sort(({ symbol }: Received) => (symbol === undefined ? -1 : 1));
  assert.deepEqual([all.type, all.data.length, idsOf(all)[0], idsOf(all).at(-1)], ["SNAPSHOT", 100, "-979", "-880"]);
  assert.deepEqual([btc.symbol, btc.data.length], ["BTC-PERP", 60]);

  const reads = history.reads;
  history.trade(engine, BTC, 2, 3, false); // smaller
  history.trade(engine, BTC, 2, -5, false); // a larger short
  engine.drain();
  channels.tick();
  await passTurns();
  assert.equal(history.reads, reads, "nothing was closed");
  const first = history.trade(engine, BTC, 2, 0, true);
  const second = history.trade(engine, ETH, 5, -1, true); // turned around
  const third = history.trade(engine, ETH, 5, 0, true);
  engine.drain();
  channels.tick();
  // While these are read, another position is closed.
  const fourth = history.trade(engine, BTC, 1, 0, true);
  engine.drain();
  await passTurns();
  channels.tick();
  await passTurns();
  channels.tick();
  await passTurns();
  const messages = client.take();
  const rows = (wanted: string | undefined) =>
    messages
      .filter(({ symbol }: Received) => symbol === wanted)
      .map((message: Received) => [...idsOf(message).map(Number), message.sequence, message.prevSequence]);
  assert.deepEqual(rows(undefined), [
    [first, first, all.sequence],
    [second, second, first],
    [third, third, second],
    [fourth, fourth, third],
  ]);
  assert.deepEqual(rows("BTC-PERP"), [
    [first, first, btc.sequence],
    [fourth, fourth, first],
  ]);
});

test("positions-history: closings by the dozen between two ticks are all sent, in their order", async () => {
  const history = historyOf();
  const { engine, channels, connect } = await open(DEEP, undefined, null, history.source);
  const client = connect();
  client.say({ op: "auth", token: "alice" });
  client.say(subscribe({ channel: "positions-history" }));
  await passTurns();
  client.take();
  const sequences = Array.from({ length: 250 }, () => history.trade(engine, BTC, 1, 0, true));
  engine.drain();
  channels.tick();
  for (let i = 0; i < 4; i++) await passTurns();
  assert.deepEqual(client.take().flatMap(idsOf), sequences.map(String));
});
