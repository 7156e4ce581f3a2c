import { scenario } from "../support/scenario.ts";

/*
 * One lot at 100 is worth 100 USDC. Fees: maker 0.02 %, taker 0.05 %. The first leverage is 10, maintenance margin 1 %.
 * `margin` prints "margin of initial of maintenance, ends at liquidation price, bankruptcy price".
 */

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
  "leverage changes the margin of positions and orders at once, and is refused without that margin",
  `
  mark 100                                   -> 100
  alice has 300                              ->
  bob   sell 10 @ 100                        -> NEW
  alice buy 10 @ 100                         -> FILLED 10@100
  alice buy 10 @ 99                          -> NEW
  # 1990 ÷ 10 + 0.495
  alice money                                -> equity 299.5 initial 199.495 orders 99.495 maintenance 10 free 100.005
  alice leverage 50                          -> 50
  alice money                                -> equity 299.5 initial 40.295 orders 20.295 maintenance 10 free 259.205
  # 1990 ÷ 6 is 331.666667, rounded up
  alice leverage 6                           -> INSUFFICIENT_MARGIN requiredQuanta=291.866667 availableQuanta=259.205
  alice leverage 7                           -> 7
  # 1990 ÷ 7 is 284.285715
  alice money                                -> equity 299.5 initial 284.780715 orders 141.923572 maintenance 10 free 14.719285
  alice cancels all                          -> #3 CANCELED USER
  alice leverage 3                           -> INSUFFICIENT_MARGIN requiredQuanta=190.476191 availableQuanta=156.642857
  alice leverage 4                           -> 4
`,
);

scenario(
  "isolated margin is added from what could be withdrawn, and taken out down to the initial margin, losses counted",
  `
  mark  100                                  -> 100
  alice has 200                              ->
  alice adds 1                               -> NO_POSITION
  bob   sell 10 @ 100                        -> NEW
  alice buy 10 @ 100                         -> FILLED 10@100
  alice adds 1                               -> POSITION_NOT_ISOLATED
  alice isolates                             -> ISOLATED
  alice adds 99.500001                       -> INSUFFICIENT_MARGIN requiredQuanta=99.500001 availableQuanta=99.5
  alice adds 50                              -> margin 150
  alice margin                               -> ISOLATED 150 of 100 of 10 ends 86 85
  alice money                                -> equity 49.5 initial 0 orders 0 maintenance 0 free 49.5
  alice removes 50.000001                    -> INSUFFICIENT_MARGIN requiredQuanta=50.000001 availableQuanta=50
  carol sell 1 @ 98                          -> NEW
  dave  buy 1 @ 98                           -> FILLED 1@98
  mark  98                                   -> 98
  # 150 − 20 lost − 98
  alice removes 32.000001                    -> INSUFFICIENT_MARGIN requiredQuanta=32.000001 availableQuanta=32
  alice removes 32                           -> margin 98
  carol buy 1 @ 102                          -> NEW
  dave  sell 1 @ 102                         -> FILLED 1@102
  mark  102                                  -> 102
  # worth 138 now, but 40 and 16 of it are won and bound: 118 − 102
  alice removes 16.000001                    -> INSUFFICIENT_MARGIN requiredQuanta=16.000001 availableQuanta=16
`,
);

scenario(
  "unrealised gains can be neither withdrawn nor moved into isolated margin, and isolated margin not withdrawn",
  `
  mark  100                                  -> 100
  alice has 200                              ->
  bob   sell 10 @ 100                        -> NEW
  alice buy 10 @ 100                         -> FILLED 10@100
  alice isolates                             -> ISOLATED
  alice withdraws 99.6                       -> INSUFFICIENT_BALANCE requiredQuanta=99.6 availableQuanta=99.5
  alice withdraws 99.5                       -> PENDING
  alice adds 0.000001                        -> INSUFFICIENT_MARGIN requiredQuanta=0.000001 availableQuanta=0
`,
);

scenario(
  "isolating a position moves its initial margin and loss; going back to cross returns all of it",
  `
  mark  100                                  -> 100
  alice has 200                              ->
  bob   sell 10 @ 100                        -> NEW
  alice buy 10 @ 100                         -> FILLED 10@100
  carol sell 1 @ 98                          -> NEW
  dave  buy 1 @ 98                           -> FILLED 1@98
  mark  98                                   -> 98
  alice isolates                             -> ISOLATED
  alice margin                               -> ISOLATED 98 of 98 of 9.8 ends 90 89
  alice money                                -> equity 81.5 initial 0 orders 0 maintenance 0 free 81.5
  alice crosses                              -> CROSS
  alice margin                               -> CROSS 0 of 98 of 9.8 ends 81 81
  alice money                                -> equity 179.5 initial 98 orders 0 maintenance 9.8 free 81.5
`,
);

scenario(
  "the margin mode cannot change with open orders or without the margin",
  `
  mark  100                                  -> 100
  alice has 105                              ->
  bob   sell 10 @ 100                        -> NEW
  alice buy 10 @ 100                         -> FILLED 10@100
  alice sell 1 @ 101 id=a                    -> NEW
  alice isolates                             -> OPEN_ORDERS_EXIST openOrders=1
  alice crosses                              -> CROSS
  alice cancel a                             -> CANCELED USER
  carol sell 1 @ 99                          -> NEW
  dave  buy 1 @ 99                           -> FILLED 1@99
  mark  99                                   -> 99
  # equity 94.5, margin 99: nothing is free, and the position needs 99 for itself
  alice isolates                             -> INSUFFICIENT_MARGIN requiredQuanta=0 availableQuanta=-4.5
  alice withdraws 1                          -> INSUFFICIENT_BALANCE requiredQuanta=1 availableQuanta=0
`,
);

scenario(
  "going back to cross needs the position's margin: what it has lost must be available",
  `
  mark  100                                  -> 100
  alice has 105                              ->
  alice isolates                             -> ISOLATED
  bob   sell 10 @ 100                        -> NEW
  alice buy 10 @ 100                         -> FILLED 10@100
  carol sell 1 @ 99                          -> NEW
  dave  buy 1 @ 99                           -> FILLED 1@99
  mark  99                                   -> 99
  # the isolated margin is 90 of 99, and 4.5 are free
  alice crosses                              -> INSUFFICIENT_MARGIN requiredQuanta=9 availableQuanta=4.5
  alice leverage 11                          -> 11
  # 90 of 90
  alice crosses                              -> CROSS
  alice money                                -> equity 94.5 initial 90 orders 0 maintenance 9.9 free 4.5
`,
);

scenario(
  "lower leverage takes missing isolated margin from available margin; higher leverage gives nothing back",
  `
  mark  100                                  -> 100
  alice has 250                              ->
  alice isolates                             -> ISOLATED
  bob   sell 10 @ 100                        -> NEW
  alice buy 10 @ 100                         -> FILLED 10@100
  alice leverage 20                          -> 20
  alice margin                               -> ISOLATED 100 of 50 of 10 ends 91 90
  # still enough
  alice leverage 10                          -> 10
  alice margin                               -> ISOLATED 100 of 100 of 10 ends 91 90
  alice leverage 5                           -> 5
  alice margin                               -> ISOLATED 200 of 200 of 10 ends 81 80
  alice money                                -> equity 49.5 initial 0 orders 0 maintenance 0 free 49.5
  alice leverage 4                           -> INSUFFICIENT_MARGIN requiredQuanta=50 availableQuanta=49.5
  alice leverage 20                          -> 20
  alice removes 150                          -> margin 50
  alice money                                -> equity 199.5 initial 0 orders 0 maintenance 0 free 199.5
`,
);
