import assert from "node:assert/strict";
import { test } from "node:test";
import { BY_LAST, IOC, LEDGER, MARKET, SELL, STOP_MARKET, TRAILING_STOP_MARKET } from "../../../src/core/base/enums.ts";
import {
  Deposit,
  OpenSession,
  PlaceOrder,
  PlaceTrigger,
  ReadOrder,
  SetIndexPrice,
} from "../../../src/core/protocol/commands.ts";
import { OrderTriggered, PriceUpdated } from "../../../src/core/protocol/events.ts";
import type { MessageOf } from "../../../src/core/protocol/message-schema.ts";
import type { OrderView } from "../../../src/core/protocol/replies.ts";
import { Exchange, make, SnapshotStore } from "../support/exchange.ts";
import { instrument, PLAIN } from "../support/instruments.ts";
import { withoutLastFields } from "../support/old-logs.ts";
import { scenario } from "../support/scenario.ts";

const NEAR = instrument(PLAIN, { lastTriggerLimit: "0.01" });

// The limit is 1 %: with a mark of 1000 a last price counts from 990 to 1010.

scenario(
  "a last price too far from the mark reaches no trigger, and a nearer one does",
  `
  mark 1000                                  -> 1000
  maker buy 5 @ 989                          -> NEW
  maker buy 1 @ 990                          -> NEW
  alice sell 1 market stop=990 by=LAST id=s  -> UNTRIGGERED
  bob   sell 1 market stop=989 by=LAST id=t  -> UNTRIGGERED
  carol sell 2 market                        -> FILLED 1@990 1@989
  alice orders                               -> s STOP_MARKET 1 at 990
  maker buy 1 @ 990                          -> NEW
  carol sell 1 market                        -> FILLED 1@990; s fires; 1@989
  bob   orders                               -> t STOP_MARKET 1 at 989
`,
  NEAR,
);

scenario(
  "a last price that was too far counts as soon as the mark has moved near it",
  `
  mark 1000                                  -> 1000
  maker buy 2 @ 980                          -> NEW
  alice sell 1 market stop=985 by=LAST id=s  -> UNTRIGGERED
  carol sell 1 market                        -> FILLED 1@980
  mark 990                                   -> 990
  mark 989                                   -> s fires; 1@980
`,
  NEAR,
);

scenario(
  "a last price too far from the mark refuses no order that it would trigger",
  `
  mark 1000                                  -> 1000
  maker buy 2 @ 980                          -> NEW
  carol sell 1 market                        -> FILLED 1@980
  alice sell 1 market stop=985 by=LAST id=s  -> UNTRIGGERED
  maker sell 1 @ 1009                        -> NEW
  carol buy 1 market                         -> FILLED 1@1009
  alice sell 1 market stop=1009 by=LAST      -> WOULD_TRIGGER currentTicks=1009
`,
  NEAR,
);

scenario(
  "a trailing order does not follow a last price too far from the mark, nor begin to trail by it",
  `
  mark 1000                                          -> 1000
  maker sell 1 @ 1005                                -> NEW
  carol buy 1 market                                 -> FILLED 1@1005
  alice sell 1 market trail=1 by=LAST id=a           -> UNTRIGGERED
  bob sell 1 market trail=1 by=LAST from=1015 id=b   -> UNTRIGGERED
  alice orders                                       -> a TRAILING_STOP_MARKET 1 at 994
  maker sell 2 @ 1030                                -> NEW
  carol buy 1 market                                 -> FILLED 1@1030
  alice orders                                       -> a TRAILING_STOP_MARKET 1 at 994
  bob orders                                         -> b TRAILING_STOP_MARKET 1 at -
  dave sell 1 market trail=1 by=LAST id=d            -> UNTRIGGERED
  dave orders                                        -> d TRAILING_STOP_MARKET 1 at -
  mark 1025                                          -> 1025
  alice orders                                       -> a TRAILING_STOP_MARKET 1 at 1019
  bob orders                                         -> b TRAILING_STOP_MARKET 1 at 1019
  dave orders                                        -> d TRAILING_STOP_MARKET 1 at 1019
`,
  NEAR,
);

scenario(
  "with a limit of 0 every last price counts",
  `
  mark 1000                                  -> 1000
  maker buy 2 @ 955                          -> NEW
  alice sell 1 market stop=985 by=LAST id=s  -> UNTRIGGERED
  carol sell 1 market                        -> FILLED 1@955; s fires; 1@955
`,
  instrument(PLAIN, { lastTriggerLimit: "0" }),
);

/** A trailing order by the last price, which a trade far from the mark has moved if the limit allows that. */
function trailed(lastTriggerLimit: string) {
  const exchange = new Exchange([instrument(PLAIN, { lastTriggerLimit })]);
  for (const [i, name] of ["maker", "taker"].entries()) {
    exchange.do(LEDGER, make(OpenSession, { address: name, tokenHash: name }));
    exchange.do(LEDGER, make(Deposit, { accountId: 16 + i, amountQuanta: 1e12 }));
  }
  const trade = (priceTicks: number): void => {
    exchange.do(PLAIN.id, make(PlaceOrder, { accountId: 16, side: SELL, priceTicks, quantityLots: 1 }));
    const order = { accountId: 17, orderType: MARKET, timeInForce: IOC, quantityLots: 1 };
    exchange.carryOut(PLAIN.id, make(PlaceOrder, order));
  };
  exchange.carryOut(PLAIN.id, make(SetIndexPrice, { indexTicks: 1000 }));
  trade(1000);
  const more = { side: SELL, timeInForce: IOC, quantityLots: 1, triggerBy: BY_LAST, accountId: 17 };
  const trailing = { ...more, orderType: TRAILING_STOP_MARKET, callbackPpm: 10_000 };
  const view = exchange.ask(PLAIN.id, make(PlaceTrigger, trailing)) as MessageOf<typeof OrderView>;
  exchange.do(PLAIN.id, make(PlaceTrigger, { ...more, orderType: STOP_MARKET, triggerTicks: 960 }));
  trade(1040);
  exchange.carryOut(PLAIN.id, make(SetIndexPrice, { indexTicks: 1001 }));
  return { exchange, orderId: view.orderId };
}

const triggerIn = (exchange: Exchange, orderId: number): number =>
  (exchange.ask(PLAIN.id, make(ReadOrder, { accountId: 17, orderId })) as MessageOf<typeof OrderView>).triggerTicks;

test("a log from before the limit replays to the state that it had, whatever the limit is today", () => {
  const { exchange, orderId } = trailed("0");
  assert.equal(triggerIn(exchange, orderId), 1029);
  const old = withoutLastFields(exchange.log, PriceUpdated, 2);
  const again = new Exchange([NEAR]);
  again.replay(old);
  again.restored();
  assert.equal(again.audit(PLAIN.id).digest, exchange.audit(PLAIN.id).digest);
  assert.equal(triggerIn(again, orderId), 1029);
  // The next index price brings the limit: a last price of 1040 has reached the trigger at 1029 from below, and is far.
  const { events } = again.carryOut(PLAIN.id, make(SetIndexPrice, { indexTicks: 1000 }));
  assert.ok(!events.some(({ type }) => type === OrderTriggered.code));
});

test("the limit that held is replayed from the log and from a snapshot, not taken from today's settings", () => {
  const { exchange, orderId } = trailed("0.01");
  assert.equal(triggerIn(exchange, orderId), 990);
  const replayed = new Exchange([instrument(PLAIN, { lastTriggerLimit: "0" })]);
  replayed.replay(exchange.log);
  replayed.restored();
  const store = new SnapshotStore();
  store.take(exchange, PLAIN.id);
  const loaded = new Exchange([instrument(PLAIN, { lastTriggerLimit: "0" })]);
  store.load(loaded.symbol(PLAIN.id));
  for (const again of [replayed, loaded]) {
    assert.equal(again.audit(PLAIN.id).digest, exchange.audit(PLAIN.id).digest);
    assert.equal(triggerIn(again, orderId), 990);
  }
});
