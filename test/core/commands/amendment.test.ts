import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { summarizeSymbol } from "../../../src/core/audit/symbol-summary.ts";
import { BUY, LEDGER, SELL, type Side } from "../../../src/core/base/enums.ts";
import { Depth } from "../../../src/core/market-data/depth.ts";
import {
  AmendOrder,
  Deposit,
  OpenSession,
  PlaceExtended,
  PlaceOrder,
  SetIndexPrice,
} from "../../../src/core/protocol/commands.ts";
import type { OrderAmended, SymbolEvent } from "../../../src/core/protocol/events.ts";
import type { MessageOf } from "../../../src/core/protocol/message-schema.ts";
import { OrderView, type SessionView } from "../../../src/core/protocol/replies.ts";
import { Exchange, make, recoveriesOf } from "../support/exchange.ts";
import { FREE, instrument, ODD, PLAIN } from "../support/instruments.ts";
import { scenario } from "../support/scenario.ts";
import { takeSeed } from "../support/seed.ts";
import { step } from "../support/steps.ts";
import { Traffic } from "../support/traffic.ts";

scenario(
  "a smaller quantity keeps the place in the queue; a larger one, or another price, goes to the back",
  `
  mark 100                                   -> 100
  alice sell 10 @ 101 id=a                   -> NEW
  bob   sell 10 @ 101 id=b                   -> NEW
  alice amends a 6                           -> NEW
  book                                       -> bids - asks 101:16
  carol buy 4 @ 101                          -> FILLED 4@101
  alice order a                              -> PARTIALLY_FILLED
  # more of it: b comes first now
  alice amends a 12                          -> PARTIALLY_FILLED
  book                                       -> bids - asks 101:18
  carol buy 11 @ 101                         -> FILLED 10@101 1@101
  bob   orders                               -> none
  alice orders                               -> a PARTIALLY_FILLED 7@101
  # another price, and back: at the back, after the orders that came meanwhile
  alice amends a @ 102                       -> PARTIALLY_FILLED
  bob   sell 5 @ 101 id=c                    -> NEW
  alice amends a @ 101                       -> PARTIALLY_FILLED
  carol buy 6 @ 101                          -> FILLED 5@101 1@101
  alice orders                               -> a PARTIALLY_FILLED 6@101
`,
);

scenario(
  "an amendment without a change is answered and keeps the order's place",
  `
  mark 100                                   -> 100
  alice sell 10 @ 101 id=a                   -> NEW
  bob   sell 10 @ 101                        -> NEW
  alice amends a 10 @ 101                    -> NEW
  carol buy 4 @ 101                          -> FILLED 4@101
  alice orders                               -> a PARTIALLY_FILLED 6@101
`,
);

/** An exchange with a mark of 100, and an account there. */
function openMarket() {
  const exchange = new Exchange([instrument(PLAIN)]);
  const session = make(OpenSession, { address: "alice", tokenHash: "alice", expiresAt: 2 ** 50 });
  const { accountId } = exchange.ask(LEDGER, session) as MessageOf<typeof SessionView>;
  exchange.ask(LEDGER, make(Deposit, { accountId, amountQuanta: 1e12 }));
  exchange.do(PLAIN.id, make(SetIndexPrice, { indexTicks: 100 }));
  return { exchange, accountId };
}

test("the queue order of amended orders survives a snapshot and a replay", () => {
  const { exchange, accountId } = openMarket();
  const order = { accountId, side: SELL, priceTicks: 101, quantityLots: 10 };
  const [older, newer] = [1, 2].map(
    () => (exchange.ask(PLAIN.id, make(PlaceOrder, order)) as MessageOf<typeof OrderView>).orderId,
  );
  for (const orderId of [newer, older])
    exchange.do(PLAIN.id, make(AmendOrder, { accountId, orderId, priceTicks: 102 }));
  recoveriesOf(exchange, instrument(PLAIN));
});

test("an amendment without a change writes no event", () => {
  const { exchange, accountId } = openMarket();
  const order = { accountId, side: SELL, priceTicks: 101, quantityLots: 10, displayLots: 5 };
  const { orderId } = exchange.ask(PLAIN.id, make(PlaceExtended, order)) as MessageOf<typeof OrderView>;
  for (const wanted of [{ priceTicks: 101 }, { quantityLots: 10 }, { displayLots: 5 }]) {
    const { events, replies } = exchange.do(PLAIN.id, make(AmendOrder, { accountId, orderId, ...wanted }));
    assert.deepEqual(events, []);
    assert.equal(replies[0].type, OrderView.code);
  }
});

scenario(
  "an amendment that crosses the book trades like a new order, under the old id",
  `
  mark 100                                   -> 100
  alice sell 10 @ 101 id=a                   -> NEW
  bob   buy 5 @ 99 id=b                      -> NEW
  bob   buy 3 @ 98                           -> NEW
  bob   amends b 4 @ 101                     -> FILLED 4@101
  bob   amends b 4                           -> ORDER_NOT_FOUND
  alice amends a @ 98                        -> PARTIALLY_FILLED 3@98
  book                                       -> bids - asks 98:3
  alice orders                               -> a PARTIALLY_FILLED 3@98
`,
);

scenario(
  "an amended sell below the mark needs margin for its loss; one that trades at once uses what it has reserved",
  `
  mark 100                                   -> 100
  alice has 1000                             ->
  alice sell 10 @ 101 id=a                   -> NEW
  alice amends a 10 @ 97                     -> NEW
  # 1000 ÷ 10, 10 × 3 of loss, and the fee of 1030: sold at 97, bought back at 100
  alice money                                -> equity 1000 initial 130.515 orders 130.515 maintenance 0 free 869.485
  alice amends a 10 @ 101                    -> NEW
  bob   buy 10 @ 98                          -> NEW
  alice amends a 10 @ 98                     -> FILLED 10@98
  alice money                                -> equity 979.51 initial 100 orders 0 maintenance 10 free 879.51
`,
);

scenario(
  "a refused amendment changes nothing",
  `
  mark 100                                   -> 100
  alice sell 10 @ 101 post-only id=a         -> NEW
  bob   buy 5 @ 99                           -> NEW
  alice amends a @ 99                        -> POST_ONLY_WOULD_TRADE bestTicks=99
  carol buy 4 @ 101                          -> FILLED 4@101
  alice amends a 4                           -> QUANTITY_BELOW_FILLED filledLots=4
  alice amends a 3                           -> QUANTITY_BELOW_FILLED filledLots=4
  alice amends a 10001                       -> QUANTITY_TOO_LARGE limitLots=10000
  alice amends a @ 94                        -> PRICE_OUT_OF_BAND limitTicks=95 markTicks=100
  alice amends a @ 20000                     -> PRICE_TOO_HIGH limitTicks=10000
  alice amends nothing 5                     -> ORDER_NOT_FOUND
  dave  has 100                              ->
  dave  buy 9 @ 99 id=d                      -> NEW
  dave  money                                -> equity 100 initial 89.5455 orders 89.5455 maintenance 0 free 10.4545
  dave  amends d 11                          -> INSUFFICIENT_MARGIN requiredQuanta=19.899 availableQuanta=10.4545
  dave  amends d 10                          -> NEW
  dave  amends d 5                           -> NEW
  dave  money                                -> equity 100 initial 49.7475 orders 49.7475 maintenance 0 free 50.2525
  alice orders                               -> a PARTIALLY_FILLED 6@101
  book                                       -> bids 99:10 asks 101:6
`,
);

scenario(
  "a reduce-only order stays within its position",
  `
  mark 100                                   -> 100
  bob   sell 10 @ 100                        -> NEW
  alice buy 10 @ 100                         -> FILLED 10@100
  alice sell 4 @ 103 reduce-only id=exit     -> NEW
  alice amends exit 50 @ 102                 -> NEW of 10
  book                                       -> bids - asks 102:10
`,
);

scenario(
  "an amended order keeps its goodTillDate, however often it is amended",
  `
  mark 100                                   -> 100
  alice buy 5 @ 99 till=100 id=a             -> NEW
  alice amends a 7 @ 98                      -> NEW
  alice amends a 3                           -> NEW
  alice amends a 4                           -> NEW
  wait 99
  bob sell 1 market                          -> FILLED 1@98
  wait 1
  bob sell 1 market                          -> EXPIRED NO_LIQUIDITY; a EXPIRED GOOD_TILL_DATE
  alice orders                               -> none
`,
);

scenario(
  "legs of an amended order are attached for what has filled",
  `
  mark 100                                   -> 100
  alice buy 10 @ 99 tp=103 sl=97 id=e        -> NEW
  bob sell 4 @ 99                            -> FILLED 4@99; e.tp waits with 4; e.sl waits with 4
  alice amends e 6                           -> PARTIALLY_FILLED
  alice amends e @ 97                        -> WOULD_TRIGGER currentTicks=97
  alice amends e @ 103                       -> WOULD_TRIGGER currentTicks=103
  alice amends e 12 @ 98                     -> PARTIALLY_FILLED
  bob sell 3 @ 100                           -> NEW
  alice amends e @ 100                       -> PARTIALLY_FILLED 3@100; e.tp grows to 7; e.sl grows to 7
  bob sell 5 @ 100                           -> FILLED 5@100; e.tp grows to 12; e.sl grows to 12
  book                                       -> bids - asks -
`,
);

scenario(
  "an amendment in isolated margin needs the margin of a new order in its place",
  `
  mark 100                                   -> 100
  dave  has 100                              ->
  dave  isolates                             -> ISOLATED
  dave  buy 9 @ 99 id=d                      -> NEW
  dave  amends d 11                          -> INSUFFICIENT_MARGIN requiredQuanta=19.899 availableQuanta=10.4545
  dave  amends d 10                          -> NEW
  alice sell 4 @ 99                          -> FILLED 4@99
  dave  amends d 6 @ 98                      -> PARTIALLY_FILLED
  book                                       -> bids 98:2 asks -
  dave  position                             -> 4 cost 396 realized -0.0792
`,
);

const seed = takeSeed("symbol-amend.test");

test("depth folded from events equals the book after amendments, and each event names its account", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 150, size: "max" }), (steps) => {
      const instruments = [instrument(ODD), instrument(FREE)];
      const exchange = new Exchange(instruments);
      const traffic = new Traffic(
        exchange,
        instruments.map(({ id }) => id),
      );
      for (const { actorId, command } of traffic.opening()) traffic.send(actorId, command);
      const depths = new Map(instruments.map(({ id, maxPriceTicks }) => [id, new Depth(maxPriceTicks)]));
      const owners = new Map<number, number>();
      for (const step of steps) {
        const { actorId, command } = traffic.command(step);
        for (const event of traffic.send(actorId, command).events) {
          depths.get(actorId)?.apply(event as SymbolEvent);
          const { orderId, accountId } = event as Partial<MessageOf<typeof OrderAmended>>;
          if (orderId === undefined || accountId === undefined) continue;
          if (!owners.has(orderId)) owners.set(orderId, accountId);
          assert.equal(accountId, owners.get(orderId), JSON.stringify(event));
        }
        for (const [id, depth] of depths) {
          const { bids, asks } = summarizeSymbol(exchange.symbol(id).state);
          assert.deepEqual(
            [BUY, SELL].map((side) => depth.levels(side as Side, 1000, (tick, lots) => [tick, lots])),
            [bids, asks],
          );
        }
      }
    }),
    { seed, numRuns: 60, includeErrorInReport: true },
  );
});
