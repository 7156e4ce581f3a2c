import assert from "node:assert/strict";
import { test } from "node:test";
import {
  HALT_REASON,
  LEDGER,
  MODE_CANCEL_ONLY,
  MODE_HALTED,
  MODE_REDUCE_ONLY,
  SELL,
  TRAILING_STOP_MARKET,
} from "../../../src/core/base/enums.ts";
import {
  AmendOrder,
  Deposit,
  HaltSymbol,
  PlaceTrigger,
  ReadOrder,
  SetIndexPrice,
} from "../../../src/core/protocol/commands.ts";
import { ConditionalOrderAmended } from "../../../src/core/protocol/events.ts";
import type { MessageOf } from "../../../src/core/protocol/message-schema.ts";
import type { OrderView, Refused } from "../../../src/core/protocol/replies.ts";
import { Exchange, make, recoveriesOf } from "../support/exchange.ts";
import { instrument, PLAIN } from "../support/instruments.ts";
import { withoutLastFields } from "../support/old-logs.ts";
import { scenario } from "../support/scenario.ts";
import { Traffic } from "../support/traffic.ts";

scenario(
  "a new callback rate counts from the best price that the order has seen",
  `
  mark 100                                    -> 100
  maker buy 20 @ 96                           -> NEW
  alice sell 4 market trail=5 id=s            -> UNTRIGGERED
  mark 110                                    -> 110
  mark 108                                    -> 108
  alice orders                                -> s TRAILING_STOP_MARKET 4 at 104
  alice amends s trail=10                     -> UNTRIGGERED
  alice orders                                -> s TRAILING_STOP_MARKET 4 at 99
  mark 104                                    -> 104
  alice amends s trail=9 3                    -> UNTRIGGERED
  alice orders                                -> s TRAILING_STOP_MARKET 3 at 100
  mark 120                                    -> 120
  alice orders                                -> s TRAILING_STOP_MARKET 3 at 109
  mark 110                                    -> 110
  mark 109                                    -> s fires; s EXPIRED NO_LIQUIDITY
`,
);

scenario(
  "a callback rate that would trigger at once is refused, like a triggerPrice",
  `
  mark 100                                    -> 100
  maker sell 20 @ 95                          -> NEW
  alice buy 5 market trail=10 by=INDEX id=b   -> UNTRIGGERED
  mark 90                                     -> 90
  mark 94                                     -> 94
  alice orders                                -> b TRAILING_STOP_MARKET 5 at 99
  alice amends b trail=4                      -> WOULD_TRIGGER currentTicks=94
  alice amends b trail=1                      -> WOULD_TRIGGER currentTicks=94
  alice orders                                -> b TRAILING_STOP_MARKET 5 at 99
  alice amends b trail=5                      -> UNTRIGGERED
  mark 95                                     -> b fires; 5@95
`,
);

scenario(
  "the activation price can be amended until the order trails; earlier prices do not count",
  `
  mark 100                                    -> 100
  maker buy 20 @ 97                           -> NEW
  alice sell 5 market trail=5 from=110 id=a   -> UNTRIGGERED
  alice amends a from=100                     -> WOULD_TRIGGER currentTicks=100
  alice amends a from=20000                   -> PRICE_TOO_HIGH limitTicks=10000
  mark 107                                    -> 107
  mark 104                                    -> 104
  alice amends a from=106 trail=2             -> UNTRIGGERED
  alice orders                                -> a TRAILING_STOP_MARKET 5 at -
  mark 103                                    -> 103
  mark 106                                    -> 106
  alice orders                                -> a TRAILING_STOP_MARKET 5 at 103
  alice amends a from=108                     -> ORDER_WAITS
  alice amends a from=106 trail=2             -> UNTRIGGERED
  alice amends a from=106 trail=3             -> UNTRIGGERED
  mark 103                                    -> 103
  mark 102                                    -> a fires; 5@97
`,
);

scenario(
  "an order without a last price gets an activation price",
  `
  mark 100                                    -> 100
  alice sell 5 market trail=1 by=LAST id=a    -> UNTRIGGERED
  alice amends a from=102                     -> UNTRIGGERED
  maker sell 2 @ 101                          -> NEW
  bob buy 1 @ 101                             -> FILLED 1@101
  alice orders                                -> a TRAILING_STOP_MARKET 5 at -
  maker sell 1 @ 102                          -> NEW
  bob buy 2 @ 102                             -> FILLED 1@101 1@102
  alice orders                                -> a TRAILING_STOP_MARKET 5 at 100
`,
);

scenario(
  "only trailing stops have a callback rate and an activation price, and key limits hold",
  `
  mark 100                                    -> 100
  alice buy 5 market stop=103 id=s            -> UNTRIGGERED
  alice amends s trail=5                      -> ORDER_WAITS
  alice amends s from=105                     -> ORDER_WAITS
  alice buy 5 @ 99 id=r                       -> NEW
  alice amends r trail=5                      -> ORDER_DOES_NOT_WAIT
  alice amends r from=105                     -> ORDER_DOES_NOT_WAIT
  alice sell 4 market trail=5 id=t            -> UNTRIGGERED
  alice amends t trail=6 key-position=300     -> KEY_POSITION_LIMIT requiredQuanta=400 limitQuanta=300
  alice amends t trail=6 key-position=400     -> UNTRIGGERED
  bob   amends t trail=5                      -> ORDER_NOT_FOUND
  maker sell 4 @ 100                          -> NEW
  bob buy 4 market                            -> FILLED 4@100
  bob sell 0 market whole trail=5 id=w        -> UNTRIGGERED
  bob amends w trail=2                        -> UNTRIGGERED
  mark 98                                     -> w fires; 4@99
`,
);

function openMarket(): { exchange: Exchange; accountId: number; place: (activationTicks: number) => number } {
  const exchange = new Exchange([instrument(PLAIN)]);
  const traffic = new Traffic(exchange, [PLAIN.id]);
  for (const { actorId, command } of traffic.opening()) traffic.send(actorId, command);
  const [accountId] = traffic.accounts;
  traffic.send(LEDGER, make(Deposit, { accountId, amountQuanta: 1e12 }));
  const order = { accountId, side: SELL, orderType: TRAILING_STOP_MARKET, quantityLots: 5, callbackPpm: 50_000 };
  const place = (activationTicks: number): number => {
    const reply = exchange.ask(PLAIN.id, make(PlaceTrigger, { ...order, activationTicks }));
    return (reply as MessageOf<typeof OrderView>).orderId;
  };
  return { exchange, accountId, place };
}

test("while the symbol is halted, no trailing stop is amended", () => {
  const { exchange, accountId, place } = openMarket();
  const [trailing, early] = [place(0), place(110)];
  for (const mode of [MODE_REDUCE_ONLY, MODE_CANCEL_ONLY, MODE_HALTED]) {
    exchange.do(PLAIN.id, make(HaltSymbol, { mode, reason: HALT_REASON.OPERATOR }));
    for (const changes of [
      { orderId: trailing, callbackPpm: 20_000 },
      { orderId: early, activationTicks: 108 },
    ]) {
      const { replies, events } = exchange.do(PLAIN.id, make(AmendOrder, { accountId, ...changes }));
      assert.deepEqual([(replies[0] as MessageOf<typeof Refused>).code, events], ["SYMBOL_HALTED", []]);
    }
  }
});

test("the same values write no event; amended ones survive a snapshot and a replay", () => {
  const { exchange, accountId, place } = openMarket();
  const [trailing, early] = [place(0), place(110)];
  exchange.do(PLAIN.id, make(SetIndexPrice, { indexTicks: 105 }));
  const amends = [
    make(AmendOrder, { accountId, orderId: trailing, callbackPpm: 20_000 }),
    make(AmendOrder, { accountId, orderId: early, callbackPpm: 30_000, activationTicks: 108 }),
  ];
  for (const amend of amends) {
    const { replies, events } = exchange.do(PLAIN.id, amend);
    assert.deepEqual(
      events.map(({ type }) => type),
      [ConditionalOrderAmended.code],
    );
    const { callbackPpm, activationTicks, triggerTicks } = replies[0] as MessageOf<typeof OrderView>;
    assert.deepEqual(
      [callbackPpm, activationTicks, triggerTicks],
      [amend.callbackPpm, amend.activationTicks, amend.orderId === trailing ? 102 : 0],
    );
    assert.deepEqual(exchange.do(PLAIN.id, amend).events, []);
  }
  recoveriesOf(exchange, instrument(PLAIN));
});

test("an amendment in an older log leaves callback rate and activation price as they were", () => {
  const { exchange, accountId, place } = openMarket();
  const orders = [place(0), place(110)];
  for (const orderId of orders) exchange.do(PLAIN.id, make(AmendOrder, { accountId, orderId, quantityLots: 3 }));
  const again = new Exchange([instrument(PLAIN)]);
  again.replay(withoutLastFields(exchange.log, ConditionalOrderAmended, 3));
  again.restored();
  assert.equal(again.audit(PLAIN.id).digest, exchange.audit(PLAIN.id).digest);
  for (const each of [exchange, again]) {
    each.do(PLAIN.id, make(SetIndexPrice, { indexTicks: 120 }));
    const triggers = orders.map((orderId) => {
      const view = each.ask(PLAIN.id, make(ReadOrder, { accountId, orderId })) as MessageOf<typeof OrderView>;
      return [view.quantityLots, view.triggerTicks];
    });
    assert.deepEqual(triggers, [
      [3, 114],
      [3, 114],
    ]);
  }
});
