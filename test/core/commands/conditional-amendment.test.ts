import { scenario } from "../support/scenario.ts";

scenario(
  "an untriggered order gets another trigger, limit and quantity under its id, and fires by them",
  `
  mark 100                                    -> 100
  maker buy 20 @ 94                           -> NEW
  alice sell 5 @ 101 stop=97 id=s             -> UNTRIGGERED
  alice amends s trigger=95                   -> UNTRIGGERED
  alice amends s 4 @ 102                      -> UNTRIGGERED
  alice amends s 4 @ 102 trigger=95           -> UNTRIGGERED
  alice orders                                -> s STOP 4 at 95
  mark 97                                     -> 97
  mark 95                                     -> s fires
  alice orders                                -> s NEW 4@102
  alice amends s trigger=90                   -> ORDER_DOES_NOT_WAIT
  alice amends s 3                            -> NEW
  book                                        -> bids 94:20 asks 102:3
`,
);

scenario(
  "an amended untriggered order passes the checks of a new one; a refused amendment changes nothing",
  `
  mark 100                                    -> 100
  maker buy 20 @ 94                           -> NEW
  alice buy 5 market stop=103 id=s            -> UNTRIGGERED
  alice amends s trigger=100                  -> WOULD_TRIGGER currentTicks=100
  alice amends s trigger=99                   -> WOULD_TRIGGER currentTicks=100
  alice amends s trigger=20000000             -> PRICE_TOO_HIGH limitTicks=10000
  alice amends s @ 102                        -> ORDER_WAITS
  alice amends s @ QUEUE                      -> ORDER_WAITS
  alice amends s show=1                       -> ORDER_WAITS
  alice amends s 6 key-position=500           -> KEY_POSITION_LIMIT requiredQuanta=600 limitQuanta=500
  alice amends s trigger=102 key-position=400 -> KEY_POSITION_LIMIT requiredQuanta=500 limitQuanta=400
  alice amends s trigger=102 key-position=500 -> UNTRIGGERED
  alice sell 4 market trail=5 id=t            -> UNTRIGGERED
  alice amends t trigger=90                   -> ORDER_WAITS
  alice amends t 3                            -> UNTRIGGERED
  alice orders                                -> t TRAILING_STOP_MARKET 3 at 95; s STOP_MARKET 5 at 102
  bob   sell 1 @ 96                           -> NEW
  bob   amends s trigger=90                   -> ORDER_NOT_FOUND
`,
);

scenario(
  "an attached stop can be amended, and still ends with its sibling",
  `
  mark 100                                    -> 100
  alice buy 10 @ 99 tp=103 sl=97 id=e         -> NEW
  bob sell 4 @ 99                             -> FILLED 4@99; e.tp waits with 4; e.sl waits with 4
  alice amends e.sl trigger=98                -> UNTRIGGERED
  alice amends e.sl 3                         -> ORDER_WAITS
  bob sell 6 @ 99                             -> FILLED 6@99; e.tp grows to 10; e.sl grows to 10
  alice orders                                -> e.sl STOP_MARKET 10 at 98; e.tp TAKE_PROFIT_MARKET 10 at 103
  maker buy 20 @ 97                           -> NEW
  mark 98                                     -> e.sl fires; 10@97; e.tp CANCELED POSITION_CLOSED
`,
);

scenario(
  "orders of one trigger price fire by age, also amended ones",
  `
  mark 100                                    -> 100
  maker sell 2 @ 103                          -> NEW
  maker sell 2 @ 104                          -> NEW
  alice buy 2 market stop=105 id=a            -> UNTRIGGERED
  bob   buy 2 market stop=102 id=b            -> UNTRIGGERED
  alice amends a trigger=102                  -> UNTRIGGERED
  mark 102                                    -> a fires; 2@103; b fires; 2@104
`,
);
