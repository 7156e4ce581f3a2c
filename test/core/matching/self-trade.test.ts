import { scenario } from "../support/scenario.ts";

scenario(
  "EXPIRE_TAKER, the default: the taker expires where it would meet its own order",
  `
  mark 100                                   -> 100
  alice sell 5 @ 101 id=mine                 -> NEW
  bob   sell 5 @ 100                         -> NEW
  alice buy 9 @ 101                          -> EXPIRED 5@100 SELF_TRADE
  alice buy 9 @ 101 EXPIRE_TAKER             -> EXPIRED SELF_TRADE
  book                                       -> bids - asks 101:5
`,
);

scenario(
  "EXPIRE_MAKER: the own maker is canceled, the taker goes on",
  `
  mark 100                                   -> 100
  alice sell 5 @ 100 id=mine                 -> NEW
  bob   sell 5 @ 101                         -> NEW
  alice buy 9 @ 101 EXPIRE_MAKER             -> PARTIALLY_FILLED 5@101; mine CANCELED SELF_TRADE
  book                                       -> bids 101:4 asks -
`,
);

scenario(
  "EXPIRE_BOTH: both orders end",
  `
  mark 100                                   -> 100
  alice sell 5 @ 100 id=mine                 -> NEW
  bob   sell 5 @ 101                         -> NEW
  alice buy 9 @ 101 EXPIRE_BOTH              -> EXPIRED SELF_TRADE; mine CANCELED SELF_TRADE
  book                                       -> bids - asks 101:5
`,
);

scenario(
  "DECREMENT: both lose the smaller quantity; an order without lots ends",
  `
  mark 100                                   -> 100
  alice sell 5 @ 100 id=small                -> NEW
  bob   sell 2 @ 101                         -> NEW
  alice buy 9 @ 101 id=taker DECREMENT       -> PARTIALLY_FILLED 2@101; small CANCELED SELF_TRADE; taker -5 SELF_TRADE
  alice orders                               -> taker PARTIALLY_FILLED 2@101
  alice sell 1 @ 100 DECREMENT               -> EXPIRED SELF_TRADE; taker -1 SELF_TRADE
  alice sell 1 @ 100 DECREMENT               -> EXPIRED SELF_TRADE; taker CANCELED SELF_TRADE
  book                                       -> bids - asks -
  alice position                             -> 2 cost 202 realized -0.101
`,
);

scenario(
  "fill-or-kill does not count the account's own orders",
  `
  mark 100                                   -> 100
  alice sell 5 @ 100 id=mine                 -> NEW
  bob   sell 5 @ 101 id=his                  -> NEW
  alice buy 6 @ 101 FOK                      -> EXPIRED FOK_UNFILLABLE
  alice buy 6 @ 101 FOK EXPIRE_MAKER         -> EXPIRED FOK_UNFILLABLE
  alice buy 6 @ 101 FOK EXPIRE_BOTH          -> EXPIRED FOK_UNFILLABLE
  alice buy 6 @ 101 FOK DECREMENT            -> EXPIRED FOK_UNFILLABLE
  book                                       -> bids - asks 100:5 101:5
  alice buy 5 @ 101 FOK EXPIRE_MAKER         -> FILLED 5@101; mine CANCELED SELF_TRADE
`,
);

scenario(
  "an order that self-trade prevention ends needs no margin for its rest",
  `
  mark 100                                   -> 100
  alice has 100                              ->
  alice sell 9 @ 100 id=mine                 -> NEW
  # 900 ÷ 10 and a taker fee of 0.45 are taken; buying 18 @ 99 makes long the larger side: 1782 ÷ 10 − 90, and 0.891
  alice money                                -> equity 100 initial 90.45 orders 90.45 maintenance 0 free 9.55
  alice buy 18 @ 99                          -> INSUFFICIENT_MARGIN requiredQuanta=89.091 availableQuanta=9.55
  # at 100 it would meet itself, and end there
  alice buy 18 @ 100                         -> EXPIRED SELF_TRADE
  alice buy 18 @ 100 EXPIRE_BOTH             -> EXPIRED SELF_TRADE; mine CANCELED SELF_TRADE
  alice sell 9 @ 100 id=next                 -> NEW
  alice buy 9 @ 100 DECREMENT                -> EXPIRED SELF_TRADE; next CANCELED SELF_TRADE
  alice sell 9 @ 100 id=last                 -> NEW
  alice buy 10 @ 100 DECREMENT id=rest       -> NEW; last CANCELED SELF_TRADE; rest -9 SELF_TRADE
  alice orders                               -> rest NEW 1@100
  # 100 ÷ 10, and the fee on 100
  alice money                                -> equity 100 initial 10.05 orders 10.05 maintenance 0 free 89.95
`,
);
