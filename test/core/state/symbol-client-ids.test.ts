import { scenario } from "../support/scenario.ts";

const ONE_DAY = 24 * 60 * 60 * 1000;

scenario(
  "a client order id stands for one order: the same request again is that order, another one is refused",
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
  "a request that has expired is refused, one whose order exists is answered with it",
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
