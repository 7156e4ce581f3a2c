import assert from "node:assert/strict";
import { test } from "node:test";
import { ApiError } from "../../../src/front/common/errors.ts";
import { Input } from "../../../src/front/json/input.ts";
import { declaredRoutes } from "../../../src/reference/declared.ts";
import type { ErrorCode } from "../../../src/wire/error-codes.ts";
import { ChallengeBody, CreateKeyBody, LoginBody } from "../../../src/wire/schema/auth.ts";
import { BatchBody } from "../../../src/wire/schema/batch.ts";
import { KlinesQuery } from "../../../src/wire/schema/market.ts";
import { OrderHistoryQuery, PlaceOrderBody } from "../../../src/wire/schema/orders.ts";

const GOOD = { symbol: "BTC-PERP", side: "BUY", type: "LIMIT", price: "65000.5", quantity: "0.01" };

const placeOrder = new Input(PlaceOrderBody);
const createKey = new Input(CreateKeyBody);
const klines = new Input(KlinesQuery);

function refusalOf(read: () => unknown): ApiError {
  try {
    read();
  } catch (thrown) {
    if (thrown instanceof ApiError) return thrown;
    throw thrown;
  }
  throw new Error("it was accepted");
}

function assertRefused(read: () => unknown, code: ErrorCode, field: string | undefined, what: string): void {
  const refusal = refusalOf(read);
  assert.deepEqual([refusal.code, refusal.field], [code, field], what);
}

test("a valid order is accepted unchanged", () => {
  const full = {
    ...GOOD,
    timeInForce: "GTC",
    postOnly: true,
    reduceOnly: false,
    clientOrderId: "A-z_0.9:b",
    selfTradePreventionMode: "DECREMENT",
    expiresAt: 1_790_000_000_000,
  };
  assert.deepEqual(placeOrder.check(JSON.parse(JSON.stringify(full))), full);
});

test("a field that is null counts as left out, in attached orders and in items of a batch, too", () => {
  const leg = { triggerPrice: "70000", price: null };
  const order = { ...GOOD, postOnly: null, clientOrderId: null, takeProfit: leg, stopLoss: null };
  assert.deepEqual(placeOrder.check(order), { ...GOOD, takeProfit: { triggerPrice: "70000" } });
  assert.equal(order.stopLoss, null, "the given object is left as it is");
  const batch = new Input(BatchBody);
  const { symbol, ...place } = GOOD;
  const items = [
    { action: "PLACE", ...place, postOnly: null },
    { action: "CANCEL", orderId: "1", clientOrderId: null },
  ];
  assert.deepEqual(batch.check({ symbol, items }), {
    symbol,
    items: [
      { action: "PLACE", ...place },
      { action: "CANCEL", orderId: "1" },
    ],
  });
  assertRefused(() => batch.check({ symbol, items: [null] }), "BAD_TYPE", "items.0", "an item that is null");
  const noSide = { action: "PLACE", ...place, side: null };
  assertRefused(() => batch.check({ symbol, items: [noSide] }), "MISSING_FIELD", "items.0.side", "a required field");
});

test("the error for a text of the wrong form shows a valid example", () => {
  const formOf = (order: object) => refusalOf(() => placeOrder.check({ ...GOOD, ...order })).message;
  assert.equal(formOf({ symbol: "BTC/USDC" }), 'symbol has the wrong form. A valid example is "BTC-PERP".');
  assert.equal(formOf({ clientOrderId: "a b" }), 'clientOrderId has the wrong form. A valid example is "my-order-1".');
});

test("every field with a pattern has an example for its error", () => {
  for (const route of declaredRoutes())
    for (const schema of [route.query, route.body].filter((each) => each !== undefined)) assertExamples(schema);
});

function assertExamples(schema: object): void {
  if ("pattern" in schema)
    assert.equal(typeof (schema as { examples?: string[] }).examples?.[0], "string", JSON.stringify(schema));
  for (const inner of Object.values(schema)) if (typeof inner === "object" && inner !== null) assertExamples(inner);
}

/** Texts that are no decimals: docs/reliability.md, fault 34. */
const BAD_DECIMALS = [
  "1e1000000",
  "1e5",
  "0x10",
  "0b11",
  "00012",
  "01.5",
  "+1",
  "-1",
  "-0",
  ".5",
  "5.",
  "1_000",
  "1,5",
  "NaN",
  "Infinity",
  "",
  " ",
  " 1",
  "1 ",
  "1\n",
  "\u0661\u0662",
  "\uff11",
  "1".repeat(40),
  `0.${"1".repeat(13)}`,
  "1234567890123",
  "1.2.3",
  "null",
  "0x",
];
for (const text of BAD_DECIMALS) {
  test(`not a decimal: ${JSON.stringify(text)}`, () => {
    for (const field of ["price", "quantity"])
      assertRefused(() => placeOrder.check({ ...GOOD, [field]: text }), "BAD_NUMBER", field, text);
  });
}

test("a JSON number is refused as a decimal, and the message says that decimals are strings", () => {
  for (const value of [65000.5, 0, -1, 1e300]) {
    const refusal = refusalOf(() => placeOrder.check({ ...GOOD, price: value }));
    assert.deepEqual([refusal.code, refusal.field], ["BAD_NUMBER", "price"]);
    assert.match(refusal.message, /strings.*in quotes/);
  }
  for (const value of [true, ["1"], { a: "1" }])
    assertRefused(() => placeOrder.check({ ...GOOD, price: value }), "BAD_NUMBER", "price", String(value));
});

const BAD_ORDERS: [change: object, code: ErrorCode, field: string | undefined][] = [
  [{ side: "buy" }, "BAD_VALUE", "side"],
  [{ side: 0 }, "BAD_VALUE", "side"],
  [{ type: "STOP_LOSS" }, "BAD_VALUE", "type"],
  [{ timeInForce: "GTX" }, "BAD_VALUE", "timeInForce"],
  [{ postOnly: "true" }, "BAD_TYPE", "postOnly"],
  [{ postOnly: 1 }, "BAD_TYPE", "postOnly"],
  [{ reduceOnly: [] }, "BAD_TYPE", "reduceOnly"],
  [{ symbol: null }, "MISSING_FIELD", "symbol"],
  [{ colour: null }, "UNKNOWN_FIELD", "colour"],
  [{ symbol: 7 }, "BAD_TYPE", "symbol"],
  [{ symbol: "" }, "BAD_VALUE", "symbol"],
  [{ symbol: "BTC PERP" }, "BAD_VALUE", "symbol"],
  [{ clientOrderId: "" }, "BAD_VALUE", "clientOrderId"],
  [{ clientOrderId: "a b" }, "BAD_VALUE", "clientOrderId"],
  [{ clientOrderId: "a\r\nb" }, "BAD_VALUE", "clientOrderId"],
  [{ clientOrderId: "a\n" }, "BAD_VALUE", "clientOrderId"],
  [{ clientOrderId: "\u00e9" }, "BAD_VALUE", "clientOrderId"],
  [{ clientOrderId: "x".repeat(37) }, "BAD_VALUE", "clientOrderId"],
  [{ clientOrderId: 5 }, "BAD_TYPE", "clientOrderId"],
  [{ expiresAt: "1790000000000" }, "BAD_TYPE", "expiresAt"],
  [{ expiresAt: 1.5 }, "BAD_TYPE", "expiresAt"],
  [{ expiresAt: -1 }, "BAD_VALUE", "expiresAt"],
  [{ expiresAt: 2 ** 60 }, "BAD_VALUE", "expiresAt"],
  [{ stopPrice: "1" }, "UNKNOWN_FIELD", "stopPrice"],
  [{ maxOrderNotional: "1" }, "UNKNOWN_FIELD", "maxOrderNotional"],
  [{ constructor: 1 }, "UNKNOWN_FIELD", "constructor"],
  [{ toString: 1 }, "UNKNOWN_FIELD", "toString"],
];
for (const [change, code, field] of BAD_ORDERS) {
  test(`refused: ${JSON.stringify(change)}`, () => {
    assertRefused(() => placeOrder.check({ ...GOOD, ...change }), code, field, "");
  });
}

test("the error for a missing field names it", () => {
  for (const field of ["symbol", "side", "type"]) {
    const { [field as keyof typeof GOOD]: _, ...rest } = GOOD;
    assertRefused(() => placeOrder.check(rest), "MISSING_FIELD", field, field);
  }
});

test("fields of the prototype are not fields of the body", () => {
  assertRefused(
    () => placeOrder.check(JSON.parse('{"__proto__":{"symbol":"BTC-PERP"}}')),
    "UNKNOWN_FIELD",
    "__proto__",
    "",
  );
});

test("a body must be an object", () => {
  for (const text of ["null", "[]", '"a"', "1", "true"])
    assertRefused(() => placeOrder.check(JSON.parse(text)), "BAD_TYPE", undefined, text);
});

test("the error for an unknown field lists the known ones", () => {
  const { details } = refusalOf(() => placeOrder.check({ ...GOOD, size: "1" }));
  assert.deepEqual(details?.known, Object.keys(PlaceOrderBody.properties));
});

test("errors name the place inside a list", () => {
  const key = { label: "bot", permissions: ["READ"] };
  assert.deepEqual(createKey.check(key), key);
  assertRefused(() => createKey.check({ ...key, permissions: ["READ", "ADMIN"] }), "BAD_VALUE", "permissions.1", "");
  assertRefused(() => createKey.check({ ...key, permissions: [] }), "BAD_VALUE", "permissions", "");
  assertRefused(() => createKey.check({ ...key, permissions: ["READ", "READ"] }), "BAD_VALUE", "permissions", "");
  assertRefused(() => createKey.check({ ...key, permissions: "READ" }), "BAD_TYPE", "permissions", "");
  assertRefused(() => createKey.check({ ...key, allowedWallets: ["0x"] }), "UNKNOWN_FIELD", "allowedWallets", "");
});

test("addresses and signatures must match their patterns", () => {
  const address = "0x8ba1f109551bD432803012645Ac136ddd64DBA72";
  const challenge = new Input(ChallengeBody);
  assert.deepEqual(challenge.check({ address }), { address });
  for (const bad of ["", "0x", address.slice(2), `${address}0`, address.replace("a", "g"), ` ${address}`])
    assertRefused(() => challenge.check({ address: bad }), "BAD_VALUE", "address", bad);
  const login = new Input(LoginBody);
  const zeros = (digits: number): string => `0x${"0".repeat(digits)}`;
  for (const bad of ["", "0x", zeros(126), zeros(131), zeros(4098), "0".repeat(130), `0x${"g".repeat(130)}`])
    assertRefused(() => login.check({ message: "m", signature: bad }), "BAD_VALUE", "signature", bad);
});

test("a query is read strictly: integers as numbers, escapes decoded", () => {
  assert.deepEqual(klines.readQuery("symbol=BTC%2DPERP&interval=1m&limit=5&startTime=0"), {
    symbol: "BTC-PERP",
    interval: "1m",
    limit: 5,
    startTime: 0,
  });
});

test("a list in a query has commas between its items, and the error names the wrong one", () => {
  const orders = new Input(OrderHistoryQuery);
  assert.deepEqual(orders.readQuery("status=FILLED,CANCELED&sort=ASC"), {
    status: ["FILLED", "CANCELED"],
    sort: "ASC",
  });
  for (const [query, field] of [
    ["status=", "status.0"],
    ["status=FILLED,NEW", "status.1"],
    ["status=FILLED%2C", "status.1"],
    [`status=${"FILLED,".repeat(4)}FILLED`, "status"],
    ["sort=asc", "sort"],
  ] as const)
    assertRefused(() => orders.readQuery(query), "BAD_VALUE", field, query);
});

const BAD_QUERIES: [query: string, code: ErrorCode, field: string | undefined][] = [
  ["", "MISSING_FIELD", "symbol"],
  ["symbol", "BAD_QUERY", undefined],
  ["=1", "BAD_QUERY", undefined],
  ["symbol=a&&interval=1m", "BAD_QUERY", undefined],
  ["symbol=a&interval=1m&", "BAD_QUERY", undefined],
  ["symbol=%zz&interval=1m", "BAD_QUERY", undefined],
  ["symbol=%", "BAD_QUERY", undefined],
  ["symbol=%ff", "BAD_QUERY", undefined],
  ["symbol=a&symbol=b", "DUPLICATE_FIELD", "symbol"],
  ["symbol=a&%73ymbol=b", "DUPLICATE_FIELD", "symbol"],
  ["symbol=a&interval=2m", "BAD_VALUE", "interval"],
  ["symbol=a&interval=1m&foo=1", "UNKNOWN_FIELD", "foo"],
  ["__proto__=1", "UNKNOWN_FIELD", "__proto__"],
  ["constructor=1", "UNKNOWN_FIELD", "constructor"],
  ["limit=", "BAD_TYPE", "limit"],
  ["limit=1e2", "BAD_TYPE", "limit"],
  ["limit=+1", "BAD_TYPE", "limit"],
  ["limit=01", "BAD_TYPE", "limit"],
  ["limit=1.5", "BAD_TYPE", "limit"],
  ["symbol=a&interval=1m&limit=0", "BAD_VALUE", "limit"],
  ["symbol=a&interval=1m&limit=1001", "BAD_VALUE", "limit"],
  ["symbol=a&interval=1m&startTime=-1", "BAD_VALUE", "startTime"],
];
for (const [query, code, field] of BAD_QUERIES) {
  test(`refused query: ${query}`, () => assertRefused(() => klines.readQuery(query), code, field, query));
}

test("cached queries do not affect each other and cannot be changed", () => {
  const query = (limit: number): string => `symbol=BTC-PERP&interval=1m&limit=${limit}`;
  for (let round = 0; round < 2; round++)
    for (let limit = 1; limit <= 300; limit++) assert.equal(klines.readQuery(query(limit)).limit, limit);
  const read = klines.readQuery(query(7));
  assert.throws(() => Object.assign(read, { limit: 8 }), TypeError);
  assert.equal(klines.readQuery(query(7)).limit, 7);
  for (let time = 0; time < 2; time++) assertRefused(() => klines.readQuery(query(0)), "BAD_VALUE", "limit", query(0));
});

test("the cache of queries has a bound", () => {
  const input = new Input(KlinesQuery);
  const { cached } = input as unknown as { cached: Map<string, unknown> };
  let most = 0;
  for (let i = 1; i <= 250; i++) {
    input.readQuery(`symbol=BTC-PERP&interval=1m&limit=${i}`);
    most = Math.max(most, cached.size);
  }
  assert.equal(most, 100);
});

test("unknown fields are reported as unknown, however many there are", () => {
  for (const count of [1, 8, 100]) {
    const unknown = Object.fromEntries(Array.from({ length: count }, (_, i) => [`field${i}`, 1]));
    assertRefused(() => placeOrder.check({ ...GOOD, ...unknown }), "UNKNOWN_FIELD", "field0", `${count} of them`);
  }
});
