import assert from "node:assert/strict";
import { test } from "node:test";
import { FundingPaid, FundingSettled, Traded } from "../../../../src/core/protocol/events.ts";
import { FundingPaymentRecord, FundingRateRecord } from "../../../../src/store/database/history-schema.ts";
import type { Received } from "../../support/scripted-client.ts";
import { make, START } from "../../support/scripted-engine.ts";
import { ALICE, BOB, BTC, ETH, nextTurn, open, subscribe, unsubscribe } from "../../support/scripted-exchange.ts";

const HOUR_MS = 3_600_000;
const shown = ({ data }: Received): string[] =>
  data.map(({ symbol, fundingTime, fundingRate, premium, indexPrice, positionSize, amount }: Received) =>
    [symbol, fundingTime - START, fundingRate, premium, indexPrice, positionSize, amount].join(" "),
  );

const settled = (fundingTime: number, ratePpb: number) =>
  make(FundingSettled, { fundingTime, ratePpb, premiumPpb: 2 * ratePpb, indexTicks: 650_000, markTicks: 650_010 });
const paid = (fundingTime: number, amountQuanta: number, accountId = ALICE) =>
  make(FundingPaid, { accountId, fundingTime, sizeLots: 1500, amountQuanta });

test("funding: the last hundred payments from history and memory, oldest first, then those of each transaction", async () => {
  const asked: unknown[] = [];
  const rate = make(FundingRateRecord, { fundingTime: START, ratePpb: 3000, premiumPpb: 6000, indexTicks: 649_990 });
  const { engine, connect } = await open({}, undefined, null, {
    fundingOf: (accountId, { limit, throughSequence, instrumentId }) => {
      asked.push([accountId, limit, throughSequence, instrumentId]);
      const amounts = Array.from({ length: 120 }, (_, i) => -(120 - i));
      const rows = amounts.map((amountQuanta) =>
        make(FundingPaymentRecord, { instrumentId: ETH, fundingTime: START, sizeLots: 1, amountQuanta }),
      );
      return { data: rows.slice(0, limit).map((payment) => ({ payment, rate })), nextCursor: null };
    },
  });
  engine.transaction(BTC, settled(START, 12_500));
  const client = connect();
  client.say({ op: "auth", token: "alice" });
  client.say(subscribe({ channel: "funding" }, { channel: "funding", symbol: "BTC-PERP" }));
  client.take();
  const through = engine.sequence;
  // The history has not been read yet.
  engine.transaction(BTC, paid(START, -40));
  engine.transaction(BTC, paid(START, 40, BOB));
  engine.drain();
  assert.deepEqual(client.take(), []);
  for (let transactions = 0; transactions < 4; transactions++) await nextTurn();
  assert.deepEqual(asked, [
    [ALICE, 100, through, undefined],
    [ALICE, 100, through, BTC],
  ]);
  const [all, btc] = client.take();
  assert.deepEqual([all.channel, all.symbol, all.type, all.sequence], ["funding", undefined, "SNAPSHOT", through + 1]);
  assert.equal(all.data.length, 100);
  assert.deepEqual(shown(all).slice(0, 1), ["ETH-PERP 0 0.000003 0.000006 64999 0.001 -0.000022"]);
  assert.deepEqual(shown(all).slice(-2), [
    "ETH-PERP 0 0.000003 0.000006 64999 0.001 -0.00012",
    "BTC-PERP 0 0.0000125 0.000025 65000 1.5 -0.00004",
  ]);
  assert.deepEqual([btc.symbol, shown(btc).length], ["BTC-PERP", 100]);

  engine.transaction(ETH, settled(START + HOUR_MS, -700), paid(START + HOUR_MS, 9));
  // A position that has not paid for an interval by the end of the next one pays for both.
  const last = engine.transaction(
    BTC,
    paid(START, -41),
    settled(START + HOUR_MS, 100),
    paid(START + HOUR_MS, -2),
    paid(START + HOUR_MS, 2, BOB),
  );
  engine.drain();
  const updates = client.take();
  assert.deepEqual(
    updates.map((update) => [update.symbol, shown(update)]),
    [
      [undefined, ["ETH-PERP 3600000 -0.0000007 -0.0000014 65000 1.5 0.000009"]],
      [
        undefined,
        [
          "BTC-PERP 0 0.0000125 0.000025 65000 1.5 -0.000041",
          "BTC-PERP 3600000 0.0000001 0.0000002 65000 1.5 -0.000002",
        ],
      ],
      [
        "BTC-PERP",
        [
          "BTC-PERP 0 0.0000125 0.000025 65000 1.5 -0.000041",
          "BTC-PERP 3600000 0.0000001 0.0000002 65000 1.5 -0.000002",
        ],
      ],
    ],
  );
  assert.deepEqual(
    updates.map(({ sequence, prevSequence }: Received) => [sequence, prevSequence]),
    [
      [last - 1, through + 1],
      [last, last - 1],
      [last, through + 1],
    ],
  );
  const { time, sequence, markPrice, fundingIntervalHours } = updates[0].data[0];
  assert.deepEqual([time, sequence, markPrice, fundingIntervalHours], [START, last - 1, "65001", 8]);

  client.say(unsubscribe({ channel: "funding", symbol: "BTC-PERP" }));
  client.take();
  engine.transaction(BTC, paid(START + HOUR_MS, -3));
  engine.drain();
  assert.deepEqual(
    client.take().map(({ symbol }: Received) => symbol),
    [undefined],
  );
});

test("funding: a payment for an interval that ended before the start, or before the subscription", async () => {
  const before = make(FundingRateRecord, { fundingTime: START - 1, ratePpb: 5000, indexTicks: 640_000 });
  const { engine, connect } = await open({}, undefined, null, {}, [before]);
  engine.transaction(ETH, settled(START, 4000));
  const client = connect();
  client.say({ op: "auth", token: "alice" });
  client.say(subscribe({ channel: "funding" }));
  for (let transactions = 0; transactions < 3; transactions++) await nextTurn();
  client.take();
  engine.transaction(BTC, paid(START - 1, -1), make(Traded, { takerAccountId: ALICE, makerAccountId: BOB }));
  engine.transaction(ETH, paid(START, 1));
  engine.drain();
  assert.deepEqual(client.take().map(shown), [
    ["BTC-PERP -1 0.000005 0 64000 1.5 -0.000001"],
    ["ETH-PERP 0 0.000004 0.000008 65000 1.5 0.000001"],
  ]);
});
