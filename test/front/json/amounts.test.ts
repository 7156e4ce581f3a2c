import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { printQuanta } from "../../../src/core/base/units.ts";
import { printPrice, printQuantity } from "../../../src/core/protocol/instrument.ts";
import { ApiError, type ErrorDetails } from "../../../src/front/common/errors.ts";
import { readAmount, readPrice, readQuantity } from "../../../src/front/json/amounts.ts";
import type { ErrorCode } from "../../../src/wire/error-codes.ts";
import { takeSeed } from "../../core/support/seed.ts";
import { instrument } from "../support/scripted-engine.ts";

fc.configureGlobal({ seed: takeSeed("amounts.test") });

/** Prices to 0.1, quantities to 0.001. */
const BTC = instrument(1, "BTC-PERP");

function assertRefused(read: () => unknown, code: ErrorCode, details: ErrorDetails): void {
  assert.throws(read, (thrown: unknown) => {
    assert.ok(thrown instanceof ApiError);
    assert.deepEqual([thrown.code, thrown.details], [code, details]);
    return true;
  });
}

test("printed values are read back exactly", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 10_000_000 }), (units) => {
      assert.equal(readPrice(BTC, printPrice(BTC, units)), units);
      assert.equal(readQuantity(BTC, printQuantity(BTC, units)), units);
      assert.equal(readAmount(printQuanta(units)), units);
    }),
  );
});

test("a value between two units is refused with the nearest valid values", () => {
  const tickSize = "0.1";
  assertRefused(() => readPrice(BTC, "65000.55"), "PRICE_NOT_ON_TICK", { tickSize, nearest: ["65000.5", "65000.6"] });
  assertRefused(() => readPrice(BTC, "65000.999999999999"), "PRICE_NOT_ON_TICK", {
    tickSize,
    nearest: ["65000.9", "65001"],
  });
  assertRefused(() => readPrice(BTC, "0.01"), "PRICE_NOT_ON_TICK", { tickSize, nearest: ["0.1"] });
  assertRefused(() => readQuantity(BTC, "1.0005"), "QUANTITY_NOT_ON_STEP", {
    stepSize: "0.001",
    nearest: ["1", "1.001"],
  });
  assertRefused(() => readAmount("1.0000005"), "AMOUNT_TOO_FINE", { nearest: ["1", "1.000001"] });
});

test("zero and values beyond the exact range are refused with the limit", () => {
  assertRefused(() => readPrice(BTC, "0"), "BAD_VALUE", { minimum: "0.1" });
  assertRefused(() => readPrice(BTC, "0.00"), "BAD_VALUE", { minimum: "0.1" });
  assertRefused(() => readQuantity(BTC, "0.0"), "QUANTITY_TOO_SMALL", { limit: "0.001" });
  assertRefused(() => readQuantity(BTC, "999999999999.9999"), "QUANTITY_NOT_ON_STEP", {
    stepSize: "0.001",
    nearest: ["999999999999.999", "1000000000000"],
  });
  assertRefused(() => readAmount("0"), "BAD_VALUE", { minimum: "0.000001" });
  assertRefused(() => readAmount("999999999999"), "BAD_VALUE", { maximum: "9007199254.740991" });
});
