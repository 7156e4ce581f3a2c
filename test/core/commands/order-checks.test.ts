import { instrument, PLAIN } from "../support/instruments.ts";
import { scenario } from "../support/scenario.ts";

/** Two open orders of an account at most. */
const FEW = instrument(PLAIN, { maxOpenOrders: 2 });

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
  "an aggressive price is bounded by the price band, a passive one is not",
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
  "a market order trades up to the price band and no further",
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
  "a quantity has a minimum and a maximum, and an order has a smallest notional",
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
  "an order that fills at once may reverse a position up to the limit; a resting one may not",
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
  "a position that a higher mark has put above the limit may be reduced by any order that does no more",
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
  "the open orders of an account are limited; orders that never rest are not",
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
