import { scenario } from "../support/scenario.ts";

scenario(
  "a reduce-only order needs a position, and is never larger than it",
  `
  mark 100                                   -> 100
  alice sell 5 @ 100 reduce-only             -> REDUCE_ONLY_NO_POSITION
  bob   sell 10 @ 100                        -> NEW
  alice buy 10 @ 100                         -> FILLED 10@100
  alice buy 5 @ 100 reduce-only              -> REDUCE_ONLY_NO_POSITION
  alice sell 15 @ 101 reduce-only            -> NEW of 10
  alice sell 4 @ 102 reduce-only             -> NEW
  book                                       -> bids - asks 101:10 102:4
`,
);

scenario(
  "reduce-only orders shrink with their position, in the same transaction",
  `
  mark 100                                   -> 100
  bob   sell 10 @ 100                        -> NEW
  alice buy 10 @ 100                         -> FILLED 10@100
  alice sell 10 @ 103 reduce-only id=far     -> NEW
  alice sell 8 @ 102 reduce-only id=near     -> NEW
  bob   buy 6 @ 99                           -> NEW
  # by a taker of its own
  alice sell 1 @ 99                          -> FILLED 1@99; far -1 REDUCE_ONLY
  alice sell 3 @ 99                          -> FILLED 3@99; near -2 REDUCE_ONLY; far -3 REDUCE_ONLY
  book                                       -> bids 99:2 asks 102:6 103:6
  # by its other order as a maker
  carol buy 2 @ 102                          -> FILLED 2@102; far -2 REDUCE_ONLY
  carol buy 2 @ 102                          -> FILLED 2@102; far -2 REDUCE_ONLY
  alice position                             -> 2 cost 200 realized 3.2204
  carol buy 4 @ 103                          -> PARTIALLY_FILLED 2@102; far CANCELED REDUCE_ONLY
  book                                       -> bids 103:2 99:2 asks -
`,
);

scenario(
  "reduce-only buys shrink with their short position, and end when it is reversed",
  `
  mark 100                                   -> 100
  bob   buy 10 @ 100                         -> NEW
  alice sell 10 @ 100                        -> FILLED 10@100
  alice buy 10 @ 97 reduce-only id=far       -> NEW
  bob   sell 6 @ 101                         -> NEW
  alice buy 4 @ 101                          -> FILLED 4@101; far -4 REDUCE_ONLY
  book                                       -> bids 97:6 asks 101:2
  carol sell 1 @ 97                          -> FILLED 1@97
  alice position                             -> -5 cost -500 realized -1.7214
  bob   sell 6 @ 101                         -> NEW
  alice buy 8 @ 101                          -> FILLED 2@101 6@101; far CANCELED REDUCE_ONLY
`,
);

scenario(
  "a reversal cancels the reduce-only orders of the old position",
  `
  mark 100                                   -> 100
  bob   sell 10 @ 100                        -> NEW
  alice buy 10 @ 100                         -> FILLED 10@100
  alice sell 10 @ 103 reduce-only id=exit    -> NEW
  bob   buy 15 @ 99                          -> NEW
  alice sell 15 @ 99                         -> FILLED 15@99; exit CANCELED REDUCE_ONLY
  alice position                             -> -5 cost -495 realized -11.2425
  book                                       -> bids - asks -
`,
);

scenario(
  "a preview counts a reduce-only maker only up to its position",
  `
  mark 100                                   -> 100
  bob   sell 10 @ 100                        -> NEW
  alice buy 10 @ 100                         -> FILLED 10@100
  alice sell 3 @ 100 id=free                 -> NEW
  alice sell 3 @ 101 id=free2                -> NEW
  alice sell 10 @ 102 reduce-only id=exit    -> NEW
  # 3 and 3 are sold first, which leaves 4 for the other order: 16 stand in the book, 10 can be had
  bob   buy 11 @ 102 FOK                     -> EXPIRED FOK_UNFILLABLE
  bob   buy 10 @ 102 FOK                     -> FILLED 3@100 3@101 4@102; exit -3 REDUCE_ONLY; exit -3 REDUCE_ONLY
  book                                       -> bids - asks -
  # 3 + 8 earned; fees 0.5, and 0.02 % of 300, 303 and 408
  alice position                             -> 0 cost 0 realized 10.2978
`,
);

scenario(
  "a reduce-only order takes no margin and has no smallest notional",
  `
  mark 4                                     -> 4
  alice has 10                               ->
  bob   sell 3 @ 4                           -> NEW
  alice buy 3 @ 4                            -> FILLED 3@4
  # 12 ÷ 10
  alice money                                -> equity 9.994 initial 1.2 orders 0 maintenance 0.12 free 8.794
  alice sell 1 @ 4                           -> NOTIONAL_TOO_SMALL limitQuanta=5 nearestLots=2
  alice sell 1 @ 4 reduce-only               -> NEW
  alice money                                -> equity 9.994 initial 1.2 orders 0 maintenance 0.12 free 8.794
`,
);

scenario(
  "a reduce-only order may be post-only, immediate, and at market",
  `
  mark 100                                   -> 100
  bob   sell 10 @ 100                        -> NEW
  alice buy 10 @ 100                         -> FILLED 10@100
  bob   buy 3 @ 99                           -> NEW
  alice sell 5 @ 99 reduce-only post-only    -> POST_ONLY_WOULD_TRADE bestTicks=99
  alice sell 5 @ 98 reduce-only IOC          -> EXPIRED 3@99 IOC_REMAINDER
  alice sell 5 @ 98 reduce-only FOK          -> EXPIRED FOK_UNFILLABLE
  bob   buy 20 @ 98                          -> NEW
  alice sell 20 market reduce-only           -> FILLED of 7 7@98
  alice position                             -> 0 cost 0 realized -17.9915
`,
);
