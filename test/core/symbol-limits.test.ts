import { instrument, PLAIN } from "./support/instruments.ts";
import { scenario } from "./support/scenario.ts";

scenario(
  "no order before there is a mark price",
  `
  alice buy 5 @ 99                           -> NO_MARK_PRICE
  alice buy 5 market                         -> NO_MARK_PRICE
  mark 0                                     -> PRICE_TOO_HIGH limitTicks=10000
  mark 10001                                 -> PRICE_TOO_HIGH limitTicks=10000
  mark 100                                   -> 100
  alice buy 5 @ 99                           -> NEW
`,
);

scenario(
  "an aggressive price goes as far as the band, a passive one as far as it likes",
  `
  # 5 % of 101 is 5.05: whole ticks inside are 96 and 106
  mark 101                                   -> 101
  alice buy 5 @ 106                          -> NEW
  alice buy 5 @ 107                          -> PRICE_OUT_OF_BAND limitTicks=106 markTicks=101
  alice buy 5 @ 1                            -> NEW
  alice cancels all                          -> #2 CANCELED USER; #1 CANCELED USER
  bob   sell 5 @ 95                          -> PRICE_OUT_OF_BAND limitTicks=96 markTicks=101
  bob   sell 5 @ 96                          -> NEW
  bob   sell 5 @ 10000                       -> NEW
  bob   sell 5 @ 10001                       -> PRICE_TOO_HIGH limitTicks=10000
  book                                       -> bids - asks 96:5 10000:5
`,
);

scenario(
  "a market order trades as far as the band and no further",
  `
  mark 100                                   -> 100
  bob   sell 5 @ 104                         -> NEW
  bob   sell 5 @ 105                         -> NEW
  bob   sell 5 @ 106                         -> NEW
  alice buy 20 market                        -> EXPIRED 5@104 5@105 NO_LIQUIDITY
  alice buy 20 market FOK                    -> EXPIRED FOK_UNFILLABLE
  bob   buy 5 @ 95                           -> NEW
  bob   buy 5 @ 94                           -> NEW
  alice sell 10 market                       -> EXPIRED 5@95 NO_LIQUIDITY
`,
);

scenario(
  "quantities have a smallest and a largest, and so does an order's value",
  `
  mark 4                                     -> 4
  # the band of 4 ticks has no whole tick to either side
  alice buy 1 @ 4                            -> NOTIONAL_TOO_SMALL limitQuanta=5 nearestLots=2
  alice buy 1 @ 5                            -> PRICE_OUT_OF_BAND limitTicks=4 markTicks=4
  alice sell 1 @ 5                           -> NEW
  alice buy 2 @ 4                            -> NEW
  alice buy 4 @ 1                            -> NOTIONAL_TOO_SMALL limitQuanta=5 nearestLots=5
  # a market order is valued at the mark
  alice buy 1 market                         -> NOTIONAL_TOO_SMALL limitQuanta=5 nearestLots=2
  alice buy 10000 @ 1                        -> NEW
  alice buy 10001 @ 1                        -> QUANTITY_TOO_LARGE limitLots=10000
  alice buy 0 @ 4                            -> QUANTITY_TOO_SMALL limitLots=1
`,
);

scenario(
  "a position and the orders that add to it stay within the last risk tier",
  `
  mark 1000                                  -> 1000
  alice has 10000000                         ->
  bob   has 10000000                         ->
  alice buy 600 @ 1000                       -> NEW
  bob   sell 600 @ 1000                      -> FILLED 600@1000
  # 1,000,000 USDC of notional are 1000 lots
  alice buy 401 @ 990                        -> POSITION_LIMIT limitLots=1000
  alice buy 300 @ 990                        -> NEW
  alice buy 101 @ 990                        -> POSITION_LIMIT limitLots=1000
  alice buy 100 @ 990                        -> NEW
  # the other side counts from the position: 600 to close and 1000 to be short
  alice sell 1600 @ 1010                     -> NEW
  alice sell 1 @ 1010                        -> POSITION_LIMIT limitLots=1000
  alice sell 1 @ 1010 reduce-only            -> NEW
  # at a higher mark the same notional is fewer lots; closing is always possible
  # (index 2000, the book pulls it a thirtieth of the way towards its mid of 1000)
  mark 2000                                  -> 1967
  alice buy 1 @ 990                          -> POSITION_LIMIT limitLots=508
  alice cancels sells                        -> #6 CANCELED USER; #5 CANCELED USER
  alice sell 600 @ 1900 reduce-only          -> NEW
`,
);

const FEW = instrument(PLAIN, { maxOpenOrders: 2 });

scenario(
  "open orders of an account are limited, which is nothing to orders that never rest",
  `
  mark 100                                   -> 100
  bob   sell 10 @ 100                        -> NEW
  alice buy 5 @ 100                          -> FILLED 5@100
  alice buy 5 @ 98 id=a                      -> NEW
  alice buy 5 @ 97 id=b                      -> NEW
  alice buy 5 @ 96                           -> TOO_MANY_OPEN_ORDERS limit=2
  alice buy 1 @ 100 IOC                      -> FILLED 1@100
  alice buy 1 @ 100 FOK                      -> FILLED 1@100
  alice buy 1 market                         -> FILLED 1@100
  bob   buy 8 @ 99                           -> NEW
  alice closes                               -> FILLED 8@99
  alice cancel a                             -> CANCELED USER
  alice buy 5 @ 96                           -> NEW
`,
  FEW,
);

scenario(
  "leverage has a range",
  `
  mark 100                                   -> 100
  alice leverage 0                           -> LEVERAGE_OUT_OF_RANGE limit=50
  alice leverage 51                          -> LEVERAGE_OUT_OF_RANGE limit=50
  alice leverage 50                          -> 50
  alice leverage 50                          -> 50
  alice leverage 1                           -> 1
`,
);

scenario(
  "an API key may have limits of its own, which never keep it from getting out",
  `
  mark 1000                                  -> 1000
  bob   sell 30 @ 1000                       -> NEW
  bob   buy 30 @ 960                         -> NEW
  # of one order: at its price, at the mark when it may trade at that
  alice buy 11 @ 1000 key-order=10000        -> KEY_ORDER_LIMIT requiredQuanta=11000 limitQuanta=10000
  alice buy 11 @ 900 key-order=10000         -> NEW
  alice sell 11 @ 960 key-order=10000        -> KEY_ORDER_LIMIT requiredQuanta=11000 limitQuanta=10000
  alice buy 11 market key-order=10000        -> KEY_ORDER_LIMIT requiredQuanta=11000 limitQuanta=10000
  alice buy 10 market key-order=10000        -> FILLED 10@1000
  # of the position, with all orders that add to it
  alice buy 5 @ 990 key-position=25000       -> KEY_POSITION_LIMIT requiredQuanta=26000 limitQuanta=25000
  alice buy 4 @ 990 key-position=25000       -> NEW
  alice cancels all                          -> #5 CANCELED USER; #3 CANCELED USER
  alice sell 30 @ 1040 key-position=20000    -> NEW
  alice sell 1 @ 1040 key-position=20000     -> KEY_POSITION_LIMIT requiredQuanta=21000 limitQuanta=20000
  alice cancels all                          -> #6 CANCELED USER
  # what waits for a price adds to it when it fires, when nobody asks any more
  alice buy 10 market stop=1010 key-position=25000 -> UNTRIGGERED
  alice buy 10 market take=970 reduce-only key-position=1 -> UNTRIGGERED
  alice buy 6 market take=980 key-position=25000 -> KEY_POSITION_LIMIT requiredQuanta=26000 limitQuanta=25000
  alice buy 6 @ 990 key-position=25000       -> KEY_POSITION_LIMIT requiredQuanta=26000 limitQuanta=25000
  alice buy 5 @ 990 key-position=25000 id=p  -> NEW
  alice amends p 6 key-position=25000        -> KEY_POSITION_LIMIT requiredQuanta=26000 limitQuanta=25000
  alice sell 30 @ 1040 key-position=20000    -> NEW
  alice cancels all                          -> #10 CANCELED USER; p CANCELED USER; #8 CANCELED USER; #7 CANCELED USER
  # of leverage
  alice leverage 20                          -> 20
  alice buy 1 @ 990 key-leverage=19          -> KEY_LEVERAGE_LIMIT leverage=20 limit=19
  alice buy 1 @ 990 key-leverage=20          -> NEW
  # out it gets
  alice cancels all                          -> #11 CANCELED USER
  alice sell 10 @ 960 reduce-only key-order=1 key-position=1 key-leverage=1 -> FILLED 10@960
`,
);
