import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { ErrorCode } from "../../../src/wire/error-codes.ts";
import { checkError } from "../support/api.ts";
import { startServer, type TestServer } from "../support/server.ts";
import { leavesUntouched, openTarget, type Target } from "../support/untouched.ts";

let server: TestServer;
let target: Target;

before(async () => {
  server = await startServer();
  target = await openTarget(server);
});

after(() => server.dispose());

const ORDER = { symbol: "BTC-PERP", side: "BUY", type: "LIMIT", price: "60000", quantity: "0.01" };

/** Sends alice's `POST /orders` with each body, and expects the code and the field. */
const expectRefusals = (cases: [body: unknown, code: ErrorCode, field?: string][]) =>
  leavesUntouched(target, async () => {
    for (const [body, code, field] of cases) {
      const error = await target.alice.refused(code, "POST", "/orders", body);
      assert.equal(error.field, field, JSON.stringify(body));
    }
  });

test("bodies that are not JSON are refused", () =>
  expectRefusals([
    ["{", "BAD_JSON"],
    ["hello", "BAD_JSON"],
    ["{}{}", "BAD_JSON"],
    [`${JSON.stringify(ORDER)} x`, "BAD_JSON"],
    [JSON.stringify(ORDER).slice(0, -1), "BAD_JSON"],
    [`\ufeff${JSON.stringify(ORDER)}`, "BAD_JSON"],
    [JSON.stringify(ORDER).replaceAll('"', "'"), "BAD_JSON"],
    [JSON.stringify(ORDER).replace("{", "{,"), "BAD_JSON"],
    [JSON.stringify(ORDER).replace("}", ",}"), "BAD_JSON"],
    [JSON.stringify(ORDER).replace('"0.01"', "NaN"), "BAD_JSON"],
    [JSON.stringify(ORDER).replace('"0.01"', "00.01"), "BAD_JSON"],
    [JSON.stringify(ORDER).replace('"0.01"', '"0.01\n"'), "BAD_JSON"],
    ["[".repeat(30_000), "BAD_JSON"],
    [`${'{"a":'.repeat(10_000)}1${"}".repeat(10_000)}`, "BAD_JSON"],
  ]));

test("bodies that are not UTF-8 are refused", () =>
  expectRefusals(
    [
      [0xff],
      [0xc3, 0x28],
      [0xc0, 0x80], // NUL, overlong
      [0xed, 0xa0, 0x80], // half of a surrogate pair
      [0xf4, 0x90, 0x80, 0x80], // beyond Unicode
      [0xe2, 0x82], // cut off
    ].map((bytes) => [
      Buffer.concat([Buffer.from('{"symbol":"'), Buffer.from(bytes), Buffer.from('"}')]),
      "BAD_ENCODING",
    ]),
  ));

test("JSON values that are not an order are refused", () =>
  expectRefusals([
    ["null", "BAD_TYPE"],
    ["[]", "BAD_TYPE"],
    ["1", "BAD_TYPE"],
    ['"x"', "BAD_TYPE"],
    ["true", "BAD_TYPE"],
    [[ORDER], "BAD_TYPE"],
  ]));

test("missing, unknown, duplicate and wrongly typed fields are refused", async () => {
  const without = (name: keyof typeof ORDER) => ({ ...ORDER, [name]: undefined });
  const raw = (more: string) => `${JSON.stringify(ORDER).slice(0, -1)},${more}}`;
  await expectRefusals([
    ["{}", "MISSING_FIELD", "symbol"],
    [without("symbol"), "MISSING_FIELD", "symbol"],
    [without("side"), "MISSING_FIELD", "side"],
    [without("type"), "MISSING_FIELD", "type"],
    [without("quantity"), "MISSING_FIELD", "quantity"],
    [without("price"), "MISSING_FIELD", "price"],
    [{ ...ORDER, colour: "red" }, "UNKNOWN_FIELD", "colour"],
    [{ ...ORDER, Price: "1" }, "UNKNOWN_FIELD", "Price"],
    [{ ...ORDER, accountId: 17 }, "UNKNOWN_FIELD", "accountId"],
    [{ ...ORDER, toString: "x" }, "UNKNOWN_FIELD", "toString"],
    [{ ...ORDER, constructor: { prototype: { x: 1 } } }, "UNKNOWN_FIELD", "constructor"],
    [raw('"__proto__":{"quantity":"1"}'), "UNKNOWN_FIELD", "__proto__"],
    [raw('"__proto__":null'), "UNKNOWN_FIELD", "__proto__"],
    ['{"__proto__":{"symbol":"BTC-PERP"}}', "UNKNOWN_FIELD", "__proto__"],
    [{ ...ORDER, ["x".repeat(10_000)]: 1 }, "UNKNOWN_FIELD", "x".repeat(64)],
    [raw('"quantity":"1"'), "DUPLICATE_FIELD", "quantity"],
    [raw('"\\u0071uantity":"1"'), "DUPLICATE_FIELD", "quantity"],
    [{ ...ORDER, symbol: 1 }, "BAD_TYPE", "symbol"],
    [{ ...ORDER, symbol: null }, "MISSING_FIELD", "symbol"],
    [{ ...ORDER, symbol: ["BTC-PERP"] }, "BAD_TYPE", "symbol"],
    [{ ...ORDER, symbol: { x: 1 } }, "BAD_TYPE", "symbol"],
    [{ ...ORDER, symbol: "DOGE-PERP" }, "UNKNOWN_SYMBOL", "symbol"],
    [{ ...ORDER, symbol: "btc-perp" }, "UNKNOWN_SYMBOL", "symbol"],
    [{ ...ORDER, symbol: "constructor" }, "UNKNOWN_SYMBOL", "symbol"],
    [{ ...ORDER, symbol: "__proto__" }, "UNKNOWN_SYMBOL", "symbol"],
    [{ ...ORDER, symbol: "BTC-PERP " }, "BAD_VALUE", "symbol"],
    [{ ...ORDER, symbol: "BTC-PERP\u0000" }, "BAD_VALUE", "symbol"],
    [{ ...ORDER, symbol: "" }, "BAD_VALUE", "symbol"],
    [{ ...ORDER, side: "buy" }, "BAD_VALUE", "side"],
    [{ ...ORDER, side: 0 }, "BAD_VALUE", "side"],
    [{ ...ORDER, type: "STOP_LOSS" }, "BAD_VALUE", "type"],
    [{ ...ORDER, type: "toString" }, "BAD_VALUE", "type"],
    [{ ...ORDER, timeInForce: "GTX" }, "BAD_VALUE", "timeInForce"],
    [{ ...ORDER, selfTradePreventionMode: "NONE" }, "BAD_VALUE", "selfTradePreventionMode"],
    [{ ...ORDER, postOnly: "true" }, "BAD_TYPE", "postOnly"],
    [{ ...ORDER, reduceOnly: 1 }, "BAD_TYPE", "reduceOnly"],
    [{ ...ORDER, expiresAt: "1" }, "BAD_TYPE", "expiresAt"],
    [{ ...ORDER, expiresAt: 1.5 }, "BAD_TYPE", "expiresAt"],
    [{ ...ORDER, expiresAt: -1 }, "BAD_VALUE", "expiresAt"],
    [{ ...ORDER, expiresAt: 0 }, "BAD_VALUE", "expiresAt"],
    [{ ...ORDER, timeInForce: "GTD", goodTillDate: 0 }, "BAD_VALUE", "goodTillDate"],
    [raw('"expiresAt":1e400'), "BAD_TYPE", "expiresAt"],
    [{ ...ORDER, clientOrderId: "" }, "BAD_VALUE", "clientOrderId"],
    [{ ...ORDER, clientOrderId: "x".repeat(37) }, "BAD_VALUE", "clientOrderId"],
    [{ ...ORDER, clientOrderId: "two words" }, "BAD_VALUE", "clientOrderId"],
    [{ ...ORDER, clientOrderId: "a\r\nX-Injected: 1" }, "BAD_VALUE", "clientOrderId"],
    [{ ...ORDER, clientOrderId: "a\n" }, "BAD_VALUE", "clientOrderId"],
    [{ ...ORDER, clientOrderId: "\u0000" }, "BAD_VALUE", "clientOrderId"],
    [raw('"clientOrderId":"\\ud800"'), "BAD_VALUE", "clientOrderId"],
    [{ ...ORDER, clientOrderId: 7 }, "BAD_TYPE", "clientOrderId"],
  ]);
});

test("fields that exclude each other are refused", () =>
  expectRefusals([
    [{ ...ORDER, type: "MARKET" }, "BAD_COMBINATION", "price"],
    [{ ...ORDER, maxSlippage: "0.01" }, "BAD_COMBINATION", "maxSlippage"],
    [{ ...ORDER, type: "STOP", triggerPrice: "1", maxSlippage: "0.01" }, "BAD_COMBINATION", "maxSlippage"],
    [
      { ...ORDER, stopLoss: { triggerPrice: "1", price: "1", maxSlippage: "0.01" } },
      "BAD_COMBINATION",
      "stopLoss.maxSlippage",
    ],
    [{ ...ORDER, takeProfit: { triggerPrice: "2", maxSlippage: "2" } }, "BAD_VALUE", "takeProfit.maxSlippage"],
    [{ ...ORDER, type: "MARKET", price: undefined, maxSlippage: "0" }, "BAD_VALUE", "maxSlippage"],
    [{ ...ORDER, type: "MARKET", price: undefined, maxSlippage: "1.1" }, "BAD_VALUE", "maxSlippage"],
    [{ ...ORDER, type: "MARKET", price: undefined, maxSlippage: "0.0000001" }, "BAD_VALUE", "maxSlippage"],
    [{ ...ORDER, type: "MARKET", price: undefined, maxSlippage: 0.1 }, "BAD_NUMBER", "maxSlippage"],
    [{ ...ORDER, type: "MARKET", price: undefined, postOnly: true }, "BAD_COMBINATION", "postOnly"],
    [{ ...ORDER, type: "MARKET", price: undefined, timeInForce: "GTC" }, "BAD_COMBINATION", "timeInForce"],
    [{ ...ORDER, postOnly: true, timeInForce: "IOC" }, "BAD_COMBINATION", "postOnly"],
    [{ ...ORDER, postOnly: true, timeInForce: "FOK" }, "BAD_COMBINATION", "postOnly"],
  ]));

test("decimals in any other form are refused", async () => {
  const bad = [
    ...["", " ", " 1", "1 ", "+1", "-1", "-0", ".5", "5.", "00012", "01", "1_000", "1,5", "1e3", "1E3", "1e1000000"],
    ...[
      "0x10",
      "0b11",
      "0o7",
      "NaN",
      "Infinity",
      "-Infinity",
      "null",
      "1.2.3",
      "1/2",
      "٣",
      "１２",
      "1\n",
      "\t1",
      "1\u0000",
    ],
    ...["9".repeat(40), "9".repeat(50_000), `0.${"0".repeat(40)}1`, `0x${"f".repeat(40_000)}`, "1.", "½", "1e-8"],
  ];
  const texts: [unknown, ErrorCode, string][] = [];
  for (const field of ["price", "quantity"]) {
    for (const text of bad) texts.push([{ ...ORDER, [field]: text }, "BAD_NUMBER", field]);
    for (const value of [1, 0.01, -1, 1e300, true, [], ["1"], { value: "1" }])
      texts.push([{ ...ORDER, [field]: value }, "BAD_NUMBER", field]);
    texts.push([{ ...ORDER, [field]: null }, "MISSING_FIELD", field]);
  }
  await expectRefusals(texts);
  const number = await target.alice.refused("BAD_NUMBER", "POST", "/orders", { ...ORDER, price: 60000 });
  assert.match(number.message, /string/i, "it says what to do");
});

test("prices and quantities that are too fine, too small or too large are refused with the limit", async () => {
  const refuse = async (change: object, code: ErrorCode, field: string, details: object) => {
    const error = await target.alice.refused(code, "POST", "/orders", { ...ORDER, ...change });
    assert.deepEqual([error.field, error.details], [field, details], JSON.stringify(change));
  };
  await leavesUntouched(target, async () => {
    const near = { tickSize: "0.1", nearest: ["60000", "60000.1"] };
    await refuse({ price: "60000.05" }, "PRICE_NOT_ON_TICK", "price", near);
    await refuse({ price: "0.01" }, "PRICE_NOT_ON_TICK", "price", { tickSize: "0.1", nearest: ["0.1"] });
    await refuse({ price: "0" }, "BAD_VALUE", "price", { minimum: "0.1" });
    await refuse({ price: "0.0" }, "BAD_VALUE", "price", { minimum: "0.1" });
    await refuse({ price: "1000000.1" }, "PRICE_TOO_HIGH", "price", { limit: "1000000" });
    await refuse({ price: "999999999999" }, "PRICE_TOO_HIGH", "price", { limit: "1000000" });
    const steps = { stepSize: "0.001", nearest: ["0.012", "0.013"] };
    await refuse({ quantity: "0.0125" }, "QUANTITY_NOT_ON_STEP", "quantity", steps);
    await refuse({ quantity: "0.000000000001" }, "QUANTITY_NOT_ON_STEP", "quantity", {
      stepSize: "0.001",
      nearest: ["0.001"],
    });
    await refuse({ quantity: "0" }, "QUANTITY_TOO_SMALL", "quantity", { limit: "0.001" });
    await refuse({ quantity: "100.001" }, "QUANTITY_TOO_LARGE", "quantity", { limit: "100" });
    await refuse({ quantity: "999999999999" }, "QUANTITY_TOO_LARGE", "quantity", { limit: "100" });
    await refuse({ quantity: "999999999999.999" }, "QUANTITY_TOO_LARGE", "quantity", { limit: "100" });
    const small = { limit: "5", nearest: "0.002" };
    await refuse({ price: "4000", quantity: "0.001" }, "NOTIONAL_TOO_SMALL", "quantity", small);
    // The last tier ends at 100,000,000: 1538.461 BTC at 65000. Orders of 100 each would have to add up to it.
    await refuse({ quantity: "100" }, "INSUFFICIENT_MARGIN", "quantity", {
      // (0.2 + 0.1 + 100) × … : at 10 times leverage, what the larger notional's tier asks for.
      ...(await requiredFor("100")),
    });
  });
  // Trailing zeros make a decimal no finer.
  const order = await target.alice.call<{ price: string; quantity: string }>(201, "POST", "/orders", {
    ...ORDER,
    price: "60000.100000",
    quantity: "0.010000",
    timeInForce: "IOC",
  });
  assert.deepEqual([order.price, order.quantity], ["60000.1", "0.01"]);
});

/** The margin of alice's order at 60000, beside her position of 0.2 at 65000 and her order of 0.1 at 64000. */
async function requiredFor(quantity: string) {
  const { availableBalance, initialMargin } = await target.alice.balance();
  const exposure = 13_000 + 6_400 + Number(quantity) * 60_000;
  const fees = (6_400 + Number(quantity) * 60_000) * 0.0005;
  const required = exposure / 10 + fees - Number(initialMargin);
  return { required: String(Math.round(required * 1e6) / 1e6), available: availableBalance };
}

test("invalid amounts of deposits and withdrawals are refused", () =>
  leavesUntouched(target, async () => {
    const address = "0x0000000000000000000000000000000000000001";
    for (const path of ["/account/deposit", "/account/withdraw"]) {
      const body = { asset: "USDC", amount: "1", ...(path.endsWith("withdraw") && { address }) };
      const refuse = (change: object, code: ErrorCode) =>
        target.alice.refused(code, "POST", path, { ...body, ...change });
      for (const amount of ["-1", "1e3", "", "1.", 1, "NaN"]) await refuse({ amount }, "BAD_NUMBER");
      await refuse({ amount: null }, "MISSING_FIELD");
      await refuse({ amount: "0" }, "BAD_VALUE");
      const fine = await refuse({ amount: "1.0000001" }, "AMOUNT_TOO_FINE");
      assert.deepEqual(fine.details, { nearest: ["1", "1.000001"] });
      await refuse({ amount: "999999999999.999999" }, "BAD_VALUE");
      await refuse({ asset: "USDT" }, "BAD_VALUE");
      await refuse({ asset: undefined }, "MISSING_FIELD");
      await refuse({ reference: "" }, "BAD_VALUE");
      await refuse({ reference: "é" }, "BAD_VALUE");
      await refuse({ reference: "x".repeat(65) }, "BAD_VALUE");
      await refuse({ reference: 'a"\n' }, "BAD_VALUE");
      await refuse({ note: "x" }, "UNKNOWN_FIELD");
    }
    const withdrawal = { asset: "USDC", amount: "1" };
    const refuse = (address: unknown, code: ErrorCode) =>
      target.alice.refused(code, "POST", "/account/withdraw", { ...withdrawal, address });
    await refuse(undefined, "MISSING_FIELD");
    await refuse("0x12", "BAD_VALUE");
    await refuse("0x8Ba1f109551bD432803012645Ac136ddd64DBA72", "BAD_VALUE");
  }));

test("another account's order is not found", () =>
  leavesUntouched(target, async () => {
    const { bob, orderId } = target;
    for (const id of [orderId, "client:resting"])
      for (const method of ["GET", "DELETE"]) {
        const error = await bob.refused("ORDER_NOT_FOUND", method, `/orders/${id}`);
        const unknown = await bob.refused("ORDER_NOT_FOUND", method, "/orders/25601");
        assert.deepEqual(
          [error.message, error.field, error.details],
          [unknown.message, unknown.field, unknown.details],
          "no word more than for an order that never was",
        );
      }
    assert.equal((await bob.cancelAll("?side=BUY")).canceled, 0);
  }));

test("invalid paths, parameters and queries are refused", () =>
  leavesUntouched(target, async () => {
    const { alice, orderId } = target;
    const refuse = async (status: number, method: string, path: string) => {
      const answer = await alice.request(method, path);
      assert.equal(answer.status, status, `${method} ${path}: ${answer.text}`);
      checkError(answer);
    };
    const noIds = ["abc", "-1", "1.5", "1e3", "0x105", "%00", "%ff", "%zz", "%", "client:", "client:a%20b"];
    // An order has one id.
    for (const id of [...noIds, "0", `0${orderId}`, "1".repeat(17)])
      for (const method of ["GET", "DELETE"]) await refuse(400, method, `/orders/${id}`);
    for (const id of ["1", "99999999999999", "9007199254740993", "261000000005"])
      for (const method of ["GET", "DELETE"]) {
        const answer = await alice.request(method, `/orders/${id}`);
        assert.ok(answer.status === 404 || answer.status === 400, `${method} ${id}: ${answer.text}`);
        checkError(answer);
      }
    for (const path of ["/orders/", "//orders", "/orders/1/2", "/nothing", "/", "/ORDERS", "/orders/%2e%2e/health"])
      assert.ok([400, 404].includes((await alice.request("GET", path)).status), path);
    for (const symbol of ["DOGE-PERP", "btc-perp", "__proto__", "constructor"])
      await refuse(400, "POST", `/positions/${symbol}/close`);
    for (const query of ["symbol=%zz", "symbol=%", "symbol=%ff", "symbol", "=x", "&", "symbol=BTC-PERP&", "a=1"])
      await refuse(400, "GET", `/orders?${query}`);
    await refuse(400, "GET", "/orders?symbol=BTC-PERP&symbol=BTC-PERP");
    await refuse(400, "GET", "/orders?symbol=BTC-PERP&sym%62ol=BTC-PERP");
    await refuse(400, "GET", "/orders?__proto__=1");
    await refuse(400, "DELETE", "/orders?symbol=DOGE-PERP");
    await refuse(400, "DELETE", "/orders?side=buy");
    await refuse(400, "DELETE", "/orders?Symbol=BTC-PERP");
    await refuse(400, "GET", "/orders/history?limit=1e2");
    await refuse(400, "GET", "/orders/history?limit=9999999999999999999999");
    await refuse(400, "GET", "/orders/history?startTime=2&endTime=1");
    await refuse(400, "GET", `/orders/history?cursor=${"9".repeat(200)}`);
    await refuse(400, "GET", "/market/klines?symbol=BTC-PERP");
    await refuse(400, "GET", "/market/klines?interval=1m");
    await refuse(400, "GET", "/market/klines?symbol=BTC-PERP&interval=1m&startTime=-1");
    // What a GET or DELETE is sent as a body is an error, not a surprise.
    for (const [method, path] of [
      ["GET", "/orders"],
      ["DELETE", "/orders"],
      ["GET", "/health"],
    ] as const)
      checkErrorCode(await alice.request(method, path, ORDER), "UNEXPECTED_BODY");
  }));

test("unsupported methods are refused", () =>
  leavesUntouched(target, async () => {
    const { alice } = target;
    for (const [method, path] of [
      ["PATCH", "/orders"],
      ["PUT", "/orders"],
      ["POST", "/orders/history"],
      ["DELETE", "/account/balance"],
      ["POST", "/market/ticker"],
      ["GET", "/account/deposit"],
    ] as const) {
      const answer = await alice.request(method, path);
      checkErrorCode(answer, "METHOD_NOT_ALLOWED");
      assert.ok(answer.headers.allow?.includes("OPTIONS"));
    }
  }));

function checkErrorCode(answer: Awaited<ReturnType<Target["alice"]["request"]>>, code: ErrorCode): void {
  checkError(answer);
  assert.equal((answer.body as { code: string }).code, code);
}

test("a body of 64 KiB is accepted, and a larger one is refused", () =>
  leavesUntouched(target, async () => {
    const padded = (bytes: number) => `${JSON.stringify(ORDER).slice(0, -1)}${" ".repeat(bytes)}}`;
    const largest = JSON.stringify({ ...ORDER, side: "buy" });
    const fits = `${largest}${" ".repeat(65_536 - largest.length)}`;
    await target.alice.refused("BAD_VALUE", "POST", "/orders", fits);
    await target.alice.refused("BODY_TOO_LARGE", "POST", "/orders", padded(70_000));
    await target.alice.refused("BODY_TOO_LARGE", "POST", "/orders", padded(3_000_000));
  }));
