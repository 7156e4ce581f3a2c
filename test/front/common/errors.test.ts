import assert from "node:assert/strict";
import { test } from "node:test";
import { Compile } from "typebox/compile";
import { REFUSAL_CODES } from "../../../src/core/protocol/refusals.ts";
import { Refused } from "../../../src/core/protocol/replies.ts";
import { ApiError, fromRefused } from "../../../src/front/common/errors.ts";
import { ERRORS } from "../../../src/wire/error-codes.ts";
import { ErrorBody } from "../../../src/wire/schema/system.ts";
import { instrument, make } from "../support/scripted-engine.ts";

const BTC = instrument(1, "BTC-PERP");

test("every code's JSON fits the schema of an error", () => {
  const validator = Compile(ErrorBody);
  for (const code of Object.keys(ERRORS) as (keyof typeof ERRORS)[]) {
    const text = new ApiError(code).toJson("id-1");
    const shown = JSON.parse(text) as Record<string, unknown>;
    assert.ok(validator.Check(shown), text);
    assert.deepEqual([shown.code, shown.requestId], [code, "id-1"]);
    assert.equal("field" in shown || "details" in shown, false);
  }
});

test("every refusal of the core has a status below 500, except TOO_MANY_ACCOUNTS", () => {
  for (const code of REFUSAL_CODES) assert.ok(ERRORS[code].status < 500 || code === "TOO_MANY_ACCOUNTS", code);
});

test("a unit at the end of a detail's name decides how its value is printed", () => {
  const refused = make(Refused, {
    code: "INSUFFICIENT_MARGIN",
    field: "quantity",
    details: { requiredQuanta: 1_500_000, limitTicks: 650_005, nearestLots: 1_500, ageMs: 7, open: 3, orderId: "257" },
  });
  const error = fromRefused(refused, BTC);
  assert.deepEqual(error.details, {
    required: "1.5",
    limit: "65000.5",
    nearest: "1.5",
    age: 7,
    open: 3,
    orderId: "257",
  });
  assert.deepEqual([error.code, error.field, error.status], ["INSUFFICIENT_MARGIN", "quantity", 422]);
  const { details } = fromRefused(make(Refused, { code: "PRICE_TOO_HIGH", details: { limitTicks: 650_005 } }), BTC);
  assert.deepEqual(details, { limit: "65000.5" });
  const retry = fromRefused(make(Refused, { code: "SYMBOL_HALTED", details: { retryAfterMs: 1500 } }), BTC);
  assert.deepEqual(retry.details, { retryAfterMs: 1500 }, "the name that the gateway's own errors use");
});

test("an error without a field or details has neither member", () => {
  const error = fromRefused(make(Refused, { code: "NO_POSITION", field: "", details: null }));
  assert.deepEqual([error.field, error.details], [undefined, undefined]);
});
