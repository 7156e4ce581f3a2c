import { instrument, PLAIN } from "../support/instruments.ts";
import { scenario } from "../support/scenario.ts";

/*
 * One lot at 100 is worth 100 USDC. Leverage is 10 at first, the taker fee 0.05 %, and
 *
 *     initial = max(long, short) ÷ leverage + open loss + taker fee of what increases the position
 */

scenario(
  "an order needs its value over the leverage, and its fee",
  `
  mark 100                                   -> 100
  # 10 @ 100: 1000 ÷ 10 + 0.5
  alice has 100.499999                       ->
  alice buy 10 @ 100                         -> INSUFFICIENT_MARGIN requiredQuanta=100.5 availableQuanta=100.499999
  bob   has 100.5                            ->
  bob   buy 10 @ 100                         -> NEW
  bob   money                                -> equity 100.5 initial 100.5 orders 100.5 maintenance 0 free 0
  # below the mark an order is valued at its limit: 10 @ 90 need 90.45
  carol has 90.45                            ->
  carol buy 10 @ 90                          -> NEW
  # a sell below the mark too, but at no less than the mark: 10 @ 110 need 110.55
  dave  has 110.55                           ->
  dave  sell 10 @ 110                        -> NEW
  dave  cancels all                          -> #3 CANCELED USER
  dave  sell 11 @ 101                        -> INSUFFICIENT_MARGIN requiredQuanta=111.6555 availableQuanta=110.55
`,
);

scenario(
  "an order beyond the mark also needs the loss of its fill",
  `
  mark 100                                   -> 100
  # 10 @ 104 at rest: 104 for the limit, 40 for the loss, 0.05 % of 1080 for the fee
  alice has 1000                             ->
  alice buy 10 @ 104                         -> NEW
  alice money                                -> equity 1000 initial 144.54 orders 144.54 maintenance 0 free 855.46
  # 10 sold @ 97 at rest count at the mark: 100, a loss of 30, 0.05 % of 1030
  bob   sell 10 @ 105                        -> NEW
  carol has 1000                             ->
  alice cancels all                          -> #1 CANCELED USER
  carol sell 10 @ 97                         -> NEW
  carol money                                -> equity 1000 initial 130.515 orders 130.515 maintenance 0 free 869.485
`,
);

scenario(
  "a taker needs the margin of its position at the mark, and the loss of its fills against the mark",
  `
  mark 100                                   -> 100
  bob   sell 5 @ 102                         -> NEW
  bob   sell 5 @ 103                         -> NEW
  # 1000 ÷ 10 + (2 + 3) × 5 + 0.05 % of 1025
  alice has 125.512499                       ->
  alice buy 10 @ 104                         -> INSUFFICIENT_MARGIN requiredQuanta=125.5125 availableQuanta=125.512499
  alice buy 10 market                        -> INSUFFICIENT_MARGIN requiredQuanta=125.5125 availableQuanta=125.512499
  carol has 125.5125                         ->
  carol buy 10 @ 104                         -> FILLED 5@102 5@103
  # the losses are taken now and the fee is paid: what is left is the margin
  carol money                                -> equity 100 initial 100 orders 0 maintenance 10 free 0
`,
);

scenario(
  "only the larger side counts, and lots that close the position are free",
  `
  mark 100                                   -> 100
  alice has 1000                             ->
  alice buy 20 @ 99                          -> NEW
  # 1980 ÷ 10 + 0.99
  alice money                                -> equity 1000 initial 198.99 orders 198.99 maintenance 0 free 801.01
  alice sell 10 @ 101                        -> NEW
  # 1010 is the smaller side: only its fee of 0.505
  alice money                                -> equity 1000 initial 199.495 orders 199.495 maintenance 0 free 800.505
  bob   sell 20 @ 99                         -> FILLED 20@99
  # 20 long at the mark need 200, and earned 20 less a fee of 0.396; selling 10 of them is free
  alice money                                -> equity 1019.604 initial 200 orders 0 maintenance 20 free 819.604
  alice sell 10 @ 102                        -> NEW
  alice money                                -> equity 1019.604 initial 200 orders 0 maintenance 20 free 819.604
  # 30 more than close: short would be 1010 + 1020 + 3000 − 2000 = 3030; 30 of 50 increase: fee on 3/5 of 5030
  alice sell 30 @ 100                        -> NEW
  alice money                                -> equity 1019.604 initial 304.509 orders 104.509 maintenance 20 free 715.095
`,
);

scenario(
  "the margin of an account is one sum over the orders, positions and losses of all symbols",
  `
  mark 100                                   -> 100
  alice has 300                              ->
  bob   sell 20 @ 100                        -> NEW
  alice buy 20 @ 100                         -> FILLED 20@100
  alice money                                -> equity 299 initial 200 orders 0 maintenance 20 free 99
  # 10 @ 99 need 99 + 0.495, 9 of them 89.1 + 0.4455
  alice buy 10 @ 99                          -> INSUFFICIENT_MARGIN requiredQuanta=99.495 availableQuanta=99
  alice buy 9 @ 99                           -> NEW
  alice money                                -> equity 299 initial 289.5455 orders 89.5455 maintenance 20 free 9.4545
  # at a mark of 98 the position has lost 40 and needs 4 less
  mark 98                                    -> 98
  alice money                                -> equity 259 initial 285.5455 orders 89.5455 maintenance 19.6 free -26.5455
  alice buy 1 @ 90                           -> INSUFFICIENT_MARGIN requiredQuanta=9.045 availableQuanta=-26.5455
  # but what closes may be placed
  alice sell 20 @ 101                        -> NEW
  alice cancels buys                         -> #3 CANCELED USER
  alice money                                -> equity 259 initial 196 orders 0 maintenance 19.6 free 63
`,
);

scenario(
  "a large position needs the margin of its risk tier, whatever the leverage",
  `
  mark 1000                                  -> 1000
  alice has 100000                           ->
  bob   sell 200 @ 1000                      -> NEW
  alice leverage 50                          -> 50
  # up to 100,000 at 50: 2000
  alice buy 100 @ 1000                       -> FILLED 100@1000
  alice money                                -> equity 99950 initial 2000 orders 0 maintenance 1000 free 97950
  # past the edge the whole of it at 20: 5050; maintenance goes on without a step: 1000 + 2.5 % of 1000
  alice buy 1 @ 1000                         -> FILLED 1@1000
  alice money                                -> equity 99949.5 initial 5050 orders 0 maintenance 1025 free 94899.5
`,
);

scenario(
  "neither margin in use nor an unrealised gain can be withdrawn",
  `
  mark 100                                   -> 100
  alice has 300                              ->
  bob   sell 10 @ 100                        -> NEW
  alice buy 10 @ 100                         -> FILLED 10@100
  alice withdraws 199.6                      -> INSUFFICIENT_BALANCE requiredQuanta=199.6 availableQuanta=199.5
  mark 104                                   -> 104
  # a gain of 40, 4 more of margin: free are 235.5, of which 40 are not to be had before the position is closed
  alice money                                -> equity 339.5 initial 104 orders 0 maintenance 10.4 free 235.5
  alice withdraws 235.6                      -> INSUFFICIENT_BALANCE requiredQuanta=235.6 availableQuanta=235.5
  alice withdraws 235.5                      -> PENDING
  alice withdraws 0.000001                   -> INSUFFICIENT_BALANCE requiredQuanta=0.000001 availableQuanta=0
`,
);

scenario(
  "gains that exceed the margin hold back more than the margin does",
  `
  mark 100                                   -> 100
  alice has 30                               ->
  alice leverage 50                          -> 50
  bob   sell 10 @ 100                        -> NEW
  alice buy 10 @ 100                         -> FILLED 10@100
  mark 105                                   -> 105
  # 79.5 of equity, 50 of them a gain; 21 are margin
  alice money                                -> equity 79.5 initial 21 orders 0 maintenance 10.5 free 58.5
  alice withdraws 29.500001                  -> INSUFFICIENT_BALANCE requiredQuanta=29.500001 availableQuanta=29.5
  alice withdraws 29.5                       -> PENDING
  # which leaves the gain, all of it; nothing more can be withdrawn, but it may be traded with
  alice money                                -> equity 50 initial 21 orders 0 maintenance 10.5 free 29
  alice buy 10 @ 100                         -> NEW
`,
);

scenario(
  "closing is possible up to the bankruptcy price, so that nobody else pays for the loss",
  `
  mark 100                                   -> 100
  alice has 30                               ->
  alice leverage 50                          -> 50
  bob   sell 10 @ 100                        -> NEW
  alice buy 10 @ 100                         -> FILLED 10@100
  bob   buy 10 @ 96                          -> NEW
  # 30 − 0.5 − 40 − 0.48 would be less than nothing
  alice sell 10 @ 96                         -> PRICE_OUT_OF_BAND limitTicks=98 markTicks=100
  alice sell 10 market                       -> EXPIRED NO_LIQUIDITY
  bob   buy 10 @ 98                          -> NEW
  alice sell 10 market                       -> FILLED 10@98
  alice money                                -> equity 9.01 initial 0 orders 0 maintenance 0 free 9.01
`,
  instrument(PLAIN),
);

scenario(
  "an order that reverses a position needs the loss of closing and the margin of what it opens",
  `
  mark 100                                   -> 100
  alice has 70                               ->
  alice leverage 50                          -> 50
  bob   sell 10 @ 100                        -> NEW
  alice buy 10 @ 100                         -> FILLED 10@100
  bob   buy 20 @ 96                          -> NEW
  # 20 × 4 of loss and 0.96 of fees; the position that is gone needs as much margin as the one that comes
  alice sell 20 @ 96                         -> INSUFFICIENT_MARGIN requiredQuanta=80.96 availableQuanta=49.5
  alice sell 20 market                       -> INSUFFICIENT_MARGIN requiredQuanta=80.96 availableQuanta=49.5
  alice sell 20 @ 96 post-only               -> POST_ONLY_WOULD_TRADE bestTicks=96
  # what is left rests, which needs no less: 10 at the mark, 40 of loss, and the fee of 1040
  bob   cancels all                          -> #3 CANCELED USER
  bob   buy 10 @ 96                          -> NEW
  alice sell 20 @ 96                         -> INSUFFICIENT_MARGIN requiredQuanta=81 availableQuanta=49.5
  bob   buy 10 @ 96                          -> NEW
  # an order that is there already has 0.905 of it: 0.4 of margin and its fee
  alice sell 20 @ 101 id=a                   -> NEW
  alice amends a @ 96                        -> INSUFFICIENT_MARGIN requiredQuanta=80.055 availableQuanta=48.595
  alice cancels all                          -> a CANCELED USER
  # nor may a stop reverse it when it fires
  alice sell 20 market stop=99 by=LAST id=s  -> UNTRIGGERED
  carol sell 1 @ 96                          -> FILLED 1@96; s REJECTED INSUFFICIENT_MARGIN
  # 11 × 4 of loss, 0.528 of fees, 2 for what it opens instead of the 20 for what was open
  alice sell 11 @ 96                         -> FILLED 9@96 2@96
  alice money                                -> equity 24.972 initial 2 orders 0 maintenance 1 free 22.972
`,
);

scenario(
  "an account short of margin may close a position, but not reverse it",
  `
  mark 100                                   -> 100
  alice has 30                               ->
  alice leverage 50                          -> 50
  bob   sell 10 @ 100                        -> NEW
  alice buy 10 @ 100                         -> FILLED 10@100
  mark 98                                    -> 98
  bob   buy 20 @ 98                          -> NEW
  alice money                                -> equity 9.5 initial 19.6 orders 0 maintenance 9.8 free -10.1
  alice sell 11 @ 98                         -> INSUFFICIENT_MARGIN requiredQuanta=0 availableQuanta=-10.1
  alice sell 10 @ 98                         -> FILLED 10@98
`,
);

scenario(
  "a maker near the mark whose margin was spent on a close trades only as far as its account can bear",
  `
  mark 100                                   -> 100
  alice has 50                               ->
  alice leverage 50                          -> 50
  bob   sell 10 @ 100                        -> NEW
  alice buy 10 @ 100                         -> FILLED 10@100
  alice sell 2 @ 99                          -> NEW
  alice sell 13 @ 99                         -> NEW
  bob   buy 10 @ 96                          -> NEW
  alice sell 10 market reduce-only           -> FILLED 10@96
  alice money                                -> equity 9.02 initial 45.7575 orders 45.7575 maintenance 0 free -36.7375
  # 2 × 1 of loss, 0.0396 of fee and 2 of maintenance margin are there; 13 × 1 and the fee of 0.2574 are not
  carol has 5                                ->
  carol leverage 50                          -> 50
  carol buy 15 @ 99 FOK                      -> EXPIRED FOK_UNFILLABLE
  # only what it gets needs margin
  carol buy 15 @ 99 IOC                      -> EXPIRED 2@99 IOC_REMAINDER; #4 CANCELED INSUFFICIENT_MARGIN
  alice money                                -> equity 6.9804 initial 4 orders 0 maintenance 2 free 2.9804
`,
);

scenario(
  "a fill of an account short of margin must leave maintenance margin if it opens, and nothing if it closes",
  `
  mark 100                                   -> 100
  alice has 23                               ->
  alice leverage 50                          -> 50
  bob   sell 10 @ 100                        -> NEW
  alice buy 10 @ 100                         -> FILLED 10@100
  bob   buy 5 @ 98                           -> NEW
  alice sell 5 @ 99                          -> NEW
  alice sell 8 @ 100                         -> NEW
  alice sell 5 market reduce-only            -> FILLED 5@98
  alice money                                -> equity 12.255 initial 19.478463 orders 9.478463 maintenance 5 free -7.223463
  # 5 × 1 and 0.099 of fee close all
  carol buy 5 @ 99                           -> FILLED 5@99
  alice money                                -> equity 7.156 initial 16.4 orders 16.4 maintenance 0 free -9.244
  # 0.16 of fee and the maintenance margin of 8
  carol buy 8 @ 100                          -> NEW; #5 CANCELED INSUFFICIENT_MARGIN
`,
);

scenario(
  "a maker that the mark has moved away from trades only if its account can bear the loss",
  `
  mark 100                                   -> 100
  alice has 60                               ->
  alice leverage 50                          -> 50
  alice buy 10 @ 100                         -> NEW
  bob   has 1000                             ->
  mark 94                                    -> 94
  # 10 × 6 and the fee of 0.2 are more than alice has, who would leave the rest to the insurance fund
  bob   sell 10 @ 99                         -> NEW; #1 CANCELED INSUFFICIENT_MARGIN
  bob   cancels all                          -> #2 CANCELED USER
  carol has 60.2                             ->
  carol leverage 50                          -> 50
  carol buy 10 @ 96                          -> NEW
  bob   sell 10 @ 96                         -> FILLED 10@96
  carol money                                -> equity 40.008 initial 18.8 orders 0 maintenance 9.4 free 21.208
`,
  instrument(PLAIN),
);

scenario(
  "fill-or-kill does not count makers that cannot bear their fill",
  `
  mark 100                                   -> 100
  alice has 60                               ->
  alice leverage 50                          -> 50
  alice buy 10 @ 100                         -> NEW
  bob   has 1000                             ->
  mark 94                                    -> 94
  bob   sell 10 @ 94 FOK                     -> EXPIRED FOK_UNFILLABLE
  alice orders                               -> #1 NEW 10@100
  bob   sell 10 @ 94 IOC                     -> EXPIRED IOC_REMAINDER; #1 CANCELED INSUFFICIENT_MARGIN
`,
  instrument(PLAIN),
);

scenario(
  "a closing order is checked against the position as its transaction has left it",
  `
  mark 100                                   -> 100
  alice has 60                               ->
  alice leverage 50                          -> 50
  dave  sell 21 @ 100                        -> NEW
  bob   buy 20 @ 100                         -> FILLED 20@100
  alice buy 1 @ 100                          -> FILLED 1@100
  alice buy 20 @ 96                          -> NEW
  carol buy 40 @ 75                          -> NEW
  bob   sell 20 market stop=98 reduce-only id=b -> UNTRIGGERED
  alice sell 21 market stop=97 reduce-only id=a -> UNTRIGGERED
  # Both fire in one transaction: 21 lots at 75 would cost alice 460 of the 60 that she has
  mark 97                                    -> b fires; 20@96; a fires; a EXPIRED NO_LIQUIDITY
  alice position                             -> 21 cost 2020 realized -0.434
`,
  instrument(PLAIN, { priceBand: "0.3" }),
);

scenario(
  "a short, too, may be closed up to the bankruptcy price and no further",
  `
  mark 100                                   -> 100
  alice has 30                               ->
  alice leverage 50                          -> 50
  bob   buy 10 @ 100                         -> NEW
  alice sell 10 @ 100                        -> FILLED 10@100
  bob   sell 10 @ 104                        -> NEW
  # 30 − 0.5 − 30 for three ticks more, and the fee: less than nothing
  alice buy 10 @ 103                         -> PRICE_OUT_OF_BAND limitTicks=102 markTicks=100
  alice buy 10 market                        -> EXPIRED NO_LIQUIDITY
  bob   sell 10 @ 102                        -> NEW
  alice closes                               -> FILLED 10@102
  # 29.5 − 20 − 0.51
  alice money                                -> equity 8.99 initial 0 orders 0 maintenance 0 free 8.99
`,
);

scenario(
  "the fee of closing counts: without room for it, the edge of the price band is too far",
  `
  mark 100                                   -> 100
  alice has 50.7                             ->
  alice leverage 50                          -> 50
  bob   sell 10 @ 100                        -> NEW
  alice buy 10 @ 100                         -> FILLED 10@100
  # 50.2 are left: 5 ticks lose 50, and the fee of closing there is 0.475
  alice sell 10 @ 95                         -> PRICE_OUT_OF_BAND limitTicks=96 markTicks=100
`,
);

scenario(
  "a resting sell that the mark has risen above trades only if its account can bear the loss",
  `
  mark 100                                   -> 100
  alice has 60                               ->
  alice leverage 50                          -> 50
  alice sell 10 @ 100                        -> NEW
  bob   has 1000                             ->
  mark 106                                   -> 106
  # 10 × 6 and the fee of 0.2
  bob   buy 10 @ 101                         -> NEW; #1 CANCELED INSUFFICIENT_MARGIN
  bob   cancels all                          -> #2 CANCELED USER
  carol has 60.2                             ->
  carol leverage 50                          -> 50
  carol sell 10 @ 104                        -> NEW
  bob   buy 10 @ 104                         -> FILLED 10@104
  carol money                                -> equity 39.992 initial 21.2 orders 0 maintenance 10.6 free 18.792
`,
);

scenario(
  "a maker that can just bear its loss trades; the loss to one taker counts for that taker only",
  `
  mark 100                                   -> 100
  alice has 69.6                             ->
  alice leverage 50                          -> 50
  alice buy 10 @ 100                         -> NEW
  bob   has 1000                             ->
  mark 94                                    -> 94
  bob   sell 5 @ 100                         -> FILLED 5@100
  # 30.1 by each of the two, and the maintenance margin of what they open is left
  bob   sell 5 @ 100                         -> FILLED 5@100
  alice money                                -> equity 9.4 initial 18.8 orders 0 maintenance 9.4 free -9.4
`,
);

scenario(
  "a maker's solvency is calculated anew for each taker",
  `
  mark 100                                   -> 100
  alice has 60.2                             ->
  alice leverage 50                          -> 50
  alice buy 10 @ 100                         -> NEW
  bob   has 1000                             ->
  mark 94                                    -> 94
  bob   sell 5 @ 100                         -> FILLED 5@100
  mark 89                                    -> 89
  # 30.1 are 5.1 by now, and 2 lots would lose 22
  bob   sell 2 @ 100                         -> NEW; #1 CANCELED INSUFFICIENT_MARGIN
`,
);
