import assert from "node:assert/strict";
import { test } from "node:test";
import { BUY, LEDGER, PRICE_MATCHES, SELL } from "../../../src/core/base/enums.ts";
import { Deposit, OpenSession, PlaceExtended, PlaceOrder, SetIndexPrice } from "../../../src/core/protocol/commands.ts";
import type { MessageOf } from "../../../src/core/protocol/message-schema.ts";
import { OrderView, type Refused } from "../../../src/core/protocol/replies.ts";
import { Exchange, make } from "../support/exchange.ts";
import { instrument, PLAIN } from "../support/instruments.ts";
import { scenario } from "../support/scenario.ts";

const TAKER = 16;

/** A mark of 1000, bids at 999, 997 and so on, asks at 1001, 1003 and so on. */
function market(levels: number): Exchange {
  const exchange = new Exchange([instrument(PLAIN)]);
  for (let i = 0; i <= levels; i++) {
    exchange.do(LEDGER, make(OpenSession, { address: `${i}`, tokenHash: `${i}` }));
    exchange.do(LEDGER, make(Deposit, { accountId: TAKER + i, amountQuanta: 1e12 }));
  }
  exchange.carryOut(PLAIN.id, make(SetIndexPrice, { indexTicks: 1000 }));
  for (let i = 0; i < levels; i++)
    for (const [side, priceTicks] of [
      [BUY, 999 - 2 * i],
      [SELL, 1001 + 2 * i],
    ])
      exchange.do(PLAIN.id, make(PlaceOrder, { accountId: TAKER + 1 + i, side, priceTicks, quantityLots: 5 }));
  return exchange;
}

const PLACES = [1, 5, 10, 20];

test("each priceMatch names a level of its side; an order without such a level is refused", () => {
  for (const levels of [0, 1, 4, 5, 9, 10, 19, 20, 23])
    for (const [priceMatch, name] of PRICE_MATCHES.entries())
      for (const side of [BUY, SELL]) {
        if (name === null) continue;
        const what = `${name} of ${levels} levels, side ${side}`;
        const exchange = market(levels);
        const digest = exchange.audit(PLAIN.id).digest;
        const place = PLACES[(priceMatch - 1) % 4];
        const command = make(PlaceExtended, { accountId: TAKER, side, quantityLots: 1, priceMatch });
        const [reply] = exchange.do(PLAIN.id, command).replies;
        if (place > levels) {
          const { code, details } = reply as MessageOf<typeof Refused>;
          assert.equal(code, "NO_PRICE_LEVEL", what);
          assert.deepEqual(details, { priceMatch: name, requiredLevels: place, levels });
          assert.equal(exchange.audit(PLAIN.id).digest, digest, what);
          continue;
        }
        const isBid = name.startsWith("QUEUE") === (side === BUY);
        assert.equal(reply.type, OrderView.code, what);
        const { priceTicks } = reply as MessageOf<typeof OrderView>;
        assert.equal(priceTicks, isBid ? 1001 - 2 * place : 999 + 2 * place, what);
      }
});

scenario(
  "a matched price works like any price: post-only, IOC, GTD, reduce-only, amendments, retries",
  `
  mark 100                                   -> 100
  alice buy 5 @ QUEUE                        -> NO_PRICE_LEVEL priceMatch=QUEUE requiredLevels=1 levels=0
  alice sell 10 @ 102 id=a                   -> NEW
  bob   buy 5 @ OPPONENT post-only           -> POST_ONLY_WOULD_TRADE bestTicks=102
  bob   buy 4 @ OPPONENT IOC                 -> FILLED 4@102
  bob   buy 2 @ OPPONENT id=b                -> FILLED 2@102
  bob   sell 9 @ QUEUE reduce-only id=r      -> NEW of 6
  book                                       -> bids - asks 102:10
  bob   buy 3 @ 99 id=c                      -> NEW
  carol buy 3 @ QUEUE post-only till=500 id=d -> NEW
  carol orders                               -> d NEW 3@99
  # the same again: the first order, whatever the book is by now
  carol buy 1 @ 100                          -> NEW
  carol buy 3 @ QUEUE post-only till=500 id=d -> DUPLICATE d
  carol buy 4 @ QUEUE post-only till=500 id=d -> CLIENT_ORDER_ID_REUSED orderId=1537
  carol amends d @ QUEUE                     -> NEW
  carol orders                               -> #7 NEW 1@100; d NEW 3@100
  carol amends d @ OPPONENT                  -> POST_ONLY_WOULD_TRADE bestTicks=102
  carol amends d @ QUEUE_5                   -> NO_PRICE_LEVEL priceMatch=QUEUE_5 requiredLevels=5 levels=2
  bob   amends c 5 @ OPPONENT                -> EXPIRED 4@102 SELF_TRADE
  wait 500                                   ->
  tick                                       -> d EXPIRED GOOD_TILL_DATE
`,
);

scenario(
  "a matched price outside the price band is refused like a given one",
  `
  mark 100                                   -> 100
  alice sell 10 @ 104 id=a                   -> NEW
  mark 80                                    -> 80
  bob   buy 5 @ OPPONENT                     -> PRICE_OUT_OF_BAND limitTicks=84 markTicks=80
`,
);
