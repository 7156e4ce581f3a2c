import { instrument, PLAIN } from "../support/instruments.ts";
import { scenario } from "../support/scenario.ts";

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
  # what rests on the other side may fill when the position has been closed by something else
  alice sell 1001 @ 1010                     -> POSITION_LIMIT limitLots=1000
  alice sell 1000 @ 1010                     -> NEW
  alice sell 1 @ 1010                        -> POSITION_LIMIT limitLots=1000
  alice sell 1 @ 1010 reduce-only            -> NEW
  # at a higher mark the same notional is fewer lots; closing is always possible
  # (the book's mid of 1000 counts as 1985, the least that the mark may be, and pulls by a thirtieth of that: half a tick)
  mark 2000                                  -> 2000
  alice buy 1 @ 990                          -> POSITION_LIMIT limitLots=500
  alice cancels sells                        -> #6 CANCELED USER; #5 CANCELED USER
  alice sell 600 @ 1900 reduce-only          -> NEW
`,
);

scenario(
  "an order turns a position around as far as the limit where it fills at once, and not by coming to rest",
  `
  mark 1000                                  -> 1000
  alice has 10000000                         ->
  bob   has 10000000                         ->
  carol has 10000000                         ->
  bob   buy 1000 @ 1000                      -> NEW
  alice sell 1000 @ 1000                     -> FILLED 1000@1000
  bob   sell 1000 @ 1010                     -> NEW
  carol sell 500 @ 1010                      -> NEW
  # what may not rest counts as filled
  alice buy 2001 @ 1010 IOC                  -> POSITION_LIMIT limitLots=1000
  alice buy 2001 market                      -> POSITION_LIMIT limitLots=1000
  # 1500 close the position and leave 500; of what would rest, 500 go with them
  alice buy 2001 @ 1010                      -> POSITION_LIMIT limitLots=1000
  alice buy 2000 @ 1010 id=a                 -> PARTIALLY_FILLED 1000@1010 500@1010
  alice buy 1 @ 900                          -> POSITION_LIMIT limitLots=1000
  alice amends a @ 1015                      -> PARTIALLY_FILLED
  alice amends a 2001                        -> POSITION_LIMIT limitLots=1000
  alice amends a 2001 @ 1010                 -> POSITION_LIMIT limitLots=1000
  carol sell 500 @ 1010                      -> FILLED 500@1015
  alice buy 1 market                         -> POSITION_LIMIT limitLots=1000
  # the same by an amendment, with the order that it changes out of the way
  bob   buy 700 @ 1000                       -> NEW
  alice sell 1000 @ 1040 id=b                -> NEW
  alice amends b 1701 @ 1000                 -> POSITION_LIMIT limitLots=1000
  alice amends b 1700 @ 1000                 -> PARTIALLY_FILLED 700@1000
  alice sell 1 @ 1040                        -> POSITION_LIMIT limitLots=1000
  alice sell 1 @ 1040 reduce-only            -> NEW
`,
);

scenario(
  "what a higher mark has left beyond the limit may be reduced, by any order that does no more",
  `
  mark 1000                                  -> 1000
  alice has 10000000                         ->
  bob   has 10000000                         ->
  carol has 10000000                         ->
  bob   buy 900 @ 1000                       -> NEW
  alice sell 900 @ 1000                      -> FILLED 900@1000
  alice buy 600 @ 900                        -> NEW
  mark 2000                                  -> 2000
  carol sell 500 @ 2000                      -> NEW
  bob   sell 500 @ 2000                      -> NEW
  alice buy 901 @ 2000 IOC                   -> POSITION_LIMIT limitLots=500
  alice buy 100 @ 2000 IOC                   -> FILLED 100@2000
  alice buy 100 @ 2000                       -> FILLED 100@2000
  alice buy 1 @ 1900                         -> POSITION_LIMIT limitLots=500
  alice buy 700 market                       -> FILLED 300@2000 400@2000
`,
);

scenario(
  "no sequence of orders takes a key past its position",
  `
  mark 1000                                  -> 1000
  bob   buy 10 @ 1000                        -> NEW
  alice sell 10 @ 1000 key-position=10000    -> FILLED 10@1000
  alice buy 20 @ 990 key-position=10000      -> KEY_POSITION_LIMIT requiredQuanta=20000 limitQuanta=10000
  alice buy 20 market stop=1010 key-position=10000 -> KEY_POSITION_LIMIT requiredQuanta=20000 limitQuanta=10000
  alice buy 20 @ 990 take=995 key-position=10000 -> KEY_POSITION_LIMIT requiredQuanta=20000 limitQuanta=10000
  alice buy 20 market trail=1 key-position=10000 -> KEY_POSITION_LIMIT requiredQuanta=20000 limitQuanta=10000
  alice buy 20 @ 990 show=5 key-position=10000 -> KEY_POSITION_LIMIT requiredQuanta=20000 limitQuanta=10000
  alice buy 10 @ 990 id=a key-position=10000 -> NEW
  alice amends a 11 key-position=10000       -> KEY_POSITION_LIMIT requiredQuanta=11000 limitQuanta=10000
  alice buy 1 market stop=1010 key-position=10000 -> KEY_POSITION_LIMIT requiredQuanta=11000 limitQuanta=10000
  # beside what rests, it closes and does no more
  bob   sell 20 @ 1000                       -> NEW
  alice buy 11 market key-position=10000     -> KEY_POSITION_LIMIT requiredQuanta=11000 limitQuanta=10000
  alice cancel a                             -> CANCELED USER
  alice buy 21 market key-position=10000     -> KEY_POSITION_LIMIT requiredQuanta=11000 limitQuanta=10000
  alice buy 20 market key-position=10000     -> FILLED 20@1000
  alice sell 20 @ 1010 key-position=10000    -> KEY_POSITION_LIMIT requiredQuanta=20000 limitQuanta=10000
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
  # of one order, at the highest price that it may trade at: a buy at market goes to the band, a sell gets what is bid
  alice buy 11 @ 1000 key-order=10000        -> KEY_ORDER_LIMIT requiredQuanta=11000 limitQuanta=10000
  alice buy 11 @ 900 key-order=10000         -> NEW
  alice sell 11 @ 960 key-order=10000        -> KEY_ORDER_LIMIT requiredQuanta=11000 limitQuanta=10000
  alice buy 10 market key-order=10499        -> KEY_ORDER_LIMIT requiredQuanta=10500 limitQuanta=10499
  alice buy 10 market key-order=10500        -> FILLED 10@1000
  alice buy 10 market stop=1010 key-order=10599 -> KEY_ORDER_LIMIT requiredQuanta=10600 limitQuanta=10599
  alice sell 10 market take=1030 key-order=10299 -> KEY_ORDER_LIMIT requiredQuanta=10300 limitQuanta=10299
  alice sell 10 @ 960 stop=970 key-order=9699 -> KEY_ORDER_LIMIT requiredQuanta=9700 limitQuanta=9699
  # of the position, with all orders that add to it
  alice buy 5 @ 990 key-position=25000       -> KEY_POSITION_LIMIT requiredQuanta=26000 limitQuanta=25000
  alice buy 4 @ 990 key-position=25000       -> NEW
  alice cancels all                          -> #5 CANCELED USER; #3 CANCELED USER
  # on the other side, too: what is bought may be sold by another order first
  alice sell 21 @ 1040 key-position=20000    -> KEY_POSITION_LIMIT requiredQuanta=21000 limitQuanta=20000
  alice sell 20 @ 1040 key-position=20000    -> NEW
  alice sell 1 @ 1040 key-position=20000     -> KEY_POSITION_LIMIT requiredQuanta=21000 limitQuanta=20000
  alice sell 10 market stop=970 key-position=20000 -> KEY_POSITION_LIMIT requiredQuanta=30000 limitQuanta=20000
  alice cancels all                          -> #6 CANCELED USER
  alice sell 21 market stop=970 key-position=20000 -> KEY_POSITION_LIMIT requiredQuanta=21000 limitQuanta=20000
  # what waits for a price adds to it when it fires, when nobody asks any more
  alice buy 10 market stop=1010 key-position=25000 -> UNTRIGGERED
  alice buy 10 market take=970 reduce-only key-position=1 -> UNTRIGGERED
  alice buy 6 market take=980 key-position=25000 -> KEY_POSITION_LIMIT requiredQuanta=26000 limitQuanta=25000
  alice buy 6 @ 990 key-position=25000       -> KEY_POSITION_LIMIT requiredQuanta=26000 limitQuanta=25000
  alice buy 5 @ 990 key-position=25000 id=p  -> NEW
  alice amends p 6 key-position=25000        -> KEY_POSITION_LIMIT requiredQuanta=26000 limitQuanta=25000
  alice sell 20 @ 1040 key-position=20000    -> NEW
  alice cancels all                          -> #10 CANCELED USER; p CANCELED USER; #8 CANCELED USER; #7 CANCELED USER
  # of leverage
  alice leverage 20                          -> 20
  alice buy 1 @ 990 key-leverage=19          -> KEY_LEVERAGE_LIMIT leverage=20 limit=19
  alice buy 1 @ 990 key-leverage=20          -> NEW
  # out it gets
  alice cancels all                          -> #11 CANCELED USER
  alice sell 10 @ 960 reduce-only key-order=1 key-position=1 key-leverage=1 -> FILLED 10@960
  # what is bid above the mark
  bob   cancels all                          -> #2 CANCELED USER; #1 CANCELED USER
  bob   buy 10 @ 1040                        -> NEW
  alice sell 10 market key-order=10399       -> KEY_ORDER_LIMIT requiredQuanta=10400 limitQuanta=10399
  alice sell 10 @ 1000 key-order=10399       -> KEY_ORDER_LIMIT requiredQuanta=10400 limitQuanta=10399
  alice sell 10 market key-order=10400       -> FILLED 10@1040
`,
);
