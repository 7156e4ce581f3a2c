import assert from "node:assert/strict";
import { test } from "node:test";
import { BUY, IOC, LEDGER, MARKET, REASONS, SELL } from "../../../src/core/base/enums.ts";
import { Deposit, OpenSession, PlaceOrder, SetIndexPrice } from "../../../src/core/protocol/commands.ts";
import { Traded } from "../../../src/core/protocol/events.ts";
import type { MessageOf } from "../../../src/core/protocol/message-schema.ts";
import { OrderView } from "../../../src/core/protocol/replies.ts";
import { Exchange, make } from "../support/exchange.ts";
import { instrument, PLAIN } from "../support/instruments.ts";
import { scenario } from "../support/scenario.ts";

/** A mark of 1000 with a band of 5 %, bids at 999, 989, 979 and 900, asks at 1001, 1011, 1021 and 1100, 5 lots each. */
function market(): Exchange {
  const exchange = new Exchange([instrument(PLAIN)]);
  for (const [i, name] of ["maker", "taker"].entries()) {
    exchange.do(LEDGER, make(OpenSession, { address: name, tokenHash: name }));
    exchange.do(LEDGER, make(Deposit, { accountId: 16 + i, amountQuanta: 1e12 }));
  }
  exchange.carryOut(PLAIN.id, make(SetIndexPrice, { indexTicks: 1000 }));
  for (const [side, prices] of [
    [BUY, [999, 989, 979, 900]],
    [SELL, [1001, 1011, 1021, 1100]],
  ] as const)
    for (const priceTicks of prices)
      exchange.do(PLAIN.id, make(PlaceOrder, { accountId: 16, side, priceTicks, quantityLots: 5 }));
  return exchange;
}

test("a market order trades up to its maximum slippage, and never outside the price band", () => {
  const rows: [side: typeof BUY | typeof SELL, maxSlippagePpm: number, prices: number[]][] = [
    [BUY, 0, [1001, 1011, 1021]], // the band: 1050
    [BUY, 1, [1001]],
    [BUY, 9990, [1001]], // up to 1010.99999
    [BUY, 9991, [1001, 1011]], // up to 1011.000991
    [BUY, 20_000, [1001, 1011, 1021]], // up to 1021.02
    [BUY, 500_000, [1001, 1011, 1021]], // the band comes first
    [SELL, 0, [999, 989, 979]],
    [SELL, 10_010, [999]], // down to 989.00001
    [SELL, 10_011, [999, 989]], // down to 988.999011
    [SELL, 1_000_000, [999, 989, 979]],
  ];
  for (const [side, maxSlippagePpm, prices] of rows) {
    const exchange = market();
    const order = { accountId: 17, side, orderType: MARKET, timeInForce: IOC, quantityLots: 50, maxSlippagePpm };
    const { events, replies } = exchange.do(PLAIN.id, make(PlaceOrder, order));
    const trades = events.filter(({ type }) => type === Traded.code) as MessageOf<typeof Traded>[];
    const name = `side ${side}, ${maxSlippagePpm} ppm`;
    assert.deepEqual(
      trades.map(({ priceTicks }) => priceTicks),
      prices,
      name,
    );
    const view = replies[0] as MessageOf<typeof OrderView>;
    assert.deepEqual([view.type, view.filledLots], [OrderView.code, 5 * prices.length], name);
    assert.equal(REASONS[view.reason], "NO_LIQUIDITY", name);
  }
});

// The band is 5 %: with a mark of 1000 a SELL may go down to 950, with 980 down to 931.

scenario(
  "a stop at market trades as far from the mark of its firing as its maximum slippage, whatever the best price is",
  `
  mark 1000                                  -> 1000
  maker buy 5 @ 979                          -> NEW
  maker buy 5 @ 971                          -> NEW
  maker buy 5 @ 970                          -> NEW
  alice sell 20 market stop=980 slip=1 id=s  -> UNTRIGGERED
  bob   sell 20 market stop=980 id=t         -> UNTRIGGERED
  # 980 - 1 % = 970.2
  mark 980                                   -> s fires; 5@979; 5@971; s EXPIRED NO_LIQUIDITY; t fires; 5@970; t EXPIRED NO_LIQUIDITY
`,
);

scenario(
  "a stop at market does not trade at all if the book is too far from the mark",
  `
  mark 1000                                  -> 1000
  maker buy 5 @ 955                          -> NEW
  alice sell 5 market stop=990 slip=1 id=s   -> UNTRIGGERED
  alice buy 5 market stop=1010 slip=1 id=b   -> UNTRIGGERED
  mark 990                                   -> s fires; s EXPIRED NO_LIQUIDITY
  maker sell 5 @ 1030                        -> NEW
  mark 1010                                  -> b fires; b EXPIRED NO_LIQUIDITY
  book                                       -> bids 955:5 asks 1030:5
`,
);

scenario(
  "a maximum slippage beyond the price band changes nothing",
  `
  mark 1000                                  -> 1000
  maker buy 5 @ 953                          -> NEW
  maker buy 5 @ 931                          -> NEW
  maker buy 5 @ 930                          -> NEW
  alice sell 20 market stop=980 slip=100 id=s -> UNTRIGGERED
  mark 980                                   -> s fires; 5@953; 5@931; s EXPIRED NO_LIQUIDITY
`,
);

scenario(
  "take-profits, trailing stops and orders for the whole position have a maximum slippage, too",
  `
  mark 1000                                  -> 1000
  maker sell 5 @ 1000                        -> NEW
  alice buy 5 @ 1000                         -> FILLED 5@1000
  maker buy 5 @ 990                          -> NEW
  alice sell 5 market take=1020 slip=2 id=t  -> UNTRIGGERED
  alice sell 5 market trail=1 slip=2 id=u    -> UNTRIGGERED
  alice sell 0 market stop=970 slip=2 whole id=v -> UNTRIGGERED
  mark 1020                                  -> t fires; t EXPIRED NO_LIQUIDITY
  mark 1009                                  -> u fires; 5@990; v CANCELED POSITION_CLOSED
`,
);

scenario(
  "an attached stop has the maximum slippage of its leg",
  `
  mark 1000                                  -> 1000
  maker sell 5 @ 1000                        -> NEW
  alice buy 5 @ 1000 sl=980~1 tp=1020~3 id=e -> FILLED 5@1000; e.tp waits with 5; e.sl waits with 5
  maker buy 5 @ 960                          -> NEW
  mark 980                                   -> e.sl fires; e.sl EXPIRED NO_LIQUIDITY; e.tp CANCELED OTHER_FIRED
`,
);

scenario(
  "the maximum slippage of a waiting order can be amended, and only of one at market",
  `
  mark 1000                                  -> 1000
  maker buy 5 @ 971                          -> NEW
  alice sell 5 market stop=980 id=s          -> UNTRIGGERED
  alice amends s slip=0.5                    -> UNTRIGGERED
  alice amends s slip=1                      -> UNTRIGGERED
  alice amends s trigger=981                 -> UNTRIGGERED
  alice sell 5 @ 975 stop=980 id=l           -> UNTRIGGERED
  alice amends l slip=1                      -> ORDER_WAITS
  maker buy 5 @ 960 id=m                     -> NEW
  maker amends m slip=1                      -> ORDER_DOES_NOT_WAIT
  mark 981                                   -> s fires; s EXPIRED NO_LIQUIDITY
`,
);

scenario(
  "closing trades as far from the mark as its maximum slippage",
  `
  mark 1000                                  -> 1000
  maker sell 20 @ 1000                       -> NEW
  alice buy 20 @ 1000                        -> FILLED 20@1000
  maker buy 5 @ 995                          -> NEW
  maker buy 5 @ 989                          -> NEW
  alice closes slip=0.4                      -> EXPIRED NO_LIQUIDITY
  alice closes slip=0.5                      -> EXPIRED 5@995 NO_LIQUIDITY
  alice closes 3 slip=2                      -> FILLED 3@989
  alice closes                               -> EXPIRED 2@989 NO_LIQUIDITY
`,
);
