import assert from "node:assert/strict";
import { test } from "node:test";
import { ORDER_TYPES, SELF_TRADE_PREVENTIONS, SIDES, TIMES_IN_FORCE } from "../../../../src/core/base/enums.ts";
import { ApiError } from "../../../../src/front/common/errors.ts";
import type { Principal } from "../../../../src/front/exchange/credentials.ts";
import { readNewOrder } from "../../../../src/front/trading/place-order.ts";
import type { PlaceOrderBody } from "../../../../src/wire/schema/orders.ts";
import { instrument } from "../../support/scripted-engine.ts";

const BTC = instrument(1, "BTC-PERP");
const nobody: Principal = { accountId: 16, permissions: [], credential: "", expiresAt: 0, record: null };

/** Fields of an order, each with values of different meaning. */
const FLAGS: Partial<PlaceOrderBody>[] = [
  {},
  { postOnly: true },
  { reduceOnly: true },
  { postOnly: true, reduceOnly: true },
  { closePosition: true },
];
const MORE: Partial<PlaceOrderBody>[] = [
  {},
  { goodTillDate: 1 },
  { goodTillDate: 2 },
  { maxSlippage: "0.01" },
  { maxSlippage: "0.01", triggerPrice: "64000" },
  { maxSlippage: "0.02", triggerPrice: "64000" },
  { maxSlippage: "0.01", callbackRate: "0.01" },
  { displayQuantity: "0.5" },
  { takeProfit: { triggerPrice: "70000" } },
  { takeProfit: { triggerPrice: "70000", triggerBy: "LAST" } },
  { takeProfit: { triggerPrice: "70000", price: "70000" } },
  { stopLoss: { triggerPrice: "70000" } },
  { stopLoss: { triggerPrice: "70000", maxSlippage: "0.01" } },
  { takeProfit: { triggerPrice: "70000", maxSlippage: "0.01" } },
  { triggerPrice: "64000" },
  { triggerPrice: "64000", triggerBy: "INDEX" },
  { callbackRate: "0.01" },
  { callbackRate: "0.01", activationPrice: "64000" },
];
const PRICES: Partial<PlaceOrderBody>[] = [{}, { price: "65000" }, { priceMatch: "QUEUE" }];

test("different orders with the same clientOrderId have different hashes", () => {
  const bodies = new Map<number, string>();
  for (const side of SIDES)
    for (const type of ORDER_TYPES)
      for (const timeInForce of TIMES_IN_FORCE)
        for (const selfTradePreventionMode of SELF_TRADE_PREVENTIONS)
          for (const flags of FLAGS)
            for (const price of PRICES)
              for (const more of MORE) {
                const quantity = flags.closePosition === true ? {} : { quantity: "1" };
                const terms = { side, type, timeInForce, selfTradePreventionMode, ...quantity };
                const body = { symbol: "BTC-PERP", clientOrderId: "mine", ...terms, ...flags, ...price, ...more };
                const hash = hashOf(body);
                if (hash === null) continue;
                assert.equal(bodies.get(hash), undefined, JSON.stringify(body));
                bodies.set(hash, JSON.stringify(body));
              }
  assert.ok(bodies.size > 1000, `${bodies.size} orders`);
});

/** Null when there is no such order. */
function hashOf(body: PlaceOrderBody): number | null {
  try {
    return readNewOrder(nobody, BTC, body).bodyHash;
  } catch (thrown) {
    if (thrown instanceof ApiError) return null;
    throw thrown;
  }
}
