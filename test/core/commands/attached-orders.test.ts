import assert from "node:assert/strict";
import { test } from "node:test";
import { BUY, BY_MARK, LEDGER, SELL, STATUS_UNTRIGGERED } from "../../../src/core/base/enums.ts";
import { Deposit, PlaceExtended, PlaceOrder, ReadOrders } from "../../../src/core/protocol/commands.ts";
import type { Message, MessageOf } from "../../../src/core/protocol/message-schema.ts";
import type { AttachedLeg, AttachedLegs } from "../../../src/core/protocol/payloads.ts";
import { OrderView, type Refused } from "../../../src/core/protocol/replies.ts";
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
  alice orders                                -> e.sl STOP_MARKET 4 at 97; e.tp TAKE_PROFIT_MARKET 4 at 103; e PARTIALLY_FILLED 6@99
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
  alice orders                                -> e PARTIALLY_FILLED 2@99
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
  assert.equal(place(98, { legs: null }).type, OrderView.code);
  traffic.send(PLAIN.id, make(PlaceOrder, { accountId: maker, side: SELL, priceTicks: 99, quantityLots: 1 }));
  assert.equal(waiting(), 52);
});
