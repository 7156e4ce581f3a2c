import { scenario } from "../support/scenario.ts";

scenario(
  "a stop takes no margin and is in no book; it fires once at its price and is an order from then on",
  `
  mark 100                                    -> 100
  maker sell 9 @ 100                          -> NEW
  alice buy 4 market                          -> FILLED 4@100
  maker buy 20 @ 96                           -> NEW
  alice sell 4 market stop=97 id=s            -> UNTRIGGERED
  alice orders                                -> s STOP_MARKET 4 at 97
  book                                        -> bids 96:20 asks 100:5
  mark 98                                     -> 98
  mark 97                                     -> s fires; 4@96
  alice orders                                -> none
  alice position                              -> 0 cost 0 realized -16.392
  mark 97                                     -> 97
`,
);

scenario(
  "each of the four types triggers on its own side of the current price",
  `
  mark 100                                    -> 100
  alice buy 5 market stop=100                 -> WOULD_TRIGGER currentTicks=100
  alice buy 5 market stop=101 id=a            -> UNTRIGGERED
  alice sell 5 market stop=101                -> WOULD_TRIGGER currentTicks=100
  alice sell 5 market stop=99 id=b            -> UNTRIGGERED
  alice buy 5 market take=101                 -> WOULD_TRIGGER currentTicks=100
  alice buy 5 market take=99 id=c             -> UNTRIGGERED
  alice sell 5 market take=99                 -> WOULD_TRIGGER currentTicks=100
  alice sell 5 @ 102 take=101 id=d            -> UNTRIGGERED
  maker buy 50 @ 99                           -> NEW
  maker sell 50 @ 101                         -> NEW
  mark 101                                    -> a fires; 5@101; d fires
  mark 99                                     -> b fires; 5@99; c fires; 5@101
  alice orders                                -> d NEW 5@102
  book                                        -> bids 99:45 asks 101:40 102:5
`,
);

scenario(
  "a trade fires orders that wait for the last price, and orders that fire may fire others",
  `
  mark 100                                    -> 100
  maker buy 5 @ 100                           -> NEW
  maker buy 5 @ 98                            -> NEW
  maker buy 5 @ 96                            -> NEW
  alice sell 5 market stop=98 by=LAST id=a    -> UNTRIGGERED
  carol sell 5 market stop=96 by=LAST id=c    -> UNTRIGGERED
  dave  sell 5 market stop=94 by=INDEX id=d   -> UNTRIGGERED
  bob sell 6 market                           -> FILLED 5@100 1@98; a fires; 4@98; 1@96; c fires; 4@96; c EXPIRED NO_LIQUIDITY
  dave orders                                 -> d STOP_MARKET 5 at 94
`,
);

scenario(
  "margin is checked when the order fires: without margin it is rejected with the reason",
  `
  mark 100                                    -> 100
  poor has 40
  maker sell 50 @ 104                         -> NEW
  poor buy 10 market stop=104 id=big          -> UNTRIGGERED
  poor buy 3 @ 104 stop=103 id=small          -> UNTRIGGERED
  poor sell 3 market reduce-only stop=98 id=r -> UNTRIGGERED
  poor money                                  -> equity 40 initial 0 orders 0 maintenance 0 free 40
  mark 104                                    -> small fires; 3@104; big REJECTED INSUFFICIENT_MARGIN
  maker buy 50 @ 97                           -> NEW
  mark 98                                     -> r fires; 3@97
  poor sell 3 market reduce-only stop=97 id=q -> UNTRIGGERED
  mark 97                                     -> q REJECTED REDUCE_ONLY
`,
);

scenario(
  "a stop and a take-profit with closePosition close all of the position, and end with it",
  `
  mark 100                                    -> 100
  alice sell 0 market whole stop=98           -> REDUCE_ONLY_NO_POSITION
  maker sell 90 @ 100                         -> NEW
  alice buy 5 market                          -> FILLED 5@100
  alice buy 0 market whole stop=108           -> REDUCE_ONLY_NO_POSITION
  alice sell 0 market whole stop=98 id=sl     -> UNTRIGGERED
  alice sell 0 market whole take=104 id=tp    -> UNTRIGGERED
  alice buy 7 market                          -> FILLED 7@100
  maker cancels both                          -> #1 CANCELED USER
  maker buy 90 @ 103                          -> NEW
  mark 104                                    -> tp fires; 12@103; sl CANCELED POSITION_CLOSED
  alice sell 3 market                         -> FILLED 3@103
  alice buy 0 market whole stop=106 id=sl2    -> UNTRIGGERED
  # Turned around in one trade.
  maker sell 9 @ 104                          -> NEW
  alice buy 9 market                          -> FILLED 9@104; sl2 CANCELED POSITION_CLOSED
`,
);

scenario(
  "untriggered orders are canceled by id, with all orders and by side, and keep their client order ids",
  `
  mark 100                                    -> 100
  alice buy 5 market stop=105 id=a            -> UNTRIGGERED
  alice buy 5 market stop=105 id=a            -> DUPLICATE a
  alice sell 5 market stop=95 id=b            -> UNTRIGGERED
  alice sell 5 @ 103 id=c                     -> NEW
  alice cancel a                              -> CANCELED USER
  alice cancel a                              -> ORDER_NOT_FOUND
  alice cancels sells                         -> c CANCELED USER; b CANCELED USER
  mark 105                                    -> 105
  mark 95                                     -> 95
`,
);

scenario(
  "a limit order that has fired joins the back of the queue",
  `
  mark 100                                    -> 100
  alice buy 5 @ 99 take=99 id=late            -> UNTRIGGERED
  bob buy 5 @ 99 id=early                     -> NEW
  mark 99                                     -> late fires
  carol sell 5 market                         -> FILLED 5@99
  bob orders                                  -> none
  alice orders                                -> late NEW 5@99
`,
);

scenario(
  "a conditional order that could not succeed is refused when it is placed",
  `
  alice buy 5 market stop=101                 -> NO_MARK_PRICE
  mark 100                                    -> 100
  alice buy 0 market stop=101                 -> QUANTITY_TOO_SMALL limitLots=1
  alice buy 10001 market stop=101             -> QUANTITY_TOO_LARGE limitLots=10000
  alice buy 5 market stop=10001               -> PRICE_TOO_HIGH limitTicks=10000
  alice buy 5 @ 10001 stop=9999               -> PRICE_TOO_HIGH limitTicks=10000
  alice buy 5 @ 116 stop=110                  -> PRICE_OUT_OF_BAND limitTicks=115 triggerTicks=110
  alice buy 5 @ 115 stop=110                  -> UNTRIGGERED
  alice sell 5 @ 85 stop=90                   -> PRICE_OUT_OF_BAND limitTicks=86 triggerTicks=90
  alice sell 5 @ 86 stop=90                   -> UNTRIGGERED
  alice buy 1 market take=4                   -> NOTIONAL_TOO_SMALL limitQuanta=5 nearestLots=2
  alice buy 5 market stop=101 expires=-1      -> REQUEST_EXPIRED
`,
);

scenario(
  "an account has at most 50 untriggered orders; they are refused during a halt and above the highest price",
  `
  mark 100                                   -> 100
${"  bob sell 1 @ 101 stop=99 -> UNTRIGGERED\n".repeat(50)}
  bob   sell 1 @ 101 stop=99                 -> TOO_MANY_TRIGGER_ORDERS limit=50
  alice sell 1 @ 101 stop=99                 -> UNTRIGGERED
  alice sell 1 market trail=1 from=10001     -> PRICE_TOO_HIGH limitTicks=10000
`,
);

scenario(
  "a limit order keeps its time in force when it fires",
  `
  mark 100                                   -> 100
  bob   buy 2 @ 98                           -> NEW
  alice sell 5 @ 98 stop=99 IOC id=i         -> UNTRIGGERED
  mark 99                                    -> i fires; 2@98; i EXPIRED IOC_REMAINDER
  book                                       -> bids - asks -
`,
);
