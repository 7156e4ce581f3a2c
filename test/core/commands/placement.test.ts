import { scenario } from "../support/scenario.ts";

const ONE_DAY = 24 * 60 * 60 * 1000;

scenario(
  "a client order id is for one order: the same request again returns it, another one is refused",
  `
  mark 100                                   -> 100
  alice buy 5 @ 99 id=a                      -> NEW
  alice buy 5 @ 99 id=a                      -> DUPLICATE a
  alice buy 6 @ 99 id=a                      -> CLIENT_ORDER_ID_REUSED orderId=257
  alice sell 5 @ 99 id=a                     -> CLIENT_ORDER_ID_REUSED orderId=257
  bob   buy 5 @ 99 id=a                      -> NEW
  book                                       -> bids 99:10 asks -
  # also when the order has ended
  alice cancel a                             -> CANCELED USER
  alice buy 5 @ 99 id=a                      -> DUPLICATE a
  alice cancel a                             -> ORDER_NOT_FOUND
  alice order a                              -> ORDER_NOT_FOUND
  # a refusal uses no id up
  alice buy 5 @ 106 id=b                     -> PRICE_OUT_OF_BAND limitTicks=105 markTicks=100
  alice buy 5 @ 98 id=b                      -> NEW
  book                                       -> bids 99:5 98:5 asks -
`,
);

scenario(
  "an expired request is refused, unless its order exists: then it returns the order",
  `
  mark 100                                   -> 100
  alice buy 5 @ 99 id=a expires=-1           -> REQUEST_EXPIRED
  alice buy 5 @ 99 id=a expires=0            -> NEW
  wait 10                                    ->
  alice buy 5 @ 99 id=a expires=-10          -> DUPLICATE a
  alice buy 6 @ 99 id=a expires=-10          -> CLIENT_ORDER_ID_REUSED orderId=257
  book                                       -> bids 99:5 asks -
`,
);

scenario(
  "an id is remembered for a day, and for as long as its order is open",
  `
  mark 100                                   -> 100
  alice buy 5 @ 99 id=open                   -> NEW
  alice buy 5 @ 98 id=done                   -> NEW
  alice cancel done                          -> CANCELED USER
  wait ${ONE_DAY}                            ->
  tick                                       ->
  tick                                       ->
  alice buy 5 @ 99 id=open                   -> DUPLICATE open
  alice buy 5 @ 98 id=done                   -> DUPLICATE done
  wait 1                                     ->
  # an open order is looked at in one tick, what is behind it in the next
  tick                                       ->
  tick                                       ->
  alice buy 5 @ 99 id=open                   -> DUPLICATE open
  alice buy 7 @ 98 id=done                   -> NEW
  alice cancel open                          -> CANCELED USER
  alice buy 5 @ 99 id=open                   -> DUPLICATE open
  wait ${ONE_DAY + 1}                        ->
  tick                                       ->
  tick                                       ->
  alice buy 5 @ 99 id=open                   -> NEW
`,
);

scenario(
  "the rest of a limit order rests at its limit; a trade has the maker's price",
  `
  mark 100                                   -> 100
  alice sell 5 @ 99                          -> NEW
  bob   buy 8 @ 102 id=b                     -> PARTIALLY_FILLED 5@99
  book                                       -> bids 102:3 asks -
  alice sell 4 @ 95                          -> PARTIALLY_FILLED 3@102
  book                                       -> bids - asks 95:1
`,
);

scenario(
  "immediate or cancel takes what is there",
  `
  mark 100                                   -> 100
  alice sell 5 @ 100                         -> NEW
  bob   buy 8 @ 100 IOC                      -> EXPIRED 5@100 IOC_REMAINDER
  bob   buy 8 @ 100 IOC                      -> EXPIRED IOC_REMAINDER
  alice sell 8 @ 100                         -> NEW
  bob   buy 8 @ 100 IOC                      -> FILLED 8@100
  book                                       -> bids - asks -
`,
);

scenario(
  "fill or kill takes all or nothing",
  `
  mark 100                                   -> 100
  alice sell 5 @ 100                         -> NEW
  carol sell 5 @ 102                         -> NEW
  bob   buy 6 @ 101 FOK                      -> EXPIRED FOK_UNFILLABLE
  bob   buy 11 @ 102 FOK                     -> EXPIRED FOK_UNFILLABLE
  book                                       -> bids - asks 100:5 102:5
  bob   buy 10 @ 102 FOK                     -> FILLED 5@100 5@102
  bob   buy 1 @ 102 FOK                      -> EXPIRED FOK_UNFILLABLE
`,
);

scenario(
  "post-only rests or is refused",
  `
  mark 100                                   -> 100
  alice sell 5 @ 100                         -> NEW
  bob   buy 5 @ 100 post-only                -> POST_ONLY_WOULD_TRADE bestTicks=100
  bob   buy 5 @ 99 post-only id=b            -> NEW
  alice sell 5 @ 99 post-only                -> POST_ONLY_WOULD_TRADE bestTicks=99
  bob   sell 5 @ 99 post-only                -> POST_ONLY_WOULD_TRADE bestTicks=99
  book                                       -> bids 99:5 asks 100:5
  bob   order b                              -> NEW
`,
);
