import { scenario } from "../support/scenario.ts";

/*
 * One lot at 100 is worth 100 USDC; maker 0.02 %, taker 0.05 %; at first leverage is 10 and maintenance 1 %. `margin`
 * prints "margin of initial of maintenance, ends at liquidation price, bankruptcy price".
 */

scenario(
  "opening sets aside the initial margin; the fee and the rest stay with the account",
  `
  mark  100                                  -> 100
  alice has 1000                             ->
  alice isolates                             -> ISOLATED
  alice isolates                             -> ISOLATED
  bob   sell 10 @ 100                        -> NEW
  alice buy 10 @ 100                         -> FILLED 10@100
  # 1000 ÷ 10 set aside, 0.5 paid: (900 − 0) ÷ 10 ÷ 0.99 = 90.909.., 90 where it is empty
  alice margin                               -> ISOLATED 100 of 100 of 10 ends 91 90
  alice money                                -> equity 899.5 initial 0 orders 0 maintenance 0 free 899.5
`,
);

scenario(
  "a price changes the isolated equity, not the account",
  `
  mark  100                                  -> 100
  alice has 1000                             ->
  alice isolates                             -> ISOLATED
  bob   sell 10 @ 100                        -> NEW
  alice buy 10 @ 100                         -> FILLED 10@100
  # the last trade and the basis hold the mark: a trade at 95 lets it go there
  carol sell 1 @ 95                          -> NEW
  dave  buy 1 @ 95                           -> FILLED 1@95
  mark  95                                   -> 95
  alice margin                               -> ISOLATED 50 of 95 of 9.5 ends 91 90
  alice money                                -> equity 899.5 initial 0 orders 0 maintenance 0 free 899.5
`,
);

scenario(
  "the margin of an order comes from the account until it fills",
  `
  mark  100                                  -> 100
  alice has 100.5                            ->
  alice isolates                             -> ISOLATED
  alice buy 10 @ 100 id=a                    -> NEW
  alice money                                -> equity 100.5 initial 100.5 orders 100.5 maintenance 0 free 0
  alice sell 10 @ 104                        -> INSUFFICIENT_MARGIN requiredQuanta=4.52 availableQuanta=0
  bob   sell 10 @ 100                        -> FILLED 10@100
  # as the maker it paid 0.2 of the 0.5 that were reserved
  alice margin                               -> ISOLATED 100 of 100 of 10 ends 91 90
  alice money                                -> equity 0.3 initial 0 orders 0 maintenance 0 free 0.3
`,
);

scenario(
  "a fill that is worse than the mark sets its loss aside as well",
  `
  mark  100                                  -> 100
  alice has 1000                             ->
  alice isolates                             -> ISOLATED
  bob   sell 10 @ 103                        -> NEW
  alice buy 10 @ 103                         -> FILLED 10@103
  # 100 of margin and 30 of loss: worth 100 at once. 1030 − 130 = 900
  alice margin                               -> ISOLATED 100 of 100 of 10 ends 91 90
  alice money                                -> equity 869.485 initial 0 orders 0 maintenance 0 free 869.485
`,
);

scenario(
  "added margin stays when the position grows, and returns in proportion when it shrinks",
  `
  mark  100                                  -> 100
  alice has 1000                             ->
  alice isolates                             -> ISOLATED
  bob   sell 4 @ 100                         -> NEW
  alice buy 1 @ 100                          -> FILLED 1@100
  alice adds 50                              -> margin 60
  alice buy 3 @ 100                          -> FILLED 3@100
  # 60 and 30. 400 − 90 = 310: 78.28.. and 77.5 a lot
  alice margin                               -> ISOLATED 90 of 40 of 4 ends 79 78
  bob   buy 3 @ 100                          -> NEW
  alice sell 3 @ 100                         -> FILLED 3@100
  # 100 − 22.5 = 77.5
  alice margin                               -> ISOLATED 22.5 of 10 of 1 ends 79 78
`,
);

scenario(
  "an order that adds to a position adds margin at the current leverage",
  `
  mark  100                                  -> 100
  alice has 1000                             ->
  alice isolates                             -> ISOLATED
  bob   sell 20 @ 100                        -> NEW
  alice buy 10 @ 100                         -> FILLED 10@100
  alice leverage 20                          -> 20
  alice margin                               -> ISOLATED 100 of 50 of 10 ends 91 90
  alice buy 10 @ 100                         -> FILLED 10@100
  # 50 more for 10 more: 2000 − 150 = 1850 for 20
  alice margin                               -> ISOLATED 150 of 100 of 20 ends 94 93
`,
);

scenario(
  "closing a part gives back its part of the margin and its result, and moves neither price",
  `
  mark  100                                  -> 100
  alice has 1000                             ->
  alice isolates                             -> ISOLATED
  bob   sell 10 @ 100                        -> NEW
  alice buy 10 @ 100                         -> FILLED 10@100
  carol buy 4 @ 98                           -> NEW
  # 4 ÷ 10 of 100, less 8 lost, less 0.196: 31.804 on top of 899.5
  alice sell 4 @ 98                          -> FILLED 4@98
  alice margin                               -> ISOLATED 60 of 60 of 6 ends 91 90
  alice money                                -> equity 931.304 initial 0 orders 0 maintenance 0 free 931.304
  carol buy 6 @ 99                           -> NEW
  alice closes                               -> FILLED 6@99
  alice margin                               -> ISOLATED 0 of 0 of 0 ends 0 0
  # all of it: 1000 − 0.5 − 8 − 0.196 − 6 − 0.297
  alice money                                -> equity 985.007 initial 0 orders 0 maintenance 0 free 985.007
`,
);

scenario(
  "closing a part of a short gives back its part in the same way",
  `
  mark  100                                  -> 100
  alice has 1000                             ->
  alice isolates                             -> ISOLATED
  bob   buy 10 @ 100                         -> NEW
  alice sell 10 @ 100                        -> FILLED 10@100
  carol sell 4 @ 102                         -> NEW
  # 4 ÷ 10 of 100, less 8 lost, less 0.204: 31.796 on top of 899.5
  alice buy 4 @ 102                          -> FILLED 4@102
  alice margin                               -> ISOLATED 60 of 60 of 6 ends 108 110
  alice money                                -> equity 931.296 initial 0 orders 0 maintenance 0 free 931.296
`,
);

scenario(
  "a reversal gives back the old margin and sets aside the new",
  `
  mark  100                                  -> 100
  alice has 1000                             ->
  alice isolates                             -> ISOLATED
  bob   sell 10 @ 100                        -> NEW
  alice buy 10 @ 100                         -> FILLED 10@100
  bob   buy 30 @ 100                         -> NEW
  alice sell 25 @ 100                        -> FILLED 25@100
  # short 15 with 150: (1500 + 150) ÷ 15 ÷ 1.01 = 108.9.., 110 where it is empty
  alice margin                               -> ISOLATED 150 of 150 of 15 ends 108 110
  alice money                                -> equity 848.25 initial 0 orders 0 maintenance 0 free 848.25
`,
);

scenario(
  "a reversal may use the returned margin for the new position",
  `
  mark  100                                  -> 100
  alice has 260                              ->
  alice isolates                             -> ISOLATED
  bob   sell 10 @ 100                        -> NEW
  alice buy 10 @ 100                         -> FILLED 10@100
  bob   buy 30 @ 100                         -> NEW
  # 159.5 are free besides the 100 set aside
  alice sell 25 @ 100                        -> FILLED 25@100
  alice margin                               -> ISOLATED 150 of 150 of 15 ends 108 110
  alice money                                -> equity 108.25 initial 0 orders 0 maintenance 0 free 108.25
`,
);

scenario(
  "adding to a short at a worse price than the mark sets that loss aside as well",
  `
  mark  100                                  -> 100
  alice has 1000                             ->
  alice isolates                             -> ISOLATED
  bob   buy 1 @ 100                          -> NEW
  alice sell 1 @ 100                         -> FILLED 1@100
  alice margin                               -> ISOLATED 10 of 10 of 1 ends 108 110
  bob   buy 9 @ 98                           -> NEW
  alice sell 9 @ 98                          -> FILLED 9@98
  # 90 more of margin and 18 of loss: worth 100 at once
  alice margin                               -> ISOLATED 100 of 100 of 10 ends 108 110
  alice money                                -> equity 881.509 initial 0 orders 0 maintenance 0 free 881.509
`,
);

scenario(
  "an order that adds to an isolated position needs the increase of its margin",
  `
  mark  100                                  -> 100
  alice has 1000                             ->
  alice isolates                             -> ISOLATED
  bob   sell 10 @ 100                        -> NEW
  alice buy 10 @ 100                         -> FILLED 10@100
  # a tenth of 990, and the fee of 0.495
  alice buy 10 @ 99                          -> NEW
  alice money                                -> equity 899.5 initial 99.495 orders 99.495 maintenance 0 free 800.005
  carol has 1000                             ->
  carol isolates                             -> ISOLATED
  bob   buy 10 @ 100                         -> NEW
  carol sell 10 @ 100                        -> FILLED 10@100
  carol sell 10 @ 102                        -> NEW
  carol money                                -> equity 899.5 initial 102.51 orders 102.51 maintenance 0 free 796.99
`,
);

scenario(
  "an order against the position needs margin for what it opens beyond the close",
  `
  mark  100                                  -> 100
  alice has 200                              ->
  alice isolates                             -> ISOLATED
  bob   sell 10 @ 100                        -> NEW
  alice buy 10 @ 100                         -> FILLED 10@100
  # 10 to close cost nothing; 20 ÷ 30 of 3000 would open
  alice sell 10 @ 100                        -> NEW
  alice money                                -> equity 99.5 initial 0 orders 0 maintenance 0 free 99.5
  alice cancels all                          -> #3 CANCELED USER
  alice sell 30 @ 100                        -> INSUFFICIENT_MARGIN requiredQuanta=201 availableQuanta=99.5
  alice sell 19 @ 100                        -> NEW
  alice money                                -> equity 99.5 initial 90.45 orders 90.45 maintenance 0 free 9.05
`,
);

scenario(
  "no order closes an isolated position beyond its bankruptcy price",
  `
  mark  100                                  -> 100
  alice has 1000                             ->
  alice isolates                             -> ISOLATED
  alice leverage 50                          -> 50
  bob   sell 10 @ 100                        -> NEW
  alice buy 10 @ 100                         -> FILLED 10@100
  # 20 set aside: empty at 98, and at 98.05 with the fee
  alice sell 10 @ 98                         -> PRICE_OUT_OF_BAND limitTicks=99 markTicks=100
  carol buy 20 @ 96                          -> NEW
  alice closes                               -> EXPIRED NO_LIQUIDITY
  carol buy 4 @ 99                           -> NEW
  alice closes                               -> EXPIRED 4@99 NO_LIQUIDITY
  # 8 − 4 − 0.198 came back
  alice margin                               -> ISOLATED 12 of 12 of 6 ends 99 98
  alice money                                -> equity 983.302 initial 0 orders 0 maintenance 0 free 983.302
`,
);
