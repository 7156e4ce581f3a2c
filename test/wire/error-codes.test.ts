import assert from "node:assert/strict";
import { test } from "node:test";
import { BATCH_ITEM_ERRORS, ERRORS, errorsIn, messageOf, SOCKET_ERRORS, specOf } from "../../src/wire/error-codes.ts";

test("every code says in whole sentences what is wrong and what to do", () => {
  const codes = [...Object.keys(ERRORS), ...Object.keys(SOCKET_ERRORS)] as (keyof typeof ERRORS)[];
  for (const code of codes) {
    const { problem, remedy } = specOf(code);
    for (const sentence of [problem, remedy]) assert.match(sentence, /^[A-Za-z].{8,}\.$/, code);
    assert.equal(messageOf(code), `${problem} ${remedy}`);
  }
});

test("the codes of several groups come once each, in the order of the table", () => {
  const codes = errorsIn("CANCEL", "FIND_ORDER");
  assert.deepEqual(codes, ["SYMBOL_HALTED", "ORDER_NOT_FOUND", "ORDER_NOT_OPEN", "SYMBOL_NOT_ALLOWED"]);
});

test("an item of a batch is answered with refusals of the engine only", () => {
  assert.ok(BATCH_ITEM_ERRORS.includes("BATCH_TOO_LONG"));
  assert.ok(!BATCH_ITEM_ERRORS.includes("PRICE_NOT_ON_TICK"), "it refuses the whole batch");
});
