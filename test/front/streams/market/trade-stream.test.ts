import assert from "node:assert/strict";
import { test } from "node:test";
import { BUY, SELL } from "../../../../src/core/base/enums.ts";
import { Traded } from "../../../../src/core/protocol/events.ts";
import type { Message } from "../../../../src/core/protocol/message-schema.ts";
import type { Received } from "../../support/scripted-client.ts";
import { make, START } from "../../support/scripted-engine.ts";
import { BTC, ETH, open, subscribe } from "../../support/scripted-exchange.ts";

test("trades: earlier ones in the snapshot, then each once, in order", async () => {
  const { engine, connect } = await open({ [BTC]: { bids: [[100, 1e6]] } });
  const trade = (tradeId: number): Message =>
    make(Traded, { tradeId, takerSide: SELL, priceTicks: 100, quantityLots: 1000 });
  for (let i = 1; i <= 120; i++) engine.transaction(BTC, trade(i));
  engine.drain();
  const early = connect();
  const [, snapshot] = early.ask(subscribe({ channel: "trades", symbol: "BTC-PERP" }));
  assert.equal(snapshot.type, "SNAPSHOT");
  assert.equal(snapshot.sequence, engine.sequence);
  assert.deepEqual(
    snapshot.data.map((each: Received) => each.tradeId),
    Array.from({ length: 100 }, (_, i) => String(i + 21)),
  );
  const before = engine.sequence;
  const first = engine.transaction(BTC, trade(121), trade(122));
  const late = connect();
  const [, lateSnapshot] = late.ask(subscribe({ channel: "trades", symbol: "BTC-PERP" }));
  assert.equal(lateSnapshot.data.at(-1).tradeId, "122");
  const second = engine.transaction(BTC, trade(123));
  engine.transaction(ETH, make(Traded, { tradeId: 9, takerSide: BUY, priceTicks: 0, quantityLots: 0 }));
  engine.drain();
  assert.deepEqual(
    early
      .take()
      .map(({ sequence, prevSequence, data }) => [prevSequence, sequence, data.map((d: Received) => d.tradeId)]),
    [
      [before, first, ["121", "122"]],
      [first, second, ["123"]],
    ],
  );
  assert.deepEqual(late.take(), [
    {
      channel: "trades",
      symbol: "BTC-PERP",
      type: "UPDATE",
      sequence: second,
      prevSequence: first,
      data: [
        {
          tradeId: "123",
          symbol: "BTC-PERP",
          side: "SELL",
          price: "10",
          quantity: "1",
          time: START,
          execType: "TRADE",
          sequence: second,
        },
      ],
    },
  ]);
});
