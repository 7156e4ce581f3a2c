import assert from "node:assert/strict";
import { test } from "node:test";
import { BUY, IOC, LEDGER, MARKET, REASONS, SELL } from "../../../src/core/base/enums.ts";
import { Deposit, OpenSession, PlaceOrder, SetIndexPrice } from "../../../src/core/protocol/commands.ts";
import { Traded } from "../../../src/core/protocol/events.ts";
import type { MessageOf } from "../../../src/core/protocol/message-schema.ts";
import { OrderView } from "../../../src/core/protocol/replies.ts";
import { Exchange, make } from "../support/exchange.ts";
import { instrument, PLAIN } from "../support/instruments.ts";

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
