import { scenario } from "../support/scenario.ts";

scenario(
  "an order expires at its goodTillDate, before anything can trade with it",
  `
  mark 100                                    -> 100
  alice buy 5 @ 99 till=100 id=a              -> NEW
  alice buy 5 @ 98 till=101 id=b              -> NEW
  alice buy 5 @ 97 till=100 id=c              -> NEW
  alice cancel c                              -> CANCELED USER
  wait 99
  bob sell 1 market                           -> FILLED 1@99
  wait 1
  bob sell 5 market                           -> FILLED 5@98; a EXPIRED GOOD_TILL_DATE
  wait 1
  tick                                        ->
  alice money                                 -> equity 1000010.8822 initial 60 orders 0 maintenance 6 free 999950.8822
  alice orders                                -> none
`,
);

scenario(
  "the margin of an expired order is free for the next order",
  `
  mark 100                                    -> 100
  alice has 100                               ->
  alice buy 9 @ 100 till=100 id=a             -> NEW
  wait 100
  alice buy 9 @ 99 id=b                       -> NEW; a EXPIRED GOOD_TILL_DATE
  alice orders                                -> b NEW 9@99
`,
);

scenario(
  "the margin of an expired order is free for lower leverage",
  `
  mark 100                                    -> 100
  alice has 100                               ->
  bob sell 5 @ 100                            -> NEW
  alice buy 5 market                          -> FILLED 5@100
  alice buy 4 @ 100 till=100 id=a             -> NEW
  wait 100
  alice leverage 6                            -> 6; a EXPIRED GOOD_TILL_DATE
  alice money                                 -> equity 99.75 initial 83.333334 orders 0 maintenance 5 free 16.416666
`,
);

scenario(
  "the margin of an expired order can be added to an isolated position",
  `
  mark 100                                    -> 100
  alice has 100                               ->
  alice isolates                              -> ISOLATED
  bob sell 5 @ 100                            -> NEW
  alice buy 5 market                          -> FILLED 5@100
  alice buy 4 @ 100 till=100 id=a             -> NEW
  wait 100
  alice adds 45                               -> margin 95; a EXPIRED GOOD_TILL_DATE
`,
);
