import assert from "node:assert/strict";
import { test } from "node:test";
import {
  BUY,
  CLOSE_POSITION,
  HALT_REASON,
  MODE_CANCEL_ONLY,
  MODE_HALTED,
  MODE_REDUCE_ONLY,
  REDUCE_ONLY,
  SELL,
  TRAILING_STOP_MARKET,
} from "../../../src/core/base/enums.ts";
import {
  CancelOrder,
  HaltSymbol,
  PlaceOrder,
  PlaceTrigger,
  ReadOrders,
  ResumeSymbol,
  SetIndexPrice,
} from "../../../src/core/protocol/commands.ts";
import { TradingHalted } from "../../../src/core/protocol/events.ts";
import type { MessageOf } from "../../../src/core/protocol/message-schema.ts";
import { OrderView, Refused } from "../../../src/core/protocol/replies.ts";
import {
  activates,
  MAX_TRAILING_ORDERS,
  MOST_WAITING_BESIDE,
  TRAILING_ORDERS_FOR_POSITIONS,
  TrailingOrders,
  trailingTrigger,
} from "../../../src/core/state/trailing.ts";
import { Exchange, make, type Said } from "../support/exchange.ts";
import { FREE, instrument } from "../support/instruments.ts";
import { scenario } from "../support/scenario.ts";
import { Traffic } from "../support/traffic.ts";

scenario(
  "a trailing sell follows the highest price and fires once the price has come back from it",
  `
  mark 100                                       -> 100
  maker sell 9 @ 100                             -> NEW
  alice buy 4 market                             -> FILLED 4@100
  maker buy 20 @ 97                              -> NEW
  alice sell 4 market trail=5 reduce-only id=s   -> UNTRIGGERED
  alice orders                                   -> s TRAILING_STOP_MARKET 4 at 95
  mark 104                                       -> 104
  alice orders                                   -> s TRAILING_STOP_MARKET 4 at 98
  mark 101                                       -> 101
  mark 99                                        -> 99
  alice orders                                   -> s TRAILING_STOP_MARKET 4 at 98
  mark 98                                        -> s fires; 4@97
  alice orders                                   -> none
  mark 98                                        -> 98
`,
);

scenario(
  "a trailing buy follows the lowest price",
  `
  mark 100                                    -> 100
  maker sell 20 @ 96                          -> NEW
  alice buy 5 market trail=2 by=INDEX id=b    -> UNTRIGGERED
  alice orders                                -> b TRAILING_STOP_MARKET 5 at 102
  mark 93                                     -> 93
  alice orders                                -> b TRAILING_STOP_MARKET 5 at 95
  mark 94                                     -> 94
  mark 95                                     -> b fires; 5@96
`,
);

scenario(
  "a trailing order waits for its activation price, however far the price goes the other way",
  `
  mark 100                                           -> 100
  maker buy 20 @ 97                                  -> NEW
  alice sell 5 market trail=5 from=100               -> WOULD_TRIGGER currentTicks=100
  alice buy 5 market trail=5 from=100                -> WOULD_TRIGGER currentTicks=100
  alice sell 5 market trail=5 from=105 by=INDEX id=a -> UNTRIGGERED
  alice orders                                       -> a TRAILING_STOP_MARKET 5 at -
  mark 90                                            -> 90
  mark 104                                           -> 104
  alice orders                                       -> a TRAILING_STOP_MARKET 5 at -
  mark 106                                           -> 106
  alice orders                                       -> a TRAILING_STOP_MARKET 5 at 100
  mark 104                                           -> 104
  mark 100                                           -> a fires; 5@97
`,
);

scenario(
  "without a last price a trailing order trails from the first trade on",
  `
  mark 100                                    -> 100
  alice sell 5 market trail=1 by=LAST id=a    -> UNTRIGGERED
  alice orders                                -> a TRAILING_STOP_MARKET 5 at -
  maker buy 5 @ 100                           -> NEW
  maker buy 5 @ 99                            -> NEW
  maker buy 5 @ 98                            -> NEW
  bob sell 2 market                           -> FILLED 2@100
  alice orders                                -> a TRAILING_STOP_MARKET 5 at 99
  bob sell 4 market                           -> FILLED 3@100 1@99; a fires; 4@99; 1@98
`,
);

scenario(
  "a trailing order can be canceled, and one of a position ends with the position",
  `
  mark 100                                       -> 100
  maker sell 4 @ 100                             -> NEW
  alice buy 4 market                             -> FILLED 4@100
  alice sell 0 market whole trail=5 id=w         -> UNTRIGGERED
  alice sell 1 market trail=5 from=110 id=x      -> UNTRIGGERED
  alice sell 1 market trail=5 id=y               -> UNTRIGGERED
  alice cancel x                                 -> CANCELED USER
  alice cancel y                                 -> CANCELED USER
  maker buy 9 @ 100                              -> NEW
  alice sell 4 market                            -> FILLED 4@100; w CANCELED POSITION_CLOSED
  mark 112                                       -> 112
  mark 90                                        -> 90
`,
);

test("prices during a halt move no trailing order", () => {
  const exchange = new Exchange([instrument(FREE)]);
  const traffic = new Traffic(exchange, [FREE.id]);
  for (const { actorId, command } of traffic.opening()) traffic.send(actorId, command);
  const [accountId] = traffic.accounts;
  const terms = { accountId, side: SELL, orderType: TRAILING_STOP_MARKET, quantityLots: 5, callbackPpm: 50_000 };
  traffic.send(FREE.id, make(PlaceTrigger, terms));
  traffic.send(FREE.id, make(PlaceTrigger, { ...terms, activationTicks: 120 }));
  const triggers = (): number[] =>
    exchange
      .do(FREE.id, make(ReadOrders, { accountId }))
      .replies.slice(0, -1)
      .map((reply) => (reply as MessageOf<typeof OrderView>).triggerTicks);
  const setIndex = (indexTicks: number): Said => traffic.send(FREE.id, make(SetIndexPrice, { indexTicks }));
  for (const mode of [MODE_CANCEL_ONLY, MODE_HALTED]) {
    traffic.send(FREE.id, make(HaltSymbol, { mode, reason: HALT_REASON.OPERATOR }));
    setIndex(130);
    setIndex(100);
    const { events } = traffic.send(FREE.id, make(ResumeSymbol));
    assert.deepEqual(
      events.map(({ type }) => type),
      [TradingHalted.code],
    );
    assert.deepEqual(triggers(), [0, 95]);
  }
  traffic.send(FREE.id, make(HaltSymbol, { mode: MODE_REDUCE_ONLY, reason: HALT_REASON.OPERATOR }));
  setIndex(130);
  assert.deepEqual(triggers(), [123, 123]);
});

test("the trigger is whole ticks behind the best price, within the instrument's prices", () => {
  const table: [side: number, best: number, ppm: number, trigger: number][] = [
    [SELL, 1000, 1000, 999],
    [SELL, 999, 1000, 998],
    [SELL, 100, 50_000, 95],
    [SELL, 1, 1000, 1],
    [BUY, 900, 100_000, 990],
    [BUY, 999, 1000, 1000],
    [BUY, 100, 1000, 101],
    [BUY, 950, 100_000, 1000],
  ];
  for (const [side, best, ppm, trigger] of table) assert.equal(trailingTrigger(side, best, ppm, 1000), trigger);
  assert.equal(activates(SELL, 0, 0), false);
});

test("a price changes only the orders whose best price it beats", () => {
  const orders = Array.from({ length: 100 }, (_, i) => ({
    callbackPpm: 10_000,
    activationTicks: 0,
    bestTicks: 500 + i,
    triggerTicks: 0,
    triggerBy: 0,
  }));
  let moves = 0;
  const trailing = new TrailingOrders(1000, {
    terms: (slot) => orders[slot],
    side: () => SELL,
    serial: (slot) => slot,
    moved: () => moves++,
  });
  for (const slot of orders.keys()) trailing.add(slot);
  trailing.follow(500, 0, 0);
  assert.equal(moves, 0);
  trailing.follow(510, 0, 0);
  assert.equal(moves, 10);
  trailing.follow(505, 900, 900);
  assert.equal(moves, 10);
});

test("the number of trailing orders in a symbol is bounded", () => {
  const exchange = new Exchange([instrument(FREE)], undefined, 64);
  const traffic = new Traffic(exchange, [FREE.id]);
  for (const { actorId, command } of traffic.opening()) traffic.send(actorId, command);
  const [accountId] = traffic.accounts;
  const { trailing } = exchange.symbol(FREE.id).state.open;
  trailing.size += MAX_TRAILING_ORDERS - TRAILING_ORDERS_FOR_POSITIONS;
  const order = { accountId, quantityLots: 5, callbackPpm: 10_000, orderType: TRAILING_STOP_MARKET, timeInForce: 1 };
  const reply = exchange.ask(FREE.id, make(PlaceTrigger, order)) as MessageOf<typeof Refused>;
  const limit = MAX_TRAILING_ORDERS - TRAILING_ORDERS_FOR_POSITIONS;
  assert.deepEqual([reply.code, reply.details], ["TOO_MANY_TRAILING_ORDERS", { limit }]);
  // A canceled order makes room for another, again and again.
  trailing.size -= 1;
  for (let i = 0; i < 3; i++) {
    const placed = exchange.ask(FREE.id, make(PlaceTrigger, order)) as MessageOf<typeof OrderView>;
    assert.equal(placed.type, OrderView.code);
    assert.equal(exchange.ask(FREE.id, make(PlaceTrigger, order)).type, Refused.code);
    exchange.do(FREE.id, make(CancelOrder, { accountId, orderId: placed.orderId }));
  }
  // The rest is for positions, and ends with them.
  trailing.size += 1;
  const [, other] = traffic.accounts as [number, number];
  const trade = (buyer: number, seller: number): void => {
    for (const [from, side] of [
      [seller, SELL],
      [buyer, BUY],
    ] as const)
      exchange.ask(FREE.id, make(PlaceOrder, { accountId: from, side, quantityLots: 5, priceTicks: 100 }));
  };
  trade(accountId, other);
  const closing = { ...order, side: SELL, quantityLots: 0, flags: REDUCE_ONLY | CLOSE_POSITION };
  const place = (terms: object): number => exchange.ask(FREE.id, make(PlaceTrigger, terms)).type;
  assert.equal(place({ ...order, side: SELL, flags: REDUCE_ONLY }), Refused.code, "it could stay without the position");
  assert.equal(place({ ...closing, accountId: other }), Refused.code, "it could not close a short position");
  const before = trailing.size;
  for (let i = 0; i <= MOST_WAITING_BESIDE; i++) assert.equal(place(closing), OrderView.code);
  assert.equal(place(closing), Refused.code, "the account has enough of them");
  trade(other, accountId);
  assert.equal(trailing.size, before);
  trade(accountId, other);
  trailing.size += TRAILING_ORDERS_FOR_POSITIONS;
  assert.equal(place(closing), Refused.code);
});
