import { scenario } from "../support/scenario.ts";

scenario(
  "cancel: one own open order, all of them, or those of one side",
  `
  mark 100                                   -> 100
  alice buy 5 @ 99 id=a                      -> NEW
  alice buy 5 @ 98 id=b                      -> NEW
  alice sell 5 @ 101 id=c                    -> NEW
  alice sell 5 @ 102 id=d                    -> NEW
  bob   sell 2 @ 99                          -> FILLED 2@99
  bob   cancel a                             -> ORDER_NOT_FOUND
  bob   order a                              -> ORDER_NOT_FOUND
  alice cancel a                             -> CANCELED USER
  alice cancel a                             -> ORDER_NOT_FOUND
  alice cancels sells                        -> d CANCELED USER; c CANCELED USER
  book                                       -> bids 98:5 asks -
  alice sell 5 @ 102 id=e                    -> NEW
  alice cancels all                          -> e CANCELED USER; b CANCELED USER
  alice cancels all                          ->
  alice orders                               -> none
`,
);
