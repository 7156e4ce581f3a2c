import assert from "node:assert/strict";
import { test } from "node:test";
import { BUY, LEDGER, SELL } from "../../../src/core/base/enums.ts";
import { Deposit, PlaceOrder, SetIndexPrice } from "../../../src/core/protocol/commands.ts";
import { Traded } from "../../../src/core/protocol/events.ts";
import type { MessageOf } from "../../../src/core/protocol/message-schema.ts";
import { Exchange, make } from "../support/exchange.ts";
import { instrument, ODD, PLAIN } from "../support/instruments.ts";
import { scenario } from "../support/scenario.ts";

scenario(
  "the better price goes first, then the older order",
  `
  mark 100                                   -> 100
  alice sell 5 @ 101 id=a                    -> NEW
  bob   sell 5 @ 100 id=b                    -> NEW
  carol sell 5 @ 100 id=c                    -> NEW
  dave  buy 7 @ 101                          -> FILLED 5@100 2@100
  book                                       -> bids - asks 100:3 101:5
  carol order c                              -> PARTIALLY_FILLED
  bob   order b                              -> ORDER_NOT_FOUND
  dave  buy 7 @ 101                          -> FILLED 3@100 4@101
  book                                       -> bids - asks 101:1
`,
);

scenario(
  "the better bid goes first, then the older order",
  `
  mark 100                                   -> 100
  alice buy 5 @ 99 id=a                      -> NEW
  bob   buy 5 @ 100 id=b                     -> NEW
  carol buy 5 @ 100 id=c                     -> NEW
  dave  sell 12 @ 98                         -> FILLED 5@100 5@100 2@99
  book                                       -> bids 99:3 asks -
`,
);

scenario(
  "a partly filled order keeps its place, a new order goes to the back",
  `
  mark 100                                   -> 100
  alice sell 5 @ 100 id=a                    -> NEW
  bob   sell 5 @ 100 id=b                    -> NEW
  carol buy 2 @ 100                          -> FILLED 2@100
  carol buy 2 @ 100                          -> FILLED 2@100
  alice order a                              -> PARTIALLY_FILLED
  alice cancel a                             -> CANCELED USER
  alice sell 1 @ 100 id=again                -> NEW
  carol buy 5 @ 100                          -> FILLED 5@100
  alice order again                          -> NEW
  bob   order b                              -> ORDER_NOT_FOUND
`,
);

scenario(
  "a position opens, grows, shrinks, closes and reverses; its cost is that of the open lots",
  `
  mark 100                                   -> 100
  maker sell 30 @ 100                        -> NEW
  maker sell 30 @ 103                        -> NEW
  maker buy 90 @ 98                          -> NEW
  alice buy 30 @ 100                         -> FILLED 30@100
  # the fee of 3000 is 1.5
  alice position                             -> 30 cost 3000 realized -1.5
  alice buy 30 @ 103                         -> FILLED 30@103
  # 6090 for 60 are 101.5 each; the fee of 3090 is 1.545
  alice position                             -> 60 cost 6090 realized -3.045
  alice sell 20 @ 98                         -> FILLED 20@98
  # 20 at 98 instead of 101.5 lose 70; the fee of 1960 is 0.98
  alice position                             -> 40 cost 4060 realized -74.025
  alice sell 70 @ 98                         -> FILLED 70@98
  # 40 of them close and lose 140, 30 are short now at 98; the fee of 6860 is 3.43
  alice position                             -> -30 cost -2940 realized -217.455
  # the maker sold 60 for 6090 and bought 90 for 8820: 60 closed at 5880, 30 are long; its fees are 0.02 %
  maker position                             -> 30 cost 2940 realized 207.018
`,
);

scenario(
  "both sides pay a fee in proportion to the notional, rounded up to a quantum",
  `
  mark 100                                   -> 100
  # 10 lots at 100 ticks of 7 quanta are 7000: 517 ppm are 3.619, 211 ppm are 1.477 quanta
  alice has 1                                ->
  bob   has 1                                ->
  alice sell 10 @ 100                        -> NEW
  bob   buy 10 @ 100                         -> FILLED 10@100
  fees                                       -> taker 0.000004 maker 0.000002
  alice position                             -> -10 cost -0.007 realized -0.000002
  bob   position                             -> 10 cost 0.007 realized -0.000004
  # each fill by itself: three of 3 lots are 2100 quanta each, 1.0857 and 0.4431
  alice buy 3 @ 100                          -> NEW
  alice buy 3 @ 100                          -> NEW
  alice buy 3 @ 100                          -> NEW
  bob   sell 9 @ 100                         -> FILLED 3@100 3@100 3@100
  fees                                       -> taker 0.000002 maker 0.000001
  alice position                             -> -1 cost -0.0007 realized -0.000005
  bob   position                             -> 1 cost 0.0007 realized -0.00001
`,
  instrument(ODD),
);

test("a trade event has each side's position after it and its realized profit", () => {
  const exchange = new Exchange([instrument(PLAIN)]);
  const [alice, bob] = [16, 17];
  for (const accountId of [alice, bob]) exchange.do(LEDGER, make(Deposit, { accountId, amountQuanta: 1e10 }));
  exchange.do(PLAIN.id, make(SetIndexPrice, { indexTicks: 100 }));
  const trade = (side: number, priceTicks: number, quantityLots: number): number[] => {
    exchange.do(PLAIN.id, make(PlaceOrder, { accountId: bob, side: 1 - side, priceTicks, quantityLots }));
    const order = make(PlaceOrder, { accountId: alice, side, priceTicks, quantityLots });
    const { events } = exchange.do(PLAIN.id, order);
    const traded = events.find(({ type }) => type === Traded.code) as MessageOf<typeof Traded>;
    const { takerSizeLots, makerSizeLots, takerRealizedQuanta, makerRealizedQuanta } = traded;
    return [takerSizeLots, makerSizeLots, takerRealizedQuanta / 1e6, makerRealizedQuanta / 1e6];
  };
  assert.deepEqual(trade(BUY, 100, 10), [10, -10, 0, 0]);
  assert.deepEqual(trade(SELL, 102, 4), [6, -6, 8, -8]);
  assert.deepEqual(trade(SELL, 99, 9), [-3, 3, -6, 6]);
  assert.deepEqual(trade(BUY, 98, 3), [0, 0, 3, -3]);
});
