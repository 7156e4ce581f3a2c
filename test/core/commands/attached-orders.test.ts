import assert from "node:assert/strict";
import { test } from "node:test";
import {
  BUY,
  BY_MARK,
  HALT_REASON,
  LEDGER,
  MODE_CANCEL_ONLY,
  MODE_HALTED,
  MODE_REDUCE_ONLY,
  SELL,
  STATUS_UNTRIGGERED,
} from "../../../src/core/base/enums.ts";
import {
  AmendOrder,
  Deposit,
  HaltSymbol,
  PlaceExtended,
  PlaceOrder,
  ReadOrders,
  ResumeSymbol,
} from "../../../src/core/protocol/commands.ts";
import type { Message, MessageOf } from "../../../src/core/protocol/message-schema.ts";
import type { AttachedLeg, AttachedLegs, LegChanges } from "../../../src/core/protocol/payloads.ts";
import { OrderView, Refused } from "../../../src/core/protocol/replies.ts";
import { Exchange, make } from "../support/exchange.ts";
import { instrument, PLAIN } from "../support/instruments.ts";
import { scenario } from "../support/scenario.ts";
import { Traffic } from "../support/traffic.ts";

scenario(
  "a take-profit and a stop are attached when their order fills, grow with it, and one cancels the other",
  `
  mark 100                                    -> 100
  alice buy 10 @ 99 tp=103 sl=97 id=e         -> NEW
  bob sell 4 @ 99                             -> FILLED 4@99; e.tp waits with 4; e.sl waits with 4
  alice orders                                -> e.sl STOP_MARKET 4 at 97; e.tp TAKE_PROFIT_MARKET 4 at 103; e PARTIALLY_FILLED 6@99 tp=103 sl=97
  bob sell 6 @ 99                             -> FILLED 6@99; e.tp grows to 10; e.sl grows to 10
  carol buy 8 @ 103                           -> NEW
  mark 103                                    -> e.tp fires; 8@103; e.tp EXPIRED NO_LIQUIDITY; e.sl CANCELED OTHER_FIRED
  alice position                              -> 2 cost 198 realized 31.39
`,
);

scenario(
  "fills after a leg has fired attach a new leg",
  `
  mark 100                                    -> 100
  alice buy 10 @ 99 tp=103 sl=97 id=e         -> NEW
  bob sell 3 @ 99                             -> FILLED 3@99; e.tp waits with 3; e.sl waits with 3
  carol buy 3 @ 103                           -> NEW
  mark 103                                    -> e.tp fires; 3@103; e.sl CANCELED POSITION_CLOSED
  mark 100                                    -> 100
  bob sell 4 @ 99                             -> FILLED 4@99; e.tp waits with 4; e.sl waits with 4
  bob sell 2 @ 99                             -> FILLED 2@99; e.tp grows to 6; e.sl grows to 6
  # Part of a larger position: it goes on, but the stop has done its work.
  dave sell 2 @ 100                           -> NEW
  alice buy 2 @ 100                           -> FILLED 2@100
  carol buy 6 @ 103                           -> NEW
  mark 103                                    -> e.tp fires; 6@103; e.sl CANCELED OTHER_FIRED
  mark 100                                    -> 100
  bob sell 1 @ 99                             -> FILLED 1@99; e.tp waits with 1; e.sl waits with 1
  alice position                              -> 3 cost 297.5 realized 33.7385
`,
);

scenario(
  "a leg that fires after a fill of its order in the same transaction covers that fill, too",
  `
  mark 100                                    -> 100
  alice buy 10 @ 99 tp=103 sl=97 id=e         -> NEW
  bob sell 6 @ 99                             -> FILLED 6@99; e.tp waits with 6; e.sl waits with 6
  carol buy 20 @ 98                           -> NEW
  dave sell 4 market take=102 id=d            -> UNTRIGGERED
  mark 103                                    -> d fires; 4@99; e.tp grows to 10; e.sl grows to 10; e.tp fires; 10@98; e.sl CANCELED POSITION_CLOSED
`,
);

scenario(
  "a leg below the minimum quantity closes no more than its own quantity",
  `
  mark 100                                    -> 100
  bob sell 9 @ 100                            -> NEW
  alice buy 9 market                          -> FILLED 9@100
  carol buy 5 @ 99                            -> NEW
  alice buy 5 @ 99 tp=103 sl=97 id=e          -> NEW
  bob sell 6 @ 99                             -> FILLED 5@99 1@99; e.tp waits with 1; e.sl waits with 1
  carol buy 5 @ 102                           -> NEW
  mark 103                                    -> e.tp fires; 1@102; e.sl CANCELED OTHER_FIRED
`,
  instrument(PLAIN, { minQuantity: "5" }),
);

scenario(
  "legs end with the position and come back with the next fill; a canceled leg does not",
  `
  mark 100                                    -> 100
  alice buy 10 @ 99 tp=103 sl=97 id=e         -> NEW
  bob sell 3 @ 99                             -> FILLED 3@99; e.tp waits with 3; e.sl waits with 3
  carol buy 3 @ 100                           -> NEW
  alice closes                                -> FILLED 3@100; e.sl CANCELED POSITION_CLOSED; e.tp CANCELED POSITION_CLOSED
  bob sell 2 @ 99                             -> FILLED 2@99; e.tp waits with 2; e.sl waits with 2
  alice cancel e.sl                           -> CANCELED USER
  bob sell 1 @ 99                             -> FILLED 1@99; e.tp grows to 3
  carol buy 3 @ 100                           -> NEW
  alice closes                                -> FILLED 3@100; e.tp CANCELED POSITION_CLOSED
  bob sell 1 @ 99                             -> FILLED 1@99; e.tp waits with 1
  alice cancel e.tp                           -> CANCELED USER
  bob sell 1 @ 99                             -> FILLED 1@99
  alice orders                                -> e PARTIALLY_FILLED 2@99 tp=103 sl=97
`,
);

scenario(
  "legs of a market order are attached at once, and end with the position",
  `
  mark 100                                    -> 100
  bob sell 20 @ 100                           -> NEW
  alice buy 5 market tp=104 sl=98 id=e        -> FILLED 5@100; e.tp waits with 5; e.sl waits with 5
  bob buy 20 @ 97                             -> NEW
  alice sell 4 @ 97                           -> FILLED 4@97
  alice orders                                -> e.sl STOP_MARKET 5 at 98; e.tp TAKE_PROFIT_MARKET 5 at 104
  mark 98                                     -> e.sl fires; 1@97; e.tp CANCELED POSITION_CLOSED
  alice buy 5 market sl=96 id=f               -> FILLED 5@100; f.sl waits with 5
  alice closes                                -> FILLED 5@97; f.sl CANCELED POSITION_CLOSED
`,
);

scenario(
  "legs of a short position end with its last lot",
  `
  mark 100                                    -> 100
  bob buy 20 @ 100                            -> NEW
  alice sell 5 market tp=96 sl=104 id=e       -> FILLED 5@100; e.tp waits with 5; e.sl waits with 5
  bob sell 20 @ 103                           -> NEW
  alice buy 4 @ 103                           -> FILLED 4@103
  alice orders                                -> e.sl STOP_MARKET 5 at 104; e.tp TAKE_PROFIT_MARKET 5 at 96
  alice closes                                -> FILLED 1@103; e.sl CANCELED POSITION_CLOSED; e.tp CANCELED POSITION_CLOSED
`,
);

scenario(
  "an order that only reduces attaches nothing; a canceled order leaves its filled lots protected",
  `
  mark 100                                    -> 100
  bob sell 20 @ 100                           -> NEW
  alice buy 9 market                          -> FILLED 9@100
  erin buy 3 market                           -> FILLED 3@100
  bob buy 20 @ 99                             -> NEW
  # all of it: none is left to protect either
  erin sell 3 market tp=95 sl=101             -> FILLED 3@99
  erin sell 2 market                          -> FILLED 2@99
  erin buy 2 market tp=103 sl=97              -> FILLED 2@100
  alice sell 5 market tp=95 sl=101            -> FILLED 5@99
  alice sell 6 market tp=95 sl=101 id=e       -> FILLED 6@99; e.tp waits with 6; e.sl waits with 6
  carol sell 9 @ 101 sl=104 id=c              -> NEW
  dave buy 3 @ 101                            -> FILLED 3@100
  carol cancel c                              -> CANCELED USER
  carol orders                                -> none
`,
);

scenario(
  "an order with a leg on the wrong side or out of range, or with a past goodTillDate, is refused",
  `
  mark 100                                    -> 100
  alice buy 5 @ 99 tp=99                      -> WOULD_TRIGGER currentTicks=99
  alice buy 5 @ 99 sl=99                      -> WOULD_TRIGGER currentTicks=99
  alice sell 5 market tp=100                  -> WOULD_TRIGGER currentTicks=100
  alice sell 5 market sl=99                   -> WOULD_TRIGGER currentTicks=100
  alice buy 5 @ 99 tp=10001                   -> PRICE_TOO_HIGH limitTicks=10000
  alice buy 5 @ 99 till=0                     -> GOOD_TILL_DATE_PASSED
  alice orders                                -> none
`,
);

scenario(
  "a leg with a limit price rests at it when it fires, within the price band of its trigger",
  `
  mark 100                                    -> 100
  alice buy 5 @ 99 tp=103@10001               -> PRICE_TOO_HIGH limitTicks=10000
  alice buy 5 @ 99 sl=90@85                   -> PRICE_OUT_OF_BAND limitTicks=86 triggerTicks=90
  alice sell 5 @ 101 sl=110@116               -> PRICE_OUT_OF_BAND limitTicks=115 triggerTicks=110
  alice buy 5 @ 99 tp=103@104 sl=90@86 id=a   -> NEW
  bob sell 5 @ 99                             -> FILLED 5@99; a.tp waits with 5; a.sl waits with 5
  alice orders                                -> a.sl STOP 5 at 90; a.tp TAKE_PROFIT 5 at 103
  bob sell 5 @ 101 tp=98@97 sl=110@115 id=b   -> NEW
  carol buy 5 @ 101                           -> FILLED 5@101; b.tp waits with 5; b.sl waits with 5
  bob orders                                  -> b.sl STOP 5 at 110; b.tp TAKE_PROFIT 5 at 98
  mark 103                                    -> a.tp fires; a.sl CANCELED OTHER_FIRED
  alice orders                                -> a.tp NEW 5@104
  book                                        -> bids - asks 104:5
`,
);

scenario(
  "before the first fill, legs are added, replaced and removed, and the order keeps its place in the queue",
  `
  mark 100                                    -> 100
  alice buy 5 @ 99 id=a                       -> NEW
  carol buy 5 @ 99 id=c                       -> NEW
  alice amends a sl=97                        -> NEW
  alice amends a tp=103@104                   -> NEW
  alice orders                                -> a NEW 5@99 tp=103@104 sl=97
  alice amends a tp=102 sl=none               -> NEW
  alice orders                                -> a NEW 5@99 tp=102
  alice amends a sl=none                      -> NEW
  alice amends a sl=96~2                      -> NEW
  bob sell 3 @ 99                             -> FILLED 3@99; a.tp waits with 3; a.sl waits with 3
  alice orders                                -> a.sl STOP_MARKET 3 at 96; a.tp TAKE_PROFIT_MARKET 3 at 102; a PARTIALLY_FILLED 2@99 tp=102 sl=96
  carol amends c tp=103 sl=97                 -> NEW
  carol amends c tp=none                      -> NEW
  carol amends c sl=none                      -> NEW
  bob sell 7 @ 99                             -> FILLED 2@99 5@99; a.tp grows to 5; a.sl grows to 5
  carol orders                                -> none
`,
);

scenario(
  "changed legs are checked as in a new order, against the price after the amendment",
  `
  mark 100                                    -> 100
  alice buy 5 @ 99 sl=97 id=a                 -> NEW
  alice amends a tp=99                        -> WOULD_TRIGGER currentTicks=99
  alice amends a sl=99                        -> WOULD_TRIGGER currentTicks=99
  alice amends a sl=10001                     -> PRICE_TOO_HIGH limitTicks=10000
  alice amends a sl=90@85                     -> PRICE_OUT_OF_BAND limitTicks=86 triggerTicks=90
  alice amends a @ 96                         -> WOULD_TRIGGER currentTicks=96
  alice amends a @ 96 sl=96                   -> WOULD_TRIGGER currentTicks=96
  alice amends a @ 96 tp=96                   -> WOULD_TRIGGER currentTicks=96
  alice orders                                -> a NEW 5@99 sl=97
  alice amends a @ 96 sl=95 tp=97             -> NEW
  alice amends a @ 98                         -> WOULD_TRIGGER currentTicks=98
  alice amends a @ 98 tp=none                 -> NEW
  alice orders                                -> a NEW 5@98 sl=95
  # It trades at once, with the new legs.
  bob sell 3 @ 100                            -> NEW
  alice amends a @ 100 tp=104 sl=96           -> PARTIALLY_FILLED 3@100; a.tp waits with 3; a.sl waits with 3
`,
);

scenario(
  "after the first fill the legs stay as they are: the attached orders are amended instead",
  `
  mark 100                                    -> 100
  alice buy 9 @ 99 tp=103 sl=97 id=a          -> NEW
  bob sell 3 @ 99                             -> FILLED 3@99; a.tp waits with 3; a.sl waits with 3
  alice amends a tp=104                       -> ORDER_PARTIALLY_FILLED filledLots=3
  alice amends a sl=none                      -> ORDER_PARTIALLY_FILLED filledLots=3
  alice amends a 5 tp=none                    -> ORDER_PARTIALLY_FILLED filledLots=3
  alice amends a.tp trigger=104               -> UNTRIGGERED
  # As a client does that sends back the whole order that it read.
  alice amends a 7 @ 99 tp=103 sl=97          -> PARTIALLY_FILLED
  alice orders                                -> a.sl STOP_MARKET 3 at 97; a.tp TAKE_PROFIT_MARKET 3 at 104; a PARTIALLY_FILLED 4@99 tp=103 sl=97
  # A fill that has attached nothing is a fill, too.
  erin sell 2 @ 98 id=x                       -> FILLED 2@99; a.tp grows to 5; a.sl grows to 5
  erin buy 5 @ 97 id=e                        -> NEW
  bob sell 1 @ 97                             -> FILLED 1@99; a.tp grows to 6; a.sl grows to 6
  bob sell 2 @ 97                             -> FILLED 1@99 1@97; a.tp grows to 7; a.sl grows to 7
  erin amends e tp=103                        -> ORDER_PARTIALLY_FILLED filledLots=1
`,
);

scenario(
  "an order that only reduces, or that waits, gets no legs; one that has fired and rests does",
  `
  mark 100                                    -> 100
  bob sell 9 @ 100                            -> NEW
  alice buy 5 market tp=104@105 id=e          -> FILLED 5@100; e.tp waits with 5
  alice sell 2 @ 106 reduce-only id=r         -> NEW
  alice amends r tp=101                       -> ORDER_REDUCE_ONLY
  alice amends r sl=110                       -> ORDER_REDUCE_ONLY
  alice amends r tp=none                      -> NEW
  alice amends e.tp sl=110                    -> ORDER_WAITS
  carol buy 3 @ 98 take=99 id=c               -> UNTRIGGERED
  carol amends c tp=103                       -> ORDER_WAITS
  mark 99                                     -> c fires
  carol amends c tp=103                       -> NEW
  mark 104                                    -> e.tp fires
  alice amends e.tp sl=110                    -> ORDER_REDUCE_ONLY
  carol orders                                -> c NEW 3@98 tp=103
`,
);

scenario(
  "an iceberg keeps its slice, and a GTD order its end, when legs are added",
  `
  mark 100                                    -> 100
  alice buy 8 @ 99 show=2 id=a                -> NEW
  carol buy 1 @ 99                            -> NEW
  alice amends a tp=103                       -> NEW
  book                                        -> bids 99:3 asks -
  bob sell 2 @ 99                             -> FILLED 2@99; a.tp waits with 2
  bob sell 1 @ 99                             -> FILLED 1@99
  alice orders                                -> a.tp TAKE_PROFIT_MARKET 2 at 103; a PARTIALLY_FILLED 6@99 shows 2 tp=103
  dave buy 3 @ 98 till=900 id=d               -> NEW
  dave amends d sl=95                         -> NEW
  wait 900                                    ->
  tick                                        -> d EXPIRED GOOD_TILL_DATE
`,
);

/** An account with a resting order, and what it is answered when it amends the order's legs. */
function amender(): { exchange: Exchange; amend: (legs: LegChanges, more?: object) => string } {
  const exchange = new Exchange([instrument(PLAIN)]);
  const traffic = new Traffic(exchange, [PLAIN.id]);
  for (const { actorId, command } of traffic.opening()) traffic.send(actorId, command);
  const [accountId] = traffic.accounts;
  traffic.send(LEDGER, make(Deposit, { accountId, amountQuanta: 1e12 }));
  const order = make(PlaceOrder, { accountId, side: BUY, priceTicks: 99, quantityLots: 1 });
  const { orderId } = exchange.ask(PLAIN.id, order) as MessageOf<typeof OrderView>;
  const amend = (legs: LegChanges, more: object = {}): string => {
    const reply = exchange.ask(PLAIN.id, make(AmendOrder, { accountId, orderId, legs, ...more }));
    if (reply.type === Refused.code) return (reply as MessageOf<typeof Refused>).code;
    return JSON.stringify((reply as MessageOf<typeof OrderView>).legs);
  };
  return { exchange, amend };
}

test("legs may change while a symbol takes no new risk, and not while it is halted", () => {
  const { exchange, amend } = amender();
  const stopLoss = { triggerTicks: 97, triggerBy: BY_MARK, priceTicks: 0 };
  const halt = (mode: number): void => {
    exchange.ask(PLAIN.id, make(HaltSymbol, { mode, reason: HALT_REASON.OPERATOR }));
  };
  halt(MODE_REDUCE_ONLY);
  assert.equal(amend({ stopLoss }), JSON.stringify({ takeProfit: null, stopLoss }));
  assert.equal(amend({ stopLoss: null }, { priceTicks: 98 }), "SYMBOL_HALTED");
  for (const mode of [MODE_CANCEL_ONLY, MODE_HALTED]) {
    halt(mode);
    assert.equal(amend({ stopLoss: null }), "SYMBOL_HALTED");
  }
  exchange.ask(PLAIN.id, make(ResumeSymbol));
  assert.equal(amend({ stopLoss: null }), JSON.stringify({ takeProfit: null, stopLoss: null }));
});

test("an order whose legs would be too many is refused; legs of earlier orders are attached in any case", () => {
  const exchange = new Exchange([instrument(PLAIN)]);
  const traffic = new Traffic(exchange, [PLAIN.id]);
  for (const { actorId, command } of traffic.opening()) traffic.send(actorId, command);
  const [maker, accountId] = traffic.accounts;
  for (const each of [maker, accountId]) traffic.send(LEDGER, make(Deposit, { accountId: each, amountQuanta: 1e12 }));
  const leg = (triggerTicks: number): AttachedLeg => ({ triggerTicks, triggerBy: BY_MARK, priceTicks: 0 });
  const legs = { takeProfit: leg(150), stopLoss: leg(50) };
  const place = (priceTicks: number, more: object = {}): Message => {
    const order = { accountId, side: BUY, priceTicks, quantityLots: 1, legs, ...more };
    return traffic.send(PLAIN.id, make(PlaceExtended, order)).replies[0];
  };
  const waiting = (): number =>
    exchange
      .do(PLAIN.id, make(ReadOrders, { accountId }))
      .replies.filter((reply) => (reply as MessageOf<typeof OrderView>).status === STATUS_UNTRIGGERED).length;

  const fill = (of: AttachedLegs): void => {
    traffic.send(PLAIN.id, make(PlaceOrder, { accountId: maker, side: SELL, priceTicks: 100, quantityLots: 1 }));
    assert.equal(place(100, { legs: of }).type, OrderView.code);
  };
  const refuse = (of: AttachedLegs): void => {
    const { code, details } = place(98, { legs: of }) as MessageOf<typeof Refused>;
    assert.deepEqual([code, details], ["TOO_MANY_TRIGGER_ORDERS", { limit: 50 }]);
  };
  const [onlyStop, onlyProfit] = [
    { ...legs, takeProfit: null },
    { ...legs, stopLoss: null },
  ];

  assert.equal(place(99).type, OrderView.code);
  for (let i = 0; i < 23; i++) fill(legs);
  for (const one of [onlyStop, onlyProfit, onlyStop]) fill(one);
  assert.equal(waiting(), 49);
  refuse(legs);
  fill(onlyProfit);
  assert.equal(waiting(), 50);
  for (const any of [legs, onlyStop, onlyProfit]) refuse(any);
  const plain = place(98, { legs: null }) as MessageOf<typeof OrderView>;
  assert.equal(plain.type, OrderView.code);
  const { orderId } = plain;
  const added = traffic.send(PLAIN.id, make(AmendOrder, { accountId, orderId, legs: onlyStop })).replies[0];
  assert.equal((added as MessageOf<typeof Refused>).code, "TOO_MANY_TRIGGER_ORDERS");
  traffic.send(PLAIN.id, make(PlaceOrder, { accountId: maker, side: SELL, priceTicks: 99, quantityLots: 1 }));
  assert.equal(waiting(), 52);
});
