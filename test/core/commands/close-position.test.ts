import { instrument, PLAIN } from "../support/instruments.ts";
import { scenario } from "../support/scenario.ts";

scenario(
  "closing places a reduce-only order for the position, or a part of it",
  `
  mark 100                                   -> 100
  alice closes                               -> NO_POSITION
  bob   sell 10 @ 100                        -> NEW
  alice buy 10 @ 100                         -> FILLED 10@100
  bob   buy 20 @ 99                          -> NEW
  alice closes 4                             -> FILLED 4@99
  alice position                             -> 6 cost 600 realized -4.698
  alice closes 50                            -> FILLED of 6 6@99
  alice position                             -> 0 cost 0 realized -10.995
  alice closes                               -> NO_POSITION
`,
);

scenario(
  "closing at a price rests, also a second time",
  `
  mark 100                                   -> 100
  bob   sell 10 @ 100                        -> NEW
  alice buy 10 @ 100                         -> FILLED 10@100
  alice closes @ 103                         -> NEW
  alice closes 4 @ 102                       -> NEW
  book                                       -> bids - asks 102:4 103:10
  # what is left of the position is what the older order may still close
  bob   buy 4 @ 102                          -> FILLED 4@102; #3 -4 REDUCE_ONLY
  book                                       -> bids - asks 103:6
`,
);

scenario(
  "a close cancels own orders that it meets",
  `
  mark 100                                   -> 100
  bob   sell 10 @ 100                        -> NEW
  alice buy 10 @ 100                         -> FILLED 10@100
  alice buy 5 @ 100 id=mine                  -> NEW
  bob   buy 10 @ 99                          -> NEW
  alice closes                               -> FILLED 10@99; mine CANCELED SELF_TRADE
`,
);

scenario(
  "a close that meets nobody expires, one that meets too few expires partly filled",
  `
  mark 100                                   -> 100
  bob   sell 10 @ 100                        -> NEW
  alice buy 10 @ 100                         -> FILLED 10@100
  alice closes                               -> EXPIRED NO_LIQUIDITY
  bob   buy 3 @ 99                           -> NEW
  alice closes                               -> EXPIRED 3@99 NO_LIQUIDITY
  alice closes @ 94                          -> PRICE_OUT_OF_BAND limitTicks=95 markTicks=100
`,
);

const LIMITED = instrument(PLAIN, { minQuantity: "3", maxQuantity: "8" });

scenario(
  "a position smaller than the smallest order can be closed, one larger than the largest in steps",
  `
  mark 100                                   -> 100
  bob   sell 8 @ 100                         -> NEW
  bob   sell 8 @ 100                         -> NEW
  alice buy 7 @ 100                          -> FILLED 7@100
  carol buy 8 @ 100                          -> FILLED 1@100 7@100
  alice buy 3 @ 100 FOK                      -> EXPIRED FOK_UNFILLABLE
  alice buy 3 @ 100 IOC                      -> EXPIRED 1@100 IOC_REMAINDER
  bob   buy 7 @ 99                           -> NEW
  bob   buy 8 @ 99                           -> NEW
  carol closes 7                             -> FILLED 7@99
  carol position                             -> 1 cost 100 realized -7.7465
  carol closes 1                             -> QUANTITY_TOO_SMALL limitLots=3
  carol closes                               -> FILLED 1@99
  dave  sell 8 @ 104                         -> NEW
  dave  sell 8 @ 104                         -> NEW
  alice buy 8 @ 104                          -> FILLED 8@104
  alice position                             -> 16 cost 1632 realized -0.816
  bob   buy 8 @ 99                           -> NEW
  bob   buy 8 @ 99                           -> NEW
  alice closes 9                             -> QUANTITY_TOO_LARGE limitLots=8
  alice closes                               -> FILLED 7@99 1@99
  alice position                             -> 8 cost 816 realized -25.212
`,
  LIMITED,
);
