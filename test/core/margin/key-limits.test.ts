import { scenario } from "../support/scenario.ts";

scenario(
  "no sequence of orders takes a key beyond its position limit",
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

scenario(
  "limits of an API key never keep it from closing",
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
